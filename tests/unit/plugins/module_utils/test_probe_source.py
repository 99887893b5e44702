# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The live host and the recorded one behind one interface."""

from __future__ import annotations

import http.server
import sys
import tarfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._probe.recorded import Recorded
from ansible_collections.llmops.sglang.plugins.module_utils._probe.source import Live
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.probe_recording import (
    RECORDINGS,
    record,
)


def test_a_command_that_hangs_ends_in_a_reason() -> None:
    begun = time.monotonic()
    said = Live().command("x", [sys.executable, "-c", "import time; time.sleep(60)"], 0.3)
    assert time.monotonic() - begun < 5
    assert (said.text, said.status) == ("", None)
    assert said.reason is not None and said.reason.endswith("did not answer within 0.3 s")


def test_a_command_that_is_not_there_ends_in_a_reason() -> None:
    said = Live().command("x", ["/no/such/program"], 1)
    assert said.reason == "/no/such/program: No such file or directory"
    assert list(Live().lines("x", ["/no/such/program"], 1)) == []


def test_a_command_gets_its_input_and_a_fixed_locale() -> None:
    program = "import os; print(os.environ['LC_ALL'], os.environ['TZ'], 1 + 1)"
    said = Live().command("x", [sys.executable, "-"], 20, stdin=program)
    assert (said.text, said.status, said.reason) == ("C UTC 2\n", 0, None)


def test_lines_end_their_command_with_the_reading() -> None:
    endless = "import itertools\nfor i in itertools.count(): print(i)"
    lines = Live().lines("x", [sys.executable, "-c", endless], 20)
    assert [next(lines), next(lines)] == ["0", "1"]
    begun = time.monotonic()
    lines.close()  # type: ignore[attr-defined]
    assert time.monotonic() - begun < 5


def test_lines_of_a_silent_command_end_in_time() -> None:
    begun = time.monotonic()
    silent = [sys.executable, "-c", "import time; time.sleep(60)"]
    assert list(Live().lines("x", silent, 0.3)) == []
    assert time.monotonic() - begun < 5


def test_files_of_the_live_host(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xff1234567")
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    live = Live()
    assert live.read_text(f"{tmp_path}/a") == "\ufffd1234567"
    assert live.read_head(f"{tmp_path}/a", 2, 3) == b"234"
    assert live.sizes(str(tmp_path)) == {"a": 8}
    assert live.listing(str(tmp_path)) == ["a", "dangling"]
    assert live.read_text(f"{tmp_path}/none") is None
    assert live.sizes(f"{tmp_path}/none") is None
    assert live.listing(f"{tmp_path}/none") == []
    assert (live.read_text("/proc/sys/kernel/random/boot_id") or "").count("-") == 4


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers with the key it got; refuses any but one."""

    def do_GET(self) -> None:
        key = self.headers.get("Authorization", "")
        self.send_response(200 if key == "Bearer right" else 401)
        self.end_headers()
        self.wfile.write(self.path.encode())

    def log_message(self, *_args: object) -> None:
        pass


@pytest.fixture()
def url() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_http_tries_the_keys_in_turn(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://192.0.2.1:9")
    live = Live()
    assert live.http_get("x", f"{url}/v1/loads?include=core", ["wrong", "right"]) == (
        "/v1/loads?include=core"
    )
    assert live.http_get("x", f"{url}/x", ["wrong"]) is None
    assert live.http_get("x", f"{url}/x", []) is None
    assert live.http_get("x", f"{url}/x", ["bad\nheader"]) is None
    assert live.http_get("x", "http://127.0.0.1:1/x", []) is None


def test_a_recording_answers_what_it_has_and_nothing_else(tmp_path: Path) -> None:
    source = record(
        tmp_path,
        {
            "proc/meminfo": "MemTotal: 1 kB\n",
            "commands/a.txt": "one\ntwo\n",
            "http/b.json": "{}",
            "sys/x/node1/y": "",
        },
    )
    assert source.read_text("/proc/meminfo") == "MemTotal: 1 kB\n"
    assert source.command("a.txt", ["false"], 1).text == "one\ntwo\n"
    assert list(source.lines("a.txt", ["false"], 1)) == ["one", "two"]
    assert source.command("c.txt", ["true"], 1).reason == "the recording has no commands/c.txt"
    assert source.http_get("b.json", "http://192.0.2.1/", []) == "{}"
    assert source.listing("/sys/x") == ["node1"]
    assert source.exists("/sys/x") and not source.exists("/sys/y")
    assert source.sizes("/model") is None


@pytest.mark.parametrize("top", ["", "gpu-01-bundle/"])
def test_an_archive_is_the_same_recording(tmp_path: Path, top: str) -> None:
    archive = tmp_path / "host.tar.gz"
    with tarfile.open(archive, "w:gz") as stream:
        stream.add(RECORDINGS / "headline", arcname=top or ".")
    packed, folder = Recorded(str(archive)), Recorded(str(RECORDINGS / "headline"))
    for path in ("/proc/meminfo", "/commands/journal.log", "/model/config.json"):
        assert folder.read_text(path) is not None
        assert packed.read_text(path) == folder.read_text(path)
    for path in ("/sys/devices/system/node", "/commands", "/nothing"):
        assert packed.listing(path) == folder.listing(path)
    assert packed.read_head("/proc/meminfo", 3, 5) == b"Total"
    assert packed.sizes("/model") == folder.sizes("/model")
    assert packed.now() == folder.now()


def test_what_is_no_recording_is_refused(tmp_path: Path) -> None:
    (tmp_path / "broken.tar.gz").write_bytes(b"no archive")
    with pytest.raises(ValueError, match="there is no recording at"):
        Recorded(f"{tmp_path}/none")
    with pytest.raises(ValueError, match="is not a recording"):
        Recorded(f"{tmp_path}/broken.tar.gz")
