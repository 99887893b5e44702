# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A package index of the lab's wheels with further versions of SGLang, for a guest to serve.

    index.py WHEELHOUSE FOLDER

FOLDER/simple is the index; FOLDER/VERSION.txt is the lock for each of these versions:

    0.5.23.post1   the real engine under another version number
    0.5.23.post2   its wheel ends too early
    0.5.23.post3   installs without an error, but half of it is missing
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import re
import shutil
import sys
import zipfile
from pathlib import Path

REAL = "0.5.23"
NEXT, CUT, HOLLOW = (f"{REAL}.post{number}" for number in (1, 2, 3))


def main(wheelhouse: Path, folder: Path) -> None:
    """Make the index and the locks."""
    simple = folder / "simple"
    (real,) = wheelhouse.glob(f"sglang-{REAL}-*.whl")
    for wheel in wheelhouse.glob("*.whl"):
        add(simple, wheel)
    room = folder / "made"
    room.mkdir(parents=True)
    made = {
        NEXT: repack(real, room, NEXT, "."),
        CUT: repack(real, room, CUT, "."),
        # All but what the server is made of.
        HOLLOW: repack(
            real, room, HOLLOW, r"sglang/(__init__|version|_version)\.py|.+\.dist-info/"
        ),
    }
    made[CUT].write_bytes(made[CUT].read_bytes()[: made[CUT].stat().st_size // 2])
    lock = (wheelhouse / "lock.txt").read_text()
    for version, wheel in made.items():
        add(simple, wheel)
        line = f"sglang=={version} --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}"
        text = re.sub(r"^sglang==.*$", line, lock, flags=re.MULTILINE)
        (folder / f"{version}.txt").write_text(text)
    # By itself the hollow one is a small wheelhouse.
    (folder / "hollow.txt").write_text(f"{line}\n")
    for project in simple.iterdir():
        names = sorted(path.name for path in project.iterdir())
        links = "".join(f'<a href="{name}">{name}</a>\n' for name in names)
        (project / "index.html").write_text(f"<!DOCTYPE html>\n{links}")


def add(simple: Path, wheel: Path) -> None:
    """Put a wheel into its project's folder, without taking room where that can be had."""
    project = simple / re.sub(r"[-_.]+", "-", wheel.name.split("-")[0]).lower()
    project.mkdir(parents=True, exist_ok=True)
    try:
        os.link(wheel, project / wheel.name)
    except OSError:
        shutil.copy2(wheel, project)


def repack(wheel: Path, folder: Path, version: str, wanted: str) -> Path:
    """Write those files of a wheel whose names match as a wheel of another version."""
    target = folder / wheel.name.replace(f"-{REAL}-", f"-{version}-", 1)
    record = io.StringIO()
    # Some names hold commas.
    rows = csv.writer(record, lineterminator="\n")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            if not re.match(wanted, name) or name.endswith(("/", "/RECORD")):
                continue
            data = old.read(name)
            if name.endswith(("/METADATA", "/_version.py")):
                data = data.replace(REAL.encode(), version.encode(), 1)
            name = name.replace(f"sglang-{REAL}.dist-info", f"sglang-{version}.dist-info")
            new.writestr(name, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.writerow([name, f"sha256={digest}", len(data)])
        name = f"sglang-{version}.dist-info/RECORD"
        new.writestr(name, f"{record.getvalue()}{name},,\n")
    return target


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
