# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Install a double of one SGLang version into a folder that looks like an engine's venv.

    python3 install.py --version 0.5.18 /opt/engine

It stands in for versions and rank counts that cannot run in the lab: it accepts that version's
flags, prints its log lines, sizes its pools by its formulas against /proc/meminfo, serves its
endpoints, and drains as it does. It computes nothing, allocates nothing large, and reports its
version as "0.5.18+double", so that nothing takes it for the engine. Run this with the Python
that is to run the double (3.9 or newer); nothing beyond the standard library is needed.

Environment of the double:
    LAB_DOUBLE_START_S       seconds from start to ready (2)
    LAB_GPU_STATE            the lab's GPU state file (/run/lab/gpus; without it, eight GPUs of
                             97 887 MiB and compute capability 12.0)
    LAB_DOUBLE_GPU_BYTES     memory of each GPU, whatever that file says
    LAB_DOUBLE_HOST_BYTES    free memory of the host, whatever /proc/meminfo and cgroups say
    LAB_DOUBLE_RANK_ORDER    how ranks ask for host memory and pin it: "together", all ask for a
                             pool before any pins it (default); "by_pool", one after the other,
                             pool by pool; "late", each asks for its first pool when those before
                             it have pinned all of theirs; "random:SEED", anyhow
    LAB_DOUBLE_FAULT         comma list, see FAULTS in package/double/launch.py
"""

from __future__ import annotations

import argparse
import shutil
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
KNOWLEDGE = HERE.parents[2] / "plugins" / "module_utils" / "_engine"
KNOWLEDGE_FILES = ("version.py", "releases.py", "releases.json", "flags.py")


def install(version: str, destination: Path) -> None:
    """Make `destination` the venv of a double of `version`, replacing an older one."""
    venv.EnvBuilder(clear=True, symlinks=True, with_pip=False).create(destination)
    site = destination / "lib" / "python{}.{}".format(*sys.version_info) / "site-packages"
    package = site / "sglang"
    shutil.copytree(HERE / "package", package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in KNOWLEDGE_FILES:
        shutil.copyfile(KNOWLEDGE / name, package / "double" / name)
    metadata = site / f"sglang-{version}+double.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text(f"Metadata-Version: 2.1\nName: sglang\nVersion: {version}+double\n")


def main() -> None:
    """Read the command line and install."""
    parser = argparse.ArgumentParser(description="Install a double of an SGLang version.")
    parser.add_argument("--version", required=True, help="version to stand in for, e.g. 0.5.18")
    parser.add_argument("destination", type=Path, help="folder to make")
    arguments = parser.parse_args()
    install(arguments.version, arguments.destination.resolve())


if __name__ == "__main__":
    main()
