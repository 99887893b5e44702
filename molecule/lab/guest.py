# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Guests: containers that boot systemd, one GPU host each."""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gpus
from base import (
    CACHE,
    MARKER,
    PREFIX,
    REPO,
    STATE,
    LabError,
    key_of,
    locked,
    run,
    say,
    step,
    write_atomically,
)
from host import oci_runtime, ulimit_options
from image import image, stale_images
from meminfo import meminfo
from models import MODELS, models
from wheelhouse import wheelhouse

BOOT_TIMEOUT_S = 60
# keys of a guest in lab.json that go to meminfo() as they are
MEMORY_KEYS = ("shmem_gib", "swap_gib", "hugepages_1gib", "hugepages_2mib")
KEYS = {
    "memory_gib", "available_gib", "limit_gib", "gpus", "models", "double", "network",
    *MEMORY_KEYS,
}  # fmt: skip
# The engine double takes its flags from the collection, by the same relative path.
DOUBLE = "/srv/lab/molecule/lab/double"

# What a container lacks of a host. On a host systemd makes all mounts shared; only then do the
# credentials of a unit with a User= reach it. And ProtectKernelTunables and others give a unit a
# fresh /proc, without what lies over it here: the guest's files are laid over that one, too.
LIKE_A_HOST = """
set -eu
mount --make-rshared /
folder=/usr/lib/systemd/system/sglang-.service.d
mkdir -p $folder
cat > $folder/lab.conf <<END
[Service]
BindReadOnlyPaths=/run/lab/meminfo:/proc/meminfo
BindReadOnlyPaths=-/run/lab/proc-driver:/proc/driver
END
systemctl daemon-reload
"""


@dataclass(frozen=True)
class Guest:
    """One guest of a scenario, as its lab.json describes it."""

    scenario: str
    name: str
    spec: dict[str, Any]

    @property
    def container(self) -> str:
        return f"{PREFIX}-{self.scenario}-{self.name}"

    @property
    def state(self) -> Path:
        """The folder that the guest sees as /run/lab."""
        return STATE / self.scenario / self.name

    @property
    def description(self) -> Path:
        """What it was booted from; written when it was complete."""
        return self.state / "guest.json"

    def origin(self) -> dict[str, Any]:
        """All that it is booted from: what a running guest must agree with to be used again."""
        parts = [image(), str(wheelhouse()), str(models()), LIKE_A_HOST, gpus.INSTALL]
        return {"spec": self.spec, "lab": key_of(*parts, gpus.NVML)}

    def is_as_described(self) -> bool:
        """Whether it was booted to the end, from the lab of now."""
        if not self.description.exists():
            return False
        return bool(json.loads(self.description.read_text()) == self.origin())


def guests(scenario: str) -> list[Guest]:
    """The guests that molecule/SCENARIO/lab.json describes.

    Raises LabError for a scenario without that file, and for keys and models it does not know.
    """
    path = REPO / "molecule" / scenario / "lab.json"
    if not path.is_file():
        known = ", ".join(sorted(p.parent.name for p in REPO.glob("molecule/*/lab.json")))
        raise LabError(f"{path} does not exist; scenarios with guests: {known or 'none'}")
    described = json.loads(path.read_text())
    for name, spec in described.items():
        unknown = sorted(set(spec) - KEYS) + sorted(set(spec.get("models", ())) - set(MODELS))
        if unknown:
            raise LabError(f"{path}: {name}: unknown: {', '.join(unknown)}")
    return [Guest(scenario, name, spec) for name, spec in described.items()]


def up(scenario: str) -> None:
    """Boot the guests of a scenario that do not run as described, and print all their names."""
    wanted = guests(scenario)
    running = run("podman", "ps", "--format", "{{.Names}}").split()
    for guest in wanted:
        if guest.container not in running or not guest.is_as_described():
            remove(guest.container)
            with step(f"booting {guest.container}"):
                boot(guest)
    write_atomically(STATE / scenario / "inventory.yml", inventory(wanted))
    for guest in wanted:
        print(guest.container)


