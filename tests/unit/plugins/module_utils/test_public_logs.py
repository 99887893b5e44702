# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan against public logs, and docs/accuracy.md against both."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.public_logs import (
    POOL_SIZES,
    TOKENS,
    PoolSize,
    Tokens,
    pool_table,
    token_table,
)

PAGE = Path(__file__).resolve().parents[4] / "docs" / "accuracy.md"


@pytest.mark.parametrize("case", POOL_SIZES, ids=lambda case: f"{case.source} {case.pool}")
def test_bytes_per_token(case: PoolSize) -> None:
    off = abs(case.predicted - case.in_log)
    assert off <= max(case.in_log / 1000, case.rounding)


@pytest.mark.parametrize("case", TOKENS, ids=lambda case: case.source)
def test_device_tokens(case: Tokens) -> None:
    if case.tokens is None:
        assert case.predicted is None
    else:
        assert case.off_percent is not None
        assert abs(case.off_percent) < 5


def test_the_free_memory_before_load_explains_the_largest_miss() -> None:
    # 93.99 GiB were free before 57.06 GiB of weights: 0.92 x 93.99 - 57.06 = 29.41 GiB, and
    # 100,152 B per token.
    tokens = int((0.92 * 93.99 - 57.06) * 2**30) // 100_152
    assert abs(tokens / 314_304 - 1) < 0.004


@pytest.mark.parametrize(("mark", "table"), [("pools", pool_table), ("tokens", token_table)])
def test_the_page_shows_these_numbers(mark: str, table: object) -> None:
    page = PAGE.read_text(encoding="utf-8")
    shown = page.split(f"<!-- {mark} -->\n", 1)[1].split("<!-- end -->", 1)[0]
    assert callable(table)
    assert shown.strip() == table(), "print the tables with public_logs.py and paste them"
