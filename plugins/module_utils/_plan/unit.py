# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The systemd unit of one instance, as structured data. Private to the collection.

Sections are ``[name, [[key, value], ...]]``; the key ``#`` is a comment. Values keep their type
(text, number, list of words, argument vector, environment); writing them is the renderer's work.
"""

from __future__ import annotations

from typing import Any

from .._engine.version import Version
from .._layout import (
    CREDENTIAL,
    TIER_KEY,
    TIER_SECTION,
    secrets_file,
    service_folder,
    state_folder,
    unit_name,
)
from .crash_note import crash_note
from .deadlines import deadlines, unpin_s
from .fingerprint import tier_fingerprint

Settings = list[list[Any]]

_FIRST_CLEAN_EXIT = "0.5.19"
_START_ATTEMPTS = 5


def build_unit(
    wishes: dict[str, Any],
    capacity: dict[str, Any],
    facts: dict[str, Any],
    argv: list[str],
    environment: dict[str, str],
) -> list[list[Any]]:
    """Return the sections of the unit that runs `argv` with `environment`."""
    bounds = deadlines(facts, wishes, capacity)
    restart_s = 15 + unpin_s(facts, capacity)
    return [
        ["Unit", _unit(wishes, bounds["start_s"], restart_s)],
        [
            "Service",
            [
                *_identity(wishes),
                *_secrets(wishes),
                ["Environment", environment],
                ["ExecStart", argv],
                *_lifecycle(wishes["sglang_instance"], capacity, bounds, restart_s),
                *_limits(),
                *_sandbox(),
            ],
        ],
        ["Install", [["WantedBy", "multi-user.target"]]],
        # systemd passes over sections of this name; the next plan reads it.
        [TIER_SECTION, [[TIER_KEY, tier_fingerprint(wishes)]]],
    ]


def _unit(wishes: dict[str, Any], start_s: int, restart_s: int) -> Settings:
    before = [
        "network-online.target",
        "nvidia-persistenced.service",
        "nvidia-fabricmanager.service",
    ]
    paths = [
        wishes["sglang_engine_path"],
        wishes["sglang_model_path"],
        wishes["sglang_model_draft_path"],
    ]
    served = wishes["sglang_served_model_name"] or wishes["sglang_model_path"]
    return [
        ["Description", f"SGLang server {wishes['sglang_instance']} ({served})"],
        ["Documentation", "https://github.com/sgl-project/sglang"],
        ["#", "Wants, not Requires: a host without these services still starts the server."],
        ["Wants", before],
        ["After", before],
        ["RequiresMountsFor", [path for path in paths if path.startswith("/")]],
        ["#", f"Give up when {_START_ATTEMPTS} starts in a row failed, however slowly they did."],
        ["StartLimitIntervalSec", _START_ATTEMPTS * (start_s + restart_s)],
        ["StartLimitBurst", _START_ATTEMPTS],
    ]


def _identity(wishes: dict[str, Any]) -> Settings:
    instance = wishes["sglang_instance"]
    return [
        ["Type", "exec"],
        ["User", wishes["sglang_user"]],
        ["Group", wishes["sglang_group"]],
        ["SyslogIdentifier", unit_name(instance).rsplit(".", 1)[0]],
        ["StateDirectory", [service_folder(instance)]],
        ["StateDirectoryMode", "0750"],
        ["CacheDirectory", [service_folder(instance)]],
        ["CacheDirectoryMode", "0750"],
        ["WorkingDirectory", state_folder(instance)],
        ["UMask", "0027"],
    ]


def _secrets(wishes: dict[str, Any]) -> Settings:
    if not wishes.get("sglang_secrets_present"):
        return []
    source = secrets_file(wishes["sglang_instance"])
    return [
        ["#", "Keys reach the engine as a file that only this process sees."],
        ["LoadCredential", f"{CREDENTIAL}:{source}"],
    ]


def _lifecycle(
    instance: str, capacity: dict[str, Any], bounds: dict[str, int], restart_s: int
) -> Settings:
    return [
        ["#", "SIGTERM to the main process alone: it drains its requests; a signal to the"],
        ["#", "schedulers would cut them. What is left at the bound is killed."],
        ["KillMode", "mixed"],
        ["KillSignal", "SIGTERM"],
        ["SendSIGKILL", True],
        ["#", "drain bound + 75 s of the engine's own waiting + release of pinned memory"],
        ["TimeoutStopSec", bounds["stop_s"]],
        ["TimeoutStartSec", bounds["start_s"]],
        *_exit_status(Version.parse(capacity["engine_version"])),
        ["#", "always: the launcher can end with status 0 when one of its children crashed."],
        ["Restart", "always"],
        ["#", "the memory pinned before must be free again"],
        ["RestartSec", restart_s],
        ["#", "An end that nobody asked for is a line in the diary of the instance."],
        ["ExecStopPost", crash_note(instance)],
        ["#", "One rank killed for memory leaves a server that hangs: end all of it."],
        ["OOMPolicy", "stop"],
        ["#", "Prefer small neighbours as victims, without shielding a pool that is too large."],
        ["OOMScoreAdjust", -100],
    ]


def _exit_status(version: Version) -> Settings:
    if version >= _FIRST_CLEAN_EXIT:
        return []
    return [
        ["#", "Up to 0.5.18 the main process ends a clean stop with SIGKILL on itself."],
        ["SuccessExitStatus", "SIGKILL"],
    ]


def _limits() -> Settings:
    return [
        ["#", "Host pools are pinned, one descriptor per connection, no core of hundreds of GB."],
        ["LimitMEMLOCK", "infinity"],
        ["LimitNOFILE", 1048576],
        ["LimitCORE", 0],
        ["TasksMax", "infinity"],
        ["#", "A capacity line lost to rate limiting would look like a pool that is not there."],
        ["LogRateLimitIntervalSec", 0],
    ]


def _sandbox() -> Settings:
    return [
        ["#", "Model and engine are read-only. No PrivateDevices, PrivateIPC, ProtectClock or"],
        ["#", "MemoryDenyWriteExecute: GPUs, /dev/shm and compiled kernels are needed."],
        ["ProtectSystem", "strict"],
        ["PrivateTmp", True],
        ["#", "Semaphores and pools in /dev/shm that a killed process leaves behind."],
        ["RemoveIPC", True],
        ["NoNewPrivileges", True],
        ["ProtectControlGroups", True],
        ["ProtectKernelTunables", True],
        ["RestrictSUIDSGID", True],
        ["LockPersonality", True],
    ]
