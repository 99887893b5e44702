# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host in a folder, a plan, and a server that answers as it is told: for gate and proof tests."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from ansible_collections.llmops.sglang.plugins.module_utils._gate.checks import Subject
from ansible_collections.llmops.sglang.plugins.module_utils._gate.unit import UnitState

UNIT = "sglang-kimi.service"
GIB = 2**30


def unit_state(**changes: Any) -> UnitState:
    """A unit that runs with main process 700."""
    values: dict[str, Any] = {
        "load_state": "loaded",
        "active_state": "active",
        "sub_state": "running",
        "result": "success",
        "main_pid": 700,
        "invocation_id": "c0ffee",
        "restarts": 0,
        "exit_code": "0",
        "exit_status": 0,
        "started_s": 50.0,
        "inactive_since_s": None,
    }
    return UnitState(**{**values, **changes})


STOPPED = unit_state(active_state="inactive", sub_state="dead", main_pid=None)


def a_plan(**changes: Any) -> dict[str, Any]:
    """A plan for two ranks and a host tier; any part can be replaced."""
    flags = {
        "--model-path": (["/srv/models/m"], "sglang_model_path"),
        "--tp-size": (["2"], "sglang_tp_size"),
        "--port": (["30000"], "sglang_port"),
        "--enable-cache-report": ([], "sglang_enable_cache_report"),
        "--hicache-ratio": (["4.0"], "sglang_hicache_ratio"),
    }
    plan: dict[str, Any] = {
        "instance": "kimi",
        "unit": UNIT,
        "engine": {"version": "0.5.23", "path": "/opt/e"},
        "argv": [
            "/opt/e/bin/python",
            "-m",
            "sglang.launch_server",
            *(word for flag, (values, _source) in flags.items() for word in (flag, *values)),
        ],
        "arguments": [
            {"flag": flag, "values": values, "source": source}
            for flag, (values, source) in flags.items()
        ],
        "environment": {"NCCL_P2P_LEVEL": "SYS", "LLMOPS_SGLANG_FINGERPRINT": "e1:m1:-"},
        "sections": [["Service", [["Type", "exec"], ["User", "sglang"]]]],
        "capacity": {
            "ranks_per_node": 2,
            "page_size": 16,
            "model_context_tokens": 4096,
            "device": {"tokens": 1000, "origin": "predicted"},
            "host": {
                "mode": "ratio",
                "tokens": 4016,
                "bytes_per_rank": 20 * GIB,
                "bytes_node": 40 * GIB,
                "certainty": "certain",
            },
            "ram": {"reserve_bytes": 10 * GIB},
            "limits": [],
        },
        "deadlines": {"start_s": 60, "stop_s": 60, "drain_s": 60},
        "fingerprint": "e1:m1:-",
        "url": "http://127.0.0.1:1",
        "served_model_name": "m",
    }
    return {**plan, **changes}


def gpu(index: int, **changes: Any) -> dict[str, Any]:
    """One idle GPU of 96 GiB."""
    device: dict[str, Any] = {
        "index": index,
        "memory_total_bytes": 96 * GIB,
        "memory_used_bytes": GIB // 2,
        "recovery_action": "None",
        "processes": [],
    }
    return {**device, **changes}


def some_facts(*gpus: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Facts of a healthy host with these GPUs, two by default."""
    facts: dict[str, Any] = {
        "gpu": {
            "source": "nvml",
            "driver": {"loaded": "580.95.05", "library": "580.95.05"},
            "devices": list(gpus) or [gpu(0), gpu(1)],
        },
        "memory": {"available_bytes": 100 * GIB, "instance": {"shmem_bytes": None}},
        "model": {
            "path": "/srv/models/m",
            "present": True,
            "weights_files": 3,
            "weights_bytes": 7 * 10**9,
            "missing_count": 0,
            "missing_files": [],
            "truncated_files": [],
        },
        "draft": None,
        "engine": {"path": "/opt/e", "present": True, "version": "0.5.23", "double": False},
        "server": {"startup": {"load_s": 30.0}},
    }
    return {**facts, **changes}


def subject(
    root: Path,
    facts: dict[str, Any] | None = None,
    plan: dict[str, Any] | None = None,
    **changes: Any,
) -> Subject:
    """What the checks look at; the proc file system lies under `root`."""
    values: dict[str, Any] = {
        "plan": plan or a_plan(),
        "facts": some_facts() if facts is None else facts,
        "state": unit_state(),
        "unit": UNIT,
        "root": root,
    }
    return Subject(**{**values, **changes})


def add_process(
    root: Path,
    pid: int,
    argv: list[str],
    environment: dict[str, str] | None = None,
    parent: int = 1,
    unit: str = UNIT,
    sockets: tuple[str, ...] = (),
) -> None:
    """Put a process into the proc folder under `root`."""
    folder = root / "proc" / str(pid)
    (folder / "fd").mkdir(parents=True)
    (folder / "cmdline").write_bytes(b"".join(part.encode() + b"\0" for part in argv))
    pairs = [f"{name}={value}" for name, value in (environment or {}).items()]
    (folder / "environ").write_bytes(b"".join(pair.encode() + b"\0" for pair in pairs))
    (folder / "stat").write_text(f"{pid} (a (b) c) S {parent} {pid} 0 0\n")
    (folder / "cgroup").write_text(f"0::/system.slice/{unit}\n")
    for number, inode in enumerate(sockets):
        (folder / "fd" / str(number)).symlink_to(f"socket:[{inode}]")


@dataclass
class Stub:
    """A server whose answers are a mapping: path to body, (status, body) or a function."""

    answers: dict[str, Any] = field(default_factory=dict)
    asked: list[tuple[str, str, Any, str | None]] = field(default_factory=list)
    url: str = ""

    def answer(self, path: str, body: Any) -> tuple[int, Any]:
        """The status and body for a question."""
        answer = self.answers.get(path, (404, {"detail": "Not Found"}))
        if callable(answer):
            answer = answer(body)
        return answer if isinstance(answer, tuple) else (200, answer)


@contextmanager
def serving(answers: dict[str, Any]) -> Iterator[Stub]:
    """Run a stub server on a free loopback port."""
    stub = Stub(answers)

    class Handler(BaseHTTPRequestHandler):
        def _reply(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            stub.asked.append((self.command, self.path, body, self.headers.get("Authorization")))
            status, answer = stub.answer(self.path, body)
            data = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = _reply
        do_POST = _reply

        def log_message(self, *_arguments: Any) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    stub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield stub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def chat(text: str, tokens: int = 5, cached: int | None = None, **message: Any) -> dict[str, Any]:
    """The answer of a chat completion."""
    details = None if cached is None else {"cached_tokens": cached}
    return {
        "choices": [{"message": {"role": "assistant", "content": text, **message}}],
        "usage": {"completion_tokens": tokens, "prompt_tokens_details": details},
    }


def in_turn(*answers: Any) -> Callable[[Any], Any]:
    """Give one answer after the other, the last one for ever."""
    left = list(answers)
    return lambda _body: left.pop(0) if len(left) > 1 else left[0]
