# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The environment of the engine's process, each variable with its reason.

Private to the collection. `sglang_environment` wins over everything here, except that a secret
never gets in: the environment stands in the unit, which every user of the host can read.
"""

from __future__ import annotations

import re
from typing import Any

from .._layout import cache_folder, state_folder
from .arguments import text_of
from .nccl import nccl_environment
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

_SPEC_V2_SINCE, _SPEC_V2_BEFORE = "0.5.4", "0.5.14"

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
        add(name, f"{cache_folder(instance)}/{folder}".rstrip("/"), _CACHE_REASON)
    if wishes["sglang_offline"]:
        for name in _OFFLINE:
            add(name, "1", _OFFLINE_REASON)
    if _wants_spec_v2(wishes, version):
        add("SGLANG_ENABLE_SPEC_V2", "1", "this version overlaps speculation only when told to")
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


def _wants_spec_v2(wishes: dict[str, Any], version: Version) -> bool:
    return (
        bool(wishes["sglang_speculative_algorithm"])
        and bool(wishes["sglang_overlap_schedule"])
        and _SPEC_V2_SINCE <= version < _SPEC_V2_BEFORE
    )


def _environment_text(value: Any) -> str:
    # Programs read 0 and 1 where YAML says false and true.
    return str(int(value)) if isinstance(value, bool) else text_of(value)
