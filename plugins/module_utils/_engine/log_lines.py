# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an SGLang server prints while it starts and when it fails, releases 0.5.1 to 0.5.23.

This module util is private to the llmops.sglang collection.

The wording changed in 0.5.9, 0.5.10, 0.5.13, 0.5.14, 0.5.17, 0.5.19 and 0.5.21. The patterns
here take every wording, so no release has to be known before its log can be read; a line that
changes once more is "not measured", never a wrong number. Lines of the device say GB and mean
GiB (2^30); lines of the host pools say GB and mean 10^9.
"""

from __future__ import annotations

import datetime
import re
import typing as t

GIB = 1 << 30
GB = 10**9

# Longest line that is looked at. The only longer one is server_args=, of which the start suffices.
MAX_LINE = 4000

# --- one line ------------------------------------------------------------------------------------

# "[2026-11-30 20:30:22 DP0 TP1 EP1] message"; any rank labels in any order; the date or the time
# may be missing, as may the whole prefix (tracebacks, progress bars, warnings).
_PREFIX = re.compile(
    r"^\[(?P<date>\d{4}-\d\d-\d\d)?[ T]?(?P<time>\d\d:\d\d:\d\d(?:\.\d+)?)?"
    r"(?P<ranks>(?: +[A-Za-z_][\w.]*)*)\] ?(?P<message>.*)$"
)
# What journalctl -o short-iso or -o short puts before a message.
_JOURNAL_PREFIX = re.compile(
    r"^(?:\d{4}-\d\d-\d\dT[\d:.,]+(?:[+-]\d\d:?\d\d|Z)?|[A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d)"
    r" \S+ (?P<tag>[^\s:\[\]]+)(?:\[\d+\])?: (?P<message>.*)$"
)


class Line(t.NamedTuple):
    """One log line: its rank label (empty for the launcher), its time and its message."""

    rank: str
    at: datetime.datetime | None
    message: str


def split_line(text: str) -> Line:
    """Take the prefixes off a line; what has none is a message of the launcher."""
    text = text[:MAX_LINE]
    journal = _JOURNAL_PREFIX.match(text)
    if journal:
        text = journal["message"]
    match = _PREFIX.match(text)
    if not match or not (match["date"] or match["time"]):
        return Line("", None, text)
    return Line(match["ranks"].strip(), _moment(match["date"], match["time"]), match["message"])


def _moment(date: str | None, time: str | None) -> datetime.datetime | None:
    """A moment of the engine's log (local time, zone unknown): good for differences only."""
    if not date or not time:
        return None
    try:
        return datetime.datetime.strptime(f"{date} {time[:8]}", "%Y-%m-%d %H:%M:%S")
    except ValueError:
        return None


# --- start-up lines ------------------------------------------------------------------------------

_F = r"(-?\d{1,12}(?:\.\d{1,6})?)"
_LOAD_BEGIN = re.compile(rf"^Load weight begin\. avail mem={_F} GB")
_LOAD_END = re.compile(
    rf"^Load weight end\. (?:elapsed={_F} s, )?type=(\w+), .*?avail mem={_F} GB"
    rf"(?:, mem usage={_F} GB)?"
)
_DEVICE_POOL = re.compile(
    rf"^(?:(?P<label>\w+) )?KV Cache is allocated\. (?:dtype: [\w.]+, )?#tokens: (?P<tokens>\d+), "
    rf"(?:KV size: (?P<kv>{_F}) GB|K size: (?P<k>{_F}) GB, V size: (?P<v>{_F}) GB)"
)
_POOL_END = re.compile(rf"^Memory pool end\. avail mem={_F} GB")
_CAPTURE_END = re.compile(rf"^Capture .*?\bend\b.*?(?:Time elapsed: |elapsed=){_F} s")
_AVAIL = re.compile(rf"\bavail mem={_F} GB")
_CAPACITY = re.compile(r"^max_total_num_tokens=(\d+)\b")
_RESIZED = re.compile(r"^Post-capture KV sizing: max_total_num_tokens=(\d+)\b")
_CONTEXT = re.compile(r"\bcontext_len=(\d+)")
_RUNNING = re.compile(r"\bmax_running_requests=(\d+)")
_AVAILABLE = re.compile(rf"\bavailable_\w+_mem={_F} GB")
_HOST_POOL = re.compile(
    rf"^Allocating (?P<label>\w+) hierarchical KV host pool: (?P<tokens>\d+) tokens, "
    rf"(?P<gb>{_F}) GB host memory"
)
_HOST_POOL_OLD = re.compile(rf"^Allocating {_F} GB host memory for (?P<what>.+)$")
_DRAFT_REGISTERED = re.compile(r"^HiCache draft KV registered: .*\(host (\d+) slots\)")
_SHARDS = re.compile(r"shards: +\d+% Completed \| (\d+)/(\d+)")
_FIRED_UP = "The server is fired up and ready to roll!"
_SERVER_ARGS = "server_args="
# systemd's own line at the beginning of a run. "Started" may come long after, so it is not one.
_UNIT_START = re.compile(r"^Starting \S+\.service\b")

