# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Test equipment: kills the whole play, as a lost controller would, after or at a named task."""

from __future__ import annotations

import os
import signal
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: kill_after
type: aggregate
short_description: Kill the play at a named task
description:
  - With the environment variable E(LAB_KILL_AFTER) the play is killed once that task has ended on
    a host, with E(LAB_KILL_AT) when it begins. Without them nothing happens.
author:
  - the llmops.sglang contributors
"""


class CallbackModule(CallbackBase):  # type: ignore[misc]
    """SIGKILL to the process group: nothing gets a chance to clean up."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "kill_after"
    CALLBACK_NEEDS_ENABLED = False

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        """A task is about to run on its hosts."""
        _kill_if(os.environ.get("LAB_KILL_AT"), task.get_name())

    def v2_runner_on_ok(self, result: Any) -> None:
        """A task has ended well on a host."""
        _kill_if(os.environ.get("LAB_KILL_AFTER"), result.task_name)


def _kill_if(wanted: str | None, name: str) -> None:
    if wanted and name.endswith(wanted):
        os.killpg(os.getpgid(0), signal.SIGKILL)
