# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The environment of the engine's process, each variable with its reason.

Private to the collection. `sglang_environment` wins over everything here, except that a secret
never gets in: the environment stands in the unit, which every user of the host can read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._layout import cache_folder, state_folder
from .arguments import text_of
from .nccl import nccl_environment
from .releases import reads_variable
from .version import Version

Environment = dict[str, dict[str, str]]

_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_CUDA_PATH = "/usr/local/cuda/bin"

# NAME: folder below the instance's cache folder ("" is that folder itself).
_CACHES = {
    "XDG_CACHE_HOME": "",
    "HF_HOME": "huggingface",
    "SGLANG_CACHE_DIR": "sglang",
    "SGLANG_DG_CACHE_DIR": "deep_gemm",
    "TRITON_CACHE_DIR": "triton",
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "CUDA_CACHE_PATH": "cuda",
    # FlashInfer makes .cache/flashinfer below its base.
    "FLASHINFER_WORKSPACE_BASE": "",
}
_CACHE_REASON = "compiled kernels survive a restart; without them the next start takes minutes more"

_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
_OFFLINE_REASON = "the model is a local folder: no library may wait for a hub"


@dataclass(frozen=True)
class Told:
    """Something the engine is told by environment variables, where its version reads them.

    `value` is the text for the variables, None to say nothing (default: the role variable's own).
    """

    variable: str
    names: tuple[str, ...]
    reason: str
    value: Callable[[dict[str, Any]], str | None] | None = None

    def text(self, wishes: dict[str, Any]) -> str | None:
        """What to say, None for nothing."""
        if self.value is not None:
            return self.value(wishes)
        wish = wishes[self.variable]
        return None if wish in (None, "") else _environment_text(wish)


def _overlapped_speculation(wishes: dict[str, Any]) -> str | None:
    wanted = wishes["sglang_speculative_algorithm"] and wishes["sglang_overlap_schedule"]
    return "1" if wanted else None


def _numa_binding(wishes: dict[str, Any]) -> str | None:
    return {"on": "1", "off": "0"}.get(wishes["sglang_numa_bind"])


def _pcie_all_reduce(wishes: dict[str, Any]) -> str | None:
    return "1" if wishes["sglang_pcie_all_reduce"] else None


_TOLD = (
    Told(
        "sglang_overlap_schedule",
        ("SGLANG_ENABLE_SPEC_V2",),
        "this version overlaps speculation only when told to",
        _overlapped_speculation,
    ),
    Told(
        "sglang_pcie_all_reduce",
        ("SGLANG_ENABLE_PCIE_IPC_ALLREDUCE",),
        "all-reduce of GPUs without NVLink through each other's memory",
        _pcie_all_reduce,
    ),
    Told(
        "sglang_numa_bind",
        ("SGLANG_AUTO_NUMA_BIND",),
        "whether each rank stays on the cores and in the memory of its GPU's NUMA node",
        _numa_binding,
    ),
    Told("sglang_hugepage_size", ("SGLANG_HUGEPAGE_SIZE",), "host pools come from huge pages"),
    Told(
        "sglang_socket_interface",
        ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"),
        "the nodes of one engine meet on this interface; left alone, they may choose loopback",
    ),
    Told(
        "sglang_warmup_timeout_s",
        ("SGLANG_WARMUP_TIMEOUT",),
        "seconds for the request with which the engine warms itself up",
    ),
    Told(
        "sglang_request_waiting_timeout_s",
        ("SGLANG_REQ_WAITING_TIMEOUT",),
        "seconds a request may wait before it is ended",
    ),
    Told(
        "sglang_request_running_timeout_s",
        ("SGLANG_REQ_RUNNING_TIMEOUT",),
        "seconds a request may run before it is ended, which bounds a drain",
    ),
    Told(
        "sglang_keep_alive_s",
        ("SGLANG_TIMEOUT_KEEP_ALIVE",),
        "seconds an idle connection stays open; a proxy should close it first",
    ),
)

_SECRET_NAME = re.compile(
    r"(?:API_?KEY|ACCESS_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(?:_|$)", re.IGNORECASE
)


def build_environment(
    wishes: dict[str, Any], capacity: dict[str, Any], facts: dict[str, Any], version: Version
) -> Environment:
    """Return ``{NAME: {"value": text, "reason": text}}`` in a stable order.

    Variables of `sglang_environment` whose name looks like that of a secret are left out; a rule
    refuses them (`secret_names`).
    """
    instance = wishes["sglang_instance"]
    environment: Environment = {}

    def add(name: str, value: str, reason: str) -> None:
        environment[name] = {"value": value, "reason": reason}

    add("HOME", state_folder(instance), "libraries keep their settings and locks at home")
    add(
        "PATH",
        f"{wishes['sglang_engine_path']}/bin:{_CUDA_PATH}:{_SYSTEM_PATH}",
        "kernels are compiled at run time with the engine's ninja and the system's nvcc",
    )
    add("PYTHONUNBUFFERED", "1", "a line reaches the journal when it is printed")
    for name, folder in _CACHES.items():
        if reads_variable(name, version) is not False:
            add(name, f"{cache_folder(instance)}/{folder}".rstrip("/"), _CACHE_REASON)
    if wishes["sglang_offline"]:
        for name in _OFFLINE:
            add(name, "1", _OFFLINE_REASON)
    for told in _TOLD:
        text = told.text(wishes)
        if text is None:
            continue
        for name in told.names:
            if reads_variable(name, version) is not False:
                add(name, text, told.reason)
    for name, (value, reason) in nccl_environment(wishes, facts).items():
        add(name, value, reason)
    for name, value in sorted((wishes.get("sglang_environment") or {}).items()):
        if name in secret_names(wishes):
            continue
        # None takes a variable away.
        environment.pop(name, None)
        if value is not None:
            add(name, _environment_text(value), "sglang_environment")
    return environment


def secret_names(wishes: dict[str, Any]) -> list[str]:
    """Return the names in `sglang_environment` that look like those of secrets."""
    return sorted(
        str(name)
        for name in wishes.get("sglang_environment") or {}
        if _SECRET_NAME.search(str(name))
    )


def unheard_variables(wishes: dict[str, Any], version: Version) -> dict[str, str]:
    """Return the role variables that say something this version does not listen to.

    Each comes with the name of the environment variable that would carry it. Overlap is left out:
    where no variable is read, it needs none.
    """
    return {
        told.variable: told.names[0]
        for told in _TOLD
        if told.variable != "sglang_overlap_schedule"
        and told.text(wishes) is not None
        and reads_variable(told.names[0], version) is False
    }


def unread_names(wishes: dict[str, Any], version: Version) -> list[str]:
    """Return the names in `sglang_environment` that only other versions read."""
    return sorted(
        str(name)
        for name, value in (wishes.get("sglang_environment") or {}).items()
        if value is not None and reads_variable(str(name), version) is False
    )


def _environment_text(value: Any) -> str:
    # Programs read 0 and 1 where YAML says false and true.
    return str(int(value)) if isinstance(value, bool) else text_of(value)
