# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""TEST ONLY: a steady client of a server, and what a restart did to its requests.

    client.py ask URL LOG        asks until it is told to stop, one line of JSON per request
    client.py judge LOG UNIT     says what a restart did to them

Answers stream, short ones and long ones.
"""

from __future__ import annotations

import http.client
import itertools
import json
import math
import signal
import subprocess
import sys
import threading
import time
from typing import Any
from urllib.parse import urlsplit

TIMEOUT_S = 120
# Tokens of one answer after another.
LENGTHS = (8, 8, 96)
REST_S = 0.5
# Nobody listened; taken by the kernel and thrown away unread; begun and not answered to the end.
OK, REFUSED, UNREAD, CUT = "answered", "refused", "unread", "cut"
Line = dict[str, Any]


def ask(address: str, tokens: int) -> tuple[str, str]:
    """Ask once, streaming; returns what became of it and what was received or went wrong."""
    body = {
        "text": "The lighthouse stands at the end of the pier.",
        "stream": True,
        "sampling_params": {"max_new_tokens": tokens, "temperature": 0, "ignore_eos": True},
    }
    connection = http.client.HTTPConnection(address, timeout=TIMEOUT_S)
    status = REFUSED
    try:
        connection.connect()
        status = UNREAD
        headers = {"Content-Type": "application/json"}
        connection.request("POST", "/generate", json.dumps(body), headers)
        answer = connection.getresponse()
        status = CUT
        said = answer.read().decode("utf-8", "replace").strip()
    except (OSError, http.client.HTTPException) as error:
        return status, f"{type(error).__name__}: {error}"
    finally:
        connection.close()
    # A stream that ends early is no answer, whatever its status was.
    if answer.status != 200 or not said.endswith("data: [DONE]"):
        return status, f"HTTP {answer.status}: {said[-200:]}"
    return OK, json.loads(said.split("\n\n")[-2][len("data: ") :])["text"]


def steady(url: str, path: str) -> None:
    """Ask one question after another until SIGTERM, and write down when and what came of each.

    It rests as long as an answer took, and a little: a server that is never idle cannot be drained.
    """
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    with open(path, "w", buffering=1, encoding="utf-8") as log:
        for tokens in itertools.cycle(LENGTHS):
            began = time.time()
            status, said = ask(urlsplit(url).netloc, tokens)
            ended = time.time()
            line = {"tokens": tokens, "start": began, "end": ended, "status": status, "said": said}
            log.write(json.dumps(line) + "\n")
            if stop.wait(REST_S + ended - began):
                break


def gaps(unit: str, lines: list[Line]) -> list[tuple[float, float]]:
    """When nobody had to answer: from a stop, as systemd noted it, to the next server's first word.

    SIGTERM comes after the note, and the drain has ended before it.
    """
    told = subprocess.check_output(
        ["journalctl", "-o", "json", "--no-pager", f"--since=@{lines[0]['start']:.0f}"]
        + ["_PID=1", f"UNIT={unit}"],
        text=True,
    )
    found, stopped = [], None
    for entry in map(json.loads, told.splitlines()):
        at, said = int(entry["__REALTIME_TIMESTAMP"]) / 1e6, str(entry["MESSAGE"])
        if said.startswith("Stopping "):
            stopped = at
        elif said.startswith("Started ") and stopped is not None:
            ends = (line["end"] for line in lines if line["start"] > at and line["status"] == OK)
            found.append((stopped, min(ends, default=math.inf)))
            stopped = None
    return found if stopped is None else [*found, (stopped, math.inf)]


def judge(path: str, unit: str) -> dict[str, Any]:
    """Count how requests ended that began under a server, and those that began between two."""
    with open(path, encoding="utf-8") as log:
        lines = sorted(map(json.loads, log), key=lambda line: float(line["start"]))
    between = gaps(unit, lines)
    served: list[Line] = []
    others: list[Line] = []
    for line in lines:
        within = any(stopped <= line["start"] < back for stopped, back in between)
        (others if within else served).append(line)
    return {
        "gaps_s": [round(back - stopped, 1) for stopped, back in between],
        "served": count(served),
        "between": count(others),
        "across": sum(
            line["start"] < stopped < line["end"] for line in served for stopped, _back in between
        ),
        "lost": [line for line in served if line["status"] != OK],
        "answers": len({(line["tokens"], line["said"]) for line in lines if line["status"] == OK}),
    }


def count(lines: list[Line]) -> dict[str, int]:
    """How many requests ended in which way."""
    return {
        status: sum(line["status"] == status for line in lines)
        for status in (OK, REFUSED, UNREAD, CUT)
    }


if __name__ == "__main__":
    command, first, second = sys.argv[1:]
    if command == "ask":
        steady(first, second)
    else:
        print(json.dumps(judge(first, second)))
