# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The installed engine, by its files."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._probe.engine import read_engine
from ansible_collections.llmops.sglang.plugins.module_utils._probe.source import Live
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.probe_recording import (
    facts_of,
    record,
)


def install(
    folder: Path,
    *packages: str,
    python: bool = True,
    site: str = "site-packages",
    tags: dict[str, str] | None = None,
) -> None:
    """A virtual environment with these packages (name-version); C(tags) of their wheels by name."""
    if python:
        (folder / "bin").mkdir(parents=True)
        (folder / "bin" / "python").write_text("")
    for package in packages:
        name, version = package.split("-")
        info = folder / "lib" / "python3.12" / site / f"{package}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n")
        wheel = "".join(f"Tag: {tag}\n" for tag in (tags or {}).get(name, "py3-none-any").split())
        (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\n{wheel}")


@pytest.mark.parametrize("site", ["site-packages", "dist-packages"])
def test_versions_come_from_the_packages(tmp_path: Path, site: str) -> None:
    install(
        tmp_path,
        "sglang-0.5.18",
        "torch-2.13.0",
        "sglang_kernel-0.4.6.post1",
        "nvidia_cuda_runtime-13.0.96",
        "sglang_router-0.3.0",
        "torchvision-0.28.0",
        site=site,
    )
    assert read_engine(Live(), str(tmp_path)) == {
        "path": str(tmp_path),
        "python": f"{tmp_path}/bin/python",
        "present": True,
        "reason": None,
        "version": "0.5.18",
        "torch": "2.13.0",
        "cuda": "13.0",
        "kernel": "0.4.6.post1",
        "kernel_package": "sglang-kernel",
        "python_version": "3.12",
        "glibc": read_engine(Live(), "")["glibc"],
        "glibc_needed": None,
        "glibc_needed_by": None,
        "double": False,
    }


def test_older_packages_have_other_names(tmp_path: Path) -> None:
    install(
        tmp_path,
        "sglang-0.5.4.post3",
        "torch-2.8.0+cu129",
        "sgl_kernel-0.3.16.post4",
        "nvidia_cuda_runtime_cu12-12.8.90",
    )
    engine = read_engine(Live(), str(tmp_path))
    assert (engine["kernel"], engine["cuda"]) == ("0.3.16.post4", "12.9")
    assert engine["kernel_package"] == "sgl-kernel"


@pytest.mark.parametrize(
    ("torch", "told", "cuda"),
    [
        ("2.11.0", "__version__ = '2.11.0'\ncuda: Optional[str] = '13.0'\n", "13.0"),
        ("2.9.1", 'cuda = "12.8"\n', "12.8"),
        ("2.9.1+cpu", "cuda: Optional[str] = None\n", None),
        ("2.9.1+cu126", "cuda = '12.8'\n", "12.6"),
    ],
)
def test_torch_tells_its_cuda(tmp_path: Path, torch: str, told: str, cuda: str | None) -> None:
    install(tmp_path, "sglang-0.5.18", f"torch-{torch}")
    package = tmp_path / "lib/python3.12/site-packages/torch"
    package.mkdir()
    (package / "version.py").write_text(told)
    assert read_engine(Live(), str(tmp_path))["cuda"] == cuda


@pytest.mark.parametrize(
    ("config", "version"),
    [
        ("home = /usr/bin\nversion = 3.12.3\n", "3.12.3"),
        ("version_info = 3.12.11.final.0\n", "3.12.11"),
        ("home = /usr/bin\n", "3.12"),
    ],
)
def test_the_version_of_its_interpreter(tmp_path: Path, config: str, version: str) -> None:
    install(tmp_path, "sglang-0.5.18")
    (tmp_path / "pyvenv.cfg").write_text(config)
    assert read_engine(Live(), str(tmp_path))["python_version"] == version


def test_the_c_library_that_the_wheels_need(tmp_path: Path) -> None:
    tags = {
        "sglang": "cp312-cp312-manylinux_2_34_x86_64",
        "sglang_kernel": "cp310-abi3-manylinux2014_x86_64",
        "torch": "cp312-cp312-manylinux_2_39_x86_64 cp312-cp312-manylinux_2_28_x86_64",
    }
    install(tmp_path, "sglang-0.5.18", "torch-2.11.0", "sglang_kernel-0.4.6", tags=tags)
    engine = read_engine(Live(), str(tmp_path))
    assert (engine["glibc_needed"], engine["glibc_needed_by"]) == ("2.34", "sglang")


@pytest.mark.parametrize(
    ("said", "glibc"), [("glibc 2.36\n", "2.36"), ("getconf: unrecognized\n", None)]
)
def test_the_c_library_of_the_host(tmp_path: Path, said: str, glibc: str | None) -> None:
    source = record(tmp_path, {"commands/getconf-glibc.txt": said})
    assert read_engine(source, "")["glibc"] == glibc


def test_a_double_says_that_it_is_one(tmp_path: Path) -> None:
    install(tmp_path, "sglang-0.5.9+double")
    engine = read_engine(Live(), str(tmp_path))
    assert (engine["version"], engine["double"]) == ("0.5.9+double", True)


def test_why_an_engine_is_not_there(tmp_path: Path) -> None:
    assert read_engine(Live(), "")["reason"] == "no engine path was given"
    assert read_engine(Live(), f"{tmp_path}/a")["reason"] == f"there is no folder {tmp_path}/a"
    install(tmp_path / "b", "sglang-0.5.9", python=False)
    assert read_engine(Live(), f"{tmp_path}/b")["reason"] == f"there is no {tmp_path}/b/bin/python"
    install(tmp_path / "c", "torch-2.9.1")
    engine = read_engine(Live(), f"{tmp_path}/c")
    assert (engine["present"], engine["version"]) == (False, None)
    assert engine["reason"] == f"no package sglang below {tmp_path}/c"


def test_a_recorded_engine(tmp_path: Path) -> None:
    assert facts_of("headline", detail=True)["engine"]["kernel"] == "0.4.6.post1"
    source = record(tmp_path, {"engine.json": '{"version": "0.5.9", "other": 1}'})
    engine = read_engine(source, "")
    assert (engine["present"], engine["version"], "other" in engine) == (True, "0.5.9", False)
