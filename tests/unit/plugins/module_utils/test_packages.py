# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What has to be asked of an index to get a version for a CUDA release."""

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._engine.packages import packages_of
from ansible_collections.llmops.sglang.plugins.module_utils._engine.version import KNOWN, Version

PYTORCH = "https://download.pytorch.org/whl/"
SGLANG = "https://docs.sglang.ai/whl/"


@pytest.mark.parametrize(
    ("version", "cuda", "requirements"),
    [
        # On PyPI the builds of a version are for one CUDA release.
        ("0.5.23", 13, ("sglang==0.5.23",)),
        ("0.5.11", 13, ("sglang==0.5.11",)),
        ("0.5.10.post1", 12, ("sglang==0.5.10.post1",)),
        # The oldest keep what they need behind an extra.
        ("0.5.2", 12, ("sglang[all]==0.5.2",)),
        ("0.5.3.post3", 12, ("sglang==0.5.3.post3",)),
    ],
)
def test_pypi_has_what_a_version_is_built_for(
    version: str, cuda: int, requirements: tuple[str, ...]
) -> None:
    packages = packages_of(version, cuda)
    assert (packages.requirements, packages.indexes) == (requirements, ())


@pytest.mark.parametrize(
    ("version", "cuda", "pins", "lane"),
    [
        ("0.5.19", 12, ("torch==2.13.0+cu129", "sglang-kernel==0.4.6.post1+cu129"), "cu129"),
        ("0.5.9", 13, ("torch==2.9.1+cu130", "sgl-kernel==0.3.21+cu130"), "cu130"),
    ],
)
def test_the_other_cuda_release_has_indexes_of_its_own(
    version: str, cuda: int, pins: tuple[str, ...], lane: str
) -> None:
    packages = packages_of(version, cuda)
    assert packages.requirements == (f"sglang=={version}", *pins)
    assert packages.indexes == (PYTORCH + lane, SGLANG + lane)


@pytest.mark.parametrize(
    ("version", "cuda", "says"),
    [
        ("0.5.20", 12, "the last is 0.5.19"),
        ("0.5.3.post3", 13, "the first is 0.5.4"),
        ("0.5.23", 11, "CUDA 11"),
        # Between two known versions nobody knows the pins.
        ("0.5.13", 12, "it is for 0.5.13.post1"),
        ("latest", 13, "latest"),
    ],
)
def test_what_there_is_not_is_said(version: str, cuda: int, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        packages_of(version, cuda)


@pytest.mark.parametrize("version", KNOWN)
def test_every_known_version_has_builds_for_one_release_or_both(version: str) -> None:
    found = {}
    for cuda in (12, 13):
        try:
            found[cuda] = packages_of(version, cuda)
        except ValueError:
            assert (cuda, Version.parse(version) >= "0.5.20") in ((12, True), (13, False))
    assert found
    assert {packages.python for packages in found.values()} == {
        "3.11" if Version.parse(version) >= "0.5.22" else "3.10"
    }
