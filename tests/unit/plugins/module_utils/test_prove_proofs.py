# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each proof: proven, failed, or not proven, against a stub server."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._prove.client import Client, Keys
from ansible_collections.llmops.sglang.plugins.module_utils._prove.proofs import (
    Options,
    Prover,
    record_of,
)
from ansible_collections.llmops.sglang.plugins.module_utils._prove.wait import Started
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.gate_world import (
    Stub,
    a_plan,
    chat,
    in_turn,
    serving,
)

CHAT = "/v1/chat/completions"


def rank(name: str, tokens: int | None, size: int | None = 10**9) -> dict[str, Any]:
    return {"rank": name, "host_tokens": tokens, "host_bytes": size}


def started(**changes: Any) -> Started:
    startup = {
        "max_total_num_tokens": 1000,
        "host_tokens": 4016,
        "context_tokens": 4096,
        "ranks": [rank("TP0", 4016), rank("TP1", 4016)],
    }
    fired_up = changes.pop("fired_up", True)
    return Started("c0ffee", fired_up, {**startup, **changes})


@pytest.fixture
def server() -> Iterator[Stub]:
    """A server as planned: it answers the same thing, the second time from its cache."""
    answers = {
        CHAT: in_turn(chat("Waves."), chat("A ship.", cached=0), chat("A ship.", cached=64)),
        "/server_info": {"max_total_num_tokens": 1000, "internal_states": [{}]},
        "/v1/models": {"data": [{"id": "m", "max_model_len": 4096}]},
    }
    with serving(answers) as stub:
        yield stub


def prover_of(
    server: Stub,
    plan: dict[str, Any] | None = None,
    start: Started | None = None,
    **options: Any,
) -> Prover:
    client = Client(server.url, Keys("k"))
    return Prover(
        client, plan or a_plan(), start or started(), Options(**options), time.monotonic() + 5
    )


def proofs_of(server: Stub, *arguments: Any, **options: Any) -> dict[str, dict[str, Any]]:
    return {proof["id"]: proof for proof in prover_of(server, *arguments, **options).run()}


def statuses(proofs: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {name: proof["status"] for name, proof in proofs.items()}


def with_capacity(**changes: Any) -> dict[str, Any]:
    plan = a_plan()
    for name, value in changes.items():
        part = plan["capacity"].get(name)
        plan["capacity"][name] = {**part, **value} if isinstance(value, dict) else value
    return plan


def with_flag(flag: str, *values: str) -> dict[str, Any]:
    plan = a_plan()
    plan["arguments"].append({"flag": flag, "values": list(values)})
    return plan


def test_a_server_as_planned_is_proven(server: Stub) -> None:
    prover = prover_of(server)
    proofs = prover.run()
    assert {proof["id"]: proof["status"] for proof in proofs} == {
        "fired_up": "proven",
        "completion": "proven",
        "device_tokens": "proven",
        "host_tokens": "proven",
        "same_answer": "proven",
        "context": "proven",
    }
    assert prover.completion == {"text": "Waves.", "tokens": 5}
    assert record_of(a_plan(), started(), prover, proofs, "now") == {
        "at": "now",
        "invocation_id": "c0ffee",
        "fingerprint": "e1:m1:-",
        "device_tokens": 1000,
        "host_tokens": 4016,
        "proofs": {proof["id"]: "proven" for proof in proofs},
    }


def test_the_questions_are_fixed_and_deterministic(server: Stub) -> None:
    prover_of(server).run()
    bodies = [body for method, _path, body, _key in server.asked if method == "POST"]
    assert [body["temperature"] for body in bodies] == [0, 0, 0]
    assert {body["model"] for body in bodies} == {"m"}
    first, second = (body["messages"][0]["content"] for body in bodies[1:])
    assert first == second
    # Longer than a page of 16 tokens in any tokenizer that has at most one token per word.
    assert len(first.split()) > 2 * 16


def test_the_prompt_grows_with_the_page(server: Stub) -> None:
    prover_of(server, with_capacity(page_size=128)).run()
    body = server.asked[2][2]
    assert len(body["messages"][0]["content"].split()) > 2 * 128


# --- completion ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "measured"),
    [
        ((500, {"detail": "boom"}), 'HTTP 500: {"detail": "boom"}'),
        ({"choices": []}, "the answer holds no message"),
        (chat("", tokens=0), "0 tokens"),
    ],
)
def test_without_a_completion_nothing_more_is_asked(
    server: Stub, answer: Any, measured: str
) -> None:
    server.answers[CHAT] = answer
    proofs = proofs_of(server)
    assert (proofs["completion"]["status"], proofs["completion"]["measured"]) == (
        "failed",
        measured,
    )
    assert "same_answer" not in proofs
    assert proofs["device_tokens"]["status"] == "proven"


