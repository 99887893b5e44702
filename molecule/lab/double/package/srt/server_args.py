# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The names other programs import from the engine to check arguments."""

from __future__ import annotations

from sglang.double.args import ServerArgs, prepare_server_args

__all__ = ["ServerArgs", "prepare_server_args"]