# --- failure lines -------------------------------------------------------------------------------


class Failure(t.NamedTuple):
    """A pattern of a failure line.

    C(weight) orders them: a line that names the cause (3) beats an exception (2), which beats the
    report that some child died (1), which beats systemd's exit line (0). A C(terminal) line ends
    the run even while the process still lives: the engine may take a minute to exit.
    """

    cause: str
    weight: int
    terminal: bool
    pattern: t.Pattern[str]


def _failure(cause: str, weight: int, terminal: bool, pattern: str) -> Failure:
    return Failure(cause, weight, terminal, re.compile(pattern))


# The vocabulary of causes is fixed: gate, prove and the documentation use these words.
FAILURES: tuple[Failure, ...] = (
    _failure("host_memory_guard", 3, True, r"Not enough host memory (?:available|for)\b"),
    _failure("host_memory_guard", 3, True, r"No host memory is left for HiCache"),
    _failure("host_memory_guard", 3, True, r"Cannot automatically size HiCache host memory"),
    _failure(
        "host_pool_too_small", 3, True, r"The host memory should be larger than the device memory"
    ),
    _failure(
        "host_registration",
        3,
        True,
        r"cudaHostRegister failed|cudaHostAlloc: (?:invalid|out of)|hipHostMalloc of .* failed"
        r"|Pinned host memory allocation of",
    ),
    _failure(
        "host_oom_kill",
        3,
        True,
        r"exit code:? -9\b|killed by the OOM killer"
        r"|Failed with result 'oom-kill'|oom-kill:constraint|Out of memory: Killed process"
        r"|Memory cgroup out of memory",
    ),
    _failure(
        "device_memory_pool",
        3,
        True,
        r"Not enough memory\. Please try to increase --mem-fraction-static"
        r"|Loaded weights leave no GPU memory"
        r"|Not enough space for mamba cache",
    ),
    _failure(
        "device_out_of_memory",
        3,
        True,
        r"OutOfMemoryError\b|CUDA out of memory|CUDA OOM\b|CUDA error: out of memory",
    ),
    _failure(
        "kv_pool_exhausted",
        3,
        True,
        r"Out of memory even after retracting|No space left for only one request",
    ),
    _failure("memory_unbalanced", 3, True, r"The memory capacity is unbalanced"),
    _failure("load_timeout", 3, True, r"could finish the model loading, but there are other ranks"),
    _failure("allreduce_fusion", 3, True, r"FlashInfer allreduce fusion requires"),
    _failure("watchdog", 3, True, r"[Ww]atchdog timeout \((?!.*self\.soft=True)"),
    _failure("collective_timeout", 3, True, r"Watchdog caught collective operation timeout"),
    _failure("gpu_lost", 3, True, r"GPU is lost|fallen off the bus|CUDA error: .*device is lost"),
    _failure(
        "driver",
        3,
        True,
        r"Found no NVIDIA driver|CUDA driver version is insufficient|no CUDA-capable device"
        r"|[Dd]river/library version mismatch|system not yet initialized|CUDA error 802",
    ),
    _failure(
        "arguments",
        3,
        True,
        r"^\S+(?: \S+)?: error: "
        r"(?:unrecognized arguments|ambiguous option|argument |the following)",
    ),
    _failure("arguments", 3, True, r"are mutually exclusive and cannot be used at the same time"),
    _failure("port_taken", 3, True, r"[Aa]ddress already in use|\[Errno 98\]|EADDRINUSE"),
    _failure(
        "weights_unreadable",
        3,
        True,
        r"SafetensorError|Cannot find any model weights|incomplete metadata",
    ),
    # A capture that fails wraps its own cause, which stands in the same line if it has a name.
    _failure("graph_capture", 3, True, r"Capture .*(?:graph|extend) failed"),
    _failure("warmup", 3, True, r"Initialization failed\. warmup error"),
    _failure(
        "child_died",
        1,
        True,
        r"^Received sigquit from a child process|^SIGQUIT received"
        r"|^Rank \d+ scheduler is dead|scheduler died during initialization"
        r"|^Subprocess .* crashed with exit code|^Initialization failed\.",
    ),
    _failure(
        "exception",
        2,
        False,
        r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exit|Timeout)(?::|$)",
    ),
    _failure("child_died", 1, False, r"^Scheduler hit an exception"),
    _failure("start_timeout", 0, True, r"\.service: start operation timed out"),
    _failure(
        "exit",
        0,
        True,
        r"\.service: Main process exited, code=(?!exited, status=0)|\.service: Failed with ",
    ),
)

