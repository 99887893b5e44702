# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What role sglang_engine runs on the controller: how locks are made, chosen and filled."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

FILES = Path(__file__).resolve().parents[2] / "roles" / "sglang_engine" / "files"
SHIPPED = sorted((FILES / "locks").glob("*.txt"))


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FILES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


lock = load("lock")
wheelhouse = load("wheelhouse")


def wheel(name: str, digest: str) -> dict[str, object]:
    return {"url": f"https://me:secret@index.example/{name}", "hashes": {"sha256": digest}}


def test_a_lock_holds_the_hashes_of_what_a_host_installs_and_no_address() -> None:
    resolution = {
        "packages": [
            {
                "name": "one",
                "version": "1.0",
                "marker": "python_full_version >= '3.11'",
                "sdist": wheel("one-1.0.tar.gz", "00"),
                "wheels": [
                    wheel("one-1.0-cp311-cp311-manylinux_2_28_x86_64.whl", "bb"),
                    wheel("one-1.0-cp312-cp312-manylinux_2_28_aarch64.whl", "aa"),
                    wheel("one-1.0-cp312-cp312-musllinux_1_2_x86_64.whl", "11"),
                    wheel("one-1.0-cp312-cp312-win_amd64.whl", "22"),
                ],
            },
            {"name": "two", "version": "2.0", "sdist": wheel("two-2.0.tar.gz", "cc")},
            {
                "name": "mac",
                "version": "3.0",
                "wheels": [wheel("mac-3.0-cp311-abi3-macos.whl", "33")],
            },
        ]
    }
    assert lock.lock_text(resolution) == (
        "one==1.0 ; python_full_version >= '3.11' \\\n"
        "    --hash=sha256:aa \\\n"
        "    --hash=sha256:bb\n"
        "two==2.0 \\\n"
        "    --hash=sha256:cc\n"
    )


MIXED = """\
# A comment of whoever made it.
always==1.0 --hash=sha256:aa
arm==2.0 ; platform_machine == 'aarch64' \\
    --hash=sha256:bb
old==3.0 ; python_full_version < '3.12' \\
    --hash=sha256:cc \\
    --hash=sha256:dd
    # via always
windows==4.0 ; sys_platform == 'win32' --hash=sha256:ee
"""


@pytest.mark.parametrize(
    ("python", "arch", "names"),
    [
        ("3.11", "x86_64", ["always", "old"]),
        ("3.12.3", "x86_64", ["always"]),
        ("3.12", "aarch64", ["always", "arm"]),
    ],
)
def test_a_wheelhouse_has_what_its_hosts_need(python: str, arch: str, names: list[str]) -> None:
    text = wheelhouse.lock_for(MIXED, python, arch)
    assert re.findall(r"^(\w+)==", text, re.MULTILINE) == names
    assert ";" not in text and "#" not in text
    # It stands for itself: choosing once more changes nothing.
    assert wheelhouse.lock_for(text, python, arch) == text


def test_all_hashes_come_along() -> None:
    text = wheelhouse.lock_for(MIXED, "3.11", "x86_64")
    assert text == (
        "always==1.0 \\\n    --hash=sha256:aa\n"
        "old==3.0 \\\n    --hash=sha256:cc \\\n    --hash=sha256:dd\n"
    )


def test_pip_is_told_what_the_hosts_are() -> None:
    options = wheelhouse.target_options("3.11.2", "aarch64", 17)
    assert {"--python-version=3.11", "--abi=cp311", "--abi=abi3", "--abi=none"} <= set(options)
    platforms = [option for option in options if option.startswith("--platform=")]
    assert platforms[0] == "--platform=manylinux_2_17_aarch64"
    assert "--platform=manylinux2014_aarch64" in platforms
    assert "--platform=manylinux_2_18_aarch64" not in platforms


@pytest.fixture
def pip(tmp_path: Path) -> list[str]:
    """A pip that notes what it is asked for, and fails where a file says so."""
    script = tmp_path / "pip.py"
    script.write_text(
        "import pathlib, sys\n"
        f"room = pathlib.Path({str(tmp_path)!r})\n"
        "room.joinpath('asked').open('a').write(' '.join(sys.argv[1:]) + '\\n')\n"
        "if room.joinpath('broken').exists():\n"
        "    sys.exit('ERROR: https://me:secret@index.example/simple/ does not answer')\n",
        encoding="utf-8",
    )
    return [sys.executable, str(script)]


def test_a_wheelhouse_is_complete_or_goes_on(tmp_path: Path, pip: list[str]) -> None:
    folder, target = tmp_path / "wheels", ["--only-binary=:all:"]
    (tmp_path / "broken").touch()
    with pytest.raises(wheelhouse.Refused) as refused:
        wheelhouse.build(folder, pip, "a==1\n", target)
    assert "does not answer" in str(refused.value) and "secret" not in str(refused.value)
    assert not (folder / "lock.txt").exists()
    (tmp_path / "broken").unlink()
    assert wheelhouse.build(folder, pip, "a==1\n", target)
    assert (folder / "lock.txt").read_text(encoding="utf-8") == "a==1\n"
    asked = (tmp_path / "asked").read_text(encoding="utf-8").splitlines()
    assert "--require-hashes" in asked[1] and asked[2].endswith(" uv")
    assert not wheelhouse.build(folder, pip, "a==1\n", target)
    assert (tmp_path / "asked").read_text(encoding="utf-8").splitlines() == asked


def test_another_lock_needs_another_folder(tmp_path: Path, pip: list[str]) -> None:
    wheelhouse.build(tmp_path / "wheels", pip, "a==1\n", [])
    with pytest.raises(wheelhouse.Refused, match="name another"):
        wheelhouse.build(tmp_path / "wheels", pip, "a==2\n", [])


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
@pytest.mark.parametrize("python", ["3.11", "3.12"])
@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
def test_a_shipped_lock_is_exact_for_every_host(path: Path, python: str, arch: str) -> None:
    text = wheelhouse.lock_for(path.read_text(encoding="utf-8"), python, arch)
    requirements = re.split(r"\n(?=\S)", text.strip())
    names = [requirement.split("==")[0] for requirement in requirements]
    version = path.stem.split("-")[0]
    assert f"sglang=={version} " in text
    assert {"torch", "transformers", "nvidia-nccl-cu13"} <= set(names)
    assert len(names) == len(set(names))
    assert all("--hash=sha256:" in requirement for requirement in requirements)


def test_a_lock_is_shipped() -> None:
    assert [path.stem for path in SHIPPED] == ["0.5.23-cu13"]
