# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the documentation of all action plugins of this collection has in common."""

from __future__ import annotations


class ModuleDocFragment:
    """Private to the collection."""

    DOCUMENTATION = r"""
attributes:
  action:
    description: Has a corresponding action plugin, which does all of the work on the controller.
    support: full
  check_mode:
    description: Can run in C(check_mode) and return the same without changing anything.
    support: full
  diff_mode:
    description: Returns details on what has changed in diff mode.
    support: none
  platform:
    description: Target operating systems.
    platforms: all
    support: full
author:
  - the llmops.sglang contributors (!UNKNOWN)
"""
