# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A worker as it is wanted, as a router has it, and what sets the two apart.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

# What a router gives a worker that nobody said anything about.
DEFAULT_PRIORITY = 50
DEFAULT_COST = 1.0

# These are set only when a worker is added: another value needs a new entry.
_FIXED = ("model_id", "worker_type", "bootstrap_port")
_CHANGEABLE = ("priority", "cost")


class RouteError(Exception):
    """Workers could not be brought where they were wanted; the text says what to do."""


def normal_url(url: str, what: str) -> str:
    """The address without what does not matter. A router takes http://a and http://a/ for two.

    Raises RouteError when it is none, or holds a password.
    """
    parts = urlsplit(url.strip())
    try:
        port = parts.port
    except ValueError:
        port = -1
    if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
        raise RouteError(f"{what} {url!r} is no address such as http://gpu-01:30000")
    if parts.username is not None or parts.password is not None:
        raise RouteError(f"{what} at {parts.hostname}: give the key in a file, not in the address")
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise RouteError(f"{what} {url!r} has more than host and port: http://gpu-01:30000")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + ("" if port is None else f":{port}")


def base_url(url: str) -> str:
    """The worker behind an entry. With --dp-aware, each rank is an entry http://a:1@0 by itself."""
    head, mark, rank = url.rpartition("@")
    return (head if mark and rank.isdigit() else url).rstrip("/")


@dataclass(frozen=True)
class Wanted:
    """A worker that somebody wants behind the routers. None means: whatever the router takes."""

    url: str
    model_id: str | None = None
    worker_type: str = "regular"
    bootstrap_port: int | None = None
    priority: int | None = None
    cost: float | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    key: str | None = field(default=None, repr=False)

    def body(self) -> dict[str, Any]:
        """What a router is told to add it."""
        told = {
            "url": self.url,
            "model_id": self.model_id,
            "worker_type": self.worker_type,
            "bootstrap_port": self.bootstrap_port,
            "api_key": self.key,
            "labels": dict(self.labels) or None,
            **self.rating(),
        }
        return {name: value for name, value in told.items() if value is not None}

    def rating(self) -> dict[str, Any]:
        """Priority and cost; what is not wanted otherwise is the router's own default."""
        return {
            "priority": DEFAULT_PRIORITY if self.priority is None else self.priority,
            "cost": DEFAULT_COST if self.cost is None else self.cost,
        }


@dataclass(frozen=True)
class Entry:
    """One line of a router's list."""

    ident: str
    url: str
    healthy: bool
    model_id: str | None = None
    worker_type: str = "regular"
    bootstrap_port: int | None = None
    priority: int = DEFAULT_PRIORITY
    cost: float = DEFAULT_COST
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def base(self) -> str:
        """The worker that it is an entry of."""
        return base_url(self.url)

    @property
    def is_rank(self) -> bool:
        """Whether it is one of several ranks of a worker."""
        return self.url.rstrip("/") != self.base

    def shown(self) -> dict[str, Any]:
        """The same for a result. It holds no key: a router never tells one."""
        return {
            "url": self.url,
            "healthy": self.healthy,
            "model_id": self.model_id,
            "worker_type": self.worker_type,
            "bootstrap_port": self.bootstrap_port,
            "priority": self.priority,
            "cost": self.cost,
        }


def parse_entries(body: Any) -> list[Entry] | None:
    """A router's list; None when the answer is something else."""
    listed = body.get("workers") if isinstance(body, dict) else None
    if not isinstance(listed, list):
        return None
    return [_entry(item) for item in listed if isinstance(item, dict) and item.get("url")]


def _entry(item: dict[str, Any]) -> Entry:
    metadata = item.get("metadata")
    return Entry(
        ident=str(item.get("id") or ""),
        url=str(item["url"]),
        healthy=item.get("is_healthy") is True,
        model_id=item.get("model_id"),
        worker_type=str(item.get("worker_type") or "regular"),
        bootstrap_port=item.get("bootstrap_port"),
        priority=item.get("priority", DEFAULT_PRIORITY),
        cost=item.get("cost", DEFAULT_COST),
        metadata=metadata if isinstance(metadata, dict) else {},
    )


def of_worker(entries: Iterable[Entry], url: str) -> list[Entry]:
    """The entries of one worker."""
    return [entry for entry in entries if entry.base == url]


def is_up(entries: Iterable[Entry], url: str) -> bool:
    """Whether a router sends requests to every rank of a worker."""
    own = of_worker(entries, url)
    return bool(own) and all(entry.healthy for entry in own)


def surplus(entries: Iterable[Entry], url: str) -> list[Entry]:
    """Further entries of one worker by other spellings, which get it requests twice over."""
    seen: set[str] = set()
    more = []
    for entry in sorted(of_worker(entries, url), key=lambda entry: entry.url != url):
        rank = entry.url.rpartition("@")[2] if entry.is_rank else ""
        if rank in seen:
            more.append(entry)
        seen.add(rank)
    return more


def needs_new_entry(wanted: Wanted, entry: Entry) -> bool:
    """Whether what is fixed in an entry is not what is wanted."""
    return any(getattr(wanted, name) not in (None, getattr(entry, name)) for name in _FIXED)


def needs_update(wanted: Wanted, entry: Entry) -> dict[str, Any]:
    """What a router must be told about an entry; empty when nothing.

    A label that is not wanted any more stays: a router only adds to them.
    """
    told: dict[str, Any] = {
        name: value
        for name in _CHANGEABLE
        if (value := getattr(wanted, name)) not in (None, getattr(entry, name))
    }
    labels = {
        name: value for name, value in wanted.labels.items() if entry.metadata.get(name) != value
    }
    return {**told, "labels": labels} if labels else told
