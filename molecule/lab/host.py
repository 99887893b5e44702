# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What this machine offers to the lab, and what podman needs to be told because of it."""

from __future__ import annotations

import os
import platform
import resource
import shlex
import shutil
from pathlib import Path

from base import CACHE, LabError, run, say

CAP_SYS_RESOURCE = 24
# podman lowers its own process limit to this before it starts a container.
PODMAN_PROCESSES = 32768

# command on PATH -> Debian package
PACKAGES = {
    "podman": "podman",
    "mmdebstrap": "mmdebstrap",
    "gcc": "gcc",
    "git": "git",
    "chromium": "chromium",
}
# file -> Debian package, for what has no command
FILES = {
    "/usr/share/keyrings/debian-archive-keyring.gpg": "debian-archive-keyring",
    "/usr/include/stdio.h": "libc6-dev",
    "/usr/lib/podman/netavark": "netavark",
    # netavark calls it for every bridge.
    "/usr/sbin/iptables": "iptables",
    "/usr/lib/podman/aardvark-dns": "aardvark-dns",
}


def cgroup_mode() -> str:
    """How cgroups are mounted: `v2`, `v1`, or `mixed` (v1 controllers beside a v2 tree)."""
    root = Path("/sys/fs/cgroup")
    if (root / "cgroup.controllers").exists():
        return "v2"
    return "mixed" if (root / "unified" / "cgroup.procs").exists() else "v1"


def oci_runtime() -> str:
    """The runtime that can start guests here: crun refuses mixed hierarchies, runc does not."""
    wanted = "crun" if cgroup_mode() == "v2" and shutil.which("crun") else "runc"
    if not shutil.which(wanted):
        raise LabError(f"{wanted} is not installed; run: lab.py doctor")
    return wanted


def has_capability(number: int) -> bool:
    """Whether this process holds the Linux capability of that number."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> number & 1)
    return False


def ulimit_options() -> list[str]:
    """podman's limits, where its own defaults would be refused.

    Without CAP_SYS_RESOURCE nobody may raise a hard limit, so ask for no more than there is.
    """
    if has_capability(CAP_SYS_RESOURCE):
        return []
    options = []
    for name, number, most in (
        ("nofile", resource.RLIMIT_NOFILE, None),
        ("nproc", resource.RLIMIT_NPROC, PODMAN_PROCESSES),
    ):
        hard = resource.getrlimit(number)[1]
        if hard == resource.RLIM_INFINITY or (most and hard > most):
            hard = most or 1048576
        options += ["--ulimit", f"{name}={hard}:{hard}"]
    return options


def missing_packages() -> list[str]:
    """Debian packages without which some command of the lab would fail."""
    missing = [package for command, package in PACKAGES.items() if not shutil.which(command)]
    if os.geteuid() != 0 and not shutil.which("newuidmap"):
        missing.append("uidmap")
    missing += [package for file, package in FILES.items() if not Path(file).exists()]
    if not (shutil.which("runc") or (cgroup_mode() == "v2" and shutil.which("crun"))):
        missing.append("crun" if cgroup_mode() == "v2" else "runc")
    from controller import find_python

    if find_python() is None:
        missing.append("python3-venv")
    return sorted(set(missing))


def doctor(install: bool) -> None:
    """Print what there is; install what is missing when asked and root, else print how to."""
    if platform.machine() != "x86_64":
        raise LabError(f"the lab's guests are x86_64, this machine is {platform.machine()}")
    rows = [
        ("system", platform.platform()),
        ("user", "root" if os.geteuid() == 0 else f"uid {os.geteuid()} (rootless: untested)"),
        ("cores", str(os.cpu_count())),
        ("podman", run("podman", "--version").strip() if shutil.which("podman") else "missing"),
        ("cgroups", cgroup_mode()),
        ("runtimes", " ".join(r for r in ("crun", "runc") if shutil.which(r)) or "none"),
        ("limits", shlex.join(ulimit_options()) or "podman's defaults"),
        ("cache", f"{CACHE}, {free_gib(CACHE):.0f} GiB free (8 needed for the wheelhouse)"),
    ]
    for name, value in rows:
        print(f"{name:10} {value}")
    missing = missing_packages()
    if not missing:
        print("packages   all there")
        return
    # On a machine that has just booted, its own upgrade may hold the lock for a while.
    wait = "-oDPkg::Lock::Timeout=300"
    command = ["apt-get", wait, "install", "--yes", "--no-install-recommends", *missing]
    if not install:
        root = "" if os.geteuid() == 0 else "sudo "
        raise LabError(f"missing; run: {root}apt-get update && {root}{shlex.join(command)}")
    if os.geteuid() != 0:
        raise LabError(
            f"--install needs root; run: sudo apt-get update && sudo {shlex.join(command)}"
        )
    say(f"lab: installing {' '.join(missing)}")
    run("apt-get", wait, "update")
    run("env", "DEBIAN_FRONTEND=noninteractive", *command)
    print("packages   installed " + " ".join(missing))


def free_gib(path: Path) -> float:
    """Free GiB on the file system that holds `path` or will hold it."""
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free / 2**30
