# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How soon the real sglang-router sends requests to a worker that was proven, and what it loses.

The workers are doubles: a health check, a count of requests in flight, and an answer that takes a
moment. The router is the real one, with its checks a second apart.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from figure import Figure, at_least, at_most, told

LAB = Path(__file__).resolve().parents[2] / "molecule" / "lab" / "lab.py"
INTERVAL_S = 1
SLACK_S = 1.0
ROUNDS = 5
CLIENTS = 4
ANSWER_S = 0.05


@dataclass
class Worker:
    """A worker double: how many requests it has, and how many it had."""

    url: str = ""
    busy: int = 0
    answered: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def work(self) -> None:
        """Answer one request, after a moment."""
        with self.lock:
            self.busy += 1
        time.sleep(ANSWER_S)
        with self.lock:
            self.busy -= 1
            self.answered += 1


@contextmanager
def worker() -> Iterator[Worker]:
    """Run one on a free port."""
    double = Worker()

    class Handler(BaseHTTPRequestHandler):
        def _send(self, body: object) -> None:
            data = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            known = {
                "/health": {},
                "/v1/models": {"data": []},
                "/server_info": {"served_model_name": "m", "model_path": "/m"},
                "/v1/loads": {"loads": [{"num_running_reqs": double.busy}]},
            }
            self._send(known[self.path]) if self.path in known else self.send_error(404)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            double.work()
            self._send({"choices": [{"message": {"content": "x"}}]})

        def log_message(self, *_args: object) -> None:
            """Stay silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        double.url = f"http://127.0.0.1:{server.server_address[1]}"
        yield double
        server.shutdown()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def router() -> Iterator[str]:
    """Run the real router; its address."""
    venv = subprocess.check_output([sys.executable, str(LAB), "router"], text=True).split()[-1]
    port = free_port()
    argv = [
        f"{venv}/bin/python", "-m", "sglang_router.launch_router", "--host", "127.0.0.1",
        "--port", str(port), "--policy", "round_robin", "--log-level", "error",
        "--health-check-interval-secs", str(INTERVAL_S),
        "--prometheus-host", "127.0.0.1", "--prometheus-port", str(free_port()),
    ]  # fmt: skip
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        url = f"http://127.0.0.1:{port}"
        until = time.monotonic() + 60
        while not answers(url):
            if process.poll() is not None or time.monotonic() > until:
                process.kill()
                raise RuntimeError("the router did not start")
            time.sleep(0.05)
        try:
            yield url
        finally:
            process.terminate()


def answers(url: str) -> bool:
    try:
        urllib.request.urlopen(f"{url}/health", timeout=5).close()
    except OSError:
        return False
    return True


def ask(url: str) -> bool:
    """One request through the router; whether it was answered."""
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x"}]}).encode()
    request = urllib.request.Request(f"{url}/v1/chat/completions", data=body)
    request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status == 200
    except OSError:
        return False


@dataclass
class Clients:
    """Clients that never stop asking."""

    url: str
    answered: int = 0
    lost: int = 0
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        while not self.stop.is_set():
            if ask(self.url):
                self.answered += 1
            else:
                self.lost += 1


@contextmanager
def asking(url: str) -> Iterator[Clients]:
    clients = Clients(url)
    threads = [threading.Thread(target=clients.run) for _number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    try:
        yield clients
    finally:
        clients.stop.set()
        for thread in threads:
            thread.join()


def settle(router_url: str, worker_url: str, state: str) -> None:
    """What the module router_workers does."""
    from ansible_collections.llmops.sglang.plugins.module_utils._keys import Keys
    from ansible_collections.llmops.sglang.plugins.module_utils._prove.client import Client
    from ansible_collections.llmops.sglang.plugins.module_utils._route.router import Router
    from ansible_collections.llmops.sglang.plugins.module_utils._route.settle import Settling, Wish
    from ansible_collections.llmops.sglang.plugins.module_utils._route.worker import Wanted

    routers = [Router(router_url, Client(router_url, Keys()))]
    settling = Settling(routers, Wish([Wanted(worker_url)], state=state, drain_timeout_s=30))
    settling.look()
    settling.run()


def run() -> list[Figure]:
    """Take one of two workers out and put it back, while clients ask."""
    routed_s = []
    late = 0
    with router() as url, worker() as stays, worker() as moves:
        settle(url, stays.url, "present")
        with asking(url) as clients:
            for _round in range(ROUNDS):
                before = moves.answered
                begun = time.monotonic()
                settle(url, moves.url, "present")
                while moves.answered == before and time.monotonic() - begun < 60:
                    time.sleep(0.005)
                routed_s.append(time.monotonic() - begun)
                settle(url, moves.url, "absent")
                out = moves.answered
                time.sleep(0.5)
                late += moves.busy + moves.answered - out
    return [
        told("proven to routed, slowest of 5", max(routed_s), "s"),
        at_most("of check interval plus 1 s", max(routed_s) / (INTERVAL_S + SLACK_S), "", 1),
        at_least("requests answered meanwhile", clients.answered, "", 20),
        at_most("requests lost meanwhile", clients.lost, "", 0),
        at_most("requests to a worker that is out", late, "", 0),
    ]
