# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record room: claims, proven units, the diary."""

from __future__ import annotations

import json
import threading
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._record import files
from ansible_collections.llmops.sglang.plugins.module_utils._record.bundles import prune_bundles
from ansible_collections.llmops.sglang.plugins.module_utils._record.claim import (
    Claims,
    Held,
    Owner,
)
from ansible_collections.llmops.sglang.plugins.module_utils._record.files import write_whole
from ansible_collections.llmops.sglang.plugins.module_utils._record.notes import (
    add_note,
    read_notes,
    restarts_since,
)
from ansible_collections.llmops.sglang.plugins.module_utils._record.proven import (
    NoneProven,
    Proven,
)

UNIT = "sglang-kimi.service"
ONE = Owner("admin-01", "ops", 100, "boot-1")
OTHER = Owner("admin-02", "ops", 200, "boot-1")


# --- claims --------------------------------------------------------------------------------------


@pytest.fixture
def claims(tmp_path: Path) -> Claims:
    return Claims(tmp_path / "run" / "kimi.json")


def test_one_play_at_a_time(claims: Claims) -> None:
    claims.take(ONE, 60)
    with pytest.raises(Held, match=r"ops on admin-01 \(process 100\)"):
        claims.take(OTHER, 60)
    assert claims.free(ONE) is True
    assert claims.take(OTHER, 60).owner == OTHER


def test_a_play_renews_its_own_claim(claims: Claims) -> None:
    first = claims.take(ONE, 60)
    assert claims.take(ONE, 120).until_s > first.until_s


def test_a_claim_ends_by_itself_and_with_a_dead_play(claims: Claims) -> None:
    claims.take(ONE, -1)
    claims.take(OTHER, 60)
    with pytest.raises(Held):
        claims.take(ONE, 60)
    assert claims.take(ONE, 60, dead=OTHER).owner == ONE


def test_a_clock_that_jumps_changes_no_claim(
    claims: Claims, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims.take(ONE, 60)
    monkeypatch.setattr(time, "time", lambda: 4e9)
    with pytest.raises(Held):
        claims.take(OTHER, 60)


def test_nobody_frees_the_claim_of_another_play(claims: Claims) -> None:
    claims.take(ONE, 60)
    assert claims.free(OTHER) is False
    with pytest.raises(Held):
        claims.take(OTHER, 60)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"owner": {"host": 1}}', '{"owner": 3}'])
def test_a_file_that_is_no_claim_blocks_nobody(tmp_path: Path, text: str) -> None:
    path = tmp_path / "kimi.json"
    path.write_text(text)
    assert Claims(path).take(ONE, 60).owner == ONE


