# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Secrets never leave the probe."""

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._probe.redact import (
    REDACTED,
    Redactor,
)


@pytest.mark.parametrize(
    "text",
    [
        "server_args=ServerArgs(api_key='topsecret', tp_size=8)",
        "server_args={'api_key': 'topsecret', 'tp_size': 8}",
        '{"admin-api-key": "topsecret"}',
        '"launch": "--extra {\\"secret_key\\": \\"topsecret\\"}"',
        "--api-key topsecret --tp-size 8",
        "--admin-api-key=topsecret --tp-size 8",
        "HF_TOKEN=topsecret python",
        "Authorization: Bearer topsecret",
        "http://user:topsecret@mirror.example/simple",
        "using sk-topsecret99",
        "using hf_topsecret99",
    ],
)
def test_secrets_are_known_by_their_name_or_look(text: str) -> None:
    clean = Redactor().text(text)
    assert "topsecret" not in clean and REDACTED in clean


@pytest.mark.parametrize(
    "text",
    [
        "max_total_num_tokens=159300, max_prefill_tokens=16384, context_len=262144",
        "--max-total-tokens 100 --speculative-num-draft-tokens 4",
        "#tokens: 1000, KV size: 10.43 GB",
        "api_key=None, admin_api_key=None",
        "Received output for rid='abc' but the state was deleted",
    ],
)
def test_what_only_looks_similar_stays(text: str) -> None:
    assert Redactor().text(text) == text


def test_known_secrets_go_wherever_they_stand() -> None:
    redactor = Redactor(["pass", "passphrase", "abc"])
    assert redactor.text("xpassphrasex pass abc") == f"x{REDACTED}x {REDACTED} abc"


def test_a_command_line_keeps_all_but_the_secrets() -> None:
    argv = [
        "python",
        "--api-key",
        "one",
        "--admin-api-key=two",
        "--hf-token",
        "--tp-size",
        "8",
        "--max-total-tokens",
        "9",
        "--extra",
        '{"api_key": "three"}',
    ]
    assert Redactor().argv(argv) == [
        "python",
        "--api-key",
        REDACTED,
        f"--admin-api-key={REDACTED}",
        "--hf-token",
        "--tp-size",
        "8",
        "--max-total-tokens",
        "9",
        "--extra",
        f'{{"api_key": "{REDACTED}"}}',
    ]