CAUSES: tuple[str, ...] = tuple(dict.fromkeys(failure.cause for failure in FAILURES))


def failure_of(message: str) -> Failure | None:
    """What a line says about a failure: the first match in the order of the table."""
    for failure in FAILURES:
        if failure.pattern.search(message):
            return failure
    return None


# --- the whole start -----------------------------------------------------------------------------


# Tokens and bytes of a pool.
_Pool = tuple[t.Optional[int], t.Optional[int]]


def _size(amount: str, unit: int) -> int | None:
    """Printed bytes; what prints as 0.00 has a size that is too small to be told."""
    return int(float(amount) * unit) or None


class _Rank:
    """What one rank printed. Pools stand in the order of their lines."""

    def __init__(self) -> None:
        self.load_begun: datetime.datetime | None = None
        self.loads: list[tuple[float | None, int | None]] = []  # seconds, bytes
        # One group of pools per model: the target's, then the draft's.
        self.device_groups: list[list[_Pool]] = [[]]
        self.host: list[_Pool] = []
        self.draft_host: list[_Pool] = []
        self.graphs_s: float | None = None
        self.avail_bytes: int | None = None
        self.capacity: int | None = None

    def facts(self, label: str) -> dict[str, t.Any]:
        """The rank in detail; None where nothing was printed."""
        target, draft = self.device_groups[0], [p for g in self.device_groups[1:] for p in g]
        return {
            "rank": label,
            "max_total_num_tokens": self.capacity,
            "weights_bytes": max(
                (size for _s, size in self.loads if size is not None), default=None
            ),
            "load_s": _rounded(_total(seconds for seconds, _size in self.loads)),
            "device_tokens": target[0][0] if target else None,
            "device_bytes": _total(size for _tokens, size in target),
            "draft_device_bytes": _total(size for _tokens, size in draft),
            "host_tokens": self.host[0][0] if self.host else None,
            "host_bytes": _total(size for _tokens, size in self.host),
            "draft_host_tokens": self.draft_host[0][0] if self.draft_host else None,
            "draft_host_bytes": _total(size for _tokens, size in self.draft_host),
            "graphs_s": _rounded(self.graphs_s),
            "avail_bytes": self.avail_bytes,
        }


_Number = t.TypeVar("_Number", int, float)


