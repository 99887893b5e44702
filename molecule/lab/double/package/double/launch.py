# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The double's main process: checks, forks the ranks, serves, and ends as its version does."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from typing import Any, NoReturn

from . import lines
from .args import VERSION, ServerArgs
from .engine import Engine
from .gpus import read_gpus
from .host import read_host_memory
from .pools import allocate_host, compute_sizes
from .ranks import Start, fork_ranks
from .server import Server

FAULTS = {
    "exit0": "ends with status 0 before any rank exists",
    "hang_load": "weights never finish loading",
    "slow_load": "slow_load:SECONDS, weights take that much longer",
    "load_barrier": "the last rank is still loading when the others give up on it",
    "scheduler_dead": "rank 0 ends during initialization without a word",
    "guard": "every rank finds too little host memory",
    "oom_rank": "the last rank is killed while it pins its host pool",
    "tiny_pool": "the device pool holds next to nothing",
    "port_in_use": "the port cannot be bound",
    "unanswered": "health checks pass, and no request is answered once the server is up",
    "no_cache_hit": "a prompt asked twice is computed twice",
    "wrong_output": "a prompt asked twice gets two answers",
    "host_never_read": "what left the device tier is computed anew",
    "wrong_after_load": "a prompt that comes from the host tier gets another answer",
    "accept_collapse": "drafts are refused after a load from the host tier",
    "ignore_sigterm": "SIGTERM is noted and has no effect",
}
DRAIN_POLL_S = 5.0


def launch(args: ServerArgs) -> NoReturn:
    """Run the double until it ends."""
    args.resolve_once()
    args.check_server_args()
    lines.say(lines.server_args(args))
    faults = read_faults(os.environ.get("LAB_DOUBLE_FAULT", ""))
    if "exit0" in faults:
        sys.exit(0)
    main = Main(_prepare(args, faults))
    main.start_ranks()
    main.serve()


def read_faults(text: str) -> dict[str, str]:
    """Read "guard,slow_load:30"; raises ValueError for a fault that does not exist."""
    pairs = [entry.strip().partition(":")[::2] for entry in text.split(",") if entry.strip()]
    for name, _value in pairs:
        if name not in FAULTS:
            raise ValueError(f"no such fault: {name}; there are {', '.join(FAULTS)}")
    return dict(pairs)


def _prepare(args: ServerArgs, faults: dict[str, str]) -> Start:
    gpus = read_gpus()
    sizes = compute_sizes(args, gpus, tiny="tiny_pool" in faults)
    memory = read_host_memory()
    wanted = args.max_running_requests or 2048
    return Start(
        args=args,
        gpus=gpus,
        sizes=sizes,
        memory=memory,
        outcomes=allocate_host(args, sizes, memory) if args.enable_hierarchical_cache else [],
        running=max(1, min(wanted, sizes.tokens // 2)),
        start_s=float(os.environ.get("LAB_DOUBLE_START_S") or 2),
        faults=faults,
    )


class Main:
    """The process that starts the ranks, serves, and ends them."""

    def __init__(self, start: Start) -> None:
        self.start = start
        self.processes: list[int] = []
        self.engine = Engine(start)

    def start_ranks(self) -> None:
        """Fork the ranks and return when all are ready; ends the process when one died."""
        signal.signal(signal.SIGQUIT, self._on_sigquit)
        self.processes, ready_fd = fork_ranks(self.start)
        ready = 0
        while ready < len(self.processes):
            if select.select([ready_fd], [], [], 0.05)[0]:
                ready += len(os.read(ready_fd, len(self.processes)))
            dead = self._dead_rank()
            # A rank that raised has sent SIGQUIT, which ends this process first.
            if dead is not None:
                time.sleep(0.1)
                self._fail(lines.dead_rank(*dead))

    def serve(self) -> NoReturn:
        """Serve until SIGTERM or until a rank dies."""
        args = self.start.args
        lines.say(f"INFO:     Started server process [{os.getpid()}]")
        try:
            if "port_in_use" in self.start.faults:
                raise OSError("address already in use")
            server = Server(self.engine)
        except OSError:
            self._fail(
                "ERROR:    [Errno 98] error while attempting to bind on address "
                f"('{args.host}', {args.port}): address already in use"
            )
        threading.Thread(target=server.serve_forever, daemon=True).start()
        lines.say(
            f"INFO:     Uvicorn running on http://{args.host}:{args.port} (Press CTRL+C to quit)"
        )
        signal.signal(signal.SIGTERM, self._on_sigterm)
        self.engine.generate("warm-up", 8)
        self.engine.flush()
        self.engine.ready = True
        lines.say("The server is fired up and ready to roll!")
        while not self.engine.draining.wait(0.2):
            self._watch_ranks()
        self._drain()

    def _drain(self) -> NoReturn:
        poll_s = min(DRAIN_POLL_S, self.start.start_s)
        while True:
            until = time.monotonic() + poll_s
            while time.monotonic() < until:
                time.sleep(0.1)
                self._watch_ranks()
            requests = list(self.engine.requests)
            lines.say(lines.remaining(requests))
            if not requests:
                self._end()

    def _end(self) -> NoReturn:
        if VERSION < "0.5.19":
            self._kill_tree()
        self._kill_ranks()
        sys.stderr.flush()
        os._exit(0)

    def _on_sigterm(self, _number: int, _frame: Any) -> None:
        # Upstream's handler runs in its event loop, which hands it neither.
        lines.say(
            "SIGTERM received. signum=None frame=None. Draining requests and shutting down..."
        )
        if os.environ.get("SGL_FORCE_SHUTDOWN"):
            self._end()
        if "ignore_sigterm" not in self.start.faults:
            self.engine.draining.set()

    def _on_sigquit(self, _number: int, _frame: Any) -> None:
        if self.engine.ready and VERSION >= "0.5.3":
            lines.say(
                "SIGQUIT received. signum=None, frame=None. It usually means one child failed."
            )
        else:
            lines.say("Received sigquit from a child process. It usually means the child failed.")
        self._kill_tree()

    def _watch_ranks(self) -> None:
        """Notice a rank that died while serving, as versions since 0.5.10 do."""
        dead = self._dead_rank() if VERSION >= "0.5.10" else None
        if dead is not None:
            rank, code = dead
            lines.say(
                f"Subprocess scheduler_{rank} (pid={self.processes[rank]}) crashed with exit code "
                f"{code}. Triggering SIGQUIT for cleanup..."
            )
            os.kill(os.getpid(), signal.SIGQUIT)

    def _dead_rank(self) -> tuple[int, int] | None:
        """Return the number and exit code of a rank that ended, negative for a signal."""
        process, status = os.waitpid(-1, os.WNOHANG)
        if process == 0:
            return None
        return self.processes.index(process), _exit_code(status)

    def _fail(self, message: str) -> NoReturn:
        lines.say(message)
        self._kill_ranks()
        sys.exit(1)

    def _kill_ranks(self) -> None:
        for process in self.processes:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def _kill_tree(self) -> NoReturn:
        self._kill_ranks()
        os.kill(os.getpid(), signal.SIGKILL)
        raise SystemExit(1)


def _exit_code(status: int) -> int:
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
