# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller: a virtual environment with Ansible and the checkers, and the collections."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

from base import LAB, PREFIX, REPO, STATE, LabError, cached, key_of, locked, run, step

REQUIREMENTS = LAB / "controller-requirements.txt"
MINORS = (14, 13, 12, 11)
# PyPI's `ansible` is the only place there that carries containers.podman.
ANSIBLE_BUNDLE = "ansible==14.5.0"
# What of this repository belongs to the collection; the rest is its workshop.
COLLECTION = (
    "galaxy.yml", "meta", "plugins", "roles", "playbooks", "docs",
    "README.md", "CHANGELOG.md", "CHANGELOG.rst", "LICENSE",
)  # fmt: skip


def find_python() -> Path | None:
    """The newest Python 3.14 to 3.11 that can make a virtual environment.

    pyenv's shims are passed over: what a shim starts depends on the folder it is called from.
    """
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    folders = [Path(f) for f in os.get_exec_path() if Path(f) != pyenv / "shims"]
    for minor in MINORS:
        name = f"python3.{minor}"
        places = [folder / name for folder in folders]
        places += sorted(pyenv.glob(f"versions/3.{minor}.*/bin/{name}"), reverse=True)
        for python in places:
            if python.is_file() and can_make_venv(python):
                return python
    return None


def can_make_venv(python: Path) -> bool:
    """Whether it runs and has the modules that Debian keeps in python3-venv."""
    command = [str(python), "-c", "import ensurepip, venv"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def controller() -> Path:
    """The bin folder of the controller's virtual environment, made if need be (about 30 s)."""
    python = find_python()
    if python is None:
        raise LabError("no Python 3.11 to 3.14 with venv here; run: lab.py doctor")
    version = run(python, "-c", "import sys; print(sys.version, sys.prefix)")

    def fill(path: Path) -> None:
        with step(f"making the controller with {python}"):
            run(python, "-m", "venv", path)
            run(path / "bin" / "python", "-m", "pip", "install", "--quiet", "-r", REQUIREMENTS)

    return cached("controller", key_of(version, REQUIREMENTS), fill) / "bin"


def podman_collection() -> Path:
    """A collections folder that holds containers.podman, taken out of the `ansible` wheel."""
    pip = controller() / "pip"

    def fill(path: Path) -> None:
        with (
            step(f"taking containers.podman out of {ANSIBLE_BUNDLE} (about 55 MB)"),
            tempfile.TemporaryDirectory(dir=path) as folder,
        ):
            run(
                pip, "download", "--quiet", "--no-deps", "--ignore-requires-python",
                "--only-binary=:all:", "--dest", folder, ANSIBLE_BUNDLE,
            )  # fmt: skip
            (wheel,) = Path(folder).glob("*.whl")
            inside = "ansible_collections/containers/podman/"
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(path, [n for n in archive.namelist() if n.startswith(inside)])

    return cached("collections", key_of(ANSIBLE_BUNDLE), fill)


def own_collection() -> Path:
    """REPO/.lab/collections with llmops.sglang as a user would install it, if it changed."""
    parts = [REPO / name for name in COLLECTION if (REPO / name).exists()]
    if REPO / "galaxy.yml" not in parts:
        raise LabError(f"{REPO}/galaxy.yml is missing: there is no collection to build")
    path = STATE / "collections"
    mark = path / ".key"
    key = key_of(*parts)
    galaxy = controller() / "ansible-galaxy"
    with locked(f"{PREFIX}-collection"):
        if mark.exists() and mark.read_text() == key:
            return path
        with step("building and installing llmops.sglang"), tempfile.TemporaryDirectory() as folder:
            tree, built = Path(folder, "tree"), Path(folder, "built")
            tree.mkdir()
            for part in parts:
                if part.is_dir():
                    ignore = shutil.ignore_patterns("__pycache__")
                    shutil.copytree(part, tree / part.name, ignore=ignore)
                else:
                    shutil.copy2(part, tree)
            run(galaxy, "collection", "build", "--output-path", built, cwd=tree)
            (archive,) = built.glob("*.tar.gz")
            shutil.rmtree(path, ignore_errors=True)
            run(
                galaxy, "collection", "install", archive, "--collections-path", path,
                "--force", "--offline", "--no-deps",
            )  # fmt: skip
            mark.write_text(key)
    return path


def collections() -> str:
    """ANSIBLE_COLLECTIONS_PATH: this repository's collection, then containers.podman."""
    return f"{own_collection()}:{podman_collection()}"


def environment() -> dict[str, str]:
    """The variables that ansible and molecule need to run against the lab."""
    return {
        "PATH": f"{controller()}:{os.environ.get('PATH', os.defpath)}",
        "ANSIBLE_COLLECTIONS_PATH": collections(),
        "ANSIBLE_INJECT_FACT_VARS": "false",
        # Any other value makes molecule warn that scenarios belong under extensions/.
        "MOLECULE_GLOB": "molecule/*/molecule.yml",
        "LAB_PREFIX": PREFIX,
        "LAB_STATE": str(STATE),
    }
