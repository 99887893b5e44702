# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the benchmarks, all or those that are named; exit with 1 when a bound is broken.

A benchmark is a file `bench_NAME.py` beside this with a function `run() -> list[Figure]`. It may
import the collection by its full name, `ansible_collections.llmops.sglang...`: this checkout.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from figure import Figure

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TREE = ROOT / ".lab" / "bench"
NAMES = sorted(path.stem[len("bench_") :] for path in HERE.glob("bench_*.py"))


def importable() -> None:
    """Make the checkout importable under the collection's name."""
    link = TREE / "ansible_collections" / "llmops" / "sglang"
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(ROOT, target_is_directory=True)
    sys.path.insert(0, str(TREE))
    sys.dont_write_bytecode = True


def row(figure: Figure) -> str:
    """One line of the table."""
    verdict = "" if not figure.bound else "holds" if figure.holds else "BROKEN"
    value = f"{figure.value:,.3g}" if figure.value < 1000 else f"{figure.value:,.0f}"
    return f"  {figure.name:<44} {value:>9} {figure.unit:<7} {figure.bound:<14} {verdict}".rstrip()


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the benchmarks of the collection.")
    parser.add_argument("name", nargs="*", help=f"one or more of: {', '.join(NAMES)}")
    names = parser.parse_args().name or NAMES
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        parser.error(f"no benchmark is named {', '.join(unknown)}; there are {', '.join(NAMES)}")
    importable()
    figures: list[Figure] = []
    for name in names:
        print(name, flush=True)
        measured = importlib.import_module(f"bench_{name}").run()
        print("\n".join(map(row, measured)), flush=True)
        figures += measured
    broken = sum(not figure.holds for figure in figures)
    bounds = sum(bool(figure.bound) for figure in figures)
    print(f"{bounds - broken} bounds hold, {broken} broken")
    return 1 if broken or not figures else 0


if __name__ == "__main__":
    sys.exit(main())
