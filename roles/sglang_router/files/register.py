# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tell a router that has just started the workers it had: URL FOLDER, with workers.json in it.

It goes on trying by itself those that are not up yet, as after a power cut.
"""

from __future__ import annotations

import json
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

PAUSE_S = 0.2
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def key_in(path: str | None) -> str | None:
    """The key in a file, which holds nothing else, or is a server's secrets file."""
    if not path:
        return None
    text = Path(path).read_text(encoding="utf-8").strip()
    return json.loads(text)["api-key"] if text.startswith("{") else text


def wait_until_up(url: str) -> None:
    """Until it answers; systemd gives up sooner or later, and then ends this as well."""
    while True:
        try:
            OPENER.open(f"{url}/health", timeout=5).close()
            return
        except OSError:
            time.sleep(PAUSE_S)


def add(url: str, key: str | None, worker: dict[str, Any]) -> None:
    """Order the router to add one."""
    request = urllib.request.Request(f"{url}/workers", data=json.dumps(worker).encode())
    request.add_header("Content-Type", "application/json")
    if key:
        request.add_header("Authorization", f"Bearer {key}")
    OPENER.open(request, timeout=10).close()


def main(url: str, folder: str) -> int:
    wait_until_up(url)
    path = Path(folder, "workers.json")
    if not path.is_file():
        return 0
    known = json.loads(path.read_text(encoding="utf-8"))
    key = key_in(known["api_key_file"])
    failed = 0
    for worker in known["workers"]:
        file = worker.pop("api_key_file", None) or known["worker_api_key_file"]
        try:
            secret = key_in(file)
            add(url, key, {**worker, "api_key": secret} if secret else worker)
        except (OSError, ValueError, KeyError) as error:
            # One that cannot be added is no reason to be without the others.
            print(f"register: {worker['url']}: {error}", file=sys.stderr)
            failed += 1
    print(f"register: told {len(known['workers']) - failed} of {len(known['workers'])} workers")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
