# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person reads of a bundle."""

from __future__ import annotations

from ansible_collections.llmops.sglang.plugins.module_utils._render.bundle_report import (
    bundle_report,
)


def test_it_says_where_the_bundle_is_and_what_is_not_in_it() -> None:
    removed = {"secrets": 3, "requests": 1, "hosts": 1, "addresses": 2, "gpus": 8, "users": 1}
    bundle = {"files": 46, "bytes": 21_400, "removed": removed}
    assert bundle_report("gpu-01", bundle, "/tmp/b/gpu-01.tar.gz") == (
        "gpu-01   recorded, 46 files in 21 kB:\n"
        "  /tmp/b/gpu-01.tar.gz\n"
        "  removed: 3 secrets, 1 text of a request\n"
        "  renamed: 1 host, 2 addresses, 8 GPUs, 1 home folder\n"
        "  Look into it before you send it:\n"
        "    tar -xOzf /tmp/b/gpu-01.tar.gz | less\n"
    )


def test_nothing_is_said_to_be_nothing() -> None:
    text = bundle_report("gpu-01", {"files": 1, "bytes": 10, "removed": {"secrets": 0}}, "a")
    assert "removed: nothing\n" in text and "renamed: nothing\n" in text
