# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clients that never stop: ask the router until told to end, and count what came back.

python3 client.py URL RESULT    ends when RESULT.stop exists, and writes RESULT
"""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

CLIENTS = 3
PAUSE_S = 0.2


class Clients:
    """What they saw, all of them together."""

    def __init__(self, url: str, stop: Path) -> None:
        self._url = url
        self._stop = stop
        self._lock = threading.Lock()
        self.answered = 0
        self.lost: list[str] = []
        self.longest_gap_s = 0.0
        self._last = time.monotonic()

    def run(self) -> None:
        """Until told to end."""
        threads = [threading.Thread(target=self._client, args=(n,)) for n in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _client(self, number: int) -> None:
        asked = 0
        while not self._stop.exists():
            asked += 1
            reason = self._ask(f"client {number} asks {asked} times")
            with self._lock:
                if reason:
                    self.lost.append(f"{time.strftime('%H:%M:%S')} {reason}")
                else:
                    self.answered += 1
                    now = time.monotonic()
                    self.longest_gap_s = max(self.longest_gap_s, now - self._last)
                    self._last = now
            time.sleep(PAUSE_S)

    def _ask(self, text: str) -> str:
        """Ask once; returns what went wrong, empty when nothing did."""
        body: dict[str, Any] = {
            "model": "tiny",
            "max_tokens": 8,
            "messages": [{"role": "user", "content": text}],
        }
        request = urllib.request.Request(
            f"{self._url}/v1/chat/completions",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                answer = json.load(response)
        except (OSError, ValueError, http.client.HTTPException) as error:
            return str(error)
        return "" if answer.get("choices") else f"no choice in {answer}"


def main() -> None:
    url, result = sys.argv[1], Path(sys.argv[2])
    stop = Path(f"{result}.stop")
    stop.unlink(missing_ok=True)
    clients = Clients(url, stop)
    clients.run()
    seen = {
        "answered": clients.answered,
        "lost": clients.lost,
        "longest_gap_s": round(clients.longest_gap_s, 1),
    }
    result.write_text(json.dumps(seen) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
