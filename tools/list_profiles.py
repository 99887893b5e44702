# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write docs/profiles.md from the profiles themselves. Run it after a change of a profile."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "profiles.md"
HEAD = """\
# Profiles

`sglang_profile` names a set of variables for one model on one class of hardware:

```yaml
sglang_profile: kimi-k2.5-rtx-pro-6000-x8
sglang_model_path: /models/Kimi-K2.5
sglang_model_draft_path: /models/Kimi-K2.5-eagle3
```

* Its variables stand above the defaults of the role and below everything you set: in the inventory,
  with `-e`, or in a play. Set one to null to leave it to the engine again.
* Rules and plan judge the result, whatever it came from.
* Where the host or the model differ from what a profile assumes, `diagnose` and `plan` say so
  (PRO-001 model, PRO-002 hardware, PRO-003 version); PRO-004 lists what you changed.
* A profile is a start, not a benchmark: read what was measured of it and what was not.

<!-- Written by tools/list_profiles.py. -->
"""


def page(profiles: list[dict[str, Any]]) -> str:
    """The whole page."""
    return "\n".join([HEAD, *(section(profile) for profile in profiles)])


def section(profile: dict[str, Any]) -> str:
    """One profile."""
    hardware = profile["hardware"]
    rows = [
        f"| `{name}: {json.dumps(entry['value'])}` | {entry['reason']} | {entry['source']} |"
        for name, entry in profile["variables"].items()
    ]
    model = ", ".join(f"{fact} {value}" for fact, value in profile["model"].items())
    cards = f"{hardware['gpus']} of {hardware['gpu_memory_gib']} GiB or more"
    lines = [
        f"## {profile['name']}\n",
        f"{profile['title']}, SGLang {profile['versions']['since']} and newer.\n",
        f"* Model: {model}",
        f"* GPUs: {cards}, compute capability {' or '.join(hardware['compute_capability'])}"
        + (f", linked by {' or '.join(hardware['links'])}" if hardware["links"] else ""),
        *(f"* You set `{name}`: {what}" for name, what in profile["needs"].items()),
        f"* Measured: {'; '.join(profile['measured'])}",
        f"* Not measured: {'; '.join(profile['not_measured'])}\n",
        "| variable | why | source |",
        "| --- | --- | --- |",
        *rows,
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the page."""
    # Profiles need nothing but the standard library, so no installed collection is asked for.
    sys.path.insert(0, str(ROOT))
    from plugins.module_utils._engine.profile import profile, profile_names

    PAGE.write_text(page([profile(name) for name in profile_names()]), encoding="utf-8")


if __name__ == "__main__":
    main()