def test_thoughts_are_an_answer(server: Stub) -> None:
    thinking = chat("", cached=64)
    thinking["choices"][0]["message"].update(content=None, reasoning_content="Hm.")
    server.answers[CHAT] = thinking
    assert statuses(proofs_of(server))["same_answer"] == "proven"


# --- device tokens -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("origin", "planned", "status"),
    [
        ("predicted", 1000, "proven"),
        ("predicted", 1040, "proven"),
        ("measured", 960, "proven"),
        ("predicted", 1100, "failed"),
        ("predicted", 900, "failed"),
        # The engine rounds down to whole pages.
        ("declared", 1015, "proven"),
        ("declared", 1016, "failed"),
        (None, None, "not_proven"),
    ],
)
def test_device_tokens_against_the_plan(
    server: Stub, origin: str | None, planned: int | None, status: str
) -> None:
    plan = with_capacity(device={"tokens": planned, "origin": origin})
    proof = proofs_of(server, plan)["device_tokens"]
    assert (proof["status"], proof["measured"], proof["planned"]) == (status, 1000, planned)


def test_the_server_tells_device_tokens_when_the_journal_does_not(server: Stub) -> None:
    start = started(max_total_num_tokens=None)
    assert proofs_of(server, None, start)["device_tokens"]["status"] == "proven"
    server.answers["/server_info"] = (500, {})
    assert proofs_of(server, None, start)["device_tokens"]["status"] == "not_proven"


def test_the_tolerance_is_an_option(server: Stub) -> None:
    plan = with_capacity(device={"tokens": 1100})
    assert proofs_of(server, plan, predicted_tolerance=0.1)["device_tokens"]["status"] == "proven"


def test_a_prediction_may_be_off_by_what_it_said_itself(server: Stub) -> None:
    close = with_capacity(device={"tokens": 1090, "error_percent": 9.0})
    far = with_capacity(device={"tokens": 1110, "error_percent": 9.0})
    assert proofs_of(server, close)["device_tokens"]["status"] == "proven"
    assert proofs_of(server, far)["device_tokens"]["status"] == "failed"


# --- host tokens ---------------------------------------------------------------------------------


def host_proof(server: Stub, plan: dict[str, Any] | None = None, **start: Any) -> dict[str, Any]:
    return proofs_of(server, plan, started(**start))["host_tokens"]


def test_host_tokens_are_exact_when_the_device_came_out_exactly(server: Stub) -> None:
    proof = host_proof(server, with_capacity(host={"tokens": 4032}))
    assert (proof["status"], proof["measured"], proof["planned"]) == ("failed", 4016, 4032)


def test_host_tokens_follow_a_device_pool_that_came_out_otherwise(server: Stub) -> None:
    plan = with_capacity(device={"tokens": 1020}, host={"tokens": 4096})
    assert host_proof(server, plan)["status"] == "proven"
    plan = with_capacity(device={"tokens": 1020}, host={"tokens": 4096, "mode": "size"})
    assert host_proof(server, plan)["status"] == "failed"


def test_a_rank_without_a_pool_fails(server: Stub) -> None:
    proof = host_proof(server, ranks=[rank("TP0", 4016), rank("TP1", None, None)])
    assert (proof["status"], proof["measured"]) == ("failed", "1 pools")


def test_ranks_with_different_pools_fail(server: Stub) -> None:
    proof = host_proof(server, ranks=[rank("TP0", 4016), rank("TP1", 2000)])
    assert (proof["status"], proof["measured"]) == ("failed", "TP0: 4016, TP1: 2000")