def test_of_many_plays_at_once_one_gets_it(claims: Claims) -> None:
    won: list[int] = []

    def play(number: int) -> None:
        try:
            claims.take(Owner("admin", "ops", number, "x"), 60)
        except Held:
            return
        won.append(number)

    threads = [threading.Thread(target=play, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1


# --- files ---------------------------------------------------------------------------------------


def test_a_crash_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "unit"
    assert write_whole(path, "old", 0o644) is True
    assert write_whole(path, "old", 0o644) is False

    def crash(*_arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "replace", crash)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, "new", 0o644)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["unit"]


# --- proven units --------------------------------------------------------------------------------


@pytest.fixture
def proven(tmp_path: Path) -> Proven:
    return Proven(tmp_path / "proven", UNIT)


def keep(proven: Proven, number: int) -> bool:
    record = {"invocation_id": f"i{number}", "at": f"2026-11-30T20:00:{number:02d}Z"}
    return proven.keep(record, {"plan": number}, f"unit {number}")


def test_what_was_proven_is_found_again(proven: Proven) -> None:
    assert keep(proven, 1) is True
    assert keep(proven, 1) is False
    keep(proven, 2)
    kept = proven.find("last", present="unit 3")
    assert (kept.record["invocation_id"], kept.plan, kept.unit_text) == (
        "i2",
        {"plan": 2},
        "unit 2",
    )


def test_the_previous_one_differs_from_the_present_one(proven: Proven) -> None:
    for number in (1, 2):
        keep(proven, number)
    assert proven.find("previous", present="unit 2").unit_text == "unit 1"
    assert proven.find("previous", present="something by hand").unit_text == "unit 2"
    assert proven.find("i1", present="unit 2").unit_text == "unit 1"


def test_what_is_not_there_is_said_with_what_is(proven: Proven) -> None:
    with pytest.raises(NoneProven, match="no unit of this instance was proven yet"):
        proven.find("last", None)
    keep(proven, 1)
    with pytest.raises(NoneProven, match="no proven unit i9; there are i1 of 2026-11-30T20:00:01Z"):
        proven.find("i9", None)
    with pytest.raises(NoneProven, match="is the present one"):
        proven.find("previous", present="unit 1")


def test_the_last_three_are_kept(proven: Proven, tmp_path: Path) -> None:
    for number in range(5):
        keep(proven, number)
    assert proven.prune(3) == ["i1", "i0"]
    assert sorted(entry.name for entry in (tmp_path / "proven").iterdir()) == [
        "current.json",
        "i2",
        "i3",
        "i4",
    ]
    assert proven.prune(3) == []


def test_the_current_one_stays_whatever_its_clock_says(proven: Proven) -> None:
    for number in (7, 8, 9, 1):
        keep(proven, number)
    assert proven.prune(2) == ["i7"]
    assert proven.find("last", None).unit_text == "unit 1"


def test_a_crash_while_keeping_leaves_the_record_before(
    proven: Proven, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(proven, 1)
    real = files.os.replace

    def crash(source: str, target: Any) -> None:
        if str(target).endswith("record.json"):
            raise OSError(5, "Input/output error")
        real(source, target)

    monkeypatch.setattr(files.os, "replace", crash)
    with pytest.raises(OSError, match="Input"):
        keep(proven, 2)
    monkeypatch.undo()
    assert proven.find("last", "unit 2").unit_text == "unit 1"
    assert proven.find("previous", "unit 2").unit_text == "unit 1"


# --- the diary -----------------------------------------------------------------------------------


def test_notes_are_lines_that_survive_a_cut(tmp_path: Path) -> None:
    path = tmp_path / "log" / "kimi.jsonl"
    add_note(path, {"at": "2026-11-30T20:00:00Z", "restarted": True})
    with path.open("a") as diary:
        diary.write('{"at": "2026-11-30T21:')
    add_note(path, {"at": "2026-11-30T22:00:00Z", "restarted": True})
    notes = read_notes(path)
    assert [note["at"][11:13] for note in notes] == ["20", "22"]
    assert len(restarts_since(notes, datetime(2026, 11, 30, 21, tzinfo=timezone.utc))) == 1
    assert path.stat().st_mode & 0o777 == 0o640


def test_no_diary_means_no_notes(tmp_path: Path) -> None:
    assert read_notes(tmp_path / "none.jsonl") == []


@pytest.mark.parametrize("at", [None, "yesterday", 5])
def test_a_note_without_a_time_is_no_restart(at: Any) -> None:
    since = datetime(2026, 1, 1, tzinfo=timezone.utc)
    assert restarts_since([{"at": at, "restarted": True}], since) == []


def test_only_the_newest_notes_of_a_long_diary_are_read(tmp_path: Path) -> None:
    path = tmp_path / "kimi.jsonl"
    line = json.dumps({"at": "2026-11-30T20:00:00Z", "text": "x" * 500})
    path.write_text(f"{line}\n" * 5000 + '{"last": true}\n')
    notes = read_notes(path)
    assert notes[-1] == {"last": True}
    assert 1000 < len(notes) < 3000


# --- what is kept of failed starts ---------------------------------------------------------------


def test_the_last_three_failed_starts_are_kept(tmp_path: Path) -> None:
    names = [f"kimi-failed-2026113{day}T120000Z.tar.gz" for day in (0, 1, 2, 3, 4)]
    strangers = [
        "kimi-failed-today.tar.gz",
        "kimi-failed-20260101T120000Z.tar.gz.part",
        "kimi.jsonl",
        "other-failed-20260101T120000Z.tar.gz",
        "a-kimi-failed-20260101T120000Z.tar.gz",
    ]
    for name in [*names, *strangers]:
        (tmp_path / name).touch()
    assert prune_bundles(tmp_path, "kimi") == names[:2]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*names[2:], *strangers])
    assert prune_bundles(tmp_path, "kimi") == []
    assert prune_bundles(tmp_path / "none", "kimi") == []
