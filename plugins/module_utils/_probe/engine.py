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

_KERNELS = ("sglang-kernel", "sgl-kernel")


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
        torch = packages.get("torch")
        facts.update(
            version=packages.get("sglang"),
            torch=torch,
            cuda=_cuda(packages, torch),
            kernel=next((packages[name] for name in _KERNELS if name in packages), None),
        )
        facts["present"] = source.exists(f"{path}/bin/python") and facts["version"] is not None
        facts["reason"] = _absence(source, facts)
    # A stand-in of the engine, made for tests, says so in its local version.
    facts["double"] = "+" in (facts["version"] or "") and "double" in facts["version"]
    return facts


def _absence(source: Source, facts: Facts) -> str | None:
    if facts["present"]:
        return None
    if not source.exists(facts["path"]):
        return f"there is no folder {facts['path']}"
    if not source.exists(facts["python"]):
        return f"there is no {facts['python']}"
    return f"no package sglang below {facts['path']}"


def _packages(source: Source, path: str) -> dict[str, str]:
    """Name (with dashes) -> version of the packages that matter."""
    found: dict[str, str] = {}
    for python in source.listing(f"{path}/lib"):
        if not python.startswith("python3"):
            continue
        for folder in ("site-packages", "dist-packages"):
            for name in source.listing(f"{path}/lib/{python}/{folder}"):
                match = re.match(
                    r"((?:sglang|torch|sgl_kernel|sglang_kernel|"
                    r"nvidia_cuda_runtime(?:_cu\d+)?))-(.+)\.dist-info$",
                    name,
                    re.I,
                )
                if match:
                    metadata = f"{path}/lib/{python}/{folder}/{name}/METADATA"
                    found[match[1].lower().replace("_", "-")] = (
                        _version(source, metadata) or match[2]
                    )
    return found


def _version(source: Source, metadata: str) -> str | None:
    head = source.read_head(metadata, 0, 2048) or b""
    match = re.search(rb"^Version: *(\S+)", head, re.M)
    return match[1].decode("utf-8", "replace") if match else None


def _cuda(packages: dict[str, str], torch: str | None) -> str | None:
    """The CUDA the wheels were built for: torch's suffix (cu130), else the runtime's package."""
    suffix = re.search(r"\+cu(\d+)(\d)$", torch or "")
    if suffix:
        return f"{suffix[1]}.{suffix[2]}"
    runtime = next(
        (version for name, version in packages.items() if name.startswith("nvidia-cuda-runtime")),
        None,
    )
    return ".".join(runtime.split(".")[:2]) if runtime else None
