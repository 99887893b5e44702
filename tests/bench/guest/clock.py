# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a command several times; print as JSON what it took at best, and what it said.

clock.py TIMES COMMAND... gives seconds by the wall's clock, and of the processors. The least of
each, because everything else on a machine only ever adds.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time


def processor_s() -> float:
    """Seconds of the processors that all ended children took."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    times, command = int(sys.argv[1]), sys.argv[2:]
    runs: list[tuple[float, float]] = []
    said = ""
    for _run in range(times):
        begun, used = time.monotonic(), processor_s()
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        runs.append((time.monotonic() - begun, processor_s() - used))
    wall, processor = (min(values) for values in zip(*runs))
    print(json.dumps({"wall_s": wall, "processor_s": processor, "said": said}))


if __name__ == "__main__":
    main()
