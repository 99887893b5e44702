# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts as part of every fact gathering: with the real ansible-playbook, on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import ansible_collections.llmops.sglang as collection
import pytest

ROOT = Path(next(iter(collection.__path__)))
HEADLINE = ROOT / "tests" / "unit" / "recordings" / "headline"
INVENTORY = """\
all:
  hosts:
    gpu-01:
      ansible_connection: local
      ansible_facts_modules: [ansible.builtin.setup, llmops.sglang.host_facts]
      sglang_model_path: /srv/models/of-this-host
"""
GATHER = """\
- hosts: all
  gather_facts: true
  module_defaults:
    ansible.builtin.setup:
      gather_subset: ["!all", "!min", distribution]
    llmops.sglang.host_facts:
      recording: "{{ recording }}"
      model_path: "{{ sglang_model_path }}"
"""
SHOW = """\
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.copy:
        content: "{{ {'sglang': facts['sglang'], 'system': facts['distribution']} | to_json }}"
        dest: "{{ shown }}"
        mode: "0600"
      vars:
        facts: "{{ ansible_facts }}"
"""


class Controller:
    """A folder to run playbooks in, with a fact cache, no fact variables and an own home."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "hosts.yml").write_text(INVENTORY, encoding="utf-8")
        (folder / "gather.yml").write_text(GATHER, encoding="utf-8")
        (folder / "show.yml").write_text(SHOW, encoding="utf-8")

    def play(self, name: str, **variables: Any) -> subprocess.CompletedProcess[str]:
        programs = Path(sys.executable).parent
        own = {
            # No shims of a version manager, which discovery would take for interpreters.
            "PATH": f"{programs}:/usr/bin:/bin",
            "ANSIBLE_HOME": str(self._folder / "home"),
            "ANSIBLE_REMOTE_TEMP": str(self._folder / "remote"),
            "ANSIBLE_ASYNC_DIR": str(self._folder / "async"),
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT.parents[2]),
            "ANSIBLE_INJECT_FACT_VARS": "false",
            "ANSIBLE_CACHE_PLUGIN": "ansible.builtin.jsonfile",
            "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(self._folder / "cache"),
            "ANSIBLE_NOCOLOR": "1",
        }
        return subprocess.run(
            [
                str(programs / "ansible-playbook"),
                "-i",
                "hosts.yml",
                f"{name}.yml",
                "-e",
                json.dumps({"recording": str(HEADLINE), **variables}),
            ],
            cwd=self._folder,
            env={**os.environ, **own},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )


@pytest.fixture
def controller(tmp_path: Path) -> Controller:
    return Controller(tmp_path)


@pytest.mark.parametrize(
    "variables",
    [
        {"ansible_python_interpreter": sys.executable},
        {"ansible_python_interpreter": sys.executable, "ansible_facts_parallel": False},
        {"ansible_facts_parallel": False},
    ],
    ids=["parallel", "serial", "serial, interpreter discovered"],
)
def test_gathering_facts_brings_and_caches_them(
    controller: Controller, tmp_path: Path, variables: dict[str, Any]
) -> None:
    gathered = controller.play("gather", **variables)
    assert gathered.returncode == 0, gathered.stdout + gathered.stderr
    # Another run, which gathers nothing: what it knows comes from the cache.
    shown = controller.play("show", shown=str(tmp_path / "shown.json"), **variables)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    facts = json.loads((tmp_path / "shown.json").read_text(encoding="utf-8"))
    assert facts["system"]
    assert len(facts["sglang"]["gpu"]["devices"]) == 8
    assert facts["sglang"]["model"]["path"] == "/srv/models/of-this-host"
    assert len(json.dumps(facts["sglang"])) < 5000
