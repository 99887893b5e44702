# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks diagnose and plan on recorded hosts, run by ansible-playbook as a person would."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

COLLECTION = Path(__file__).resolve().parents[2]
RECORDINGS = COLLECTION / "tests" / "unit" / "recordings"
DIAGNOSE_TASKS = 3
VARIABLES = {
    "ansible_connection": "local",
    "ansible_python_interpreter": sys.executable,
    "sglang_model_path": "/models/Kimi-K2.5",
    "sglang_tp_size": 8,
    "sglang_environment": {"HF_TOKEN": "hf-planted-secret"},
}
HOSTS = {"gpu-01": RECORDINGS / "headline", "gpu-02": RECORDINGS / "h200-nvlink"}


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder that a person runs playbooks from, with an inventory of two recorded hosts."""
    namespace = tmp_path / "collections" / "ansible_collections" / "llmops"
    namespace.mkdir(parents=True)
    (namespace / "sglang").symlink_to(COLLECTION)
    (tmp_path / "ansible.cfg").write_text("", encoding="utf-8")
    inventory(tmp_path, HOSTS)
    return tmp_path


def inventory(desk: Path, hosts: dict[str, Path]) -> None:
    entries = {name: {**VARIABLES, "sglang_recording": str(path)} for name, path in hosts.items()}
    (desk / "hosts.json").write_text(json.dumps({"sglang": {"hosts": entries}}), encoding="utf-8")


def play(desk: Path, name: str, *arguments: str, **variables: str) -> Any:
    environment = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": str(desk / "collections"),
        "ANSIBLE_HOME": str(desk / "home"),
        "ANSIBLE_INJECT_FACT_VARS": "false",
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_NOCOLOR": "true",
        "ANSIBLE_CONFIG": str(desk / "ansible.cfg"),
    }
    command = Path(sys.executable).with_name("ansible-playbook")
    argv = [str(command), f"llmops.sglang.{name}", "-i", "hosts.json", *arguments]
    argv += ["--extra-vars", json.dumps(variables)]
    return subprocess.run(
        argv, cwd=desk, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_one_page_for_the_fleet_and_one_plan_for_each_host(desk: Path) -> None:
    done = play(desk, "plan", "--diff", sglang_report_dest="fleet.html", sglang_plan_dest="plans/")
    assert done.returncode == 0, done.stdout + done.stderr
    page = (desk / "fleet.html").read_text(encoding="utf-8")
    assert "<h1>SGLang on 2 hosts</h1>" in page and "GPU 7" in page
    plans = {path.stem: json.loads(path.read_text()) for path in (desk / "plans").iterdir()}
    assert set(plans) == set(HOSTS)
    assert plans["gpu-01"]["running"]["tokens"] == {"device": 159_300, "in_reach": 159_300}
    told = done.stdout + done.stderr + page
    assert "planted" not in told
    # Where the files go is the only change.
    assert "Plan what fits" in done.stdout and "changed: [gpu-01 -> localhost]" in done.stdout
    assert "changed: [gpu-01]\n" not in done.stdout


def test_a_host_that_failed_is_on_the_page(desk: Path) -> None:
    inventory(desk, {**HOSTS, "gpu-03": desk / "nowhere"})
    done = play(desk, "diagnose", sglang_report_dest=str(desk / "fleet.html"))
    assert done.returncode == 2
    page = (desk / "fleet.html").read_text(encoding="utf-8")
    assert "SGLang on 3 hosts" in page and "FAILED" in page and "GPU 7" in page
    assert f"Failed: there is no recording at {desk}/nowhere" in page


@pytest.mark.parametrize("name", ["diagnose", "plan"])
def test_a_page_is_written_where_every_host_failed(desk: Path, name: str) -> None:
    inventory(desk, {"gpu-01": desk / "nowhere", "gpu-02": desk / "elsewhere"})
    done = play(desk, name, sglang_report_dest="fleet.html")
    assert done.returncode == 2
    page = (desk / "fleet.html").read_text(encoding="utf-8")
    assert "SGLang on 2 hosts" in page and "No host was measured" in page
    for place in ("nowhere", "elsewhere"):
        assert f"Failed: there is no recording at {desk}/{place}" in page


def test_plans_of_two_hosts_do_not_overwrite_each_other(desk: Path) -> None:
    done = play(desk, "plan", sglang_plan_dest="plan.json")
    assert done.returncode == 2
    assert f"2 hosts would write their plans into the one file {desk}/plan.json" in done.stdout
    assert "Probe the host" not in done.stdout and not (desk / "plan.json").exists()


def test_one_host_has_one_file_where_the_command_runs(desk: Path) -> None:
    limit = ["--limit", "gpu-01", "--diff", "-vvv"]
    done = play(desk, "plan", *limit, sglang_plan_dest="plan.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"before_header": "sglang-kimi.service, running"' in done.stdout
    assert json.loads((desk / "plan.json").read_text())["unit"] == "sglang-kimi.service"


def test_a_look_at_a_fleet_is_three_tasks_on_each_host(desk: Path) -> None:
    """Every further one costs minutes on two hundred hosts."""
    inventory(desk, {f"gpu-{number:02}": HOSTS["gpu-01"] for number in range(1, 5)})
    done = play(desk, "diagnose", sglang_report_dest="fleet.html")
    assert done.returncode == 0, done.stdout + done.stderr
    ran = re.findall(r"^(?:ok|changed|fatal): \[(gpu-\d+)\]", done.stdout, re.MULTILINE)
    once = ran.count("gpu-01") - ran.count("gpu-02")
    assert ran.count("gpu-02") == ran.count("gpu-04") <= DIAGNOSE_TASKS
    # What is done once for all of them is done on the first one.
    assert once <= 4
