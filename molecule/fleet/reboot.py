# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cut the power of a guest of this scenario after some seconds, and boot it again.

    python3 reboot.py GUEST SECONDS

All guests share the machine's kernel, and with it the identity of the boot; so the guest gets one
of its own, as a host has after each boot.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lab"))
import guest

NEW_BOOT = """
set -eu
cat /proc/sys/kernel/random/uuid > /run/boot_id
mount --bind /run/boot_id /proc/sys/kernel/random/boot_id
"""


def main() -> None:
    time.sleep(float(sys.argv[2]))
    (one,) = [one for one in guest.guests("fleet") if one.name == sys.argv[1]]
    guest.reboot(one)
    guest.inside(one, "sh", "-c", NEW_BOOT)


if __name__ == "__main__":
    main()
