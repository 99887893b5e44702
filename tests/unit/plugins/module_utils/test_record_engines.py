# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which engines are there, and who needs which of them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._record.engines import (
    find_engines,
    needed_by,
    remove,
    unfinished,
)

ENGINES = "opt/sglang/engines"
LONG_AGO_S = time.time() - 3 * 24 * 3600


def install(root: Path, name: str, version: str = "0.5.23", at_s: float = 1000.0) -> Path:
    path = root / ENGINES / name
    (path / "bin").mkdir(parents=True)
    (path / "bin" / "python").symlink_to("/usr/bin/python3")
    marker = path / ".complete.json"
    marker.write_text(f'{{"version": "{version}", "method": "venv"}}\n', encoding="utf-8")
    os.utime(marker, (at_s, at_s))
    return path


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def run_process(root: Path, pid: int, cmdline: str, mapped: str = "") -> None:
    write(root, f"proc/{pid}/cmdline", cmdline)
    line = f"7f00-7f01 r-xp 00000000 fe:00 42  {mapped}\n" if mapped else "7f00-7f01 rw-p 0 0:0 0\n"
    write(root, f"proc/{pid}/maps", line)


def needed(root: Path) -> dict[str, str]:
    found = needed_by(find_engines(root / ENGINES), root)
    return {path.name: who for path, who in found.items()}


def test_engines_come_with_the_newest_first_and_nothing_else_does(tmp_path: Path) -> None:
    install(tmp_path, "a", "0.5.21", at_s=1)
    install(tmp_path, "b", "0.5.23", at_s=2)
    (tmp_path / ENGINES / "somebody-elses").mkdir()
    (tmp_path / ENGINES / "link").symlink_to(tmp_path / ENGINES / "a")
    found = find_engines(tmp_path / ENGINES)
    assert [(engine.path.name, engine.version) for engine in found] == [
        ("b", "0.5.23"),
        ("a", "0.5.21"),
    ]
    assert find_engines(tmp_path / "nowhere") == []


def test_half_an_engine_counts_when_nobody_goes_on_with_it(tmp_path: Path) -> None:
    for name, at_s in (("old", LONG_AGO_S), ("now", time.time())):
        half = tmp_path / ENGINES / name
        half.mkdir(parents=True)
        unfinished(half).mkdir()
        os.utime(half, (at_s, at_s))
    [engine] = find_engines(tmp_path / ENGINES)
    assert (engine.path.name, engine.version) == ("old", None)
    remove(engine)
    assert sorted(path.name for path in (tmp_path / ENGINES).iterdir()) == ["now", "now.installing"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "etc/systemd/system/sglang-kimi.service",
            "[Service]\nExecStart=/opt/sglang/engines/a/bin/python -m sglang.launch_server\n",
        ),
        (
            "etc/systemd/system/sglang-kimi.service.d/path.conf",
            '[Service]\nEnvironment="PATH=/usr/bin:/opt/sglang/engines/a/bin"\n',
        ),
        ("run/systemd/transient/run-1.service", "ExecStart=/opt/sglang/engines/a/bin/python -V\n"),
        ("usr/lib/systemd/system/other.service", "WorkingDirectory=/opt/sglang/engines/a\n"),
        # What a rollback would bring back.
        (
            "etc/sglang/kimi/proven/0123abcd/sglang-kimi.service",
            "ExecStart=/opt/sglang/engines/a/bin/python -m sglang.launch_server\n",
        ),
    ],
)
def test_a_unit_needs_the_engine_that_it_names(tmp_path: Path, name: str, text: str) -> None:
    install(tmp_path, "a")
    install(tmp_path, "ab")
    write(tmp_path, name, text)
    assert needed(tmp_path) == {"a": f"/{name}"}


def test_a_unit_may_reach_it_through_a_link(tmp_path: Path) -> None:
    install(tmp_path, "a")
    (tmp_path / "opt/sglang/current").symlink_to("engines/a")
    write(tmp_path, "etc/systemd/system/x.service", "ExecStart=/opt/sglang/current/bin/python\n")
    assert list(needed(tmp_path)) == ["a"]


def test_a_process_needs_the_engine_that_it_runs_from(tmp_path: Path) -> None:
    for name in ("started", "titled", "idle"):
        install(tmp_path, name)
    run_process(tmp_path, 10, "/opt/sglang/engines/started/bin/python\0-m\0sglang.launch_server\0")
    # It has another title by now, and its interpreter is the system's.
    library = "/opt/sglang/engines/titled/lib/python3.11/site-packages/torch/lib/libtorch.so"
    run_process(tmp_path, 11, "sglang::scheduler_TP0\0", library)
    run_process(tmp_path, 12, "")
    assert needed(tmp_path) == {"started": "process 10", "titled": "process 11"}


def test_a_process_that_ended_meanwhile_needs_nothing(tmp_path: Path) -> None:
    install(tmp_path, "a")
    (tmp_path / "proc/13").mkdir(parents=True)
    assert needed(tmp_path) == {}


def test_an_engine_that_is_removed_half_does_not_look_complete(tmp_path: Path) -> None:
    path = install(tmp_path, "a")
    path.rename(path.with_name("a.removing"))
    install(tmp_path, "a")
    for engine in find_engines(tmp_path / ENGINES):
        remove(engine)
    assert list((tmp_path / ENGINES).iterdir()) == []
