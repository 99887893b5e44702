# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever surrounds a secret, it goes; whatever has none, stays."""

from __future__ import annotations

import json
from typing import Any

import pytest

hypothesis = pytest.importorskip("hypothesis")

from ansible_collections.llmops.sglang.plugins.module_utils._engine.log_lines import (  # noqa: E402
    StartupParser,
)
from ansible_collections.llmops.sglang.plugins.module_utils._engine.request_lines import (  # noqa: E402
    without_request,
)
from ansible_collections.llmops.sglang.plugins.module_utils._probe.journal import (  # noqa: E402
    message_of,
)
from ansible_collections.llmops.sglang.plugins.module_utils._probe.pseudonyms import (  # noqa: E402
    Pseudonyms,
)
from ansible_collections.llmops.sglang.plugins.module_utils._probe.redact import (  # noqa: E402
    Redactor,
    secrets_in,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.probe_recording import (  # noqa: E402
    RECORDINGS,
)
from hypothesis import assume, example, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

# Runs in the test suite on every machine: as many examples as take a second.
few = settings(max_examples=150, deadline=None, derandomize=True)

KEY = st.text("ABCxyz019-_+/=.~!#$%&*@:;?^|", min_size=8, max_size=24)
QUOTED = st.text("ABCxyz019 -_+/=.~!#$%&*@:;?^|,(){}[]'\"\\é", min_size=8, max_size=24)
NOISE = st.text(
    st.characters(blacklist_categories=["Cs"], blacklist_characters="\n\r"), max_size=40
)
NAMES = st.sampled_from(
    [
        "api_key",
        "api-key",
        "admin_api_key",
        "HF_TOKEN",
        "hf_token",
        "secret_key",
        "password",
        "secret",
    ]
)
FRAGMENTS = (
    "api_key='",
    '"token": "',
    "--api-key ",
    "HF_TOKEN=",
    "Bearer ",
    "://u:p@h",
    "sk-abcdefgh",
    "<redacted>",
    "'",
    '"',
    "\\",
    " ",
    ",",
    "=",
    "pad_token",
    "#cached-token: 12",
    "10.1.2.3",
    "gpu-01",
    "/home/mara/x",
    "fe80::1:2",
    "GPU-0f3c1d2e-4b5a-6978-8796-a5b4c3d2e1f0",
    "0000:01:00.0",
    "02:42:ac:11:00:02",
    "Receive: obj=",
    "text='",
    "[",
    "{",
    "580.82.07",
    "None",
    "\n",
    "host-1",
)
SOUP = st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join)


def clean(text: str) -> str:
    return Pseudonyms(["gpu-01.corp.example"]).text(Redactor().text(without_request(text)))


@few
@given(NOISE, NAMES, QUOTED, NOISE)
def test_a_quoted_secret_goes(before: str, name: str, secret: str, after: str) -> None:
    hidden = secret[1:-1]
    assume(hidden not in before + after)
    for text in (
        f"{before} {name}={secret!r} {after}",
        f"{before} {{{name!r}: {secret!r}, 'x': 1}} {after}",
        f'{before} {{"{name}": {json.dumps(secret)}, "x": 1}} {after}',
        f"{before} " + json.dumps(json.dumps({name: secret})) + f" {after}",
        f"{before} --{name} {secret!r} {after}",
        f"{before} ['--{name}', {secret!r}] {after}",
    ):
        assert hidden not in Redactor().text(text), text


@few
@given(NOISE, NAMES, KEY, NOISE)
def test_a_bare_secret_goes(before: str, name: str, secret: str, after: str) -> None:
    assume(secret not in before + after)
    for text in (
        f"{before} --{name} {secret} {after}" if not secret.startswith("--") else "",
        f"{before} --{name}={secret} {after}",
        f"{before} {name.upper()}={secret} {after}",
        f"{before} {name.upper()}: {secret} {after}",
        f"{before} Authorization: Bearer {secret} {after}",
        f"{before} http://user:{secret}@proxy.example:3128/ {after}",
        f"{before} https://{secret}@proxy.example/simple {after}",
    ):
        assert secret not in Redactor().text(text), text


@few
@given(NOISE, KEY, NOISE)
def test_a_known_secret_goes(before: str, secret: str, after: str) -> None:
    assert secret not in Redactor([secret]).text(f"{before}{secret}{after}").replace(
        "<redacted>", ""
    )


@few
@given(KEY, NAMES)
def test_a_secret_is_found_by_its_name(secret: str, name: str) -> None:
    if not secret.startswith("/") and ":" not in secret:
        assert secret in secrets_in(f"x {name}={json.dumps(secret)} y")


@few
@given(SOUP)
@example("api_keys=['a', 'b']")
@example("api_key='a\\'")
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    once = clean(text)
    assert clean(once) == once


@few
@given(st.one_of(NOISE, SOUP))
def test_nothing_is_an_error(text: str) -> None:
    Redactor([text]).data({text: [text, {text: text}], "token": None})
    Redactor().argv(text.split())
    secrets_in(text)
    Pseudonyms([text]).learn(text)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | SOUP,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SOUP, inner, max_size=3),
    max_leaves=8,
)


@few
@given(VALUES, KEY)
def test_whatever_stands_below_a_secret_name_goes(value: Any, secret: str) -> None:
    hidden = json.dumps(Redactor().data({"x": [{"api_key": [value, {"y": secret}]}]}))
    assert json.dumps(secret)[1:-1] not in hidden.replace("api_key", "")


def journals() -> list[str]:
    """The recorded starts, and one line of each kind that the parser reads."""
    paths = sorted(RECORDINGS.rglob("journal.log"))
    return [path.read_text(encoding="utf-8") for path in paths]


@pytest.mark.parametrize("text", journals())
def test_the_numbers_of_a_start_stay(text: str) -> None:
    lines = text.splitlines()
    messages = [
        message_of(json.loads(line).get("MESSAGE")) if line.startswith("{") else line
        for line in lines
    ]
    raw = StartupParser().feed_all(messages).facts(detail=True)
    cleaned = StartupParser().feed_all(map(clean, messages)).facts(detail=True)
    assert raw["max_total_num_tokens"] and cleaned == raw


@few
@given(st.integers(0, 10**9), st.integers(0, 10**9), st.floats(0, 999, allow_nan=False))
def test_any_number_of_a_capacity_line_stays(tokens: int, context: int, gigabytes: float) -> None:
    for line in (
        f"[2026-11-30 18:00:20 TP0] max_total_num_tokens={tokens}, chunked_prefill_size=8192, "
        f"max_prefill_tokens=16384, max_running_requests=48, context_len={context}, "
        f"available_gpu_mem={gigabytes:.2f} GB",
        f"[2026-11-30 18:00:20 TP0] KV Cache is allocated. #tokens: {tokens}, KV size: {gigabytes:.2f} GB",
        f"[2026-11-30 18:00:20 TP0] Allocating kv hierarchical KV host pool: {tokens} tokens, "
        f"{gigabytes:.2f} GB host memory.",
        f"Prefill batch, #new-seq: 1, #new-token: {tokens}, #cached-token: {context}, token usage: 0.10",
    ):
        assert clean(line) == line
