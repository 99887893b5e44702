# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A model folder: its geometry, its weights and whether they are all there.

This module util is private to the llmops.sglang collection.

Its configuration tells the geometry, its files tell whether the engine can load it.
"""

from __future__ import annotations

import typing as t

from .geometry import read_geometry
from .source import Source, parse_json, read_json
from .weights import is_single_file, read_weights

Facts = dict[str, t.Any]


def read_model(source: Source, part: str, path: str) -> Facts:
    """The C(model) or C(draft) part of the facts."""
    folder = source.folder(part, path)
    text = source.read_text(f"{folder}/config.json")
    config = parse_json(text)
    known = isinstance(config, dict)
    present = known or is_single_file(source, folder)
    return {
        "path": path,
        "present": present,
        "reason": None if present else _absence(source, folder, path, text),
        **read_geometry(_with_quantization(source, folder, config) if known else {}),
        **read_weights(source, folder, text if known else None),
    }


def _with_quantization(source: Source, folder: str, config: Facts) -> Facts:
    """A configuration with what stands in a file of its own: older checkpoints of ModelOpt keep
    it there. The engine reads that file only where the configuration says nothing itself."""
    if any(config.get(name) for name in ("quantization_config", "compression_config")):
        return config
    found = read_json(source, f"{folder}/hf_quant_config.json")
    method = found.get("quantization", found) if isinstance(found, dict) else None
    if not isinstance(method, dict) or not method.get("quant_algo"):
        return config
    return {**config, "quantization_config": {"quant_method": "modelopt", **method}}


def _absence(source: Source, folder: str, path: str, text: str | None) -> str:
    if not path and not source.exists(folder):
        return "no model path was given"
    if text is not None:
        return f"{path}/config.json is not a JSON object"
    if source.exists(folder):
        return f"{path} has no readable config.json"
    return f"there is no folder {path}"
