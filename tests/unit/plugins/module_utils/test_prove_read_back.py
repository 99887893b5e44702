# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host tier gives back what was put there, or the proof says what it does instead."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._prove.generate import Reply
from ansible_collections.llmops.sglang.plugins.module_utils._prove.read_back import (
    Tiers,
    read_back,
)

TIERS = Tiers(device_tokens=8000, host_tokens=32000, page=64, context_tokens=131072)
LATER = time.monotonic() + 3600


class Cache:
    """A server with two tiers: one token per character, least recently used prompts leave first.

    `source` says whether it tells which tier a hit came from.
    """

    def __init__(self, tiers: Tiers = TIERS, source: bool = True) -> None:
        self.tiers = tiers
        self.source = source
        self.prompts: list[str] = []
        self.asked: list[tuple[int, int]] = []
        self.loads = 0

    def __call__(self, prompt: str, tokens: int) -> Reply:
        self.asked.append((len(prompt), tokens))
        cached = host = 0
        if prompt in self.prompts:
            cached = (len(prompt) - 1) // self.tiers.page * self.tiers.page
            # Whole pages are kept, nothing else.
            kept = [len(seen) // self.tiers.page * self.tiers.page for seen in self.prompts]
            newer = sum(kept[self.prompts.index(prompt) :])
            host = cached if newer > self.tiers.device_tokens else 0
            self.prompts.remove(prompt)
        self.prompts.append(prompt)
        reply = Reply(
            text=f"answer to {len(prompt)}",
            prompt_tokens=len(prompt),
            cached_tokens=cached,
            host_tokens=host,
        )
        self.loads += bool(host)
        return self.changed(reply if self.source else replace(reply, host_tokens=None), host)

    def changed(self, reply: Reply, host: int) -> Reply:
        """The reply as this server gives it."""
        return reply


class Changing(Cache):
    """Changes its reply once tokens come from the host tier; `only` is the number of the load."""

    def __init__(self, only: int | None = None, **changes: Any) -> None:
        super().__init__()
        self.changes = changes
        self.only = only

    def changed(self, reply: Reply, host: int) -> Reply:
        if host and self.only in (None, self.loads):
            return replace(reply, **self.changes)
        return reply


@pytest.mark.parametrize("source", [True, False])
def test_a_tier_that_gives_back_is_proven(source: bool) -> None:
    server = Cache(source=source)
    proof = read_back(server, TIERS, LATER)
    assert proof["status"] == "proven"
    assert "read back from the host tier, same answers" in proof["text"]
    # Three pages, their second answers, and after the filling their third ones.
    answers = [size for size, tokens in server.asked if tokens > 1]
    assert answers[:3] == answers[3:6] == answers[6:]
    filled = sum(size for size, tokens in server.asked if tokens == 1)
    assert TIERS.device_tokens <= filled < 1.5 * TIERS.device_tokens


def test_counters_that_look_healthy_do_not_hide_a_copy_that_brings_nothing() -> None:
    proof = read_back(Changing(text="garbage"), TIERS, LATER)
    assert proof["status"] == "failed"
    assert "3 of 3 answers changed" in proof["text"]
    assert "'garbage'" in proof["measured"]


def test_one_answer_that_tips_over_is_doubt_not_a_fault() -> None:
    assert read_back(Changing(text="other", only=2), TIERS, LATER)["status"] == "not_proven"


def test_a_tier_that_is_never_read_fails() -> None:
    proof = read_back(Changing(cached_tokens=0, host_tokens=0), TIERS, LATER)
    assert proof["status"] == "failed"
    assert "computed anew instead of read from the host tier" in proof["text"]


def test_pages_that_stay_on_the_device_prove_nothing() -> None:
    proof = read_back(Changing(host_tokens=0), TIERS, LATER)
    assert proof["status"] == "not_proven"
    assert "did not leave the device tier" in proof["text"]


def test_a_silent_server_proves_nothing() -> None:
    proof = read_back(Changing(cached_tokens=None, host_tokens=None), TIERS, LATER)
    assert proof["status"] == "not_proven"


class Speculating(Cache):
    """Tells its accept length: `before` from the device, `after` from the host tier."""

    def __init__(self, before: float, after: float) -> None:
        super().__init__()
        self.before, self.after = before, after

    def changed(self, reply: Reply, host: int) -> Reply:
        return replace(reply, accept_length=self.after if host else self.before)


def test_an_accept_length_that_collapses_after_a_load_fails() -> None:
    proof = read_back(Speculating(4.49, 1.59), TIERS, LATER)
    assert proof["status"] == "failed"
    assert "accept length 4.49 before, 1.59 after" in proof["text"]


@pytest.mark.parametrize(("before", "after"), [(2.8, 2.7), (2.0, 1.7), (1.0, 1.0)])
def test_an_accept_length_that_stays_is_told(before: float, after: float) -> None:
    proof = read_back(Speculating(before, after), TIERS, LATER)
    assert proof["status"] == "proven"
    assert f"accept length {before:.2f} before, {after:.2f} after" in proof["text"]


def test_the_time_bounds_the_filling() -> None:
    server = Cache()
    proof = read_back(server, TIERS, time.monotonic() - 1)
    assert proof["status"] == "not_proven"
    assert "0 of 8,000 device tokens" in proof["text"]
    assert "sglang_prove_read_back_s" in proof["text"]
    assert all(tokens > 1 for _size, tokens in server.asked)


def test_a_tier_that_is_no_larger_than_the_device_is_not_asked() -> None:
    server = Cache()
    proof = read_back(server, replace(TIERS, host_tokens=8064), LATER)
    assert proof["status"] == "not_proven"
    assert not server.asked


def test_no_answer_fails_with_its_reason() -> None:
    proof = read_back(lambda _prompt, _tokens: Reply(reason="HTTP 500: NaN"), TIERS, LATER)
    assert proof["status"] == "failed"
    assert proof["text"] == "no answer: HTTP 500: NaN"


def test_a_question_that_is_refused_says_nothing_about_the_server() -> None:
    reply = Reply(reason="HTTP 400: too long", refused=True)
    proof = read_back(lambda _prompt, _tokens: reply, TIERS, LATER)
    assert proof["status"] == "not_proven"
    assert "HTTP 400" in proof["text"]


@pytest.mark.parametrize("context", [None, 512, 131072])
def test_no_prompt_is_longer_than_the_server_takes(context: int | None) -> None:
    server = Cache()
    assert read_back(server, replace(TIERS, context_tokens=context), LATER)["status"] == "proven"
    longest = max(size for size, tokens in server.asked if tokens == 1)
    assert longest <= min(context or 10**9, TIERS.device_tokens) // 4 + 32
