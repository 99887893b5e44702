# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Profiles: variables that go together for one model on one class of hardware.

Private to the collection, and for the controller only: each profile is a file in `profiles/` beside
this one. It says which model and hardware it assumes, why each variable has its value and who says
so, and what of it was measured. Its variables come after the roles' defaults and before anything
that the user says; the rules judge the result like any other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from .._facts import devices
from .arguments import Finding
from .version import Version

Profile = dict[str, Any]

PROFILE = "sglang_profile"

_GIB = 2**30
_FOLDER = Path(__file__).with_name("profiles")


@cache
def profile_names() -> tuple[str, ...]:
    """Return the names of all profiles in alphabetical order."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.json")))


@cache
def profile(name: str) -> Profile:
    """Return one profile. Raises LookupError for a name that there is not."""
    if name not in profile_names():
        raise LookupError(f"{PROFILE}: there is no {name}, but {', '.join(profile_names())}")
    found: Profile = json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


def profile_values(name: str) -> dict[str, Any]:
    """Return the variables of a profile."""
    return {variable: entry["value"] for variable, entry in profile(name)["variables"].items()}


def with_profile(
    variables: Mapping[str, Any], given: Iterable[str], defaults: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the variables with those of their profile below what the user says.

    `given` are the variables that the inventory or the command line names, whatever their value.
    Elsewhere in a play only a value that is not the role's default tells that somebody set it.
    """
    merged = dict(variables)
    named = variables.get(PROFILE)
    if not named:
        return merged
    said = set(given)
    for variable, value in profile_values(str(named)).items():
        if variable not in said and variables.get(variable) == defaults.get(variable):
            merged[variable] = value
    return merged


def profile_findings(
    wishes: Mapping[str, Any], facts: Mapping[str, Any], version: Version
) -> list[Finding]:
    """Return where host, model, version or variables are not those of the wished profile."""
    if not wishes.get(PROFILE):
        return []
    wished = profile(str(wishes[PROFILE]))
    title, since = wished["title"], wished["versions"]["since"]
    found = [
        (
            "PRO-001",
            "warn",
            _of_model(wished["model"], facts.get("model") or {}),
            "choose the profile of this model, or set its variables yourself",
        ),
        (
            "PRO-002",
            "warn",
            _of_hardware(wished["hardware"], facts),
            "choose a profile for this hardware, or check what its reasons say of each variable",
        ),
        (
            "PRO-003",
            "warn",
            [f"SGLang {version}, not {since} or later"] if version < since else [],
            f"set sglang_engine_version: {since} or later",
        ),
        (
            "PRO-004",
            "advise",
            [
                f"{variable} is {wishes.get(variable)!r}, not {value!r}"
                for variable, value in profile_values(wished["name"]).items()
                if wishes.get(variable) != value
            ],
            "nothing, if that is what you want: your own value wins",
        ),
    ]
    return [
        {
            "id": identity,
            "severity": severity,
            "text": f"the profile is for {title}; here: {'; '.join(differences)}",
            "remedy": remedy,
            "variable": PROFILE,
        }
        for identity, severity, differences, remedy in found
        if differences
    ]


def _of_model(assumed: Mapping[str, Any], model: Mapping[str, Any]) -> list[str]:
    """Each known fact that is another one; what is not known differs from nothing."""
    return [
        f"{fact} is {model[fact]}, not {value}"
        for fact, value in assumed.items()
        if model.get(fact) not in (None, "unknown", value)
    ]


def _of_hardware(assumed: Mapping[str, Any], facts: Mapping[str, Any]) -> list[str]:
    found = devices(facts)
    if not found:
        return []
    differences = []
    if len(found) < assumed["gpus"]:
        differences.append(f"{len(found)} GPUs, not {assumed['gpus']}")
    capabilities = sorted({str(device.get("compute_capability") or "") for device in found} - {""})
    if set(capabilities) - set(assumed["compute_capability"]):
        wanted = " or ".join(assumed["compute_capability"])
        differences.append(f"compute capability {', '.join(capabilities)}, not {wanted}")
    sizes = [size for device in found if (size := device.get("memory_total_bytes"))]
    if sizes and min(sizes) < assumed["gpu_memory_gib"] * _GIB:
        least = min(sizes) / _GIB
        differences.append(f"GPUs of {least:.1f} GiB, not {assumed['gpu_memory_gib']} or more")
    link = (facts.get("gpu") or {}).get("topology")
    if assumed["links"] and link is not None and link not in assumed["links"]:
        differences.append(f"GPUs linked by {link}, not {' or '.join(assumed['links'])}")
    return differences
