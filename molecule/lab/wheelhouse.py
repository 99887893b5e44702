# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A folder with every wheel of the real engine, for the guests' Python 3.11 on x86-64.

Wheels are asked for by the guests' tags, never by those of the Python at hand.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from pathlib import Path

from base import CACHE, LAB, LabError, cached, key_of, need_disk, run, step
from controller import controller

ENGINE = LAB / "engine"
RESOLVED = ENGINE / "requirements.txt"
ALONE = ENGINE / "requirements-no-deps.txt"
PLUGINS = tuple(ENGINE / name for name in ("plain_cpu", "cpu_hicache", "cpu_spec"))
TORCH_INDEX = os.environ.get("LAB_TORCH_INDEX", "https://download.pytorch.org/whl/cpu")
# glibc 2.36 is Debian 12's
PLATFORMS = [f"manylinux_2_{minor}_x86_64" for minor in range(36, 4, -1)]
PLATFORMS += [f"manylinux{name}_x86_64" for name in ("2014", "2010", "1")]
GUEST = [
    "--only-binary=:all:", "--python-version=3.11", "--implementation=cp",
    "--abi=cp311", "--abi=abi3", "--abi=none",
    *(f"--platform={name}" for name in PLATFORMS),
]  # fmt: skip
Command = list[str | Path]
# Installed by hand where they are wanted, not part of the engine's environment.
TOOLS = ("pip", "uv")


def wheelhouse() -> Path:
    """The complete wheelhouse; `lock.txt` in it pins what the engine's environment holds."""

    def fill(path: Path) -> None:
        for wheel in downloads().glob("*.whl"):
            os.link(wheel, path / wheel.name)
        build_plugins(path)
        (path / "lock.txt").write_text(lock_text(path))

    return cached("wheelhouse", key_of(downloads_key(), *PLUGINS), fill)


def downloads_key() -> str:
    return key_of(RESOLVED, ALONE, TORCH_INDEX, *GUEST)


def downloads() -> Path:
    """The folder with the wheels that come from an index."""

    def fill(path: Path) -> None:
        need_disk(CACHE, 8)
        pip: Command = [controller() / "python", "-m", "pip"]
        with step("downloading the real engine, about 560 MB"):
            torch = download_torch(pip, path)
            take: Command = [*pip, "download", "--quiet", "--dest", path, *GUEST]
            run(*take, "-r", RESOLVED, torch)
            run(*take, "--no-deps", "-r", ALONE)

    return cached("wheels", downloads_key(), fill)


def build_plugins(path: Path) -> None:
    """Build the test-only plugins into the wheelhouse, with the setuptools in it."""
    options: Command = ["--quiet", "--no-deps", "--no-index", "--find-links", path]
    with step("building the test-only plugins"), tempfile.TemporaryDirectory() as folder:
        for plugin in PLUGINS:
            # A copy, since setuptools builds inside the source folder.
            source = shutil.copytree(plugin, Path(folder, plugin.name))
            pip = controller() / "pip"
            # The same wheel, hash included, whenever it is built.
            os.environ["SOURCE_DATE_EPOCH"] = "315532800"
            run(pip, "wheel", *options, "--wheel-dir", path, source)


def download_torch(pip: Command, path: Path) -> Path:
    """Download the CPU build of torch and return the wheel.

    PyPI's own wheel is the CUDA build, which would bring several GB along. So ask first what pip
    would take, and turn to torch's index of CPU builds if it is not one.
    """
    wanted = next(line for line in RESOLVED.read_text().splitlines() if line.startswith("torch=="))
    indexes: dict[str, list[str]] = {
        "the configured index": [],
        TORCH_INDEX: ["--index-url", TORCH_INDEX],
    }
    found = []
    for name, index in indexes.items():
        version = what_pip_takes(pip, wanted, index)
        if version.endswith("+cpu"):
            run(*pip, "download", "--quiet", "--no-deps", "--dest", path, *GUEST, *index, wanted)
            return next(path.glob("torch-*.whl"))
        found.append(f"{name} offers {version or 'nothing'}")
    raise LabError(
        f"no CPU build of {wanted}: {', '.join(found)}; name an index that has one in "
        "LAB_TORCH_INDEX"
    )


def what_pip_takes(pip: Command, requirement: str, index: list[str]) -> str:
    """The version that pip would install in the guest, local label included; '' for none."""
    with tempfile.TemporaryDirectory() as folder:
        report = run(
            *pip, "install", "--quiet", "--dry-run", "--no-deps", "--ignore-installed",
            "--report=-", f"--target={folder}", *GUEST, *index, requirement, check=False,
        )  # fmt: skip
    if not report.strip():
        return ""
    return str(json.loads(report)["install"][0]["metadata"]["version"])


def lock_text(path: Path) -> str:
    """Pins with hashes for `pip install --no-deps --require-hashes` or uv's like."""
    lines = []
    for wheel in sorted(path.glob("*.whl")):
        name, version = wheel.name.split("-")[:2]
        name = re.sub(r"[-_.]+", "-", name).lower()
        if name not in TOOLS:
            digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
            lines.append(f"{name}=={version} --hash=sha256:{digest}\n")
    return "".join(lines)
