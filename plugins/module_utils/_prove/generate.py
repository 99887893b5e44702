# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks the engine's own generation endpoint, which tells more than the OpenAI one.

Private to the collection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._engine import endpoints
from .._gate.checks import dig
from .client import Client


@dataclass(frozen=True)
class Reply:
    """One generation. `reason` says why there is none; what the server does not tell is None.

    `refused` is true when the question was at fault, not the server (HTTP 4xx).
    `cached_tokens` of the prompt were not computed anew; `host_tokens` of them came from the host
    tier. `accept_length` is in tokens per verification step, with speculation.
    """

    text: str | None = None
    reason: str | None = None
    refused: bool = False
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    host_tokens: int | None = None
    accept_length: float | None = None


def ask(client: Client, prompt: str, tokens: int, timeout_s: float) -> Reply:
    """Generate exactly `tokens` tokens, deterministically.

    The end of the text is ignored, so that two answers can be compared over their whole length.
    """
    answer = client.post(
        endpoints.paths("generate")[0],
        {
            "text": prompt,
            "sampling_params": {"max_new_tokens": tokens, "temperature": 0, "ignore_eos": True},
        },
        timeout_s=timeout_s,
    )
    text, meta = dig(answer.body, "text"), dig(answer.body, "meta_info")
    if not answer.ok or not isinstance(text, str):
        return Reply(
            reason=answer.reason or "the answer holds no text",
            refused=answer.status is not None and 400 <= answer.status < 500,
        )
    return Reply(
        text=text,
        prompt_tokens=_count(meta, "prompt_tokens"),
        cached_tokens=_count(meta, "cached_tokens"),
        host_tokens=_count(meta, "cached_tokens_details", "host"),
        accept_length=_accept_length(meta),
    )


def _count(meta: Any, *path: str) -> int | None:
    value = dig(meta, *path)
    return value if isinstance(value, int) else None


def _accept_length(meta: Any) -> float | None:
    """Return tokens per verification step; older versions tell only how many steps there were."""
    length, steps = dig(meta, "spec_accept_length"), dig(meta, "spec_verify_ct")
    if not length and steps:
        length = (dig(meta, "completion_tokens") or 0) / steps
    return round(float(length), 2) if length else None
