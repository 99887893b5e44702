# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a model: whether they are whole, where they lie, what they are."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._probe import shard as shard_module
from ansible_collections.llmops.sglang.plugins.module_utils._probe.model import read_model
from ansible_collections.llmops.sglang.plugins.module_utils._probe.shard import Shard, read_shard
from ansible_collections.llmops.sglang.plugins.module_utils._probe.source import Live
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.probe_recording import (
    facts_of,
    record,
)
from hypothesis import given
from hypothesis import strategies as st

INDEX = "model.safetensors.index.json"


def shard(size: int = 64, fill: bytes = b"\0") -> bytes:
    """A whole safetensors file with two tensors of together C(size) bytes."""
    header = json.dumps(
        {
            "__metadata__": {"note": '"data_offsets":[0,999999]'},
            "a": {"dtype": "U8", "shape": [size - 8], "data_offsets": [8, size]},
            "b": {"dtype": "U8", "shape": [8], "data_offsets": [0, 8]},
        }
    ).encode()
    return len(header).to_bytes(8, "little") + header + fill * size


def write(folder: Path, **shards: bytes) -> Path:
    """A model folder; C(shards) by name without their ending."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text('{"hidden_size": 8}')
    for name, data in shards.items():
        (folder / f"{name}.safetensors").write_bytes(data)
    return folder


def write_index(folder: Path, *names: str, size: int = 5000, index: str = INDEX) -> None:
    weights = {f"layer.{position}": name for position, name in enumerate(names)}
    (folder / index).write_text(
        json.dumps({"metadata": {"total_size": size}, "weight_map": weights})
    )


def facts(folder: Path) -> dict[str, Any]:
    return read_model(Live(), "model", str(folder))


# --- which files, and whether they are whole ------------------------------------------------------


def test_the_headline_model_and_its_draft() -> None:
    known = facts_of("headline", detail=True)
    assert (known["model"]["weights_files"], known["model"]["missing_count"]) == (64, 0)
    assert known["model"]["weights_bytes"] == sum(8545508480 + number for number in range(64))
    assert known["draft"]["weights_bytes"] == 3221225472


@pytest.mark.parametrize("index", [INDEX, "pytorch_model.bin.index.json"])
def test_missing_files_are_named_and_counted(tmp_path: Path, index: str) -> None:
    write(tmp_path, m3=shard())
    write_index(tmp_path, *(f"m{number}.safetensors" for number in range(9)), index=index)
    model = facts(tmp_path)
    assert (model["weights_files"], model["missing_count"]) == (9, 8)
    assert model["missing_files"] == [f"m{number}.safetensors" for number in (0, 1, 2, 4, 5)]
    assert model["weights_bytes"] == 5000


def test_a_folder_without_an_index_has_the_shards_it_has(tmp_path: Path) -> None:
    model = facts(write(tmp_path, model=shard(), consolidated=shard()))
    assert (model["weights_files"], model["weights_bytes"]) == (1, len(shard()))
    assert (model["missing_count"], model["damaged_count"]) == (0, 0)


WHOLE = len(shard())


@pytest.mark.parametrize(
    ("data", "problem", "truncated"),
    [
        (shard()[:-1], f"cut short: {WHOLE - 1} of {WHOLE} bytes", True),
        (shard()[:40], f"cut short: 40 of {WHOLE - 64} bytes", True),
        (shard()[:3], "cut short: 3 of ", True),
        (b"", "cut short: 0 of 8 bytes", True),
        (shard() + b"\0\0", "2 bytes longer than its header tells", False),
        (b"\2" + bytes(7) + b"[]", "no safetensors header", False),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n",
            "a Git LFS pointer instead of the file",
            False,
        ),
    ],
)
def test_a_file_of_another_length_than_its_header_tells(
    tmp_path: Path, data: bytes, problem: str, truncated: bool
) -> None:
    model = facts(write(tmp_path, a=shard(), b=data))
    assert model["damaged_count"] == 1
    assert model["damaged_files"][0].startswith(f"b.safetensors: {problem}")
    assert model["truncated_files"] == (["b.safetensors"] if truncated else [])


def test_an_endless_header_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_module, "MAX_HEADER_BYTES", 16)
    model = facts(write(tmp_path, a=shard()))
    assert model["damaged_files"] == ["a.safetensors: no safetensors header"]


@given(st.binary(max_size=200))
def test_no_content_breaks_the_reader(data: bytes) -> None:
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
        file.write(data)
        file.flush()
        told = read_shard(file.name)
    assert told.problem or (told.promised_bytes or 0) >= 8


def test_a_single_file_is_a_model(tmp_path: Path) -> None:
    path = tmp_path / "small.gguf"
    assert facts(path)["present"] is False
    path.write_bytes(b"GGUF" + bytes(60))
    (tmp_path / "other.gguf").write_bytes(b"GGUF")
    model = facts(path)
    assert (model["present"], model["reason"]) == (True, None)
    assert (model["weights_files"], model["weights_bytes"]) == (1, 64)
    before = model["fingerprint"]
    path.write_bytes(b"nope" + bytes(60))
    model = facts(path)
    assert model["damaged_files"] == ["small.gguf: not a GGUF file"]
    assert model["fingerprint"] != before


def test_the_hub_s_cache_is_followed_through_its_links(tmp_path: Path) -> None:
    blobs, snapshot = tmp_path / "hub/blobs", tmp_path / "hub/snapshots/0a1b"
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    (blobs / "aa").write_bytes(shard())
    (blobs / "bb").write_bytes(shard()[:-5])
    (blobs / "cc.incomplete").write_bytes(b"")
    (snapshot / "config.json").write_text("{}")
    for name, blob in (("m1", "aa"), ("m2", "bb"), ("m3", "cc")):
        (snapshot / f"{name}.safetensors").symlink_to(f"../../blobs/{blob}")
    write_index(snapshot, "m1.safetensors", "m2.safetensors", "m3.safetensors")
    (tmp_path / "current").symlink_to(snapshot)
    model = facts(tmp_path / "current")
    assert model["missing_files"] == ["m3.safetensors"]
    assert model["truncated_files"] == ["m2.safetensors"]
    assert (model["unfinished_files"], model["unfinished_count"]) == (["cc.incomplete"], 1)
    assert model["storage"]["real_path"] == str(snapshot)


@pytest.mark.parametrize(
    ("name", "unfinished"),
    [
        ("model.safetensors.part", True),
        ("model.safetensors.aria2", True),
        (".model.safetensors.Xa81Kq", True),
        (".cache/huggingface/download/ab12.incomplete", True),
        (".cache/huggingface/download/model.safetensors.lock", False),
        (".gitattributes", False),
        ("README.md", False),
    ],
)
def test_what_a_fetcher_has_not_finished(tmp_path: Path, name: str, unfinished: bool) -> None:
    path = write(tmp_path, model=shard()) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    assert facts(tmp_path)["unfinished_files"] == ([path.name] if unfinished else [])


# --- where they lie ------------------------------------------------------------------------------


def test_the_room_where_a_model_is_or_will_be(tmp_path: Path) -> None:
    storage = facts(write(tmp_path / "m"))["storage"]
    assert 0 < storage["free_bytes"] < storage["total_bytes"]
    assert storage["filesystem"] and tmp_path.is_relative_to(storage["mount"])
    absent = facts(tmp_path / "not/there/yet")["storage"]
    assert absent["total_bytes"] == storage["total_bytes"]
    assert read_model(Live(), "model", "")["storage"] is None


MOUNTS = """\
/dev/sda2 / ext4 rw 0 0
systemd-1 /srv autofs rw 0 0
store:/m /srv nfs4 rw,vers=4.2 0 0
/dev/nvme0n1 /srv/fast\\040disk xfs rw 0 0
s3 /srv/bucket fuse.s3fs rw 0 0
union /srv/union fuse.mergerfs rw 0 0
odd line
"""


@pytest.mark.parametrize(
    ("path", "mount", "filesystem", "network"),
    [
        ("/home/m", "/", "ext4", False),
        ("/srvx/m", "/", "ext4", False),
        ("/srv", "/srv", "nfs4", True),
        ("/srv/models/m", "/srv", "nfs4", True),
        ("/srv/fast disk/m", "/srv/fast disk", "xfs", False),
        ("/srv/bucket/m", "/srv/bucket", "fuse.s3fs", True),
        ("/srv/union/m", "/srv/union", "fuse.mergerfs", False),
    ],
)
def test_the_file_system_is_the_nearest_mount(
    tmp_path: Path, path: str, mount: str, filesystem: str, network: bool
) -> None:
    storage = json.dumps({"real_path": path, "free_bytes": 7, "total_bytes": 9})
    source = record(tmp_path, {"proc/mounts": MOUNTS, "model/storage.json": storage})
    assert read_model(source, "model", path)["storage"] == {
        "real_path": path,
        "free_bytes": 7,
        "total_bytes": 9,
        "mount": mount,
        "filesystem": filesystem,
        "network": network,
    }


def test_without_a_table_of_mounts_the_file_system_is_unknown(tmp_path: Path) -> None:
    source = record(tmp_path, {"model/storage.json": '{"real_path": "/m"}'})
    storage = read_model(source, "model", "/m")["storage"]
    assert (storage["mount"], storage["filesystem"], storage["network"]) == (None, None, None)


# --- what they are -------------------------------------------------------------------------------


def test_a_copy_has_the_same_fingerprint(tmp_path: Path) -> None:
    first = write(tmp_path / "a", m=shard(), n=shard(100))
    write_index(first, "m.safetensors", "n.safetensors")
    shutil.copytree(first, tmp_path / "b", copy_function=shutil.copyfile)
    for file in (tmp_path / "b").iterdir():
        os.utime(file, (1, 1))
    word = facts(first)["fingerprint"]
    assert len(word) == 16 and facts(tmp_path / "b")["fingerprint"] == word


@pytest.mark.parametrize("size", [64, 40_000_000])
@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("config.json", b'{"hidden_size": 9}'),
        (INDEX, b'{"weight_map": {"a": "m.safetensors"}, "metadata": {}}'),
        ("m.safetensors", None),
        ("tokenizer.json", b"{ }"),
        ("chat_template.jinja", b"y"),
        ("modeling_kimi.py", b"x = 1"),
        ("vocab.txt", b"a b"),
    ],
)
def test_what_a_server_loads_changes_the_fingerprint(
    tmp_path: Path, name: str, data: bytes | None, size: int
) -> None:
    write(tmp_path, m=shard(size))
    for other in ("tokenizer.json", "chat_template.jinja"):
        (tmp_path / other).write_bytes(b"{}")
    before = facts(tmp_path)["fingerprint"]
    # New weights in the place of the old ones: the same names, the same length, the same header.
    (tmp_path / name).write_bytes(shard(size, b"\1") if data is None else data)
    assert facts(tmp_path)["fingerprint"] != before


def test_what_a_server_does_not_read_leaves_the_fingerprint(tmp_path: Path) -> None:
    before = facts(write(tmp_path, m=shard()))["fingerprint"]
    for name in ("README.md", "LICENSE", ".gitattributes", "sample.png"):
        (tmp_path / name).write_text("new")
    os.utime(tmp_path / "m.safetensors")
    assert facts(tmp_path)["fingerprint"] == before


def test_a_recording_keeps_what_the_files_told(tmp_path: Path) -> None:
    live = write(tmp_path / "live", m=shard()[:-1])
    told = read_shard(str(live / "m.safetensors"))
    source = record(
        tmp_path / "rec",
        {
            "model/config.json": (live / "config.json").read_text(),
            "model/files.json": json.dumps(Live().sizes(str(live))),
            "model/shards.json": json.dumps(
                {name: read_shard(str(live / name)) for name in ("m.safetensors", "config.json")}
            ),
        },
    )
    assert source.shard("/model/m.safetensors") == told
    recorded, measured = read_model(source, "model", str(live)), facts(live)
    for key in ("truncated_files", "damaged_files", "weights_bytes", "fingerprint"):
        assert recorded[key] == measured[key]


@pytest.mark.parametrize("text", ["", "[]", '{"m.safetensors": [1]}', '{"m.safetensors": 7}'])
def test_an_odd_recording_tells_nothing_of_a_file(tmp_path: Path, text: str) -> None:
    assert record(tmp_path, {"model/shards.json": text}).shard("/model/m.safetensors") is None


def test_reading_a_large_file_reads_little_of_it(tmp_path: Path) -> None:
    path = tmp_path / "large.safetensors"
    header = b'{"a":{"data_offsets":[0,900000000000]}}'
    with path.open("wb") as stream:
        stream.write(len(header).to_bytes(8, "little") + header)
        stream.truncate(8 + len(header) + 900_000_000_000)
    told = read_shard(str(path))
    assert told == Shard(path.stat().st_size, told.digest, None)