def boot(guest: Guest) -> None:
    """Start a guest's container and wait until its systemd is up."""
    write_state(guest)
    mounts = {
        wheelhouse(): "/srv/wheelhouse:ro",
        guest.state / "meminfo": "/proc/meminfo:ro",
        guest.state: "/run/lab",
    }
    for name in guest.spec.get("models", ()):
        mounts[models() / name] = f"/srv/models/{name}:ro"
    if guest.spec.get("double"):
        for part in ("molecule/lab/double", "plugins/module_utils/_engine"):
            mounts[REPO / part] = f"/srv/lab/{part}:ro"
    # SYS_ADMIN lets systemd build the namespaces that units ask for (ProtectSystem, PrivateTmp);
    # without it systemd leaves them out and says nothing. SYS_PTRACE lets root read /proc of other
    # users, as on a host. AppArmor's and SELinux' container profiles would refuse the mounts.
    run(
        "podman", "--runtime", oci_runtime(), "run", "--detach", "--name", guest.container,
        "--hostname", guest.name, "--systemd=always", "--cap-add=SYS_ADMIN,SYS_PTRACE",
        "--security-opt=apparmor=unconfined", "--security-opt=label=disable",
        *network_options(guest), *memory_options(guest), *ulimit_options(),
        *(f"--volume={source}:{target}" for source, target in mounts.items()),
        image(), "/sbin/init",
    )  # fmt: skip
    make_it_a_host(guest)
    for version in guest.spec.get("double", ()):
        target = f"/opt/sglang/double/{version}"
        inside(guest, "python3", f"{DOUBLE}/install.py", "--version", version, target)
    write_atomically(guest.description, json.dumps(guest.origin()) + "\n")


def reboot(guest: Guest) -> None:
    """Cut the power of a guest and boot it again, with the files that it had."""
    run("podman", "restart", "--time=0", guest.container)
    make_it_a_host(guest)


def make_it_a_host(guest: Guest) -> None:
    """Wait for systemd, then add what a container lacks of a host."""
    wait_for_systemd(guest.container)
    inside(guest, "sh", "-c", LIKE_A_HOST)
    if guest.spec.get("gpus"):
        inside(guest, "sh", "-c", gpus.INSTALL)


def write_state(guest: Guest) -> None:
    """Make the guest's state folder anew: its meminfo and its GPUs."""
    remove_folder(guest.state)
    guest.state.mkdir(parents=True)
    spec = guest.spec
    extra = {key: spec[key] for key in MEMORY_KEYS if key in spec}
    try:
        text = meminfo(spec["memory_gib"], spec["available_gib"], **extra)
    except (KeyError, ValueError) as error:
        raise LabError(f"{guest.name} in {guest.scenario}/lab.json: {error}") from error
    (guest.state / "meminfo").write_text(text)
    if spec.get("gpus"):
        gpus.fill_state(guest.state, spec["gpus"])


def wait_for_systemd(container: str) -> None:
    """Wait until systemd has started everything. Raises LabError if some unit failed."""
    deadline = time.monotonic() + BOOT_TIMEOUT_S
    state = ""
    while time.monotonic() < deadline:
        answer = run("podman", "exec", container, "systemctl", "is-system-running", check=False)
        state = answer.strip()
        if state == "running":
            return
        if state == "degraded":
            break
        time.sleep(0.2)
    failed = run("podman", "exec", container, "systemctl", "--failed", "--no-legend", check=False)
    logs = run("podman", "logs", "--tail", "20", container, check=False)
    raise LabError(f"{container}: systemd is {state or 'not there'}\n{failed}{logs}")


def inside(guest: Guest, *command: str) -> str:
    """Run a command in the guest and return its output."""
    return run("podman", "exec", guest.container, *command)


