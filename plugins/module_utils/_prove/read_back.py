# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Proves that the host tier gives back what was put there.

Private to the collection. Some pages are asked for twice, so that their KV cache is known to be
right on the device. Then other text fills the device tier to the last token, which leaves the
pages in the host tier alone. Asked again, they must come from there, with the same answer: counters
alone look healthy even when the copy back brings nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .generate import Reply
from .proof import FAILED, NOT_PROVEN, PROVEN, Proof, proof_of

_NAME = "read_back"
_PLANNED = "the same answers from the host tier"
_OPENINGS = ("First log. ", "Second log. ", "Third log. ")
# With fewer steps of verification an accept length is mostly chance.
_ANSWER_TOKENS = 48
_FILL_TOKENS = 4096
# Drafts are guesses: the same text may be guessed a little differently, but not this much worse.
_ACCEPT_SHARE = 0.6
# A tier that is hardly larger than the device loses the pages to the text that pushes them out.
_ROOM = 1.25

Ask = Callable[[str, int], Reply]


@dataclass(frozen=True)
class Tiers:
    """Tokens of both tiers as the server has them, tokens per page, and the longest prompt."""

    device_tokens: int
    host_tokens: int
    page: int
    context_tokens: int | None


class _NoAnswer(Exception):
    """The server did not answer; the text says why."""


class _Unclear(Exception):
    """The pages could not be asked for as intended; the text says why."""


def read_back(ask: Ask, tiers: Tiers, until: float) -> Proof:
    """Prove the host tier of a server; `until` is a time of the monotonic clock."""
    if tiers.host_tokens < _ROOM * tiers.device_tokens:
        return _unproven("the host tier is too small to hold what leaves the device tier")
    pages = [opening + _page(tiers.page) for opening in _OPENINGS]
    try:
        # The first answer puts a page into the cache, the second one comes from there.
        for page in pages:
            _answer(ask, page)
        before = [_answer(ask, page) for page in pages]
        _fill(ask, tiers, until)
        after = [_answer(ask, page) for page in pages]
    except _NoAnswer as error:
        return proof_of(_NAME, FAILED, str(error), _PLANNED, f"no answer: {error}")
    except _Unclear as error:
        return _unproven(str(error))
    return _compare(before, after)


def _unproven(text: str) -> Proof:
    return proof_of(_NAME, NOT_PROVEN, None, _PLANNED, text)


def _page(page_tokens: int) -> str:
    """Text of more than two pages of the cache in any tokenizer: whole pages are kept."""
    lines = 4 + page_tokens // 4
    return "".join(
        f"At {hour % 24} o'clock the wind came from {hour * 37 % 360} degrees. "
        for hour in range(lines)
    )


def _answer(ask: Ask, prompt: str, tokens: int = _ANSWER_TOKENS) -> Reply:
    reply = ask(prompt, tokens)
    if reply.refused:
        raise _Unclear(f"the server refuses the question: {reply.reason}")
    if reply.text is None:
        raise _NoAnswer(reply.reason)
    return reply


def _fill(ask: Ask, tiers: Tiers, until: float) -> None:
    """Have as many other tokens computed as the device tier holds."""
    longest = min(tiers.context_tokens or tiers.device_tokens, tiers.device_tokens) // 4
    wanted = max(min(_FILL_TOKENS, longest), 1)
    # The time makes the texts new to a server that was proven before.
    # No tokenizer makes more tokens than digits; the first answer tells how many fewer.
    filled, characters, seed = 0, wanted, time.time_ns()
    while filled <= tiers.device_tokens:
        if time.monotonic() >= until:
            raise _Unclear(
                f"{filled:,} of {tiers.device_tokens:,} device tokens were filled when the time "
                "was over (sglang_prove_read_back_s)"
            )
        reply = _answer(ask, _other(seed, characters), tokens=1)
        computed = (reply.prompt_tokens or 0) - (reply.cached_tokens or 0)
        # The last page of a prompt is not kept unless it is full.
        if computed < tiers.page:
            raise _Unclear(f"{computed} tokens of {wanted} were computed, too few to fill pages")
        filled += computed // tiers.page * tiers.page
        characters = max(characters * wanted // (reply.prompt_tokens or wanted), 1)
        seed += 1


def _other(seed: int, characters: int) -> str:
    """Numbers of about so many characters; each seed has another beginning."""
    words, size = [str(seed)], 0
    while size < characters:
        words.append(str((seed * 7919 + len(words) * 104729) % 99991))
        size += len(words[-1]) + 1
    return " ".join(words)


def _compare(before: Sequence[Reply], after: Sequence[Reply]) -> Proof:
    cached = [reply.cached_tokens for reply in after]
    # The device tier was filled with other text: whatever is cached now came from the host, also
    # where the version does not tell the source.
    from_host = [
        reply.cached_tokens if reply.host_tokens is None else reply.host_tokens for reply in after
    ]
    if None in cached:
        return _unproven("the server does not tell where its tokens come from")
    if any(reply.cached_tokens and reply.host_tokens == 0 for reply in after):
        return _unproven("the pages did not leave the device tier: others use the server, too")
    if not all(from_host):
        text = (
            f"{sum(not tokens for tokens in from_host)} of {len(after)} pages that had left the "
            "device tier were computed anew instead of read from the host tier "
            "(sglang_hicache_write_policy, sglang_hicache_io_backend)"
        )
        return proof_of(_NAME, FAILED, f"{from_host} tokens from the host", _PLANNED, text)
    differing = [(old.text, new.text) for old, new in zip(before, after) if old.text != new.text]
    tokens = sum(tokens or 0 for tokens in from_host)
    if len(differing) > len(after) // 2:
        old, new = differing[0]
        text = (
            f"{len(differing)} of {len(after)} answers changed after their tokens came back from "
            "the host tier: it returns something else than was put there (sglang_hicache_mode: off "
            "serves right answers)"
        )
        return proof_of(_NAME, FAILED, f"{old!r} and {new!r}", _PLANNED, text)
    if differing:
        return _unproven(f"one of {len(after)} answers changed after its tokens came back")
    return _compare_drafts(before, after, tokens)


def _compare_drafts(before: Sequence[Reply], after: Sequence[Reply], tokens: int) -> Proof:
    """Compare accept lengths: the draft's own KV cache must come back, too."""
    text = f"{tokens:,} tokens read back from the host tier, same answers"
    old, new = (
        [reply.accept_length for reply in replies if reply.accept_length is not None]
        for replies in (before, after)
    )
    if not old or not new:
        return proof_of(_NAME, PROVEN, f"{tokens} tokens", _PLANNED, text)
    was, now = sum(old) / len(old), sum(new) / len(new)
    lengths = f"accept length {was:.2f} before, {now:.2f} after"
    # Above one token per step by how much: that is all that drafts bring.
    if was > 1 and now - 1 < (was - 1) * _ACCEPT_SHARE:
        text = (
            f"{lengths} a load from the host tier: the draft model's KV cache does not come back, "
            "so speculation slows down with every hit (sglang_hicache_mode: off avoids it)"
        )
        return proof_of(_NAME, FAILED, lengths, _PLANNED, text)
    return proof_of(_NAME, PROVEN, f"{tokens} tokens, {lengths}", _PLANNED, f"{text}, {lengths}")
