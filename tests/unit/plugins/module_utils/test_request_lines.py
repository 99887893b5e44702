# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What users ask is cut out of a log, and nothing else."""

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._engine.log_lines import StartupParser
from ansible_collections.llmops.sglang.plugins.module_utils._engine.request_lines import (
    without_request,
)


@pytest.mark.parametrize(
    "message",
    [
        "Receive: obj=GenerateReqInput(rid='a', text='mine', sampling_params={})",
        "Finish: obj=GenerateReqInput(rid='a'), out={'text': 'mine'}",
        "Receive OpenAI: obj={'messages': [{'role': 'user', 'content': 'mine'}]}",
        '{"timestamp": "x", "event": "request.received", "rid": "a", "obj": {"text": "mine"}}',
        '{"event": "request.received.openai", "obj": {"messages": "mine"}}',
        "bad request: ChatCompletionRequest(messages=[{'content': 'mine'}])",
        "TokenizedGenerateReqInput(rid='a', input_text='mine')",
        "assert failed for Req(rid=a, input_ids=[1], mine)",
        "1 validation error, input_value='mine', input_type=str",
        "got prompt: 'mine'",
        'payload was {\\"content\\": \\"mine\\"}',
        "image_data=['mine']",
    ],
)
def test_requests_are_cut_out(message: str) -> None:
    cut = without_request(message)
    assert "mine" not in cut and cut.endswith("<removed>")
    assert without_request(cut) == cut


@pytest.mark.parametrize(
    "message",
    [
        "max_total_num_tokens=159300, chunked_prefill_size=8192, context_len=262144",
        "server_args=ServerArgs(model_path='/m', enable_multimodal=None, prompt_tokens=1)",
        "server_args={'log_requests': False, 'max_running_requests': 48}",
        "Prefill batch, #new-seq: 1, #running-req: 0, #queue-req: 0",
        "Gracefully exiting... Remaining number of requests 3.",
        'INFO:     127.0.0.1:4 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
        "KeyError: 'text'",
    ],
)
def test_everything_else_stays(message: str) -> None:
    assert without_request(message) == message


def test_a_user_who_asks_about_a_failure_is_none() -> None:
    parser = StartupParser()
    parser.feed_failure(
        "[2026-11-30 18:00:20] Receive: obj=GenerateReqInput(text='CUDA out of memory')"
    )
    assert parser.cause == (None, None)
    parser.feed_failure("[2026-11-30 18:00:21] CUDA out of memory, prompt: 'mine'")
    assert parser.cause[0] == "device_out_of_memory"
    assert parser.cause[1] == "CUDA out of memory, prompt: <removed>"