def test_a_pool_that_is_written_as_nothing_still_has_tokens(server: Stub) -> None:
    proof = host_proof(server, ranks=[rank("TP0", 4016, None), rank("TP1", 4016, None)])
    assert proof["status"] == "proven"


def test_an_old_version_tells_bytes(server: Stub) -> None:
    ranks = [rank("TP0", None, 21 * 10**9), rank("TP1", None, 21 * 10**9)]
    plan = with_capacity(host={"bytes_per_rank": 21 * 10**9 + 10**7})
    assert host_proof(server, plan, ranks=ranks)["status"] == "proven"
    plan = with_capacity(host={"bytes_per_rank": 30 * 10**9})
    assert host_proof(server, plan, ranks=ranks)["status"] == "failed"
    plan = with_capacity(host={"bytes_per_rank": None})
    assert host_proof(server, plan, ranks=ranks)["status"] == "not_proven"


def test_no_host_tier_is_proven_by_its_absence(server: Stub) -> None:
    plan = with_capacity(host={"mode": "off", "tokens": None})
    assert host_proof(server, plan, host_tokens=0, ranks=[])["status"] == "proven"
    assert host_proof(server, plan)["status"] == "failed"
    assert host_proof(server, plan, host_tokens=None)["status"] == "not_proven"


def test_a_plan_without_a_number_proves_nothing(server: Stub) -> None:
    plan = with_capacity(host={"mode": "engine_auto", "tokens": None})
    proof = host_proof(server, plan)
    assert (proof["status"], proof["measured"]) == ("not_proven", 4016)


def test_a_journal_that_is_gone_proves_nothing(server: Stub) -> None:
    proofs = proofs_of(server, None, started(fired_up=None))
    assert statuses(proofs)["host_tokens"] == "not_proven"
    assert statuses(proofs)["fired_up"] == "not_proven"


# --- the same answer -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("second", "status"),
    [
        (chat("A ship.", cached=64), "proven"),
        (chat("A ship."), "proven"),
        (chat("A ship.", cached=0), "not_proven"),
        ((503, {}), "failed"),
    ],
)
def test_the_second_answer(server: Stub, second: Any, status: str) -> None:
    server.answers[CHAT] = in_turn(chat("Waves."), chat("A ship.", cached=0), second)
    assert proofs_of(server)["same_answer"]["status"] == status


@pytest.mark.parametrize(
    ("answers", "status"),
    [
        (["one", "two", "one", "two"], "failed"),
        (["one", "two", "one", "one", "one", "two"], "failed"),
        (["one", "two", "one", "one", "one", "one"], "not_proven"),
    ],
)
def test_one_tipped_token_is_no_fault_and_two_are(
    server: Stub, answers: list[str], status: str
) -> None:
    told = [chat(text, cached=64) for text in answers]
    server.answers[CHAT] = in_turn(chat("Waves."), *told)
    proof = proofs_of(server)["same_answer"]
    assert proof["status"] == status
    assert "'one' and 'two'" in proof["measured"]
    # No prompt begins like another one, or the cache would answer for both.
    prompts = {body["messages"][0]["content"] for method, _p, body, _k in server.asked[1:] if body}
    assert len({prompt[:12] for prompt in prompts}) == len(prompts)


def test_without_a_cache_equal_answers_are_enough(server: Stub) -> None:
    server.answers[CHAT] = chat("A ship.", cached=0)
    proofs = proofs_of(server, with_flag("--disable-radix-cache"))
    assert proofs["same_answer"]["status"] == "proven"


def test_answers_without_text_prove_nothing(server: Stub) -> None:
    server.answers[CHAT] = chat("", cached=64)
    assert proofs_of(server)["same_answer"]["status"] == "not_proven"


# --- the host tier -------------------------------------------------------------------------------


def from_the_host() -> Callable[[Any], dict[str, Any]]:
    """A server that remembers every prompt, and tells that a repeated one came from the host."""
    seen: set[str] = set()

    def answer(body: Any) -> dict[str, Any]:
        prompt = body["text"]
        cached = 64 if prompt in seen else 0
        seen.add(prompt)
        meta = {
            "prompt_tokens": len(prompt) // 4,
            "cached_tokens": cached,
            "cached_tokens_details": {"device": 0, "host": cached},
        }
        return {"text": "same", "meta_info": meta}

    return answer


