# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the start of a unit's current run as host_facts does, and tell what it took.

read_start.py UNIT prints JSON: the tokens of its pool, the peak memory of this process and of
journalctl in bytes. PYTHONPATH holds the collection.
"""

from __future__ import annotations

import json
import resource
import sys

from ansible_collections.llmops.sglang.plugins.module_utils._probe.journal import read_startup
from ansible_collections.llmops.sglang.plugins.module_utils._probe.redact import Redactor
from ansible_collections.llmops.sglang.plugins.module_utils._probe.server import read_unit
from ansible_collections.llmops.sglang.plugins.module_utils._probe.source import Live


def peak_bytes(who: int) -> int:
    """The largest resident size so far."""
    return resource.getrusage(who).ru_maxrss * 1024


def main() -> None:
    source, unit = Live(), sys.argv[1]
    show = read_unit(source, unit, 60)
    startup = read_startup(
        source, Redactor(), unit, show["InvocationID"], silent=False, detail=True, timeout_s=60
    )
    print(
        json.dumps(
            {
                "tokens": startup["max_total_num_tokens"],
                "ranks": len(startup["ranks"]),
                "state": startup["state"],
                "reader_bytes": peak_bytes(resource.RUSAGE_SELF),
                "journalctl_bytes": peak_bytes(resource.RUSAGE_CHILDREN),
            }
        )
    )


if __name__ == "__main__":
    main()
