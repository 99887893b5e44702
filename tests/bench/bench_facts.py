# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a look at a host costs beside what it cannot do without, and how large its facts are.

The module runs on eight doubled GPUs behind the real nvidia-ml-py, with the words of a recorded
systemd and the answers of a recorded server. Its processor time, children included, is compared
with that of a module that does nothing and of the commands alone. Ansible sends modules as source,
which Python compiles at every run; so this is measured twice, as sent and once compiled.
"""

from __future__ import annotations

import json
import os
import resource
import shlex
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from figure import Figure, at_most, told

ROOT = Path(__file__).resolve().parents[2]
TREE = ROOT / ".lab" / "bench"
LAB = ROOT / "molecule" / "lab"
HEADLINE = ROOT / "tests" / "unit" / "recordings" / "headline"
READER = ROOT / "plugins" / "module_utils" / "_probe" / "nvml_reader.py"
ROUNDS = 9
# In place of the host's own programs: what they said on a recorded host.
PROGRAMS = {
    "systemctl": HEADLINE / "commands" / "systemctl-show.txt",
    "journalctl": HEADLINE / "commands" / "journal.log",
}


def controller() -> Path:
    """The folder of programs that the lab made for the controller: Ansible and nvidia-ml-py."""
    printed = subprocess.check_output(
        [sys.executable, str(LAB / "lab.py"), "controller"], text=True
    )
    return Path(printed.split()[-1])


BIN = controller()
PYTHON = str(BIN / "python")
# What the module asks: the GPUs, the unit and its slice, the unit's journal, the driver's log.
NEEDED = [
    [PYTHON, str(READER)],
    ["systemctl"],
    ["systemctl"],
    ["journalctl"],
    ["sh", "-c", "dmesg | grep -F NVRM || true"],
]
RUN = """
import importlib, json, sys
from ansible.module_utils.testing import patch_module_args
with patch_module_args(json.loads(sys.argv[2])):
    importlib.import_module(sys.argv[1]).main()
"""
OPTIONS = {"model_path": str(HEADLINE / "model"), "draft_path": str(HEADLINE / "draft")}


def environment(folder: Path) -> dict[str, str]:
    """The recorded programs before the real ones, the driver's double, and a home for Ansible."""
    sys.path.insert(0, str(LAB))
    import gpus

    for name, words in PROGRAMS.items():
        program = folder / name
        program.write_text(f"#!/bin/sh\nexec cat {shlex.quote(str(words))}\n", encoding="utf-8")
        program.chmod(0o755)
    (folder / "gpus").write_text(gpus.preset("rtx-pro-6000-x8"), encoding="utf-8")
    return {
        **os.environ,
        "PATH": f"{folder}:{os.environ['PATH']}",
        "LAB_GPU_STATE": str(folder / "gpus"),
        "LD_LIBRARY_PATH": str(gpus.library()),
        "ANSIBLE_HOME": str(folder / "home"),
        "ANSIBLE_COLLECTIONS_PATH": str(TREE),
        "ANSIBLE_KEEP_REMOTE_FILES": "true",
        "ANSIBLE_PIPELINING": "false",
        # For modules that run from the checkout: compiled once, and nothing is left beside it.
        "PYTHONPATH": str(TREE),
        "PYTHONPYCACHEPREFIX": str(folder / "compiled"),
        "PYTHONDONTWRITEBYTECODE": "",
    }


class Answers(BaseHTTPRequestHandler):
    """What the recorded server said, by the last part of the path."""

    def do_GET(self) -> None:
        name = self.path.partition("?")[0].rsplit("/", 1)[-1]
        file = HEADLINE / "http" / f"{name}.json"
        self.send_response(200 if file.is_file() else 404)
        self.end_headers()
        if file.is_file():
            self.wfile.write(file.read_bytes())

    def log_message(self, *_words: object) -> None:
        """Say nothing."""


def sent(env: dict[str, str], folder: Path, module: str, options: dict[str, object]) -> list[str]:
    """The command that Ansible runs on a host for a module: Python, and one file with all of it."""
    place = folder / f"{module}-{len(options)}"
    words = [
        *(str(BIN / "ansible"), "localhost", "-i", "localhost,"),
        *("-c", "local", "-e", f"ansible_python_interpreter={PYTHON}"),
        *("-m", module, "-a", json.dumps(options)),
    ]
    subprocess.run(
        words,
        env={**env, "ANSIBLE_REMOTE_TEMP": str(place)},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    (program,) = place.glob("*/AnsiballZ_*.py")
    return [PYTHON, str(program)]


def compiled(module: str, options: dict[str, object]) -> list[str]:
    """The command that runs a module from the checkout, by its full name."""
    return [PYTHON, "-c", RUN, module, json.dumps(options)]


def cpu_s(commands: list[list[str]], env: dict[str, str]) -> float:
    """Processor time of commands and all their children, seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for command in commands:
        subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def facts_of(command: list[str], env: dict[str, str]) -> dict[str, dict[str, object]]:
    """What the module returned. Raises ValueError when it did not see what the bench is about."""
    facts = json.loads(subprocess.check_output(command, env=env))["ansible_facts"]["sglang"]
    started = facts["server"]["startup"].get("max_total_num_tokens")
    if (
        not facts["server"]["info"]
        or facts["gpu"]["source"] != "nvml"
        or len(facts["gpu"]["devices"]) != 8
        or not started
    ):
        raise ValueError(f"not the facts of eight GPUs and a server: {facts}")
    return facts


def run() -> list[Figure]:
    with (
        tempfile.TemporaryDirectory() as name,
        ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        folder = Path(name)
        env = environment(folder)
        options = {**OPTIONS, "port": server.server_port}
        module, nothing = "llmops.sglang.host_facts", "ansible.builtin.ping"
        whole = sent(env, folder, module, {**options, "detail": True})
        ways = {
            "as sent": (
                sent(env, folder, module, options),
                sent(env, folder, nothing, {"data": "pong"}),
            ),
            "compiled": (
                compiled("ansible_collections.llmops.sglang.plugins.modules.host_facts", options),
                compiled("ansible.modules.ping", {"data": "pong"}),
            ),
        }
        sizes = [len(json.dumps(facts_of(way, env))) for way in (ways["as sent"][0], whole)]
        times: dict[str, list[tuple[float, float, float]]] = {way: [] for way in ways}
        for _round in range(ROUNDS):
            commands_s = cpu_s(NEEDED, env)
            for way, (full, empty) in ways.items():
                times[way].append((cpu_s([full], env), cpu_s([empty], env), commands_s))
        server.shutdown()
    figures = [
        at_most("facts of eight GPUs, in short", sizes[0], "B", 5000),
        told("facts of eight GPUs, in detail", sizes[1], "B"),
    ]
    for way, rounds in times.items():
        # The least is what the work takes; more is what else the machine did.
        module_s, empty_s, commands_s = map(min, zip(*rounds))
        name = f"module to empty one and commands, {way}"
        ratio = module_s / (empty_s + commands_s)
        figures += [
            told(f"processor time of an empty module, {way}", 1000 * empty_s, "ms"),
            told(f"processor time of the module, {way}", 1000 * module_s, "ms"),
            at_most(name, ratio, "times", 1.3) if way == "compiled" else told(name, ratio, "times"),
        ]
    return [*figures, told("processor time of the commands", 1000 * commands_s, "ms")]
