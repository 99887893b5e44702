# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A router that carries out its orders late, badly or never, and workers: for tests of routing."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.gate_world import (
    Stub,
    serving,
)

LOADS = "/v1/loads"


@dataclass
class RouterDouble:
    """Answers as sglang-router 0.3.2 does: 202 at once, the list later.

    `lag` lists are given out as they were before an order shows, `fails` is what becomes of every
    order instead, `key` is the key that it asks for, and `refuses` answers some path itself.
    """

    url: str = ""
    lag: int = 0
    fails: str = ""
    drops_orders: bool = False
    healthy: bool = True
    key: str | None = None
    refuses: tuple[int, Any] | None = None
    workers: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: list[tuple[str, str, Any]] = field(default_factory=list)
    pending: list[tuple[int, str, str, dict[str, Any]]] = field(default_factory=list)
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)

    def has(self, url: str, **changes: Any) -> str:
        """Put a worker on the list; returns its id."""
        ident = str(uuid.uuid4())
        self.workers[ident] = {
            "id": ident,
            "url": url,
            "model_id": "m",
            "priority": 50,
            "cost": 1.0,
            "worker_type": "regular",
            "is_healthy": self.healthy,
            "load": 0,
            "metadata": {"tp_size": "1"},
            **changes,
        }
        return ident

    def urls(self) -> list[str]:
        """The addresses on its list."""
        return sorted(worker["url"] for worker in self.workers.values())

    def orders(self) -> list[tuple[str, Any]]:
        """What it was told to change, without ids."""
        return [(method, body) for method, _path, body in self.asked if method != "GET"]

    def answer(self, method: str, path: str, body: Any, authorization: str | None) -> Any:
        """The status and body for one request. That it is up it tells without a key."""
        if path == "/health":
            return 200, "OK"
        if self.key and authorization != f"Bearer {self.key}":
            return 401, "Invalid or missing API key"
        if self.refuses:
            return self.refuses
        ident = path[len("/workers/") :]
        if method == "GET":
            return self._told(ident) if ident else self._listed()
        if method == "POST":
            ident = str(uuid.uuid4())
            self._order(ident, "AddWorker", body)
            return 202, {"status": "accepted", "worker_id": ident, "url": body["url"]}
        if ident not in self.workers:
            return 404, {"error": "not found", "code": "WORKER_NOT_FOUND"}
        self._order(ident, "UpdateWorker" if method == "PUT" else "RemoveWorker", body or {})
        return 202, {"status": "accepted", "worker_id": ident}

    def _order(self, ident: str, kind: str, body: dict[str, Any]) -> None:
        if self.fails:
            self.jobs[ident] = {"job_type": kind, "status": "failed", "message": self.fails}
        elif not self.drops_orders:
            self.pending.append((self.lag, ident, kind, body))

    def _listed(self) -> tuple[int, Any]:
        waiting = []
        for lag, ident, kind, body in self.pending:
            if lag > 0:
                waiting.append((lag - 1, ident, kind, body))
            else:
                self._carry_out(ident, kind, body)
        self.pending = waiting
        return 200, {"workers": list(self.workers.values()), "total": len(self.workers)}

    def _told(self, ident: str) -> tuple[int, Any]:
        known = self.workers.get(ident) or {"id": ident, "is_healthy": False}
        return 200, {**known, "job_status": self.jobs.get(ident)}

    def _carry_out(self, ident: str, kind: str, body: dict[str, Any]) -> None:
        told = {name: value for name, value in body.items() if name not in ("labels", "api_key")}
        if kind == "RemoveWorker":
            self.workers.pop(ident, None)
        elif kind == "UpdateWorker":
            self.workers[ident].update(told)
            self.workers[ident]["metadata"].update(body.get("labels", {}))
        elif told["url"] not in self.urls():
            self.has(told["url"])
            new = list(self.workers.values())[-1]
            new.update(told)
            new["metadata"].update(body.get("labels", {}))


@contextmanager
def routing(**settings: Any) -> Iterator[RouterDouble]:
    """Run a router double on a free loopback port."""
    double = RouterDouble(**settings)
    one_at_a_time = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def _reply(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            with one_at_a_time:
                double.asked.append((self.command, self.path, body))
                status, answer = double.answer(
                    self.command, self.path, body, self.headers.get("Authorization")
                )
            data = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = _reply

        def log_message(self, *_args: Any) -> None:
            """Stay silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        double.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield double
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def workers(count: int, in_flight: int = 0) -> Iterator[list[Stub]]:
    """Run workers that are healthy and have so many requests in flight."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(serving({"/health": {}, "/v1/models": {}, LOADS: loads(in_flight)}))
            for _number in range(count)
        ]


def loads(running: int) -> dict[str, Any]:
    """A worker's answer with so many requests in flight."""
    return {"loads": [{"num_running_reqs": running}]}
