# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a log shows what users asked and what they were answered, releases 0.5.1 to 0.5.23.

This module util is private to the llmops.sglang collection.

With C(--log-requests) the engine prints whole requests and answers, as text or as JSON; without it,
an exception may quote one.
"""

from __future__ import annotations

import re

REMOVED = "<removed>"

_QUOTE = r"\\*[\"']"
# What follows the head belongs to a user, up to the end of the line.
_HEADS = re.compile(
    # Receive: obj=GenerateReqInput(...), Finish: obj=..., out={...}, Receive OpenAI: obj={...}
    r"\b(?:Receive|Finish)(?: \w+)?: obj="
    # {"timestamp": "...", "event": "request.received", "rid": "...", "obj": {...}}
    rf"|{_QUOTE}event{_QUOTE}\s*:\s*{_QUOTE}request\.\w+(?:\.\w+)*{_QUOTE}"
    # GenerateReqInput(...), Req(rid=..., ...), ChatCompletionRequest(...)
    r"|\b(?:\w*Req(?:Input|Output)?|\w*(?:Completion|Embedding|Responses)Request)\((?!\))"
    # text='...', "messages": [...], input_ids=[...]; pydantic quotes what it refuses
    r"|(?<![\w-])(?:text|prompt|messages|content|reasoning_content|origin_input_text|decoded_text"
    r"|(?:origin_)?input_ids|output_ids|input_embeds|input_value|\w+_data)"
    rf"(?:{_QUOTE})?\s*[:=]\s*(?={_QUOTE}|[\[{{(])"
)


def without_request(message: str) -> str:
    """A log message without what a user asked or was answered in it."""
    found = _HEADS.search(message)
    return message[: found.end()] + REMOVED if found else message