def _total(values: t.Iterable[_Number | None]) -> _Number | None:
    """The sum of the known values; None when none is known."""
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if known else None


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 2)


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
        self._ranks: dict[str, _Rank] = {}
        self._failure: Failure | None = None
        self._failure_line: str | None = None
        self._dead = False
        self._seen = False
        self._context: int | None = None
        self._running: int | None = None
        self._first_at: datetime.datetime | None = None
        self._ready_at: datetime.datetime | None = None
        self._shards: tuple[int, int] | None = None
        self.ready = False

    def feed(self, text: str, at: datetime.datetime | None = None) -> None:
        """Take one line. C(at) is when the journal got it; else the line's own time is used."""
        line = split_line(text)
        message = line.message
        if message.startswith(_SERVER_ARGS) or _UNIT_START.match(message):
            first = self._first_at if message.startswith(_SERVER_ARGS) and not self._ranks else None
            self._begin()
            self._first_at = first
        moment = at or line.at
        self._seen = True
        self._first_at = self._first_at or moment
        if message.startswith(_FIRED_UP):
            self.ready, self._dead, self._ready_at = True, False, moment
            self._failure = self._failure_line = None
            return
        if not self._read_numbers(line):
            self._read_failure(message)

    def feed_all(self, lines: t.Iterable[str]) -> StartupParser:
        """Take many lines."""
        for line in lines:
            self.feed(line)
        return self

    def progress(self) -> dict[str, int | None]:
        """How many weight files are loaded, of how many; None before and without a bar."""
        done, total = self._shards or (None, None)
        return {"shards_done": done, "shards_total": total}

    def feed_failure(self, text: str) -> None:
        """Take one line for its failure only: a line of the end of a run, read out of order."""
        self._read_failure(split_line(text).message)

    def _read_failure(self, message: str) -> None:
        failure = failure_of(message)
        if failure is None:
            return
        self._dead = self._dead or failure.terminal
        if self._failure is None or failure.weight > self._failure.weight:
            self._failure, self._failure_line = failure, message.strip()

    def _read_numbers(self, line: Line) -> bool:
        """Read a start-up line; False when it is none."""
        message = line.message
        shards = _SHARDS.search(message)
        if shards:
            self._shards = (int(shards[1]), int(shards[2]))
            return True
        for pattern, read in self._READERS:
            match = pattern.match(message)
            if match:
                rank = self._ranks.setdefault(line.rank, _Rank())
                read(self, rank, line, match)
                avail = _AVAIL.search(message)
                if avail:
                    rank.avail_bytes = int(float(avail[1]) * GIB)
                return True
        return False

    def _load_begin(self, rank: _Rank, line: Line, _match: t.Match[str]) -> None:
        rank.load_begun = line.at

    def _load_end(self, rank: _Rank, line: Line, match: t.Match[str]) -> None:
        seconds = float(match[1]) if match[1] else None
        if seconds is None and line.at is not None and rank.load_begun is not None:
            seconds = (line.at - rank.load_begun).total_seconds()
        rank.loads.append((seconds, _size(match[4], GIB) if match[4] else None))

    def _device_pool(self, rank: _Rank, _line: Line, match: t.Match[str]) -> None:
        size = _total(_size(match[name], GIB) for name in ("kv", "k", "v") if match[name])
        rank.device_groups[-1].append((int(match["tokens"]), size))

    def _pool_end(self, rank: _Rank, _line: Line, _match: t.Match[str]) -> None:
        if rank.device_groups[-1]:
            rank.device_groups.append([])

    def _capture_end(self, rank: _Rank, _line: Line, match: t.Match[str]) -> None:
        rank.graphs_s = (rank.graphs_s or 0.0) + float(match[1])

    def _capacity_line(self, rank: _Rank, line: Line, match: t.Match[str]) -> None:
        rank.capacity = int(match[1])
        context, running = _CONTEXT.search(line.message), _RUNNING.search(line.message)
        self._context = int(context[1]) if context else self._context
        self._running = int(running[1]) if running else self._running
        available = _AVAILABLE.search(line.message)
        if available:
            rank.avail_bytes = int(float(available[1]) * GIB)

    def _resized(self, rank: _Rank, _line: Line, match: t.Match[str]) -> None:
        rank.capacity = int(match[1])

    def _host_pool(self, rank: _Rank, _line: Line, match: t.Match[str]) -> None:
        pools = rank.draft_host if match["label"].startswith("draft") else rank.host
        pools.append((int(match["tokens"]), _size(match["gb"], GB)))

    def _host_pool_old(self, rank: _Rank, _line: Line, match: t.Match[str]) -> None:
        # Up to 0.5.16 only the order tells the draft's pool from the target's.
        is_draft = bool(rank.host) and match["what"].startswith("hierarchical KV cache")
        pools = rank.draft_host if is_draft else rank.host
        pools.append((None, _size(match[1], GB)))

    def _draft_registered(self, rank: _Rank, _line: Line, match: t.Match[str]) -> None:
        # The draft's host pool has as many slots as the target's.
        slots = int(match[1])
        for pools in (rank.host, rank.draft_host):
            if pools and pools[0][0] is None:
                pools[0] = (slots, pools[0][1])

    _READERS: t.ClassVar[tuple[tuple[t.Pattern[str], t.Callable[..., None]], ...]] = (
        (_LOAD_BEGIN, _load_begin),
        (_LOAD_END, _load_end),
        (_DEVICE_POOL, _device_pool),
        (_POOL_END, _pool_end),
        (_CAPTURE_END, _capture_end),
        (_CAPACITY, _capacity_line),
        (_RESIZED, _resized),
        (_HOST_POOL, _host_pool),
        (_HOST_POOL_OLD, _host_pool_old),
        (_DRAFT_REGISTERED, _draft_registered),
    )

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
        return (self._failure.cause if self._failure else None), self._failure_line

    def facts(self, detail: bool = False) -> dict[str, t.Any]:
        """The start as facts. Sizes per rank are those of the rank with the most."""
        ranks = [rank.facts(label) for label, rank in sorted(self._ranks.items())]
        cause, line = self.cause
        # Only a log that is whole proves that a pool was not made.
        whole = self.ready and _worst(ranks, "max_total_num_tokens") is not None
        has_host = any(rank.host for rank in self._ranks.values())
        has_draft = any(rank.draft_host for rank in self._ranks.values())
        result: dict[str, t.Any] = {
            "state": self.state,
            "cause": cause,
            "cause_line": line,
            "max_total_num_tokens": _worst(ranks, "max_total_num_tokens", min),
            "context_tokens": self._context,
            "max_running_requests": self._running,
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
        if whole and not has_host:
            result.update(host_tokens=0, host_bytes_per_rank=0)
        if whole and not has_draft:
            result.update(draft_host_tokens=0, draft_host_bytes_per_rank=0)
        if detail:
            result["ranks"] = ranks
        return result

    def _ready_s(self) -> float | None:
        if self._ready_at is None or self._first_at is None:
            return None
        try:
            return round((self._ready_at - self._first_at).total_seconds(), 1)
        except TypeError:  # one moment has a zone, the other has none
            return None
