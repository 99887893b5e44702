# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP endpoints by SGLang version, and the shape of what they answer.

Private to the collection.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from .version import Version


@dataclass(frozen=True)
class Endpoint:
    """One path and the versions that serve it; None means no bound on that side."""

    path: str
    since: str | None = None
    until: str | None = None

    def serves(self, version: Version) -> bool:
        """Whether this version has the path."""
        return not (
            (self.since is not None and version < self.since)
            or (self.until is not None and version > self.until)
        )


# Best first: the first one that a version serves is the one to ask.
ENDPOINTS: dict[str, tuple[Endpoint, ...]] = {
    "health": (Endpoint("/health"),),
    "models": (Endpoint("/v1/models"),),
    "model_info": (Endpoint("/model_info", since="0.5.6.post2"), Endpoint("/get_model_info")),
    "server_info": (Endpoint("/server_info", since="0.5.6.post2"), Endpoint("/get_server_info")),
    "loads": (
        Endpoint("/v1/loads", since="0.5.8"),
        Endpoint("/get_load", until="0.5.20"),
        Endpoint("/metrics"),
    ),
    "metrics": (Endpoint("/metrics"),),
    "chat": (Endpoint("/v1/chat/completions"),),
    "generate": (Endpoint("/generate"),),
    "abort": (Endpoint("/abort_request"),),
}

# Distance from the main port to the first of the TCP ports that a server with attention data
# parallelism derives from it, and how many follow (rendezvous, then six service ports).
_DERIVED_PORT_DELTA = 233
_DERIVED_PORT_COUNT = 7
_HIGHEST_PORT = 65535


def paths(purpose: str, version: Version | None = None) -> tuple[str, ...]:
    """Return the paths to try for one purpose, best first.

    Without a version all paths are returned: the caller goes on to the next one at a 404.
    """
    return tuple(
        endpoint.path
        for endpoint in ENDPOINTS[purpose]
        if version is None or endpoint.serves(version)
    )


def ports(main_port: int, attention_dp: bool) -> tuple[int, ...]:
    """Return the fixed TCP ports that a server takes beside the ones it picks freely."""
    if not attention_dp:
        return (main_port,)
    first = main_port + _DERIVED_PORT_DELTA
    if first + _DERIVED_PORT_COUNT > _HIGHEST_PORT:
        first = main_port - _DERIVED_PORT_DELTA
    return (main_port, *range(first, first + _DERIVED_PORT_COUNT))


@dataclass(frozen=True)
class Loads:
    """Requests in flight over all data-parallel ranks; used_tokens is None when not told."""

    running: int
    waiting: int
    used_tokens: int | None = None

    @property
    def in_flight(self) -> int:
        """Requests that a stop would cut."""
        return self.running + self.waiting

    def as_dict(self) -> dict[str, int | None]:
        """Return the mapping used in facts and results."""
        return {"running": self.running, "waiting": self.waiting, "used_tokens": self.used_tokens}


def decoded(text: str) -> Any:
    """Return an answer as JSON values, or as the text that it is."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def parse_loads(path: str, body: Any) -> Loads | None:
    """Read the answer of a loads endpoint.

    `body` is decoded JSON, or text for /metrics. Returns None when it holds no load at all,
    which is not the same as a load of zero.
    """
    if path == "/metrics":
        return _loads_of_metrics(body) if isinstance(body, str) else None
    ranks = body.get("loads") if isinstance(body, dict) else body
    if not isinstance(ranks, list) or not ranks:
        return None
    if not all(isinstance(rank, dict) for rank in ranks):
        return None
    waiting = _sum(ranks, "num_waiting_reqs") or 0
    if path == "/get_load":
        # The older endpoint counts the waiting ones too.
        requests = _sum(ranks, "num_reqs")
        running = None if requests is None else max(0, requests - waiting)
        used_tokens = _sum(ranks, "num_tokens")
    else:
        running = _sum(ranks, "num_running_reqs")
        used_tokens = _sum(ranks, "num_used_tokens")
    return None if running is None else Loads(running, waiting, used_tokens)


def _sum(ranks: list[dict[str, Any]], key: str) -> int | None:
    """Add up a count over all ranks; None unless each of them tells it."""
    values = [rank.get(key) for rank in ranks]
    counts = [value for value in values if isinstance(value, int) and value >= 0]
    return sum(counts) if len(counts) == len(values) else None


# Some versions write the prefix with an underscore.
_GAUGE = re.compile(
    r"^sglang[:_](?P<name>num_running_reqs|num_queue_reqs|num_used_tokens)"
    r"(?:\{(?P<labels>[^}]*)\})?\s+(?P<value>\d+(?:\.\d+)?(?:e[+-]?\d{1,2})?)",
    re.MULTILINE,
)
_RANK = re.compile(r'\b(tp_rank|pp_rank|moe_ep_rank)="[^"]*",?')


def _loads_of_metrics(text: str) -> Loads | None:
    """Sum the gauges over data-parallel ranks; ranks of one group repeat the same number."""
    groups: dict[str, dict[str, float]] = {}
    for found in _GAUGE.finditer(text):
        group = _RANK.sub("", found["labels"] or "")
        values = groups.setdefault(found["name"], {})
        values[group] = max(values.get(group, 0.0), float(found["value"]))
    running, waiting = groups.get("num_running_reqs"), groups.get("num_queue_reqs")
    if running is None:
        return None
    used = groups.get("num_used_tokens")
    return Loads(
        running=int(sum(running.values())),
        waiting=int(sum((waiting or {}).values())),
        used_tokens=None if used is None else int(sum(used.values())),
    )
