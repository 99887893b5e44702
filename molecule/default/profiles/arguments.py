# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints, as JSON, what each profile says to SGLang 0.5.23 on the hardware it is for.

    {"NAME": {"argv": [...], "models": {"/tmp/profiles/NAME": {config.json}}, "capability": "9.0",
              "gpus": 8, "memory_mib": 143360}}

Run on the controller. The host tier is a ratio, as a plan would choose one on most hosts.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[3]
FOLDER = "/tmp/profiles"
# Most profiles are for it, and the engine is imported once for each.
USUAL = "9.0"
sys.path.insert(0, str(ROOT))

from plugins.module_utils._engine.arguments import build_arguments, to_argv  # noqa: E402
from plugins.module_utils._engine.profile import (  # noqa: E402
    profile,
    profile_names,
    with_profile,
)
from plugins.module_utils._engine.version import Version  # noqa: E402

CONFIGS = json.loads(Path(__file__).with_name("configs.json").read_text(encoding="utf-8"))
DEFAULTS = yaml.safe_load((ROOT / "roles/sglang/defaults/main.yml").read_text(encoding="utf-8"))


def arguments_of(name: str) -> dict[str, Any]:
    """The command line of one profile and the configurations it names."""
    found = profile(name)
    hardware = found["hardware"]
    model = f"{FOLDER}/{name}"
    needs = {needed: f"{model}-draft" for needed in found["needs"]}
    wishes = with_profile(
        {**DEFAULTS, **needs, "sglang_profile": name, "sglang_model_path": model}, needs, DEFAULTS
    )
    offered = hardware["compute_capability"]
    capability = USUAL if USUAL in offered else offered[0]
    devices = [{"compute_capability": capability}] * hardware["gpus"]
    facts = {"gpu": {"devices": devices, "topology": next(iter(hardware["links"]), None)}}
    tier = {"host": {"mode": "ratio", "ratio": 2.0}}
    arguments, findings = build_arguments(wishes, tier, facts, Version.parse("0.5.23"))
    if findings:
        raise SystemExit(str(findings))
    models = {model: CONFIGS[name]}
    models.update({path: CONFIGS[f"{name}-draft"] for path in needs.values()})
    return {
        "argv": to_argv(arguments),
        "models": models,
        "capability": capability,
        "gpus": hardware["gpus"],
        "memory_mib": (hardware["gpu_memory_gib"] + 1) * 1024,
    }


def main() -> None:
    """Print all of them, and a planted one that the engine must refuse."""
    asked = {name: arguments_of(name) for name in profile_names()}
    planted = arguments_of("qwen3-8b-x1")
    asked["planted"] = {**planted, "argv": [*planted["argv"], "--swa-full-tokens-ratio", "2"]}
    print(json.dumps(asked))


if __name__ == "__main__":
    main()
