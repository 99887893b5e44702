# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Role sglang_engine installs with pip from an index that asks for a password, on this machine."""

from __future__ import annotations

import base64
import functools
import hashlib
import http.server
import json
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

COLLECTION = Path(__file__).resolve().parents[2]
PASSWORD = "planted-77d0"
ALLOWED = "Basic " + base64.b64encode(f"ci:{PASSWORD}".encode()).decode()


class Index(http.server.SimpleHTTPRequestHandler):
    """A folder as an index, for whoever knows the password."""

    def do_GET(self) -> None:
        if self.headers.get("Authorization") == ALLOWED:
            super().do_GET()
        else:
            self.send_error(401)

    def log_message(self, *_message: object) -> None:
        """Tests are quiet."""


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder that a person runs a play from."""
    namespace = tmp_path / "collections" / "ansible_collections" / "llmops"
    namespace.mkdir(parents=True)
    (namespace / "sglang").symlink_to(COLLECTION)
    (tmp_path / "ansible.cfg").write_text("", encoding="utf-8")
    play = {"hosts": "localhost", "gather_facts": False, "roles": ["llmops.sglang.sglang_engine"]}
    (tmp_path / "play.yml").write_text(json.dumps([play]), encoding="utf-8")
    wheel(tmp_path, "0.5.23", "")
    wheel(tmp_path, "0.5.22", "raise ImportError('half a wheel')\n")
    return tmp_path


@pytest.fixture
def index(desk: Path) -> Iterator[str]:
    handler = functools.partial(Index, directory=str(desk / "index"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://ci:{PASSWORD}@127.0.0.1:{server.server_port}/simple/"
        server.shutdown()


def wheel(desk: Path, version: str, parser: str) -> None:
    """Put a wheel into the index, and a lock for it beside the play."""
    project = desk / "index" / "simple" / "sglang"
    project.mkdir(parents=True, exist_ok=True)
    path = project / f"sglang-{version}-py3-none-any.whl"
    info = f"sglang-{version}.dist-info"
    files = {
        "sglang/__init__.py": "",
        "sglang/srt/__init__.py": "",
        "sglang/srt/server_args.py": parser,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: sglang\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in files)
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    lock = desk / f"{version}.txt"
    lock.write_text(f"sglang=={version} --hash=sha256:{digest}\n", encoding="utf-8")


def deploy(desk: Path, index: str, version: str) -> subprocess.CompletedProcess[str]:
    variables = {
        "ansible_python_interpreter": sys.executable,
        "sglang_engine_root": str(desk / "engines"),
        "sglang_engine_python": sys.executable,
        "sglang_engine_installer": "pip",
        "sglang_engine_version": version,
        "sglang_engine_lock": f"{version}.txt",
        "sglang_engine_index_url": index,
    }
    environment = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": str(desk / "collections"),
        "ANSIBLE_CONFIG": str(desk / "ansible.cfg"),
        "ANSIBLE_HOME": str(desk / "home"),
        "ANSIBLE_INJECT_FACT_VARS": "false",
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_NOCOLOR": "true",
    }
    (desk / "vars.json").write_text(json.dumps(variables), encoding="utf-8")
    command = Path(sys.executable).with_name("ansible-playbook")
    argv = [str(command), "play.yml", "-vvv", "--extra-vars", "@vars.json"]
    return subprocess.run(
        argv, cwd=desk, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_what_is_whole_stays_and_the_password_goes(desk: Path, index: str) -> None:
    done = deploy(desk, index, "0.5.23")
    assert done.returncode == 0, done.stdout + done.stderr
    [engine] = (desk / "engines").iterdir()
    assert json.loads((engine / ".complete.json").read_text())["version"] == "0.5.23"

    broken = deploy(desk, index, "0.5.22")
    assert broken.returncode == 2
    assert "SGLang 0.5.22 was not installed" in broken.stdout + broken.stderr
    assert "half a wheel" in broken.stdout + broken.stderr
    assert list((desk / "engines").iterdir()) == [engine]

    told = [done.stdout, done.stderr, broken.stdout, broken.stderr]
    assert not [text for text in told if PASSWORD in text]
    kept = [path for path in desk.rglob("*") if path.is_file() and path.name != "vars.json"]
    assert not [path for path in kept if PASSWORD.encode() in path.read_bytes()]
