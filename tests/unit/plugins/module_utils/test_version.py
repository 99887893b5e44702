# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions compare as PEP 440 says, and unknown ones find the right neighbour."""

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._engine.version import KNOWN, Version


def test_known_versions_are_in_order_and_known_to_themselves() -> None:
    versions = [Version.parse(text) for text in KNOWN]
    assert versions == sorted(versions)
    assert all(version.nearest_known() == (version, True) for version in versions)


def test_stages_sort_around_their_release() -> None:
    ordered = ["0.5.9", "0.5.10.dev3", "0.5.10a1", "0.5.10rc1.dev1", "0.5.10rc1", "0.5.10rc2"]
    ordered += ["0.5.10", "0.5.10.post1.dev2", "0.5.10.post1", "0.5.11"]
    assert sorted(ordered, key=Version.parse) == ordered


def test_compares_with_strings() -> None:
    version = Version.parse("0.5.10.post1")
    assert "0.5.9" < version < "0.5.11"
    assert version >= "0.5.10"
    assert version == "v0.5.10.post1"
    assert version != "newest"
    with pytest.raises(TypeError):
        sorted([version, "newest"])


def test_local_label_is_kept_and_ignored() -> None:
    double = Version.parse("0.5.18+double")
    assert double == "0.5.18"
    assert hash(double) == hash(Version.parse("0.5.18"))
    assert (str(double), double.local) == ("0.5.18+double", "double")
    assert double.nearest_known() == (Version.parse("0.5.18"), True)


def test_trailing_zeros_do_not_count() -> None:
    assert Version.parse("0.6") == "0.6.0"


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("0.5.12", "0.5.12.post1"),
        ("0.5.10.post2", "0.5.10.post1"),
        ("0.6.0", "0.5.23"),
        ("0.5.24.dev7+g0a1b2c3", "0.5.23"),
        ("0.4.9", "0.5.1.post3"),
    ],
)
def test_unknown_versions_find_a_neighbour(text: str, nearest: str) -> None:
    assert Version.parse(text).nearest_known() == (Version.parse(nearest), False)


@pytest.mark.parametrize("text", ["", "latest", "0.5.x", "0.5.1-post3-dirty"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not an SGLang version"):
        Version.parse(text)
