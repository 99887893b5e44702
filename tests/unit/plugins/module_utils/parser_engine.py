# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small engine with an argument parser, for whoever asks an installed one."""

from __future__ import annotations

from pathlib import Path

# An engine whose parser knows two flags; the second one is judged by a later step.
ENGINE = """
import argparse, os

class Arguments:
    def __init__(self, values):
        self.values = values
    def resolve_once(self):
        if self.values.hicache_ratio < 1:
            raise ValueError("hicache_ratio %s is too small, key %s"
                             % (self.values.hicache_ratio, os.environ.get("HF_TOKEN")))

def prepare_server_args(argv):
    print("noise on the way")
    parser = argparse.ArgumentParser(prog="sglang serve")
    parser.add_argument("--model-path", required=True)
    parser.add_argument("--hicache-ratio", type=float, default=2.0)
    if "--touch" in argv:
        open(os.path.join(os.environ["HOME"], "left-behind"), "w").close()
        argv = [word for word in argv if word != "--touch"]
    return Arguments(parser.parse_args(argv))
"""


def write_engine(folder: Path) -> Path:
    """Write the engine's package; returns what PYTHONPATH needs."""
    package = folder / "site/sglang/srt"
    package.mkdir(parents=True)
    for part in (package, package.parent):
        (part / "__init__.py").touch()
    (package / "server_args.py").write_text(ENGINE)
    return folder / "site"
