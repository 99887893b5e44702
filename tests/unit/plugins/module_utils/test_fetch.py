# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Weights that arrive: what is fetched, what is kept, when the folder gets its name."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._fetch import fetching, origin
from ansible_collections.llmops.sglang.plugins.module_utils._fetch.origin import (
    Hub,
    Listing,
    OriginError,
    Rsync,
)
from ansible_collections.llmops.sglang.plugins.module_utils._fetch.staging import MARKER, Staging

CONFIG = json.dumps({"architectures": ["LlamaForCausalLM"], "model_type": "llama"})


def shard(count: int) -> bytes:
    """A safetensors file with one tensor of so many bytes."""
    header = json.dumps({"w": {"dtype": "U8", "shape": [count], "data_offsets": [0, count]}})
    return len(header).to_bytes(8, "little") + header.encode() + bytes(count)


def model(folder: Path, **files: bytes) -> dict[str, int]:
    """Write a model, and say which files of what length it has."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {"config.json": CONFIG.encode(), "model.safetensors": shard(5000), **files}
    for name, data in content.items():
        (folder / name).write_bytes(data)
    return {name: len(data) for name, data in content.items()}


class Download:
    """A double of the transient unit: copies the files it is told to, and may break off."""

    def __init__(self, source: Path, staging: Staging, copies: int = 99) -> None:
        self.source, self.staging, self.copies = source, staging, copies
        self.running = False
        self.started: list[list[str]] = []

    def start(self, argv: list[str], environment: dict[str, str]) -> None:
        self.started.append(argv)
        names = sorted(path.name for path in self.source.iterdir())
        absent = [name for name in names if not (Path(self.staging.folder) / name).exists()]
        for name in absent[: self.copies]:
            (Path(self.staging.folder) / name).write_bytes((self.source / name).read_bytes())

    def stop(self) -> None:
        self.running = False

    def last_words(self) -> str:
        return "connection reset"


PARAMS: dict[str, Any] = {
    "progress": None,
    "wait_s": None,
    "reserve_bytes": 0,
    "stall_s": 600,
    "offline": False,
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    model(tmp_path / "source")
    return tmp_path / "source"


def have(
    path: Path, source: Path, monkeypatch: pytest.MonkeyPatch, copies: int = 99, **params: Any
) -> tuple[dict[str, Any], Download]:
    job = Download(source, Staging(str(path)), copies)
    monkeypatch.setattr(fetching, "Job", lambda folder: job)
    listing = Listing("r1", {entry.name: entry.stat().st_size for entry in source.iterdir()})
    monkeypatch.setattr(Rsync, "listing", lambda self: listing)
    result = fetching.have(str(path), Rsync(str(source)), {**PARAMS, **params}, False)
    return result, job


def test_weights_get_their_name_when_they_are_whole(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m"
    with pytest.raises(fetching.Refusal, match="1 of 2 files missing.*connection reset"):
        have(path, source, monkeypatch, copies=1)
    assert not path.exists()

    result, _job = have(path, source, monkeypatch)
    assert result["changed"] and result["present"] and not result["waiting"]
    assert (path / "model.safetensors").read_bytes() == shard(5000)
    assert sorted(os.listdir(tmp_path)) == ["m", "source"]

    again, job = have(path, source, monkeypatch)
    assert not again["changed"] and not job.started


def test_sound_files_of_a_damaged_folder_are_kept(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m"
    model(path, **{"model.safetensors": shard(5000)[:-7]})
    inode = (path / "config.json").stat().st_ino
    have(path, source, monkeypatch)
    assert (path / "config.json").stat().st_ino == inode
    assert (path / "model.safetensors").read_bytes() == shard(5000)
    assert sorted(os.listdir(tmp_path)) == ["m", "source"]


def test_what_arrives_damaged_is_fetched_once_more_and_then_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model(tmp_path / "source", **{"model.safetensors": b"\xff" * 5000})
    path = tmp_path / "m"
    with pytest.raises(fetching.Refusal, match="no whole model: 1 damaged"):
        have(path, tmp_path / "source", monkeypatch)
    assert not path.exists()


@pytest.mark.parametrize("renamed", [False, True])
def test_a_crash_while_the_folder_gets_its_name_is_finished(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch, renamed: bool
) -> None:
    path = tmp_path / "m"
    model(tmp_path / "m.damaged", **{"model.safetensors": b"short"})
    whole = path if renamed else tmp_path / "m.incoming"
    model(whole)
    (whole / MARKER).write_text(json.dumps({"from": f"rsync {source}", "revision": "r1"}))
    result, job = have(path, source, monkeypatch)
    assert not result["changed"] and not job.started
    assert sorted(os.listdir(tmp_path)) == ["m", "source"]


def test_no_room_is_told_before_anything_is_written(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(fetching.Refusal, match=r"0\.0 GB are free .*sglang_model_reserve_gib"):
        have(tmp_path / "m", source, monkeypatch, reserve_bytes=1 << 60)
    assert os.listdir(tmp_path) == ["source"]


def test_a_folder_from_elsewhere_is_not_changed(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m"
    model(path)
    (path / MARKER).write_text(json.dumps({"from": "hub a/b", "revision": "r1"}))
    with pytest.raises(fetching.Refusal, match="fetched from hub a/b, wanted is rsync"):
        have(path, source, monkeypatch)


def test_a_download_that_stands_still_is_given_up(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m"
    job = Download(source, Staging(str(path)))
    job.running = True
    monkeypatch.setattr(fetching, "Job", lambda folder: job)
    monkeypatch.setattr(fetching, "_LOOK_S", 0.01)
    monkeypatch.setattr(Rsync, "listing", lambda self: Listing("r1", {"config.json": 10}))
    with pytest.raises(fetching.Refusal, match="no byte came .*sglang_model_stall_s"):
        fetching.have(str(path), Rsync("x"), {**PARAMS, "stall_s": 0}, False)
    assert not job.running


def test_a_part_of_the_wait_tells_how_far_it_has_come(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m"
    job = Download(source, Staging(str(path)))
    job.running = True
    monkeypatch.setattr(fetching, "Job", lambda folder: job)
    monkeypatch.setattr(Rsync, "listing", lambda self: Listing("r1", {"config.json": 10**9}))
    part = fetching.have(str(path), Rsync("x"), {**PARAMS, "wait_s": 0}, False)
    assert part["waiting"] and part["text"] == f"{path}: 0.0 GB of 1.0 GB"
    # The next part takes it up without asking the origin again.
    monkeypatch.setattr(Rsync, "listing", lambda self: pytest.fail("asked twice"))
    more = {**PARAMS, "wait_s": 0, "progress": part["progress"]}
    assert fetching.have(str(path), Rsync("x"), more, False)["waiting"]


def test_check_mode_asks_nobody(tmp_path: Path) -> None:
    result = fetching.have(str(tmp_path / "m"), Rsync("nowhere:/x"), PARAMS, True)
    assert result["changed"] and "would be fetched from rsync nowhere:/x" in result["text"]
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    "params, said",
    [({}, "sglang_model_rsync"), ({"offline": True}, "sglang_model_offline")],
)
def test_a_refusal_names_the_variable(tmp_path: Path, params: dict[str, Any], said: str) -> None:
    source = Rsync("x") if params else None
    with pytest.raises(fetching.Refusal, match=said):
        fetching.have(str(tmp_path / "m"), source, {**PARAMS, **params}, False)


def test_rsync_listing(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "drwxr-xr-x          4,096 2026/10/02 10:00:00 .\n"
        "-rw-r--r--            628 2026/10/02 10:00:00 config.json\n"
        "-rw-r--r--     9982300112 2026/10/02 10:00:00 shards/model 1.safetensors\n"
    )
    monkeypatch.setattr(origin, "_run", lambda argv, environment: text)
    listing = Rsync("peer:/m").listing()
    assert listing.sizes == {"config.json": 628, "shards/model 1.safetensors": 9982300112}
    assert listing.total_bytes == 9982300740


def test_hub_listing_leaves_out_what_is_excluded_and_keeps_to_one_commit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer = {"commit": "c0ffee", "sizes": {"a.safetensors": 7, "original/a.pth": 9, "x": None}}
    asked: list[list[str]] = []

    def run(argv: list[str], environment: dict[str, str]) -> str:
        asked.append(argv)
        assert environment["HF_TOKEN_PATH"] == "/etc/token"
        return f"a warning\n{json.dumps(answer)}\n"

    monkeypatch.setattr(origin, "_run", run)
    hub = Hub("o/m", "main", "/v/bin/python", ("original/*",), token_file="/etc/token")
    listing = hub.listing()
    assert listing == Listing("c0ffee", {"a.safetensors": 7, "x": 0})
    command = hub.fetch(listing, "/m.incoming")
    assert command[:5] == ["/v/bin/hf", "download", "o/m", "--revision", "c0ffee"]
    assert command[-2:] == ["--exclude", "original/*"]


def test_an_origin_that_cannot_be_asked_says_why() -> None:
    with pytest.raises(OriginError, match="No such file"):
        Hub("o/m", "main", "/nowhere/python").listing()
