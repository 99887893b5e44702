# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares a running server with its plan.

Private to the collection.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .._engine import endpoints
from .._engine.version import Version
from .._gate.checks import dig
from .client import Answer, Client
from .generate import Reply, ask
from .proof import FAILED, NOT_PROVEN, PROVEN, Proof, proof_of
from .read_back import Tiers, read_back
from .wait import Started

_SHORTEST_TIMEOUT_S = 60.0
_QUESTION = "Write one short sentence about the sea."
_SENTENCE = (
    "The keeper of the lighthouse writes down the wind, the tide and every ship that passes by. "
)
_WORDS = len(_SENTENCE.split())
_REPEAT = "Repeat the last sentence of this page word by word."
# One pair of answers that differ may be rounding; most of these are a fault.
_OPENINGS = ("", "Second page. ", "Third page. ")
_PAIRS = len(_OPENINGS)
_COMPLETION_TOKENS = 16
_SPECULATED_TOKENS = 48
# Lines of old versions give the size of a host pool in GB with two decimals.
_SIZE_TOLERANCE = 0.01
_SIZE_ROUNDING_BYTES = 10**7
_TOOL = {
    "type": "function",
    "function": {
        "name": "read_tide",
        "description": "Returns the height of the tide in a harbour.",
        "parameters": {
            "type": "object",
            "properties": {"harbour": {"type": "string"}},
            "required": ["harbour"],
        },
    },
}


@dataclass(frozen=True)
class Options:
    """How strictly to compare: shares of the planned tokens, and what to ask for.

    `read_back_s` seconds may be spent on filling the device tier; 0 leaves that proof out.
    """

    predicted_tolerance: float = 0.05
    tool_call: bool = False
    read_back_s: float = 0
    ask: bool = True


