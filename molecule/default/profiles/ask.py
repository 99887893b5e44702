# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lets the installed engine judge the arguments of every profile, as the gate does for one.

    python ask.py ARGUMENTS.json     by the engine's own interpreter

Reads what arguments.py printed and prints {"NAME": null or what the engine says against it}. The
parser and the checks are SGLang's own. What it asks of the machine is answered for the profile's
GPUs, by torch's functions that would ask the driver; the kernels' packages, which need a GPU to be
imported, are empty.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import json
import os
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import torch

KERNELS = ("sgl_kernel", "flashinfer", "deep_gemm")
MULTIPROCESSORS = {"9.0": 132, "12.0": 188}


class Kernels(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the kernels' packages, empty."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname.split(".")[0] not in KERNELS:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: Any) -> types.ModuleType:
        module = types.ModuleType(spec.name)
        module.__getattr__ = anything  # type: ignore[method-assign]
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """There is nothing in it."""


def anything(name: str) -> Any:
    """What a module without content has of any name, as long as it is no name of Python's own."""
    if name.startswith("__"):
        raise AttributeError(name)
    return MagicMock(name=name)


def lay_cards(capability: str, count: int, memory_mib: int) -> None:
    """Have torch tell of GPUs that are not there."""
    major, minor = map(int, capability.split("."))
    card = types.SimpleNamespace(
        name=f"a GPU of compute capability {capability}",
        major=major,
        minor=minor,
        total_memory=memory_mib << 20,
        multi_processor_count=MULTIPROCESSORS[capability],
    )
    answers: dict[str, Callable[..., Any]] = {
        "is_available": lambda: True,
        "is_initialized": lambda: False,
        "device_count": lambda: count,
        "current_device": lambda: 0,
        "get_device_capability": lambda device=None: (major, minor),
        "get_device_name": lambda device=None: card.name,
        "get_device_properties": lambda device=None: card,
        "mem_get_info": lambda device=None: (card.total_memory, card.total_memory),
    }
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)
    torch.version.cuda = "13.0"
    from sglang.srt.utils import common

    common.get_nvgpu_memory_capacity = lambda: float(memory_mib)


def judge(entry: dict[str, Any]) -> str | None:
    """What the engine says against one command line."""
    lay_cards(entry["capability"], entry["gpus"], entry["memory_mib"])
    from sglang.srt.server_args import prepare_server_args

    try:
        arguments = prepare_server_args(entry["argv"])
        arguments.resolve_once()
        arguments.check_server_args()
    except SystemExit:
        return "refused by argparse, see stderr"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return None


def judge_alike(entries: dict[str, Any]) -> dict[str, Any]:
    """The verdicts on all profiles for GPUs of one kind: the engine is imported once for them."""
    first = next(iter(entries.values()))
    lay_cards(first["capability"], first["gpus"], first["memory_mib"])
    import sglang.srt.server_args  # noqa: F401

    return {name: apart(judge, entry) for name, entry in entries.items()}


def apart(work: Callable[[Any], Any], given: Any) -> Any:
    """Do it in a process of its own: a judgement leaves its traces in the engine's modules."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with os.fdopen(writer, "w") as pipe:
            json.dump(work(given), pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return json.loads(told) if told else "the engine ended without a word"


def main() -> None:
    """Write the configurations, ask, and print the verdicts."""
    asked: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    for entry in asked.values():
        for path, config in entry["models"].items():
            Path(path).mkdir(parents=True, exist_ok=True)
            (Path(path) / "config.json").write_text(json.dumps(config), encoding="utf-8")
    # No platform of the lab, which would have its own answers.
    os.environ["SGLANG_PLUGINS"] = "none"
    os.environ.pop("SGLANG_PLATFORM", None)
    sys.meta_path.insert(0, Kernels())
    for name in ("nms", "qnms"):
        schema = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
        torch.library.define(f"torchvision::{name}", schema)
    verdicts: dict[str, Any] = {}
    for capability in sorted({entry["capability"] for entry in asked.values()}):
        alike = {n: entry for n, entry in asked.items() if entry["capability"] == capability}
        verdicts.update(apart(judge_alike, alike))
    print("\n" + json.dumps(verdicts))


if __name__ == "__main__":
    main()
