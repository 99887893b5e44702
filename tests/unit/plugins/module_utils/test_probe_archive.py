# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Archives come from anybody: reading one can do no harm, writing one leaves no half."""

from __future__ import annotations

import io
import os
import stat
import tarfile
from pathlib import Path

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._probe import archive
from ansible_collections.llmops.sglang.plugins.module_utils._probe.archive import (
    read_archive,
    write_archive,
)
from ansible_collections.llmops.sglang.plugins.module_utils._probe.recorded import Recorded


def pack(path: Path, *members: tarfile.TarInfo) -> str:
    """A tar.gz with these members; files have a byte for each in their size."""
    with tarfile.open(path, "w:gz") as stream:
        for member in members:
            stream.addfile(member, io.BytesIO(b"x" * member.size))
    return str(path)


def member(
    name: str, kind: bytes = tarfile.REGTYPE, size: int = 0, link: str = ""
) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.size, info.linkname = kind, size, link
    return info


def test_what_was_written_is_read(tmp_path: Path) -> None:
    members = {"proc/meminfo": b"MemTotal: 1 kB\n", "sys/node0": None, "empty": b""}
    path = f"{tmp_path}/a.tar.gz"
    assert write_archive(path, members) == os.path.getsize(path)
    assert read_archive(path) == members
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert os.listdir(tmp_path) == ["a.tar.gz"]


def test_a_name_that_was_only_seen_is_there_and_has_no_text(tmp_path: Path) -> None:
    write_archive(
        f"{tmp_path}/a.tar.gz", {"sys/node0": None, "sys/node1/meminfo": b"", "meta.json": b""}
    )
    source = Recorded(f"{tmp_path}/a.tar.gz")
    assert source.listing("/sys") == ["node0", "node1"]
    assert source.listing("/sys", "0$") == ["node0"]
    assert source.exists("/sys/node0") and source.read_text("/sys/node0") is None


def test_an_archive_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.tar.gz").write_text("the one before")

    def full(*_args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archive, "_add", full)
    with pytest.raises(OSError, match="No space left"):
        write_archive(f"{tmp_path}/a.tar.gz", {"x": b""})
    assert os.listdir(tmp_path) == ["a.tar.gz"]
    assert (tmp_path / "a.tar.gz").read_text() == "the one before"


def test_only_files_and_folders_inside_an_archive_are_read(tmp_path: Path) -> None:
    path = pack(
        tmp_path / "a.tar.gz",
        member("../outside", size=1),
        member("a/../../outside", size=1),
        member("/etc/passwd", size=1),
        member("link", tarfile.SYMTYPE, link="/etc/passwd"),
        member("hard", tarfile.LNKTYPE, link="/etc/passwd"),
        member("device", tarfile.CHRTYPE),
        member("pipe", tarfile.FIFOTYPE),
        member("./proc/meminfo", size=2),
    )
    assert read_archive(path) == {"etc/passwd": b"x", "proc/meminfo": b"xx"}
    assert os.listdir(tmp_path) == ["a.tar.gz"]


@pytest.mark.parametrize(
    ("limit", "value"), [("MAX_BYTES", 5), ("MAX_FILE_BYTES", 3), ("MAX_MEMBERS", 0)]
)
def test_an_archive_that_is_too_large_is_refused(
    tmp_path: Path, limit: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = pack(tmp_path / "a.tar.gz", member("a", size=2), member("b", size=4))
    assert set(read_archive(path)) == {"a", "b"}
    monkeypatch.setattr(archive, limit, value)
    with pytest.raises(ValueError, match="too large to be a recording"):
        read_archive(path)


def test_half_an_archive_is_refused(tmp_path: Path) -> None:
    write_archive(f"{tmp_path}/a.tar.gz", {"x": os.urandom(100_000)})
    data = (tmp_path / "a.tar.gz").read_bytes()
    (tmp_path / "a.tar.gz").write_bytes(data[:5000])
    with pytest.raises(ValueError, match="is not a recording"):
        read_archive(f"{tmp_path}/a.tar.gz")


def test_links_that_leave_a_folder_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("private")
    folder = tmp_path / "host"
    (folder / "proc").mkdir(parents=True)
    (folder / "proc" / "meminfo").symlink_to(tmp_path / "outside")
    (folder / "proc" / "uptime").symlink_to("stat")
    (folder / "proc" / "stat").write_text("inside")
    (folder / "etc").symlink_to("/etc")
    os.mkfifo(folder / "proc" / "mounts")
    source = Recorded(str(folder))
    assert source.read_text("/proc/meminfo") is None
    assert source.read_text("/proc/../../outside") is None
    assert source.read_text("/proc/mounts") is None
    assert source.listing("/etc") == [] and not source.exists("/etc/passwd")
    assert source.read_text("/proc/uptime") == "inside"
