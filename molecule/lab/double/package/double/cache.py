# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The double's prefix cache: prompts instead of pages, in two tiers, least recently used first."""

from __future__ import annotations

import threading
from dataclasses import dataclass

CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True)
class Hit:
    """Tokens of a prompt that need not be computed, by the tier they come from."""

    device: int = 0
    host: int = 0

    @property
    def tokens(self) -> int:
        """Tokens from either tier."""
        return self.device + self.host


class Cache:
    """What was computed lately. The host tier holds what is on the device, and more."""

    def __init__(self, page: int, device_tokens: int, host_tokens: int) -> None:
        self._page = page
        self._device_tokens = device_tokens
        self._host_tokens = host_tokens
        self._prompts: dict[str, None] = {}
        self._lock = threading.Lock()

    def look_up(self, prompt: str) -> Hit:
        """The longest prefix of a prompt; its last token is always computed."""
        longest, best = 0, None
        newer_tokens = 0
        with self._lock:
            # The newest first: what came after a prompt decides which tier it is in.
            for seen in reversed(self._prompts):
                newer_tokens += tokens_of(seen)
                if newer_tokens > max(self._device_tokens, self._host_tokens):
                    break
                common = _common_prefix(prompt, seen)
                if common > longest:
                    longest, best = common, newer_tokens
        if best is None:
            return Hit()
        usable = min(longest // CHARACTERS_PER_TOKEN, tokens_of(prompt) - 1)
        tokens = usable // self._page * self._page
        return Hit(device=tokens) if best <= self._device_tokens else Hit(host=tokens)

    def keep(self, prompt: str) -> None:
        """Note that a prompt was computed, or used again."""
        with self._lock:
            self._prompts.pop(prompt, None)
            self._prompts[prompt] = None

    def clear(self) -> None:
        """Forget everything, in both tiers."""
        with self._lock:
            self._prompts.clear()

    def used_tokens(self, limit: int) -> int:
        """Tokens in a tier of so many."""
        with self._lock:
            return min(limit, sum(map(tokens_of, self._prompts)))


def tokens_of(prompt: str) -> int:
    """Tokens of a text by the double's measure."""
    return len(prompt) // CHARACTERS_PER_TOKEN + 1


def _common_prefix(left: str, right: str) -> int:
    """Characters that two texts share from the start."""
    return next(
        (i for i, (a, b) in enumerate(zip(left, right)) if a != b), min(map(len, (left, right)))
    )
