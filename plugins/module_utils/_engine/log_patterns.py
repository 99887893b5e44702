# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The start-up lines of an SGLang server, releases 0.5.1 to 0.5.23, without their prefixes.

This module util is private to the llmops.sglang collection.

The wording changed in 0.5.9, 0.5.10, 0.5.13, 0.5.14, 0.5.16, 0.5.17, 0.5.19, 0.5.21 and 0.5.23.
The patterns here take every wording, so no release has to be known before its log can be read; a
line that changes once more is "not measured", never a wrong number.
"""

from __future__ import annotations

import re

# Numbers of a length that can be true: a cut or mixed up line shall not become a pool.
_F = r"(\d{1,6}(?:\.\d{1,6})?)"
_N = r"(\d{1,11})\b"

INIT_BEGIN = re.compile(r"^Init (?:torch distributed|parallel) begin\.")
INIT_END = re.compile(rf"^Init (?:torch distributed|parallel) ends\.(?: elapsed={_F} s)?")
LOAD_BEGIN = re.compile(rf"^Load weight begin\. avail mem={_F} GB")
LOAD_END = re.compile(
    rf"^Load weight end\.(?: elapsed={_F} s,)?(?: type=(?P<type>\w+),)?.*?\bavail mem={_F} GB"
    rf"(?:, mem usage=(?P<used>{_F}) GB)?"
)
LOAD_LATE = re.compile(
    rf"^Load weight end\. Committed real weights after CUDA graph capture in {_F} s"
)
SWA_SLOTS = re.compile(
    r"^(?:Use sliding window memory pool|Post-capture KV sizing)\b.*?"
    rf"\bswa_layer_tokens={_N}"
)
SWA_SUM = re.compile(rf"^SWAKVPool mem usage: {_F} GB, swa size: (?P<tokens>\d{{1,11}})\b")
DEVICE_POOL = re.compile(
    r"^(?:(?P<label>\w[\w .-]{0,60}?) )?KV Cache (?P<how>is allocated|VA upper bound)\. "
    rf"(?:dtype: [\w.]+, )?#tokens: (?P<tokens>\d{{1,11}}), "
    rf"(?:KV size: (?P<kv>{_F}) GB|K size: (?P<k>{_F}) GB, V size: (?P<v>{_F}) GB)"
)
RESIZED_POOL = re.compile(
    r"^Post-capture KV sizing: (?P<draft>draft )?KV cache allocated\. dtype: [\w.]+, "
    rf"#tokens: (?P<tokens>\d{{1,11}}), KV size: (?P<kv>{_F}) GB"
)
RESIZED_RUNNING = re.compile(rf"^Post-capture KV sizing: max_running_requests \d{{1,11}} -> {_N}")
RESIZED = re.compile(rf"^Post-capture KV sizing: max_total_num_tokens={_N}")
STATE = re.compile(r"^Mamba Cache is allocated\.(?: max_mamba_cache_size: (\d{1,11})\b)?")
STATE_SIZE = re.compile(rf"\b\w+ size: {_F} ?GB")
POOL_END = re.compile(rf"^Memory pool end\. avail mem={_F} GB")
CAPTURE_BEGIN = re.compile(r"^Capture .*?\bbegin\b")
CAPTURE_END = re.compile(rf"^Capture .*?\bend\b.*?(?:Time elapsed: ~?|elapsed=){_F} s")
AVAIL = re.compile(rf"\bavail mem={_F} GB")
CAPACITY = re.compile(rf"^max_total_num_tokens={_N}")
LIMIT = re.compile(
    r"\b(chunked_prefill_size|max_prefill_tokens|max_running_requests|context_len)=(\d{1,11})\b"
)
AVAILABLE = re.compile(rf"\bavailable_\w+_mem={_F} GB")
HOST_POOL = re.compile(
    rf"^Allocating (?P<label>\w+) hierarchical KV host pool: (?P<tokens>\d{{1,11}}) tokens, "
    rf"(?P<gb>{_F}) GB host memory"
)
HOST_POOL_OLD = re.compile(rf"^Allocating {_F} GB host memory for (?P<what>.+)$")
HOST_POOL_EMPTY = re.compile(
    rf"^\w+ dummy mode: allocator-only, size={_N} tokens, saving {_F} GB host memory"
)
HOST_SLOTS = re.compile(rf"^Sync fixed-size HiCache host token capacity from \d{{1,11}} to {_N}")
DRAFT_REGISTERED = re.compile(r"^HiCache draft KV registered: .*\(host (\d{1,11}) slots\)")
AUTO_SIZED = re.compile(rf"^HiCache auto-sizing: ratio {_F} -> {_F};")
UVICORN = re.compile(r"^(?:INFO: +)?Uvicorn running on ")
SHARDS = re.compile(r"shards: +\d+% Completed \| (\d{1,6})/(\d{1,6})")
FIRED_UP = "The server is fired up and ready to roll!"
SERVER_ARGS = "server_args="
# systemd's own line at the beginning of a run. "Started" may come long after, so it is not one.
UNIT_START = re.compile(r"^Starting \S+\.service\b")

# Host pools that are named by what they hold.
HOST_KINDS = (
    ("kv", re.compile(r"hierarchical KV cache")),
    ("state", re.compile(r"hierarchical Mamba cache(?: \((?P<slots>\d{1,11}) state slots)?")),
    ("indexer", re.compile(r"(?:NSA|DSA) indexer|MiniMax .*index")),
    ("", re.compile(r"V4 (?P<kind>paged|state) pool '(?P<name>[\w-]{1,40})'")),
)
