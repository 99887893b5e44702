# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`python -m sglang.launch_server`, played by the double."""

from __future__ import annotations

import sys

from sglang.double.launch import launch
from sglang.srt.server_args import prepare_server_args

if __name__ == "__main__":
    launch(prepare_server_args(sys.argv[1:]))
