# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an SGLang server prints while it starts, releases 0.5.1 to 0.5.23.

This module util is private to the llmops.sglang collection.

Lines of the device say GB and mean GiB (2^30); lines of the host pools say GB and mean 10^9.
"""

from __future__ import annotations

import datetime
import typing as t

from . import log_patterns as patterns
from .causes import RAISES, Failure, failure_of
from .log_line import Line, split_lines
from .log_rank import Pool, Rank
from .request_lines import without_request

GIB = 1 << 30
GB = 10**9

# Longer than any start: what seems to take longer comes from a clock that jumped.
_MAX_READY_S = 7 * 86400


def _size(amount: str, unit: int) -> int | None:
    """Printed bytes; what prints as 0.00 has a size that is too small to be told."""
    return int(float(amount) * unit) or None


def _sizes(amounts: t.Iterable[str | None]) -> int | None:
    """The sum of sizes of the device."""
    return sum(_size(amount, GIB) or 0 for amount in amounts if amount) or None


def _worst(ranks: list[dict[str, t.Any]], key: str, pick: t.Callable[..., t.Any] = max) -> t.Any:
    """The value that decides among the ranks: the largest use, or the smallest room."""
    return pick((rank[key] for rank in ranks if rank[key] is not None), default=None)


class StartupParser:
    """Reads a server's log line by line and says how far the start came and what it got.

    Lines of several ranks may be interleaved in any order. Nothing is kept of a line but the
    numbers in it, so a log of any length can be fed. A new run in the same log begins anew.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._ranks: dict[str, Rank] = {}
        self._failure: Failure | None = None
        self._failure_line: str | None = None
        self._scheduler_raised = False
        self._dead = False
        self._seen = False
        self._phase: str | None = None
        self._limits: dict[str, int] = {}
        self._auto_ratio: float | None = None
        self._first_at: datetime.datetime | None = None
        self._ready_at: datetime.datetime | None = None
        self._shards: tuple[int, int] | None = None
        self._repeated: set[str] = set()
        self.ready = False

    def feed(self, text: str, at: datetime.datetime | None = None) -> None:
        """Take one entry of the log, which may hold several lines.

        C(at) is when the journal got it; else the line's own time is used.
        """
        lines = list(split_lines(text))
        for line in lines:
            self._take(line, at or line.at)
        if not lines:
            self._note(at)

    def feed_all(self, entries: t.Iterable[str]) -> StartupParser:
        """Take many entries."""
        for text in entries:
            self.feed(text)
        return self

    def feed_failure(self, text: str) -> None:
        """Take one entry for its failure only: of the end of a run, read out of order."""
        for line in split_lines(text):
            self._read_failure(line.message)

    def progress(self) -> dict[str, int | None]:
        """How many weight files are loaded, of how many; None before and without a bar."""
        done, total_ = self._shards or (None, None)
        return {"shards_done": done, "shards_total": total_}

    def _note(self, moment: datetime.datetime | None) -> None:
        self._seen = True
        self._first_at = self._first_at or moment

    def _take(self, line: Line, moment: datetime.datetime | None) -> None:
        message = line.message
        if message.startswith(patterns.SERVER_ARGS) or patterns.UNIT_START.match(message):
            first = (
                self._first_at
                if message.startswith(patterns.SERVER_ARGS) and not self._ranks
                else None
            )
            self._begin()
            self._first_at, self._phase = first, "arguments"
        self._note(moment)
        if message.startswith(patterns.FIRED_UP):
            self.ready, self._dead, self._ready_at = True, False, moment
            self._failure, self._failure_line, self._phase = None, None, "serving"
        elif not self._read_numbers(line):
            self._read_failure(message)

    def _read_failure(self, message: str) -> None:
        # A user may ask about a failure.
        message = without_request(message)
        failure = failure_of(message)
        if failure is None:
            return
        if message.startswith("Scheduler hit an exception") and not self._scheduler_raised:
            # What was raised before was caught: the start went on after it.
            self._scheduler_raised = True
            if self._failure is not None and self._failure.weight == RAISES:
                self._failure = None
        self._dead = self._dead or failure.final
        if self._failure is None or failure.weight > self._failure.weight:
            self._failure, self._failure_line = failure, message.strip()

    def _read_numbers(self, line: Line) -> bool:
        """Read a start-up line; False when it is none."""
        message = line.message
        shards = patterns.SHARDS.search(message)
        if shards:
            self._shards = (int(shards[1]), int(shards[2]))
            return True
        for pattern, phase, read in self._READERS:
            match = pattern.match(message)
            if match:
                if self._is_repeated(line):
                    return True
                if phase and self._failure is None:
                    self._phase = phase
                if read is not None:
                    rank = self._ranks.setdefault(line.rank, Rank())
                    read(self, rank, line, match)
                    avail = patterns.AVAIL.search(message)
                    if avail:
                        rank.avail_bytes = int(float(avail[1]) * GIB)
                return True
        return False

    def _is_repeated(self, line: Line) -> bool:
        """Whether another rank said the same, in a log that does not tell the ranks apart."""
        if not line.structured:
            return False
        known = line.message in self._repeated
        self._repeated.add(line.message)
        return known

    # --- what each line tells --------------------------------------------------------------------

    def _init_end(self, rank: Rank, _line: Line, match: t.Match[str]) -> None:
        rank.init_s = float(match[1]) if match[1] else None

    def _load_begin(self, rank: Rank, line: Line, _match: t.Match[str]) -> None:
        rank.load_begun = line.at

    def _load_end(self, rank: Rank, line: Line, match: t.Match[str]) -> None:
        seconds = float(match[1]) if match[1] else None
        if seconds is None and line.at is not None and rank.load_begun is not None:
            between = (line.at - rank.load_begun).total_seconds()
            seconds = between if between >= 0 else None
        used = _size(match["used"], GIB) if match["used"] else None
        rank.loads[match["type"] or ""] = (seconds, used)

    def _load_late(self, rank: Rank, _line: Line, match: t.Match[str]) -> None:
        rank.late_load_s = float(match[1])

    def _swa_slots(self, rank: Rank, _line: Line, match: t.Match[str]) -> None:
        # A model without a sliding window says 0 when pools are resized.
        rank.swa_tokens = int(match[1]) or None

    def _swa_sum(self, rank: Rank, _line: Line, match: t.Match[str]) -> None:
        rank.swa_tokens = int(match["tokens"])

    def _device_pool(self, rank: Rank, _line: Line, match: t.Match[str]) -> None:
        if match["how"] == "is allocated":
            size = _sizes((match["kv"], match["k"], match["v"]))
            pool = Pool(match["label"] or "", int(match["tokens"]), size)
        else:  # only addresses are reserved; what it gets is told after the graphs
            pool = Pool("reserved", None, None)
        rank.device_groups[-1].append(pool)

    def _resized_pool(self, rank: Rank, _line: Line, match: t.Match[str]) -> None:
        pool = Pool("", int(match["tokens"]), _size(match["kv"], GIB))
        if not match["draft"]:
            rank.device_groups[0] = [pool]
            return
        for group in rank.device_groups[1:]:
            if group and all(old.name == "reserved" for old in group):
                group[:] = [pool]
                return
        rank.device_groups.append([pool])

    def _pool_end(self, rank: Rank, _line: Line, _match: t.Match[str]) -> None:
        if rank.device_groups[-1]:
            rank.device_groups.append([])

    def _state(self, rank: Rank, line: Line, match: t.Match[str]) -> None:
        rank.state_slots = int(match[1]) if match[1] else None
        rank.state_bytes = _sizes(patterns.STATE_SIZE.findall(line.message))

    def _capture_end(self, rank: Rank, _line: Line, match: t.Match[str]) -> None:
        rank.graphs_s = (rank.graphs_s or 0.0) + float(match[1])

    def _capacity_line(self, rank: Rank, line: Line, match: t.Match[str]) -> None:
        rank.capacity = int(match[1])
        self._limits.update(
            (name, int(value)) for name, value in patterns.LIMIT.findall(line.message)
        )
        available = patterns.AVAILABLE.search(line.message)
        if available:
            rank.avail_bytes = int(float(available[1]) * GIB)

    def _resized(self, rank: Rank, _line: Line, match: t.Match[str]) -> None:
        rank.capacity = int(match[1])

    def _resized_running(self, _rank: Rank, _line: Line, match: t.Match[str]) -> None:
        self._limits["max_running_requests"] = int(match[1])

    def _host_pool(self, rank: Rank, _line: Line, match: t.Match[str]) -> None:
        rank.host.append(Pool(match["label"], int(match["tokens"]), _size(match["gb"], GB)))

    def _host_pool_empty(self, rank: Rank, _line: Line, match: t.Match[str]) -> None:
        # This rank counts the slots of a pool that another one holds.
        rank.host.append(Pool("kv", int(match[1]), 0))

    def _host_pool_old(self, rank: Rank, _line: Line, match: t.Match[str]) -> None:
        name, slots = "other", None
        for kind, pattern in patterns.HOST_KINDS:
            found = pattern.match(match["what"])
            if found:
                told = found.groupdict()
                name = kind or f"{told['kind']}_{told['name']}"
                slots = int(told["slots"]) if told.get("slots") else None
                break
        # Up to 0.5.16 only the order tells the draft's pool from the target's.
        if name == "kv" and any(pool.name == "kv" for pool in rank.host):
            name = "draft"
        rank.host.append(Pool(name, slots, _size(match[1], GB)))

    def _host_slots(self, rank: Rank, _line: Line, match: t.Match[str]) -> None:
        # The draft's host pool has as many slots as the target's.
        rank.host_slots = int(match[1])

    def _auto_sized(self, _rank: Rank, _line: Line, match: t.Match[str]) -> None:
        self._auto_ratio = float(match[2])

    _READERS: t.ClassVar[
        tuple[tuple[t.Pattern[str], str | None, t.Callable[..., None] | None], ...]
    ] = (
        # (line, what the server does after it, what it tells of a rank)
        (patterns.INIT_BEGIN, "parallel", None),
        (patterns.INIT_END, "parallel", _init_end),
        (patterns.LOAD_BEGIN, "weights", _load_begin),
        (patterns.LOAD_LATE, None, _load_late),
        (patterns.LOAD_END, "device_pool", _load_end),
        (patterns.SWA_SLOTS, "device_pool", _swa_slots),
        (patterns.SWA_SUM, None, _swa_sum),
        (patterns.DEVICE_POOL, "device_pool", _device_pool),
        (patterns.STATE, "device_pool", _state),
        (patterns.POOL_END, "graphs", _pool_end),
        (patterns.CAPTURE_BEGIN, "graphs", None),
        (patterns.CAPTURE_END, "graphs", _capture_end),
        (patterns.RESIZED_POOL, None, _resized_pool),
        (patterns.RESIZED_RUNNING, None, _resized_running),
        (patterns.RESIZED, None, _resized),
        (patterns.CAPACITY, "host_pool", _capacity_line),
        (patterns.AUTO_SIZED, "host_pool", _auto_sized),
        (patterns.HOST_POOL, "host_pool", _host_pool),
        (patterns.HOST_POOL_OLD, "host_pool", _host_pool_old),
        (patterns.HOST_POOL_EMPTY, "host_pool", _host_pool_empty),
        (patterns.HOST_SLOTS, "host_pool", _host_slots),
        (patterns.DRAFT_REGISTERED, "host_pool", _host_slots),
        (patterns.UVICORN, "warmup", None),
    )

    # --- the whole start -------------------------------------------------------------------------

    @property
    def state(self) -> str:
        """C(absent) before any line, then C(starting), C(ready) or C(failed)."""
        if self._dead:
            return "failed"
        if self.ready:
            return "ready"
        return "starting" if self._seen else "absent"

    @property
    def cause(self) -> tuple[str | None, str | None]:
        """The cause of the failure and the line that proves it."""
        return (self._failure.cause, self._failure_line) if self._failure else (None, None)

    @property
    def first_at(self) -> datetime.datetime | None:
        """When the first line was written."""
        return self._first_at

    def facts(self, detail: bool = False) -> dict[str, t.Any]:
        """The start as facts. Sizes per rank are those of the rank with the most."""
        ranks = [rank.facts(label) for label, rank in sorted(self._ranks.items())]
        cause, line = self.cause
        result: dict[str, t.Any] = {
            "state": self.state,
            "phase": self._phase,
            "cause": cause,
            "cause_line": line,
            "max_total_num_tokens": _worst(ranks, "max_total_num_tokens", min),
            "context_tokens": self._limits.get("context_len"),
            "max_running_requests": self._limits.get("max_running_requests"),
            "device_bytes_per_rank": _worst(ranks, "device_bytes"),
            "host_tokens": _worst(ranks, "host_tokens", min),
            "host_bytes_per_rank": _worst(ranks, "host_bytes"),
            "draft_host_tokens": _worst(ranks, "draft_host_tokens", min),
            "draft_host_bytes_per_rank": _worst(ranks, "draft_host_bytes"),
            "weights_bytes_per_rank": _worst(ranks, "weights_bytes"),
            "avail_after_bytes": _worst(ranks, "avail_bytes", min),
            "load_s": _worst(ranks, "load_s"),
            "graphs_s": _worst(ranks, "graphs_s"),
            "ready_s": self._ready_s(),
        }
        # Pools that few models have are left out where there are none.
        rare = {
            "swa_tokens": _worst(ranks, "swa_tokens", min),
            "swa_host_tokens": _worst(ranks, "swa_host_tokens", min),
            "state_slots": _worst(ranks, "state_slots", min),
            "state_bytes_per_rank": _worst(ranks, "state_bytes"),
            "draft_tokens": _worst(ranks, "draft_tokens", min),
            "indexer_bytes_per_rank": _worst(ranks, "indexer_bytes"),
            "auto_ratio": self._auto_ratio,
        }
        result.update((name, value) for name, value in rare.items() if value is not None)
        # Only a log that is whole proves that a pool was not made.
        if self.ready and result["max_total_num_tokens"] is not None:
            for pool, draft in (("host", False), ("draft_host", True)):
                if not any(rank.has_host_pool(draft) for rank in self._ranks.values()):
                    result.update({f"{pool}_tokens": 0, f"{pool}_bytes_per_rank": 0})
        if detail:
            result["limits"] = dict(self._limits)
            result["ranks"] = ranks
        return result

    def _ready_s(self) -> float | None:
        if self._ready_at is None or self._first_at is None:
            return None
        try:
            seconds = (self._ready_at - self._first_at).total_seconds()
        except TypeError:  # one moment has a zone, the other has none
            return None
        return round(seconds, 1) if 0 <= seconds <= _MAX_READY_S else None
