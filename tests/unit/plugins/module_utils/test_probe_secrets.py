# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No secret leaves a host: not in facts, results or messages, and not in a bundle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._probe import bundle, snapshot
from ansible_collections.llmops.sglang.plugins.module_utils._probe.snapshot import (
    PARTS,
    Request,
    take_snapshot,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.planted import (
    ECHOED,
    HOST,
    PLANTED,
    SECRETS_FILE,
    PlantedHost,
)

# Enough of a secret to be recognised: the head differs from one to the next.
TAIL = "w+7.Planted~x"


def request(**options: Any) -> Request:
    return Request(secrets_file=SECRETS_FILE, **options)


@pytest.fixture(params=[True, False], ids=["running", "failed"])
def host(request: pytest.FixtureRequest, tmp_path: Path) -> PlantedHost:
    return PlantedHost(tmp_path, request.param)


def leaks(host: PlantedHost, text: str) -> list[str]:
    """The places a text leaks from, as the table names them."""
    where = [what for what in PLANTED for _each in range(what[1].replace("{{", "").count("{}"))]
    found = [
        str(place)
        for place, secret in zip(where, host.secrets)
        if any(part in text for part in (secret, json.dumps(secret)[1:-1], secret[:5]))
    ]
    return found or ([f"some of {TAIL}"] if TAIL in text else [])


def test_everything_that_was_planted_is_there(host: PlantedHost) -> None:
    assert len(host.secrets) > len(PLANTED) and len(ECHOED) >= 8
    assert len(set(host.secrets)) == len(host.secrets)
    assert leaks(host, json.dumps({str(path): path.read_text() for path in files(host)}))


def files(host: PlantedHost) -> list[Path]:
    return [path for path in host.live.root.rglob("*") if path.is_file()]


def test_no_secret_in_the_facts(host: PlantedHost) -> None:
    facts = take_snapshot(host.live, request(detail=True))
    assert {part for part in PARTS if set(facts[part]) == {"reason"}} == set()
    assert facts["server"]["argv"][-1].startswith("--json-model") is False
    assert leaks(host, json.dumps(facts)) == []


def test_no_secret_in_a_bundle(host: PlantedHost) -> None:
    recording = bundle.record(host.live, request(), variables=host.variables)
    assert recording.removed["secrets"] > 30 - 8 * (recording.facts["server"]["info"] is None)
    for name, data in recording.members.items():
        assert leaks(host, name + (data or b"").decode()) == [], name
        assert HOST not in name + (data or b"").decode(), name


def test_a_bundle_holds_no_file_that_is_made_of_secrets(host: PlantedHost) -> None:
    members = bundle.record(host.live, request(), variables=host.variables).members
    assert "proc/7001/cmdline" in members
    assert not [name for name in members if "environ" in name or "secrets" in name]


@pytest.mark.parametrize("part", PARTS)
def test_no_secret_in_the_reason_of_a_part_that_broke(
    host: PlantedHost, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_args: Any, **_options: Any) -> None:
        raise RuntimeError("; ".join(host.secrets[:2]) + f"; HF_TOKEN={host.secrets[5]}")

    place = snapshot.server if part == "server" else snapshot
    monkeypatch.setattr(place, f"read_{part}", broken)
    facts = take_snapshot(host.live, request())
    assert "RuntimeError" in json.dumps(facts[part])
    assert leaks(host, json.dumps(facts)) == []
