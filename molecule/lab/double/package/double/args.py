# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The double's command line: what the version accepts, refuses, and makes of it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sglang

from .flags import FlagTable, flags_of
from .version import Version

VERSION = Version.parse(sglang.__version__)
EAGLE = ("EAGLE", "EAGLE3", "NEXTN")
ALGORITHMS = (*EAGLE, "STANDALONE", "NGRAM", "DFLASH", "DSPARK", "UNO")

# Where the parser's name of an older version differs from the field it fills.
FIELDS = {
    "tensor_parallel_size": "tp_size",
    "pipeline_parallel_size": "pp_size",
    "data_parallel_size": "dp_size",
    "expert_parallel_size": "ep_size",
}


class ServerArgs:
    """Every flag of the version as an attribute, plus `argv` after the config file went in."""

    def __init__(self, values: dict[str, Any], argv: Sequence[str]) -> None:
        self.values = values
        self.argv = list(argv)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["values"][name]
        except KeyError:
            raise AttributeError(name) from None

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a flag that not every version has."""
        value = self.values.get(name)
        return default if value is None else value

    @property
    def ranks(self) -> int:
        """Scheduler processes on this node."""
        return int(self.tp_size * self.pp_size // self.nnodes)

    @property
    def speculates(self) -> bool:
        """Whether a draft model of the EAGLE family runs beside the target."""
        return self.speculative_algorithm in EAGLE and bool(self.speculative_draft_model_path)

    def resolve_once(self) -> None:
        """Refuse combinations as the engine does, then fill in what it chooses itself."""
        self._refuse_cache_conflicts()
        self._refuse_speculation_conflicts()
        if self.speculative_algorithm in EAGLE:
            self._resolve_speculation()
        if VERSION >= "0.5.21" and (self.hicache_ratio or self.hicache_size):
            self.values["hicache_host_memory_fraction"] = None
        defaults = {
            "chunked_prefill_size": 8192,
            "page_size": 1,
            "served_model_name": self.model_path,
        }
        for name, value in defaults.items():
            if self.values.get(name) is None:
                self.values[name] = value

    def check_server_args(self) -> None:
        """Refuse what the engine refuses last."""
        if self.tp_size * self.pp_size % self.nnodes:
            raise AssertionError("tp_size must be divisible by number of nodes")
        if ":" in (self.served_model_name or ""):
            raise AssertionError("served_model_name cannot contain a colon (':')")

    def _refuse_cache_conflicts(self) -> None:
        if not self.enable_hierarchical_cache:
            return
        if self.disable_radix_cache:
            raise ValueError(
                "The arguments enable-hierarchical-cache and disable-radix-cache are mutually "
                "exclusive and cannot be used at the same time. Please use only one of them."
            )
        if self.get("enable_lmcache"):
            raise ValueError("enable-hierarchical-cache cannot be used with enable-lmcache.")
        if not 0 < self.get("hicache_host_memory_fraction", 1) <= 1:
            raise ValueError("--hicache-host-memory-fraction must be in (0, 1].")
        buffers_only = self.get("hicache_host_memory_mode") == "buffer_only"
        if buffers_only and not self.hicache_storage_backend:
            raise ValueError("--hicache-host-memory-mode buffer_only needs a storage backend.")

    def _refuse_speculation_conflicts(self) -> None:
        algorithm = self.speculative_algorithm
        if algorithm is None:
            return
        if algorithm not in ALGORITHMS:
            raise ValueError(f"Unknown speculative algorithm name: {algorithm}")
        steps, topk = self.speculative_num_steps, self.speculative_eagle_topk
        if algorithm in EAGLE:
            if self.pp_size > 1:
                raise AssertionError("Pipeline parallelism currently only supports EAGLE")
            if steps is None and topk is not None:
                raise AssertionError
            if steps is not None and topk is None:
                raise TypeError("'>' not supported between instances of 'NoneType' and 'int'")
        spec_v2 = os.environ.get("SGLANG_ENABLE_SPEC_V2", "").lower() in ("1", "true")
        if "0.5.4" <= VERSION < "0.5.11" and spec_v2 and topk not in (None, 1):
            raise ValueError("Spec v2 currently only supports topk = 1 for speculative decoding.")

    def _resolve_speculation(self) -> None:
        values = self.values
        if values["speculative_num_steps"] is None:
            values.update(
                speculative_num_steps=3, speculative_eagle_topk=1, speculative_num_draft_tokens=4
            )
        if values["speculative_eagle_topk"] == 1:
            values["speculative_num_draft_tokens"] = values["speculative_num_steps"] + 1
        if values["max_running_requests"] is None:
            values["max_running_requests"] = 48


def prepare_server_args(argv: Sequence[str]) -> ServerArgs:
    """Read a command line as the version does; exits with status 2 where its parser does."""
    table = flags_of(VERSION)
    if "--config" in argv and table.resolve("--config"):
        argv = _merge_config(list(argv), table)
    parsed = table.parse(argv)
    if parsed.problems:
        program = "sglang serve" if VERSION >= "0.5.22" else "launch_server.py"
        print(f"usage: {program} [-h] --model-path MODEL_PATH ...", file=sys.stderr)
        print(f"{program}: error: {parsed.problems[0]}", file=sys.stderr)
        sys.exit(2)
    values = {FIELDS.get(name, name): value for name, value in parsed.values.items()}
    return ServerArgs(values, argv)


def _merge_config(argv: list[str], table: FlagTable) -> list[str]:
    """Put the content of `--config FILE` before the other arguments.

    The file may be any YAML upstream; the double reads the JSON that is YAML too.
    """
    at = argv.index("--config")
    if at + 1 == len(argv):
        raise ValueError("No config file specified after --config flag!")
    path = Path(argv[at + 1])
    if path.suffix.lower() not in (".yaml", ".yml"):
        raise ValueError(f"Config file must be YAML format, got: {path.suffix}")
    content = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(content, dict):
        raise ValueError("Config file must contain a dictionary at root level")
    merged: list[str] = []
    for key, value in content.items():
        flag = table.resolve(f"--{key}")
        if flag is not None and flag.action == "store_true":
            merged += [f"--{key}"] if value else []
        elif isinstance(value, list):
            merged += [f"--{key}", *map(str, value)]
        else:
            merged += [f"--{key}", json.dumps(value) if isinstance(value, dict) else str(value)]
    return merged + argv[:at] + argv[at + 2 :]
