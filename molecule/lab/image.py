# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guests' root: Debian 12 with systemd, made by mmdebstrap, kept as a podman image."""

from __future__ import annotations

import os
import subprocess

from base import CACHE, LabError, key_of, locked, need_disk, run, step

SUITE = "bookworm"
MIRROR = os.environ.get("LAB_DEBIAN_MIRROR", "http://deb.debian.org/debian")
PACKAGES = (
    "systemd", "systemd-sysv", "dbus", "python3", "python3-venv", "procps", "iproute2", "kmod",
    "util-linux", "ca-certificates", "numactl", "rsync",
)  # fmt: skip
REPOSITORY = "localhost/llmops-sglang-lab"


def tag() -> str:
    """The image's name; another list of packages gives another name."""
    return f"{REPOSITORY}:{key_of(SUITE, *PACKAGES)}"


def image() -> str:
    """The name of the guests' image, made if podman has none of that name (about 40 s)."""
    name = tag()
    with locked("image"):
        if not run("podman", "images", "--quiet", name, check=False).strip():
            need_disk(CACHE, 2)
            with step(f"making {name} with mmdebstrap"):
                make(name)
    return name


def make(name: str) -> None:
    """Pipe mmdebstrap's archive into podman, so that no half-made file can be left behind."""
    bootstrap = subprocess.Popen(
        ["mmdebstrap", "--variant=minbase", "--quiet", "--include=" + ",".join(PACKAGES),
         SUITE, "-", MIRROR],
        stdout=subprocess.PIPE,
    )  # fmt: skip
    part = f"{name}-part"
    done = subprocess.run(
        ["podman", "import", "--quiet", "-", part],
        stdin=bootstrap.stdout, stdout=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    if bootstrap.wait() or done.returncode:
        run("podman", "rmi", "--force", part, check=False)
        raise LabError(f"mmdebstrap or podman import failed (mirror {MIRROR}, see above)")
    run("podman", "tag", part, name)
    run("podman", "untag", part, part)


def stale_images() -> list[str]:
    """Names of half-made and outdated images of the lab."""
    listed = run("podman", "images", "--format", "{{.Repository}}:{{.Tag}}", REPOSITORY)
    return [name for name in listed.split() if name != tag()]