class Prover:
    """The proofs of one server. Asks it in a fixed order; keeps what it answered."""

    def __init__(
        self,
        client: Client,
        plan: dict[str, Any],
        started: Started,
        options: Options,
        until: float,
    ) -> None:
        self._client = client
        self._plan = plan
        self._started = started
        self._options = options
        self._until = until
        self._info: dict[str, Any] = {}
        self.completion: dict[str, Any] = {"text": None, "tokens": None}
        self.device_tokens: int | None = None
        self.host_tokens: int | None = None

    def run(self) -> list[Proof]:
        """Make all proofs that this plan asks for."""
        self._info = self._server_info()
        return list(self._proofs())

    def _proofs(self) -> Iterator[Proof]:
        yield self._fired_up()
        completion = self._completion()
        yield completion
        yield self._device_tokens()
        yield self._host_tokens()
        # A server that cannot answer once is not asked to answer twice.
        if completion["status"] != FAILED:
            yield self._same_answer()
            if self._flag("--speculative-algorithm") is not None:
                yield self._speculation()
            tiered = dig(self._plan, "capacity", "host", "mode") not in (None, "off")
            if tiered and self._options.read_back_s > 0:
                yield self._read_back()
            if self._options.tool_call:
                yield self._tool_call()
        yield self._context()

    # --- what the server says of itself ----------------------------------------------------------

    def _server_info(self) -> dict[str, Any]:
        text = dig(self._plan, "engine", "version")
        version = Version.parse(text) if text else None
        for path in endpoints.paths("server_info", version):
            answer = self._client.get(path)
            if answer.ok and isinstance(answer.body, dict):
                return answer.body
        return {}

    def _flag(self, name: str) -> str | None:
        for argument in self._plan.get("arguments") or []:
            if argument.get("flag") == name:
                return " ".join(str(value) for value in argument.get("values") or [])
        return None

    def _chat(self, content: str, **more: Any) -> Answer:
        body = {
            "model": self._plan.get("served_model_name"),
            "messages": [{"role": "user", "content": content}],
            "max_tokens": _COMPLETION_TOKENS,
            "temperature": 0,
            **more,
        }
        return self._client.post(endpoints.paths("chat")[0], body, timeout_s=self._timeout_s())

    def _ask(self, prompt: str, tokens: int) -> Reply:
        return ask(self._client, prompt, tokens, self._timeout_s())

    def _timeout_s(self) -> float:
        """A generation may take what is left of the deadline, and a minute in any case."""
        return max(_SHORTEST_TIMEOUT_S, self._until - time.monotonic())

    # --- the proofs ------------------------------------------------------------------------------

    def _fired_up(self) -> Proof:
        if self._started.fired_up:
            return proof_of("fired_up", PROVEN, "ready", "ready", "fired up")
        return proof_of(
            "fired_up",
            NOT_PROVEN,
            "answers",
            "ready",
            "the journal of this start is gone; the server answers",
        )

    def _completion(self) -> Proof:
        name, planned = "completion", "an answer"
        if not self._options.ask:
            return proof_of(name, NOT_PROVEN, None, planned, "not asked in check mode")
        answer = self._chat(_QUESTION)
        text, tokens = answer_text(answer.body), _usage(answer.body, "completion_tokens")
        if not answer.ok or text is None:
            reason = answer.reason or "the answer holds no message"
            return proof_of(name, FAILED, reason, planned, f"no completion: {reason}")
        self.completion = {"text": text, "tokens": tokens}
        if not tokens:
            return proof_of(name, FAILED, "0 tokens", planned, "the completion is empty")
        return proof_of(
            name, PROVEN, f"{tokens} tokens", planned, f"a completion of {tokens} tokens"
        )

    def _device_tokens(self) -> Proof:
        name = "device_tokens"
        planned = dig(self._plan, "capacity", "device", "tokens")
        measured = self._started.startup.get("max_total_num_tokens")
        if measured is None:
            measured = self._info.get("max_total_num_tokens")
        self.device_tokens = measured
        if measured is None:
            return proof_of(
                name, NOT_PROVEN, None, planned, "neither journal nor server tells them"
            )
        if planned is None:
            return proof_of(
                name,
                NOT_PROVEN,
                measured,
                None,
                f"{measured:,} device tokens; the plan had no number to compare with",
            )
        page = dig(self._plan, "capacity", "page_size") or 1
        exact = dig(self._plan, "capacity", "device", "origin") == "declared"
        allowed = page - 1 if exact else self._tolerance() * planned
        text = f"{measured:,} device tokens as planned"
        if abs(measured - planned) > allowed:
            text = (
                f"{measured:,} device tokens instead of {planned:,}, "
                f"{abs(measured - planned) / max(planned, 1):.1%} "
                f"{'more' if measured > planned else 'fewer'} "
                "(sglang_max_total_tokens fixes them)"
            )
            return proof_of(name, FAILED, measured, planned, text)
        if measured != planned:
            text = f"{measured:,} device tokens, planned {planned:,}"
        return proof_of(name, PROVEN, measured, planned, text)

    def _tolerance(self) -> float:
        """Share by which tokens may differ: never less than the plan's own error band."""
        band = dig(self._plan, "capacity", "device", "error_percent") or 0
        return max(self._options.predicted_tolerance, float(band) / 100)

    def _host_tokens(self) -> Proof:
        name = "host_tokens"
        mode = dig(self._plan, "capacity", "host", "mode")
        planned = dig(self._plan, "capacity", "host", "tokens")
        startup = self._started.startup
        self.host_tokens = startup.get("host_tokens")
        if not self._started.fired_up:
            return proof_of(name, NOT_PROVEN, None, planned, "the journal of this start is gone")
        if mode in (None, "off"):
            if self.host_tokens == 0:
                return proof_of(name, PROVEN, 0, 0, "no host tier, as planned")
            if self.host_tokens:
                return proof_of(
                    name,
                    FAILED,
                    self.host_tokens,
                    0,
                    "the server has a host tier that is not planned (sglang_hicache_mode)",
                )
            return proof_of(name, NOT_PROVEN, None, 0, "the journal does not tell the host pools")
        # A pool of a few MB is written as 0.00 GB, so its bytes may be unknown.
        pools = [
            rank
            for rank in startup.get("ranks") or []
            if rank.get("host_tokens") is not None or rank.get("host_bytes") is not None
        ]
        ranks = dig(self._plan, "capacity", "ranks_per_node") or 1
        if len(pools) != ranks:
            return proof_of(
                name,
                FAILED,
                f"{len(pools)} pools",
                f"{ranks} pools",
                f"{len(pools)} of {ranks} ranks have a host pool (sglang_hicache_mode)",
            )
        tokens = {rank.get("host_tokens") for rank in pools}
        if tokens == {None}:
            return self._host_bytes([rank["host_bytes"] for rank in pools])
        if len(tokens) > 1:
            listed = ", ".join(f"{rank['rank']}: {rank['host_tokens']}" for rank in pools)
            return proof_of(name, FAILED, listed, planned, "the ranks have different host pools")
        if planned is None:
            return proof_of(
                name,
                NOT_PROVEN,
                self.host_tokens,
                None,
                f"{self.host_tokens:,} host tokens; the plan had no number to compare with",
            )
        return self._compare_host(planned)

    def _compare_host(self, planned: int) -> Proof:
        """Exact, unless the device pool that the ratio multiplies came out otherwise itself."""
        measured = self.host_tokens or 0
        device = dig(self._plan, "capacity", "device", "tokens")
        follows = (
            dig(self._plan, "capacity", "host", "mode") != "size" and self.device_tokens != device
        )
        allowed = self._tolerance() * planned if follows else 0
        if abs(measured - planned) > allowed:
            return proof_of(
                "host_tokens",
                FAILED,
                measured,
                planned,
                f"{measured:,} host tokens per rank instead of {planned:,} (sglang_hicache_ratio)",
            )
        note = " as planned" if measured == planned else f", planned {planned:,}"
        text = f"{measured:,} host tokens on every rank{note}"
        return proof_of("host_tokens", PROVEN, measured, planned, text)

    def _host_bytes(self, sizes: Sequence[int]) -> Proof:
        """Up to 0.5.16 the journal tells bytes only."""
        planned = dig(self._plan, "capacity", "host", "bytes_per_rank")
        measured = max(sizes)
        if planned is None:
            return proof_of(
                "host_tokens", NOT_PROVEN, measured, None, "this version tells bytes, not tokens"
            )
        allowed = planned * _SIZE_TOLERANCE + _SIZE_ROUNDING_BYTES
        status = FAILED if any(abs(size - planned) > allowed for size in sizes) else PROVEN
        text = f"{measured / 1e9:.2f} GB of host pool per rank, planned {planned / 1e9:.2f} GB"
        return proof_of("host_tokens", status, measured, planned, text)

    def _same_answer(self) -> Proof:
        name, planned = "same_answer", "equal answers, the second one from the cache"
        if not self._options.ask:
            return proof_of(name, NOT_PROVEN, None, planned, "not asked in check mode")
        page = dig(self._plan, "capacity", "page_size") or self._info.get("page_size") or 1
        # Whole pages are cached, so the prompt must be longer than one, in any tokenizer.
        count = 3 + 2 * page // _WORDS
        differing: list[str] = []
        for attempt in range(_PAIRS):
            # Another beginning each time, so that nothing of the pair before is found in the cache.
            prompt = _OPENINGS[attempt] + _SENTENCE * count + _REPEAT
            answers = [self._chat(prompt), self._chat(prompt)]
            for answer in answers:
                if not answer.ok:
                    text = f"no answer: {answer.reason}"
                    return proof_of(name, FAILED, answer.reason, planned, text)
            first, second = (answer_text(answer.body) for answer in answers)
            if first != second:
                differing.append(f"{first!r} and {second!r}")
            if not differing or len(differing) > _PAIRS // 2:
                break
        if len(differing) > _PAIRS // 2:
            text = "the same prompt was answered differently the second time, twice"
            return proof_of(name, FAILED, "; ".join(differing), planned, text)
        if differing:
            # A cached prefix is computed in other shapes, so a token may tip over by rounding.
            text = f"one of {_PAIRS} prompts was answered differently the second time"
            return proof_of(name, NOT_PROVEN, differing[0], planned, text)
        if not first:
            return proof_of(name, NOT_PROVEN, "", planned, "both answers hold no text to compare")
        cached = _cached_tokens(answers[1].body)
        if cached is None:
            return proof_of(
                name, PROVEN, "equal", planned, "same answer twice; the cache is not reported"
            )
        if cached == 0:
            if self._flag("--disable-radix-cache") is not None:
                return proof_of(
                    name, PROVEN, "equal", planned, "same answer twice, without a cache"
                )
            return proof_of(
                name,
                NOT_PROVEN,
                "equal, 0 cached tokens",
                planned,
                "same answer twice, but the second one did not come from the cache",
            )
        return proof_of(
            name,
            PROVEN,
            f"equal, {cached} cached tokens",
            planned,
            f"same answer twice, {cached} tokens of the second from the cache",
        )

    def _speculation(self) -> Proof:
        name, planned = "speculation", self._flag("--speculative-algorithm")
        if not self._options.ask:
            return proof_of(name, NOT_PROVEN, None, planned, "not asked in check mode")
        # The engine's own endpoint tells the length of this very request; the averages of the
        # server appear only after some dozens of steps.
        reply = self._ask(_SENTENCE, _SPECULATED_TOKENS)
        if reply.accept_length is None:
            reason = reply.reason or "the server tells no accept length"
            return proof_of(name, NOT_PROVEN, None, planned, reason)
        text = f"accept length {reply.accept_length:.2f}"
        return proof_of(name, PROVEN, reply.accept_length, planned, text)

    def _read_back(self) -> Proof:
        """The host tier must give back what was put there."""
        name, planned = "read_back", "the same answers from the host tier"
        reason = None
        if not self._options.ask:
            reason = "not asked in check mode"
        elif int(self._flag("--dp-size") or 1) > 1:
            reason = "a repeated request may go to another data-parallel copy"
        device_tokens = self.device_tokens or dig(self._plan, "capacity", "device", "tokens")
        host_tokens = self.host_tokens or dig(self._plan, "capacity", "host", "tokens")
        if reason is None and not (device_tokens and host_tokens):
            reason = "the sizes of the tiers are unknown"
        if reason is not None:
            return proof_of(name, NOT_PROVEN, None, planned, reason)
        tiers = Tiers(
            device_tokens=device_tokens,
            host_tokens=host_tokens,
            page=dig(self._plan, "capacity", "page_size") or 1,
            context_tokens=self._served_context(),
        )
        return read_back(self._ask, tiers, time.monotonic() + self._options.read_back_s)

    def _tool_call(self) -> Proof:
        name, planned = "tool_call", "a call of the offered tool"
        if not self._options.ask:
            return proof_of(name, NOT_PROVEN, None, planned, "not asked in check mode")
        answer = self._chat(
            "How high is the tide in Dover? Use the tool.",
            tools=[_TOOL],
            tool_choice="auto",
            max_tokens=2048,
        )
        if not answer.ok:
            return proof_of(name, FAILED, answer.reason, planned, f"no tool call: {answer.reason}")
        calls = dig(_choice(answer.body), "message", "tool_calls") or []
        names = [str(dig(call, "function", "name")) for call in calls]
        if _TOOL["function"]["name"] in names:  # type: ignore[index]
            return proof_of(name, PROVEN, names[0], planned, "a tool call")
        return proof_of(
            name,
            FAILED,
            ", ".join(names) or "text",
            planned,
            "the model answered without calling the tool (sglang_tool_call_parser)",
        )

    def _context(self) -> Proof:
        name, flag = "context", self._flag("--context-length")
        planned = int(flag) if flag else dig(self._plan, "capacity", "model_context_tokens")
        measured = self._served_context()
        if measured is None:
            return proof_of(name, NOT_PROVEN, None, planned, "the server does not tell its context")
        if planned is None:
            return proof_of(
                name, NOT_PROVEN, measured, None, f"context {measured:,}; none was planned"
            )
        if measured == planned:
            return proof_of(name, PROVEN, measured, planned, f"context {measured:,} tokens")
        text = f"context {measured:,} tokens instead of {planned:,}"
        # A context read from the model folder is an expectation, one that was set is an order.
        if flag:
            return proof_of(name, FAILED, measured, planned, f"{text} (sglang_context_length)")
        return proof_of(name, NOT_PROVEN, measured, planned, text)

    def _served_context(self) -> int | None:
        answer = self._client.get(endpoints.paths("models")[0])
        models = dig(answer.body, "data") if answer.ok else None
        for model in models if isinstance(models, list) else []:
            length = dig(model, "max_model_len")
            if isinstance(length, int):
                return length
        length = self._started.startup.get("context_tokens")
        return length if isinstance(length, int) else None


def record_of(
    plan: dict[str, Any], started: Started, prover: Prover, proofs: list[Proof], at: str
) -> dict[str, Any]:
    """Return what is worth keeping on the host about a proven server."""
    return {
        "at": at,
        "invocation_id": started.invocation_id,
        "fingerprint": plan.get("fingerprint"),
        "device_tokens": prover.device_tokens,
        "host_tokens": prover.host_tokens,
        "proofs": {proof["id"]: proof["status"] for proof in proofs},
    }


def _choice(body: Any) -> dict[str, Any]:
    choices = dig(body, "choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else {}


def answer_text(body: Any) -> str | None:
    """Return what the model said, thoughts first; None when there is no message at all."""
    message = _choice(body).get("message")
    if not isinstance(message, dict):
        return None
    return f"{message.get('reasoning_content') or ''}{message.get('content') or ''}"


def _usage(body: Any, *path: str) -> int | None:
    value = dig(body, "usage", *path)
    return value if isinstance(value, int) else None


def _cached_tokens(body: Any) -> int | None:
    return _usage(body, "prompt_tokens_details", "cached_tokens")
