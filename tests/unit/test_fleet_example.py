# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The example of a fleet is one that Ansible takes: its groups, variables and plays."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("ansible.plugins.action")
from ansible_collections.llmops.sglang.plugins.plugin_utils._variables import problems_of

COLLECTION = Path(__file__).resolve().parents[2]
EXAMPLE = COLLECTION / "examples" / "fleet"
HOSTS = {"gpu-01", "gpu-02", "gpu-03", "gpu-11", "gpu-12"}


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A copy of the example, as a person makes one, with the collection installed."""
    namespace = tmp_path / "collections" / "ansible_collections" / "llmops"
    namespace.mkdir(parents=True)
    (namespace / "sglang").symlink_to(COLLECTION)
    shutil.copytree(EXAMPLE, tmp_path / "fleet")
    return tmp_path / "fleet"


def ansible(desk: Path, tool: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")},
        "ANSIBLE_COLLECTIONS_PATH": str(desk.parent / "collections"),
        "ANSIBLE_HOME": str(desk.parent / "home"),
        "ANSIBLE_NOCOLOR": "true",
        "ANSIBLE_CONFIG": str(desk / "ansible.cfg"),
    }
    command = Path(sys.executable).with_name(tool)
    return subprocess.run(
        [str(command), *arguments],
        cwd=desk,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def inventory(desk: Path) -> dict[str, Any]:
    done = ansible(desk, "ansible-inventory", "--list")
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("playbook", ["rollout", "deploy", "diagnose", "plan", "rollback"])
def test_playbooks_take_the_example(desk: Path, playbook: str) -> None:
    done = ansible(desk, "ansible-playbook", "--syntax-check", f"llmops.sglang.{playbook}")
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stdout + done.stderr


def test_every_host_has_the_variables_of_its_hardware(desk: Path) -> None:
    variables = inventory(desk)["_meta"]["hostvars"]
    assert set(variables) > HOSTS
    assert {variables[name]["sglang_tp_size"] for name in HOSTS} == {8}
    assert "sglang_speculative_algorithm" not in variables["gpu-11"]
    assert variables["gpu-01"]["sglang_speculative_algorithm"] == "EAGLE3"
    assert variables["router-01"]["sglang_router_policy"] == "cache_aware"


def test_all_variables_are_ones_that_roles_have() -> None:
    for path in sorted((EXAMPLE / "group_vars").iterdir()):
        variables = yaml.safe_load(path.read_text(encoding="utf-8"))
        wrong = [entry for entry in problems_of(variables) if "is not a valid" not in entry]
        assert (path.name, wrong) == (path.name, [])


def test_groups_are_made_of_measured_facts(desk: Path) -> None:
    """As diagnose leaves them in the cache: with what is common said once, or for each GPU."""
    measured = {
        "gpu-01": {"common": {"name": "NVIDIA RTX PRO 6000 Blackwell Server Edition"}},
        "gpu-11": {"devices": [{"name": "NVIDIA H200"}]},
    }
    facts = {
        "cacheable": True,
        "sglang": {
            "gpu": "{{ measured[inventory_hostname] }}",
            "server": {"info": {"version": "0.5.23"}},
        },
    }
    play = {
        "hosts": "gpu-01:gpu-11",
        "connection": "local",
        "gather_facts": False,
        "vars": {"measured": measured},
        "tasks": [{"ansible.builtin.set_fact": facts}],
    }
    (desk / "measure.yml").write_text(json.dumps([play]), encoding="utf-8")
    done = ansible(desk, "ansible-playbook", "measure.yml")
    assert done.returncode == 0, done.stdout + done.stderr
    groups = inventory(desk)
    assert groups["gpu_rtx_pro_6000_blackwell"]["hosts"] == ["gpu-01"]
    assert groups["gpu_h200"]["hosts"] == ["gpu-11"]
    assert sorted(groups["sglang_0_5_23"]["hosts"]) == ["gpu-01", "gpu-11"]