def inventory(wanted: list[Guest]) -> str:
    """An Ansible inventory of the guests; JSON is YAML too."""
    hosts = {
        guest.name: {
            "ansible_connection": "containers.podman.podman",
            "ansible_host": guest.container,
            "ansible_python_interpreter": "/usr/bin/python3",
        }
        for guest in wanted
    }
    return json.dumps({"all": {"hosts": hosts}}, indent=2) + "\n"


def network_options(guest: Guest) -> list[str]:
    """podman's options for no network, or for an internal bridge, made if need be.

    On the bridge guests reach one another by their names, and nothing else.
    """
    name = guest.spec.get("network", "none")
    if name == "none":
        return ["--network=none"]
    network = f"{PREFIX}-{guest.scenario}-{name}"
    if network not in run("podman", "network", "ls", "--format", "{{.Name}}").split():
        run("podman", "network", "create", "--internal", network)
    return [f"--network={network}", f"--network-alias={guest.name}"]


def memory_options(guest: Guest) -> list[str]:
    """podman's option for the memory cgroup that bounds all of the guest, if it has one."""
    limit_gib = guest.spec.get("limit_gib")
    return [f"--memory={round(limit_gib * 2**30)}"] if limit_gib else []


def shell(name: str) -> None:
    """Replace this process by a shell in a guest, named `GUEST`, `SCENARIO-GUEST` or in full."""
    matching = [c for c in containers() if c == name or c.endswith(f"-{name}")]
    if not containers():
        raise LabError("no guest is running; make demo boots one")
    if len(matching) != 1:
        raise LabError(f"{name!r} matches {len(matching)} of: {', '.join(containers()) or 'none'}")
    os.execvp("podman", ["podman", "exec", "--interactive", "--tty", matching[0], "bash"])


def containers(scenario: str | None = None) -> list[str]:
    """Names of this clone's containers, running or not, of one scenario or of all."""
    start = f"{PREFIX}-{scenario}-" if scenario else f"{PREFIX}-"
    names = run("podman", "ps", "--all", "--format", "{{.Names}}").split()
    return [name for name in names if name.startswith(start)]


def down(scenario: str | None) -> None:
    """Remove the guests of one scenario or of all, with their state and their networks."""
    for name in containers(scenario):
        say(f"lab: removing {name}")
        remove(name)
    start = f"{PREFIX}-{scenario}-" if scenario else f"{PREFIX}-"
    for name in run("podman", "network", "ls", "--format", "{{.Name}}").split():
        if name.startswith(start):
            run("podman", "network", "rm", "--force", name)
    for path in REPO.glob("molecule/*/lab.json"):
        if scenario in (None, path.parent.name):
            remove_folder(STATE / path.parent.name)


def remove(container: str) -> None:
    """Kill and remove a container and its volumes, if it exists."""
    run("podman", "rm", "--force", "--ignore", "--volumes", "--time=0", container)


def remove_folder(path: Path) -> None:
    """Remove a folder, also where rootless guests left files of their own users in it."""
    if not path.exists():
        return
    try:
        shutil.rmtree(path)
    except PermissionError:
        run("podman", "unshare", "rm", "-rf", path)


def collect_garbage() -> None:
    """Remove what interrupted runs left: this clone's guests and half-made cache entries."""
    down(None)
    # What was filled by cached() has a lock; other folders belong to others.
    for kind in sorted(path.with_suffix("") for path in CACHE.glob("*.lock")):
        if not kind.is_dir():
            continue
        with locked(kind.name):
            for path in sorted(kind.iterdir()):
                if not (path / MARKER).exists():
                    say(f"lab: removing the half-made {path}")
                    remove_folder(path)
    for name in stale_images():
        say(f"lab: removing the image {name}")
        # Not by force, which would take the guests of another clone along.
        run("podman", "rmi", name, check=False)