def test_the_host_tier_is_read_back(server: Stub) -> None:
    server.answers["/generate"] = from_the_host()
    proof = proofs_of(server, read_back_s=60)["read_back"]
    assert (proof["status"], proof["measured"]) == ("proven", "192 tokens")
    bodies = [body for _method, path, body, _key in server.asked if path == "/generate"]
    assert {body["sampling_params"]["temperature"] for body in bodies} == {0}
    assert all(body["sampling_params"]["ignore_eos"] for body in bodies)


def test_copies_of_the_model_share_no_cache(server: Stub) -> None:
    proof = proofs_of(server, with_flag("--dp-size", "2"), read_back_s=60)["read_back"]
    assert proof["status"] == "not_proven"
    assert "data-parallel copy" in proof["text"]


@pytest.mark.parametrize("options", [{"read_back_s": 0}, {}])
def test_the_host_tier_is_left_out_on_request(server: Stub, options: dict[str, float]) -> None:
    assert "read_back" not in proofs_of(server, **options)


def test_without_a_host_tier_nothing_is_read_back(server: Stub) -> None:
    plan = with_capacity(host={"mode": "off", "tokens": None})
    assert "read_back" not in proofs_of(server, plan, started(host_tokens=0), read_back_s=60)


# --- speculation, tools, context -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "status", "measured"),
    [
        (
            {"text": "x", "meta_info": {"spec_accept_length": 2.7512, "spec_verify_ct": 9}},
            "proven",
            2.75,
        ),
        (
            {"text": "x", "meta_info": {"completion_tokens": 30, "spec_verify_ct": 12}},
            "proven",
            2.5,
        ),
        ({"text": "x", "meta_info": {"completion_tokens": 30}}, "not_proven", None),
        ((500, {}), "not_proven", None),
    ],
)
def test_the_accept_length(server: Stub, answer: Any, status: str, measured: float | None) -> None:
    server.answers["/generate"] = answer
    proof = proofs_of(server, with_flag("--speculative-algorithm", "EAGLE3"))["speculation"]
    assert (proof["status"], proof["measured"]) == (status, measured)


def test_a_tool_call_is_asked_for_only_on_demand(server: Stub) -> None:
    assert "tool_call" not in proofs_of(server)
    call = {"function": {"name": "read_tide", "arguments": '{"harbour":"Dover"}'}}
    server.answers[CHAT] = lambda body: (
        chat("", tool_calls=[call]) if "tools" in body else chat("A ship.", cached=3)
    )
    assert proofs_of(server, tool_call=True)["tool_call"]["status"] == "proven"
    server.answers[CHAT] = chat("It is high.", cached=3)
    proof = proofs_of(server, tool_call=True)["tool_call"]
    assert (proof["status"], proof["measured"]) == ("failed", "text")


def test_a_context_that_was_set_must_be_met_one_that_was_read_need_not(server: Stub) -> None:
    server.answers["/v1/models"] = {"data": [{"max_model_len": 2048}]}
    assert proofs_of(server)["context"]["status"] == "not_proven"
    assert proofs_of(server, with_flag("--context-length", "4096"))["context"]["status"] == "failed"
    plan = with_flag("--context-length", "2048")
    assert proofs_of(server, plan)["context"]["status"] == "proven"
    server.answers["/v1/models"] = (404, {})
    assert proofs_of(server)["context"]["status"] == "proven"
    silent = started(context_tokens=None)
    assert proofs_of(server, None, silent)["context"]["status"] == "not_proven"


def test_check_mode_asks_nothing_but_reads(server: Stub) -> None:
    plan = with_flag("--speculative-algorithm", "EAGLE3")
    proofs = proofs_of(server, plan, ask=False, tool_call=True)
    assert {name for name, status in statuses(proofs).items() if status == "not_proven"} == {
        "completion",
        "same_answer",
        "speculation",
        "tool_call",
    }
    assert all(method == "GET" for method, *_rest in server.asked)
