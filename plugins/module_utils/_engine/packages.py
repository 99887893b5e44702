# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What has to be asked of a package index to get one SGLang version, by CUDA release.

Private to the collection.
"""

from __future__ import annotations

from dataclasses import dataclass

from .releases import requirements_of
from .version import KNOWN, Version

_FIRST_WITHOUT_EXTRA = "0.5.3"
_FIRST_CUDA_13_BY_DEFAULT = "0.5.11"
# Before, the package of the kernels was called otherwise.
_FIRST_SGLANG_KERNEL = "0.5.10"
# CUDA release: name of its builds, first and last version that had them.
_LANES = {12: ("cu129", KNOWN[0], "0.5.19"), 13: ("cu130", "0.5.4", None)}
_INDEXES = ("https://download.pytorch.org/whl/{lane}", "https://docs.sglang.ai/whl/{lane}")


@dataclass(frozen=True)
class Packages:
    """Requirements in pip's format, indexes to ask beside PyPI, and the oldest Python, "3.11"."""

    requirements: tuple[str, ...]
    indexes: tuple[str, ...]
    python: str


def packages_of(text: str, cuda: int) -> Packages:
    """Return what installs an SGLang version for a CUDA release, 12 or 13.

    Raises ValueError for a version or CUDA release that there are no builds of.
    """
    version = Version.parse(text)
    extra = "[all]" if version < _FIRST_WITHOUT_EXTRA else ""
    requirements: tuple[str, ...] = (f"sglang{extra}=={text}",)
    indexes: tuple[str, ...] = ()
    if cuda not in _LANES:
        raise ValueError(f"CUDA {cuda}: SGLang is built for {' and '.join(map(str, _LANES))}")
    if cuda != (13 if version >= _FIRST_CUDA_13_BY_DEFAULT else 12):
        lane = _lane(version, cuda)
        torch, kernel = _pins(version)
        requirements += (f"torch=={torch}+{lane}", f"{kernel}+{lane}")
        indexes = tuple(index.format(lane=lane) for index in _INDEXES)
    return Packages(requirements, indexes, requirements_of(version)["python"])


def _lane(version: Version, cuda: int) -> str:
    """The name of the builds for a CUDA release that is not the version's own."""
    lane, first, last = _LANES[cuda]
    if version < first:
        raise ValueError(f"SGLang {version} has no builds for CUDA {cuda}; the first is {first}")
    if last is not None and version > last:
        raise ValueError(f"SGLang {version} has no builds for CUDA {cuda}; the last is {last}")
    return lane


def _pins(version: Version) -> tuple[str, str]:
    """The torch and the kernels that a version's wheel asks for, where PyPI has other builds."""
    near, same = version.nearest_known()
    if not same:
        raise ValueError(
            f"which torch and kernels SGLang {version} needs is not known here (it is for {near})"
        )
    needs = requirements_of(near)
    kernel = "sglang-kernel" if version >= _FIRST_SGLANG_KERNEL else "sgl-kernel"
    return needs["torch"], f"{kernel}=={needs['kernel']}"
