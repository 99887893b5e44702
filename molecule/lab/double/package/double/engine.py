# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the double serves: text made from a hash of the prompt, a prefix cache, and counters."""

from __future__ import annotations

import hashlib
import itertools
import threading
import time
import uuid
from dataclasses import dataclass
from typing import Any

from .args import VERSION
from .cache import Cache, Hit, tokens_of
from .host import GIB
from .pools import GRAPH_BYTES
from .ranks import Start

TOKENS_PER_S = 200
# Tokens per step of verification, with speculation.
ACCEPT_LENGTH = 2.8
COLLAPSED_ACCEPT_LENGTH = 1.1
WORDS = ("amber", "basin", "cedar", "delta", "ember", "fjord", "grove", "haven", "inlet", "juniper")


class TooLong(Exception):
    """The prompt exceeds the context."""


@dataclass(frozen=True)
class Answer:
    """One finished generation."""

    request_id: str
    text: str
    prompt_tokens: int
    cached: Hit
    completion_tokens: int
    finish_reason: str


class Engine:
    """The serving state: running requests, prompts seen, counters. Safe for many threads."""

    def __init__(self, start: Start) -> None:
        self.start = start
        self.ready = False
        self.draining = threading.Event()
        self.requests: dict[str, threading.Event] = {}
        self.tokens_in_use = 0
        self.counters = {"prompt_tokens": 0, "cached_tokens": 0, "generation_tokens": 0}
        self._cache = Cache(start.args.page_size, start.sizes.tokens, self.host_tokens)
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(start.running)
        self._running = 0
        self._serial = itertools.count()

    @property
    def healthy(self) -> bool:
        """Whether health checks pass: started and not shutting down."""
        return self.ready and not self.draining.is_set()

    @property
    def running(self) -> int:
        """Requests being decoded."""
        return self._running

    @property
    def waiting(self) -> int:
        """Requests in the queue."""
        return len(self.requests) - self._running

    def generate(self, prompt: str, max_tokens: int) -> Answer:
        """Answer one prompt with `max_tokens` words, at the double's decode speed."""
        if "unanswered" in self.start.faults and self.ready:
            threading.Event().wait()
        prompt_tokens = tokens_of(prompt)
        limit = min(self.start.sizes.context_tokens, self.start.sizes.tokens)
        if prompt_tokens >= limit:
            raise TooLong(
                f"The input ({prompt_tokens} tokens) is longer than the model's context length "
                f"({limit} tokens)."
            )
        request_id, aborted = uuid.uuid4().hex, threading.Event()
        self.requests[request_id] = aborted
        try:
            with self._slots:
                return self._decode(request_id, prompt, prompt_tokens, max_tokens, aborted)
        finally:
            del self.requests[request_id]

    def _decode(
        self, request_id: str, prompt: str, prompt_tokens: int, max_tokens: int, aborted: Any
    ) -> Answer:
        cached = self._look_up(prompt)
        in_use = prompt_tokens + max_tokens
        with self._lock:
            self._running += 1
            self.tokens_in_use += in_use
        cut = aborted.wait(max_tokens / TOKENS_PER_S)
        with self._lock:
            self._running -= 1
            self.tokens_in_use -= in_use
            self.counters["prompt_tokens"] += prompt_tokens
            self.counters["cached_tokens"] += cached.tokens
            self.counters["generation_tokens"] += max_tokens
        self._cache.keep(prompt)
        text = " ".join(itertools.islice(self._words(prompt, cached), 0 if cut else max_tokens))
        reason = "abort" if cut else "length"
        return Answer(request_id, text, prompt_tokens, cached, max_tokens, reason)

    def _words(self, prompt: str, cached: Hit) -> Any:
        faults = self.start.faults
        wrong = "wrong_output" in faults or ("wrong_after_load" in faults and cached.host)
        salt = str(next(self._serial)) if wrong else ""
        for block in itertools.count():
            digest = hashlib.sha256(f"{salt}{block}{prompt}".encode()).digest()
            yield from (WORDS[byte % len(WORDS)] for byte in digest)

    def _look_up(self, prompt: str) -> Hit:
        faults = self.start.faults
        if "no_cache_hit" in faults or self.start.args.disable_radix_cache:
            return Hit()
        hit = self._cache.look_up(prompt)
        return Hit() if hit.host and "host_never_read" in faults else hit

    def accept_length(self, answer: Answer) -> float | None:
        """Tokens per step of verification; None without speculation."""
        if not self.start.args.speculative_algorithm:
            return None
        collapsed = "accept_collapse" in self.start.faults and answer.cached.host
        return COLLAPSED_ACCEPT_LENGTH if collapsed else ACCEPT_LENGTH

    def flush(self) -> bool:
        """Forget every prompt; refused while requests are pending."""
        if self.requests:
            return False
        self._cache.clear()
        return True

    def abort_all(self) -> None:
        """End every request."""
        for aborted in list(self.requests.values()):
            aborted.set()

    @property
    def host_tokens(self) -> int:
        """Slots of the target's host pool on one rank."""
        pools = [pool for outcome in self.start.outcomes[:1] for pool in outcome.pools]
        return pools[0].tokens if pools else 0

    def loads(self) -> dict[str, Any]:
        """The body of /v1/loads."""
        tokens = self.start.sizes.tokens
        load = {
            "dp_rank": 0,
            "num_running_reqs": self.running,
            "num_waiting_reqs": self.waiting,
            "num_used_tokens": self.tokens_in_use,
            "max_total_num_tokens": tokens,
            "max_running_requests": self.start.running,
            "token_usage": round(self.tokens_in_use / tokens, 4),
            "gen_throughput": 0.0,
            "cache_hit_rate": self.cache_hit_rate,
            "utilization": self.running / self.start.running,
        }
        return {"timestamp": time.time(), "version": str(VERSION), "loads": [load]}

    def old_loads(self) -> list[dict[str, int]]:
        """The body of /get_load, where num_reqs counts the waiting ones too."""
        counts = {"num_reqs": len(self.requests), "num_waiting_reqs": self.waiting}
        return [{"dp_rank": 0, **counts, "num_tokens": self.tokens_in_use}]

    @property
    def cache_hit_rate(self) -> float:
        """Share of prompt tokens that came from the cache."""
        prompt_tokens = self.counters["prompt_tokens"]
        return self.counters["cached_tokens"] / prompt_tokens if prompt_tokens else 0.0

    def server_info(self) -> dict[str, Any]:
        """The body of /server_info: every argument, the API keys too, and the sizes."""
        args, sizes = self.start.args, self.start.sizes
        graph = round(GRAPH_BYTES / GIB, 2)
        memory = {
            "weight": round(sizes.weights_bytes / GIB, 2),
            "kvcache": round(sizes.tokens * sizes.token_bytes / GIB, 2),
            "token_capacity": sizes.tokens,
            "graph": {"decode": graph} if VERSION >= "0.5.23" else graph,
        }
        state = {
            **args.values,
            "memory_usage": memory,
            "last_gen_throughput": 0.0,
            "effective_max_running_requests_per_dp": self.start.running,
        }
        info = {
            **args.values,
            "mem_fraction_static": sizes.mem_fraction,
            "status": "ready",
            "max_total_num_tokens": sizes.tokens,
            "max_req_input_len": min(sizes.context_tokens, sizes.tokens) - 6,
            "internal_states": [state],
            "version": str(VERSION),
        }
        if VERSION >= "0.5.20":
            info["launch_command"] = " ".join(args.argv)
        return info

    def metrics(self) -> str:
        """The body of /metrics."""
        sizes, used = self.start.sizes, self.tokens_in_use
        cached_in_pool = self._cache.used_tokens(sizes.tokens)
        gauges = [
            ("num_running_reqs", "0.5", self.running),
            ("num_queue_reqs", "0.5", self.waiting),
            ("num_used_tokens", "0.5", used),
            ("token_usage", "0.5", used / sizes.tokens),
            ("cache_hit_rate", "0.5", self.cache_hit_rate),
            ("gen_throughput", "0.5", 0),
            ("max_total_num_tokens", "0.5.6", sizes.tokens),
            ("kv_available_tokens", "0.5.11", sizes.tokens - used - cached_in_pool),
            ("kv_evictable_tokens", "0.5.11", cached_in_pool),
            ("page_size", "0.5.11", self.start.args.page_size),
            ("context_len", "0.5.11", sizes.context_tokens),
        ]
        if self.start.args.enable_hierarchical_cache:
            host_used = self._cache.used_tokens(self.host_tokens)
            gauges.append(("hicache_host_used_tokens", "0.5.10", host_used))
            gauges.append(("hicache_host_total_tokens", "0.5.10", self.host_tokens))
        model = self.start.args.served_model_name
        labels = f'model_name="{model}",engine_type="unified",tp_rank="0",pp_rank="0"'
        families = [
            f"# TYPE sglang:{name} gauge\nsglang:{name}{{{labels}}} {float(value)}\n"
            for name, since, value in gauges
            if since <= VERSION
        ]
        source = 'cache_source="device",' if VERSION >= "0.5.10" else ""
        for name, value in self.counters.items():
            extra = source if name == "cached_tokens" else ""
            families.append(
                f"# TYPE sglang:{name}_total counter\n"
                f'sglang:{name}_total{{{extra}model_name="{model}"}} {float(value)}\n'
            )
        return "".join(families)
