# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The keys of a server: read in one place, for the probe and for the proof."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._keys import Keys, parse_keys
from ansible_collections.llmops.sglang.plugins.module_utils._probe import snapshot
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.probe_recording import record


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ('{"api-key": "one", "admin-api-key": "two"}', ["one", "two"]),
        ('{"admin-api-key": "two", "api-key": ""}', ["two"]),
        ('{"api-key": 7, "admin-api-key": ["x"]}', []),
        ("{}", []),
    ],
)
def test_keys_are_texts(text: str, known: list[str]) -> None:
    assert parse_keys(text).known() == known


def test_keys_are_never_shown() -> None:
    assert "one" not in repr(Keys("one", "one"))


@pytest.mark.parametrize("text", ["", "api-key: x", "[]", '"x"'])
def test_the_probe_takes_a_broken_file_for_no_keys(tmp_path: Path, text: str) -> None:
    source = record(tmp_path, {"run/secrets.yaml": text})
    assert snapshot._keys(source, "/run/secrets.yaml") == []
    assert snapshot._keys(source, "/run/none.yaml") == snapshot._keys(source, "") == []
