# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Test equipment: lets something happen to a host while a named task runs on it."""

from __future__ import annotations

import os
import subprocess
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: run_at
type: aggregate
short_description: Run a command while a named task runs
description:
  - With the environment variables E(LAB_RUN_AT), a task's name, and E(LAB_RUN), a shell command,
    the command is started, once, when that task begins. Without them nothing happens.
author:
  - the llmops.sglang contributors
"""


class CallbackModule(CallbackBase):  # type: ignore[misc]
    """The play goes on while the command runs."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "run_at"
    CALLBACK_NEEDS_ENABLED = False

    _done = False

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        """A task is about to run on its hosts."""
        wanted = os.environ.get("LAB_RUN_AT")
        if wanted and not self._done and task.get_name().endswith(wanted):
            self._done = True
            subprocess.Popen(os.environ["LAB_RUN"], shell=True, stdin=subprocess.DEVNULL)
