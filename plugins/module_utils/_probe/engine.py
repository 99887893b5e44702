# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The installed engine, read from its files: no interpreter is started for it.

This module util is private to the llmops.sglang collection.
"""

from __future__ import annotations

import re
import typing as t

from .source import Source, read_json

Facts = dict[str, t.Any]

# Newest name first: up to 0.5.9 the kernels were called otherwise.
_KERNELS = ("sglang-kernel", "sgl-kernel")
_PACKAGES = re.compile(
    r"(sglang|torch|sgl_kernel|sglang_kernel|nvidia_cuda_runtime(?:_cu[0-9]+)?)-(.+)\.dist-info",
    re.IGNORECASE,
)
# The C library that a wheel's tag asks for: by its version, before that by a year or a number.
_GLIBC_TAG = re.compile(r"manylinux(?:_([0-9]{1,3})_([0-9]{1,3})|(1|2010|2014))_")
_GLIBC_BY_NAME = {"1": (2, 5), "2010": (2, 12), "2014": (2, 17)}
_HEAD_BYTES = 4096
_TIMEOUT_S = 10.0

_Release = tuple[int, int]


class _Package(t.NamedTuple):
    """An installed package, and the folders of its metadata and of its modules."""

    version: str
    info: str
    site: str


def read_engine(source: Source, path: str) -> Facts:
    """The C(engine) part of the facts."""
    python = f"{path}/bin/python" if path else None
    facts: Facts = {
        "path": path,
        "python": python,
        "present": False,
        "reason": None,
        "version": None,
        "torch": None,
        "cuda": None,
        "kernel": None,
        "kernel_package": None,
        "python_version": None,
        "glibc": _glibc(source),
        "glibc_needed": None,
        "glibc_needed_by": None,
        "double": False,
    }
    recorded = read_json(source, "/engine.json")
    if source.origin == "recording" and isinstance(recorded, dict):
        facts.update({name: recorded[name] for name in facts if name in recorded})
        facts["present"] = recorded.get("present", facts["version"] is not None)
    elif not path:
        facts["reason"] = "no engine path was given"
    else:
        packages = _packages(source, path)
        facts.update(_versions(source, packages), python_version=_python(source, path))
        facts["present"] = source.exists(f"{path}/bin/python") and facts["version"] is not None
        facts["reason"] = _absence(source, facts)
    # A stand-in of the engine, made for tests, says so in its local version.
    facts["double"] = "+" in (facts["version"] or "") and "double" in facts["version"]
    return facts


def _versions(source: Source, packages: dict[str, _Package]) -> Facts:
    """What the packages tell of themselves and of what they need."""
    kernel = next((name for name in _KERNELS if name in packages), None)
    sglang, torch = packages.get("sglang"), packages.get("torch")
    needs = {name: _glibc_of_wheel(source, package) for name, package in packages.items()}
    needed, by = max(
        ((release, name) for name, release in needs.items() if release), default=(None, None)
    )
    return {
        "version": sglang.version if sglang else None,
        "torch": torch.version if torch else None,
        "cuda": _cuda(source, packages),
        "kernel": packages[kernel].version if kernel else None,
        "kernel_package": kernel,
        "glibc_needed": "{}.{}".format(*needed) if needed else None,
        "glibc_needed_by": by,
    }


def _absence(source: Source, facts: Facts) -> str | None:
    if facts["present"]:
        return None
    if not source.exists(facts["path"]):
        return f"there is no folder {facts['path']}"
    if not source.exists(facts["python"]):
        return f"there is no {facts['python']}"
    return f"no package sglang below {facts['path']}"


def _packages(source: Source, path: str) -> dict[str, _Package]:
    """The packages that matter, by their names with dashes."""
    found: dict[str, _Package] = {}
    for python in source.listing(f"{path}/lib", r"^python3"):
        for folder in ("site-packages", "dist-packages"):
            site = f"{path}/lib/{python}/{folder}"
            for name in source.listing(site, r"\.dist-info$"):
                match = _PACKAGES.fullmatch(name)
                if match:
                    info = f"{site}/{name}"
                    version = _field(source, f"{info}/METADATA", "Version") or match[2]
                    found[match[1].lower().replace("_", "-")] = _Package(version, info, site)
    return found


def _field(source: Source, path: str, name: str) -> str | None:
    """The first value of a field of a package's metadata."""
    match = re.search(rf"^{name}: *(\S+)", _head(source, path), re.M)
    return match[1] if match else None


def _head(source: Source, path: str) -> str:
    return (source.read_head(path, 0, _HEAD_BYTES) or b"").decode("utf-8", "replace")


def _cuda(source: Source, packages: dict[str, _Package]) -> str | None:
    """The CUDA that the wheels were built for: torch's suffix (cu130), torch's own word for it,
    else the package of the runtime."""
    torch = packages.get("torch")
    suffix = re.search(r"\+cu([0-9]+)([0-9])$", torch.version) if torch else None
    if suffix:
        return f"{suffix[1]}.{suffix[2]}"
    told = _head(source, f"{torch.site}/torch/version.py") if torch else ""
    own = re.search(r"^cuda\b[^=\n]*= *['\"]([0-9]+\.[0-9]+)", told, re.M)
    if own:
        return own[1]
    runtime = next((p for name, p in packages.items() if name.startswith("nvidia-cuda")), None)
    return ".".join(runtime.version.split(".")[:2]) if runtime else None


def _python(source: Source, path: str) -> str | None:
    """Version of the interpreter, as the virtual environment or else its folder tells."""
    told = re.search(r"^version(?:_info)? *= *([0-9.]+)", _head(source, f"{path}/pyvenv.cfg"), re.M)
    if told:
        return ".".join(told[1].split(".")[:3])
    folders = source.listing(f"{path}/lib", r"^python3\.[0-9]+$")
    return folders[-1][len("python") :] if folders else None


def _glibc(source: Source) -> str | None:
    """Version of the host's C library; None where it is another one."""
    said = source.command("getconf-glibc.txt", ["getconf", "GNU_LIBC_VERSION"], _TIMEOUT_S)
    match = re.match(r"glibc ([0-9]+\.[0-9]+)", said.text)
    return match[1] if match else None


def _glibc_of_wheel(source: Source, package: _Package) -> _Release | None:
    """The oldest C library that a wheel says it runs with; None when it does not say."""
    tags = _GLIBC_TAG.findall(_head(source, f"{package.info}/WHEEL"))
    releases = [
        _GLIBC_BY_NAME[name] if name else (int(major), int(minor)) for major, minor, name in tags
    ]
    return min(releases, default=None)
