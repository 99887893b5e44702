# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each version does with its pools, as data."""

from __future__ import annotations

from dataclasses import fields

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._engine.pool_rules import (
    PoolRules,
    default_page_tokens,
    pool_rules,
    read_tokens,
)
from ansible_collections.llmops.sglang.plugins.module_utils._engine.version import KNOWN, Version

FIRST = {
    "padding_page": "0.5.5.post3",
    "state_dtype_in_config": "0.5.9",
    "store_folder": "0.5.9",
    "token_suffixes": "0.5.10.post1",
    "state_host": "0.5.10.post1",
    "draft_pool": "0.5.11",
    "indexer_pool": "0.5.11",
    "hugepages": "0.5.13.post1",
    "window_host": "0.5.13.post1",
    "state_shares_draft": "0.5.13.post1",
    "draft_in_budget": "0.5.14",
    "numa_bind": "0.5.18",
    "packed_draft": "0.5.18",
    "multimodal_reservation": "0.5.18",
    "state_spare_slot": "0.5.18",
    "compact_index": "0.5.18",
    "one_size": "0.5.18",
    "auto_size": "0.5.21",
}


@pytest.mark.parametrize("field", FIRST)
def test_the_first_known_version_of_a_behaviour(field: str) -> None:
    having = [text for text in KNOWN if getattr(pool_rules(Version.parse(text)), field)]
    assert having[0] == FIRST[field]
    assert having == list(KNOWN[KNOWN.index(having[0]) :])


def test_the_check_of_free_ram_by_version() -> None:
    guards = {text: pool_rules(Version.parse(text)).guard for text in KNOWN}
    assert guards["0.5.1.post3"] == guards["0.5.18"] == "machine"
    assert guards["0.5.19"] == guards["0.5.20"] == "ranks"
    assert guards["0.5.21"] == guards["0.5.23"] == "cgroup"


def test_a_smaller_host_pool_stops_failing_and_registration_is_chunked() -> None:
    assert pool_rules(Version.parse("0.5.14")).smaller_pool_fails
    assert not pool_rules(Version.parse("0.5.15.post1")).smaller_pool_fails
    assert pool_rules(Version.parse("0.5.18")).registration_limit_bytes == 512 * 2**30
    assert pool_rules(Version.parse("0.5.19")).registration_limit_bytes is None


def test_a_version_to_come_and_a_double_have_the_newest_rules() -> None:
    newest = pool_rules(Version.parse("0.5.23"))
    assert pool_rules(Version.parse("0.6.1")) == newest
    assert pool_rules(Version.parse("0.5.23+double")) == newest
    assert pool_rules(Version.parse("0.4.9")) == PoolRules()


def test_every_behaviour_is_covered_here() -> None:
    others = {"guard", "smaller_pool_fails", "registration_limit_bytes"}
    assert {field.name for field in fields(PoolRules)} == others | set(FIRST)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        (None, None),
        (1_000, 1_000),
        (" 4096 ", 4_096),
        ("256k", 256_000),
        ("256Ki", 262_144),
        ("25.6k", 25_600),
        ("1.1M", 1_100_000),
    ],
)
def test_numbers_of_tokens(text: str | int | None, tokens: int | None) -> None:
    assert read_tokens(text, pool_rules(Version.parse("0.5.10.post1"))) == tokens


@pytest.mark.parametrize("text", ["", "k", "1K", "1.5Ki", "1.5", "-1", "12 k", "1e6"])
def test_what_the_engine_would_not_read(text: str) -> None:
    with pytest.raises(ValueError, match="not a number of tokens"):
        read_tokens(text, pool_rules(Version.parse("0.5.23")))


def test_old_versions_know_no_suffix() -> None:
    with pytest.raises(ValueError, match="256k"):
        read_tokens("256k", pool_rules(Version.parse("0.5.9")))


def test_pages_of_backends() -> None:
    assert default_page_tokens(None, has_indexer=False) == 1
    assert default_page_tokens("flashmla", has_indexer=False) == 64
    assert default_page_tokens("triton", has_indexer=False) == 1
    assert default_page_tokens(None, has_indexer=True) == 64
