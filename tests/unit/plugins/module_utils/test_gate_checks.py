# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each check of the gate: what it lets pass, what it refuses, and what it does not know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._gate import gate, host
from ansible_collections.llmops.sglang.plugins.module_utils._gate import gpu as gpus
from ansible_collections.llmops.sglang.plugins.module_utils._gate.checks import Check, gib
from ansible_collections.llmops.sglang.plugins.module_utils._gate.need import Need
from ansible_collections.llmops.sglang.plugins.module_utils._probe.source import Live, Output
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.gate_world import (
    GIB,
    STOPPED,
    UNIT,
    a_plan,
    add_process,
    gpu,
    some_facts,
    subject,
    unit_state,
)

NO_GPU: dict[str, Any] = {
    "source": "none",
    "reason": "no driver",
    "driver": {"loaded": None, "library": None},
    "devices": [],
}
GPU_CHECKS = [
    gpus.check_driver,
    gpus.check_gpus,
    gpus.check_gpu_busy,
    gpus.check_recovery,
    gpus.check_balance,
]


def with_driver(loaded: str | None, library: str | None) -> dict[str, Any]:
    facts = some_facts()
    facts["gpu"]["driver"] = {"loaded": loaded, "library": library}
    return facts


def planned(**host_pools: Any) -> dict[str, Any]:
    plan = a_plan()
    plan["capacity"]["host"].update(host_pools)
    return plan


# --- GPUs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("check", GPU_CHECKS)
def test_a_host_without_gpus_is_unknown_not_refused(tmp_path: Path, check: Any) -> None:
    result = check(subject(tmp_path, some_facts(gpu=NO_GPU)))
    assert (result.status, result.measured) == ("unknown", "no GPU on this host (no driver)")


@pytest.mark.parametrize("check", GPU_CHECKS)
def test_gpus_that_were_not_probed_are_unknown(tmp_path: Path, check: Any) -> None:
    result = check(subject(tmp_path, {}))
    assert (result.status, result.measured) == ("unknown", "the GPUs were not probed")


@pytest.mark.parametrize("check", GPU_CHECKS)
def test_healthy_gpus_pass(tmp_path: Path, check: Any) -> None:
    assert check(subject(tmp_path)).status == "passed"


def test_a_driver_upgraded_under_the_server_is_refused(tmp_path: Path) -> None:
    result = gpus.check_driver(subject(tmp_path, with_driver("580.82.07", "580.95.05")))
    assert result.status == "blocked"
    assert "580.82.07" in result.measured and "580.95.05" in result.measured
    assert "reboot" in str(result.remedy)


def test_a_driver_version_that_cannot_be_read_is_unknown(tmp_path: Path) -> None:
    assert gpus.check_driver(subject(tmp_path, with_driver("580.95.05", None))).status == "unknown"


def test_a_lost_gpu_is_refused(tmp_path: Path) -> None:
    result = gpus.check_gpus(subject(tmp_path, some_facts(gpu(0))))
    assert (result.status, result.measured, result.variable) == (
        "blocked",
        "1 present",
        "sglang_tp_size",
    )


def test_another_instance_on_other_gpus_does_not_block(tmp_path: Path) -> None:
    taken = [{"pid": 77, "memory_bytes": 80 * GIB, "unit": "sglang-coder.service"}]
    facts = some_facts(*(gpu(n, processes=taken) for n in (0, 1)), gpu(2), gpu(3))
    plan = a_plan()
    plan["capacity"]["gpus"] = [2, 3]
    assert gpus.check_gpu_busy(subject(tmp_path, facts, plan)).status == "passed"
    plan["capacity"]["gpus"] = [1, 2]
    assert gpus.check_gpu_busy(subject(tmp_path, facts, plan)).status == "blocked"
    plan["capacity"]["gpus"] = [3]
    assert gpus.check_gpus(subject(tmp_path, facts, plan)).measured == "1 present"


def test_a_loaded_driver_without_any_gpu_is_refused(tmp_path: Path) -> None:
    broken = {**NO_GPU, "driver": {"loaded": "580.95.05", "library": "580.95.05"}}
    result = gpus.check_gpus(subject(tmp_path, some_facts(gpu=broken)))
    assert (result.status, result.measured) == ("blocked", "0 present (no driver)")


def test_memory_of_the_instance_itself_does_not_count(tmp_path: Path) -> None:
    own = [{"pid": 7, "memory_bytes": 80 * GIB, "unit": UNIT}]
    facts = some_facts(gpu(0, memory_used_bytes=80 * GIB + 600 * 2**20, processes=own), gpu(1))
    assert gpus.check_gpu_busy(subject(tmp_path, facts)).status == "passed"


def test_memory_of_another_unit_is_refused_by_name(tmp_path: Path) -> None:
    other = [{"pid": 9, "memory_bytes": 12 * GIB, "unit": "batch.service"}]
    facts = some_facts(gpu(0), gpu(1, memory_used_bytes=13 * GIB, processes=other))
    result = gpus.check_gpu_busy(subject(tmp_path, facts))
    assert result.status == "blocked"
    assert result.measured == "GPU 1: batch.service holds 12.0 GiB"


def test_memory_without_a_process_is_refused_or_waited_for(tmp_path: Path) -> None:
    facts = some_facts(gpu(0, memory_used_bytes=30 * GIB), gpu(1))
    stuck = gpus.check_gpu_busy(subject(tmp_path, facts, state=STOPPED))
    assert (stuck.status, stuck.passing) == ("blocked", False)
    assert stuck.measured == "GPU 0: 30.0 GiB without a process"
    leaving = gpus.check_gpu_busy(subject(tmp_path, facts, state=STOPPED, just_stopped=True))
    assert (leaving.status, leaving.passing) == ("blocked", True)


def test_a_process_of_unknown_size_leaves_the_question_open(tmp_path: Path) -> None:
    own = [{"pid": 7, "memory_bytes": None, "unit": UNIT}]
    facts = some_facts(gpu(0, memory_used_bytes=50 * GIB, processes=own), gpu(1))
    assert gpus.check_gpu_busy(subject(tmp_path, facts)).status == "unknown"


@pytest.mark.parametrize("action", ["Reset", "Drain and Reset", "Something new"])
def test_a_gpu_that_asks_for_recovery_is_refused(tmp_path: Path, action: str) -> None:
    facts = some_facts(gpu(0), gpu(1, recovery_action=action))
    result = gpus.check_recovery(subject(tmp_path, facts))
    assert (result.status, result.measured) == ("blocked", f"GPU 1 asks for: {action}")


def test_a_gpu_that_requires_a_reset_is_refused(tmp_path: Path) -> None:
    locked = gpu(1, state="reset", state_reason="GPU requires reset", recovery_action=None)
    result = gpus.check_recovery(subject(tmp_path, some_facts(gpu(0), locked)))
    assert (result.status, result.measured) == ("blocked", "GPU 1: GPU requires reset")


@pytest.mark.parametrize("state", ["repair", "failing"])
def test_a_gpu_that_wears_out_is_a_warning(tmp_path: Path, state: str) -> None:
    worn = gpu(1, state=state, state_reason="rows wait for a reset")
    result = gpus.check_recovery(subject(tmp_path, some_facts(gpu(0), worn)))
    assert (result.status, result.measured) == ("warned", "GPU 1: rows wait for a reset")


def test_a_gpu_that_is_listed_but_lost_does_not_count(tmp_path: Path) -> None:
    lost = gpu(1, state="lost", state_reason="GPU is lost")
    result = gpus.check_gpus(subject(tmp_path, some_facts(gpu(0), lost)))
    assert (result.status, result.measured) == ("blocked", "1 present (GPU 1: GPU is lost)")


def test_a_gpu_that_fell_off_the_bus_is_named(tmp_path: Path) -> None:
    facts = some_facts(gpu(0))
    facts["gpu"]["fallen_off"] = ["0000:db:00.0"]
    result = gpus.check_gpus(subject(tmp_path, facts))
    assert result.measured == "1 present (0000:db:00.0 fell off the bus)"


def test_a_gpu_that_is_busy_without_a_process_is_refused(tmp_path: Path) -> None:
    stuck = gpu(1, processes=[], memory_used_bytes=0)
    stuck.update(state="stuck", state_reason="busy at 97 % without a process")
    result = gpus.check_gpu_busy(subject(tmp_path, some_facts(gpu(0), stuck)))
    assert (result.status, result.measured) == ("blocked", "GPU 1: busy at 97 % without a process")


def test_facts_in_short_tell_what_the_instance_holds_as_one_number(tmp_path: Path) -> None:
    held = {"processes": [], "memory_used_bytes": 90 * GIB}
    own = gpu(0, instance_bytes=90 * GIB, **held)
    foreign = gpu(1, instance_bytes=0, **held)
    assert gpus.check_gpu_busy(subject(tmp_path, some_facts(own, own))).status == "passed"
    result = gpus.check_gpu_busy(subject(tmp_path, some_facts(own, foreign)))
    assert (result.status, result.measured) == ("blocked", "GPU 1: 90.0 GiB without a process")


def test_a_driver_that_does_not_tell_recovery_is_unknown(tmp_path: Path) -> None:
    facts = some_facts(gpu(0), gpu(1, recovery_action=None))
    assert gpus.check_recovery(subject(tmp_path, facts)).status == "unknown"


def test_gpus_of_different_sizes_are_a_warning(tmp_path: Path) -> None:
    facts = some_facts(gpu(0), gpu(1, memory_total_bytes=48 * GIB))
    result = gpus.check_balance(subject(tmp_path, facts))
    assert (result.status, result.measured) == ("warned", "from 48.0 GiB to 96.0 GiB")


# --- orphans -------------------------------------------------------------------------------------


def test_the_instance_s_own_children_are_no_orphans(tmp_path: Path) -> None:
    add_process(tmp_path, 701, ["sglang::scheduler_TP0"], parent=700)
    assert gpus.check_orphans(subject(tmp_path)).status == "passed"


def test_another_live_server_s_children_are_no_orphans(tmp_path: Path) -> None:
    add_process(tmp_path, 801, ["sglang::scheduler"], parent=800, unit="session-3.scope")
    assert gpus.check_orphans(subject(tmp_path)).status == "passed"


def test_a_child_whose_launcher_is_gone_is_refused_by_pid(tmp_path: Path) -> None:
    add_process(tmp_path, 801, ["sglang::scheduler_TP3"], parent=1, unit="session-3.scope")
    result = gpus.check_orphans(subject(tmp_path))
    assert result.status == "blocked"
    assert result.measured == "801 sglang::scheduler_TP3 (session-3.scope)"
    assert result.remedy == "end them: kill 801"


def test_children_of_the_unit_that_just_stopped_are_waited_for(tmp_path: Path) -> None:
    add_process(tmp_path, 701, ["sglang::scheduler_TP0"], parent=1)
    result = gpus.check_orphans(subject(tmp_path, state=STOPPED, just_stopped=True))
    assert (result.status, result.passing) == ("blocked", True)


# --- memory --------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _proc(tmp_path: Path) -> None:
    (tmp_path / "proc/net").mkdir(parents=True)
    (tmp_path / "proc/net/tcp").write_text("header\n")


def memory(available: int | None) -> dict[str, Any]:
    return some_facts(memory={"available_bytes": available})


def test_host_pools_that_fit_pass(tmp_path: Path) -> None:
    result = host.check_memory(subject(tmp_path, memory(50 * GIB)))
    assert (result.status, result.needed) == (
        "passed",
        "40.0 GiB for the host pools and 10.0 GiB kept free",
    )


def test_host_pools_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    result = host.check_memory(subject(tmp_path, memory(50 * GIB - 1)))
    assert (result.status, result.passing) == ("blocked", False)
    assert result.variable == "sglang_hicache_reserve_gib"


def test_old_pools_count_as_available_while_they_are_held(tmp_path: Path) -> None:
    facts, plan = memory(20 * GIB), a_plan()
    plan["capacity"]["ram"]["held_by_instance_bytes"] = 30 * GIB
    running = host.check_memory(subject(tmp_path, facts, plan))
    assert (running.status, running.measured) == (
        "passed",
        "50.0 GiB available after the old pools (30.0 GiB) are gone",
    )
    gone = subject(tmp_path, facts, plan, state=STOPPED, just_stopped=True)
    stopped = host.check_memory(gone)
    assert (stopped.status, stopped.passing) == ("blocked", True)


def test_a_plan_that_cannot_start_is_refused_even_with_enough_memory(tmp_path: Path) -> None:
    plan = planned(certainty="no")
    plan["capacity"]["limits"] = [
        {"name": "cgroup", "limit_bytes": 32 * GIB, "needed_bytes": 40 * GIB},
        {"name": "swap", "limit_bytes": None, "needed_bytes": 40 * GIB},
    ]
    result = host.check_memory(subject(tmp_path, plan=plan))
    assert result.status == "blocked"
    assert result.measured.endswith("; cgroup allows 32.0 GiB")


def test_a_start_by_luck_is_a_warning(tmp_path: Path) -> None:
    result = host.check_memory(subject(tmp_path, plan=planned(certainty="likely")))
    assert (result.status, result.variable) == ("warned", "sglang_hicache_ratio")


def test_no_host_pool_needs_no_memory(tmp_path: Path) -> None:
    assert host.check_memory(subject(tmp_path, {}, planned(bytes_node=0))).status == "passed"


@pytest.mark.parametrize("facts", [memory(None), {}])
def test_memory_that_was_not_measured_is_unknown(tmp_path: Path, facts: dict[str, Any]) -> None:
    assert host.check_memory(subject(tmp_path, facts)).status == "unknown"


# --- weights and engine --------------------------------------------------------------------------


def model(**changes: Any) -> dict[str, Any]:
    return {**some_facts()["model"], **changes}


@pytest.mark.parametrize(
    ("facts", "status", "measured"),
    [
        (some_facts(), "passed", "model: 3 files, 7.0 GB"),
        (
            some_facts(model=model(present=False, reason="no such folder")),
            "blocked",
            "/srv/models/m: no such folder",
        ),
        (
            some_facts(model=model(missing_count=12, missing_files=["w-3.safetensors"])),
            "blocked",
            "/srv/models/m: 12 files missing, the first is w-3.safetensors",
        ),
        (
            some_facts(
                draft=model(
                    path="/srv/models/d",
                    damaged_files=["w.safetensors: cut short: 3 of 4 bytes"],
                )
            ),
            "blocked",
            "/srv/models/d: w.safetensors: cut short: 3 of 4 bytes",
        ),
        (
            some_facts(model=model(unfinished_files=["a.incomplete"], unfinished_count=2)),
            "warned",
            "model: 3 files, 7.0 GB; /srv/models/m: 2 unfinished downloads, "
            "the first is a.incomplete",
        ),
        (
            some_facts(model=model(weights_files=None)),
            "unknown",
            "/srv/models/m: the weight files could not be counted",
        ),
        ({}, "unknown", "the model folder was not probed"),
    ],
)
def test_weights(tmp_path: Path, facts: dict[str, Any], status: str, measured: str) -> None:
    result = host.check_weights(subject(tmp_path, facts))
    assert (result.status, result.measured) == (status, measured)


def engine(**changes: Any) -> dict[str, Any]:
    return some_facts(engine={**some_facts()["engine"], **changes})


@pytest.mark.parametrize(
    ("facts", "status", "measured"),
    [
        (engine(), "passed", "SGLang 0.5.23"),
        (
            engine(version="0.5.23+double", double=True),
            "passed",
            "SGLang 0.5.23+double (a double: it answers, it does not compute)",
        ),
        (engine(version="0.5.22"), "blocked", "SGLang 0.5.22 in /opt/e"),
        (engine(present=False, reason="no such folder"), "blocked", "/opt/e: no such folder"),
        (engine(version=None), "unknown", "/opt/e does not tell its version"),
        ({}, "unknown", "the engine was not probed"),
    ],
)
def test_engine(tmp_path: Path, facts: dict[str, Any], status: str, measured: str) -> None:
    result = host.check_engine(subject(tmp_path, facts))
    assert (result.status, result.measured) == (status, measured)


# --- ports, disk, time ---------------------------------------------------------------------------


def listen(root: Path, port: int, inode: str, state: str = "0A") -> None:
    with (root / "proc/net/tcp").open("a") as table:
        table.write(f"  0: 0100007F:{port:04X} 00000000:0000 {state} 0:0 00:0 0 0 0 {inode} 1\n")


def test_a_free_port_passes_whatever_else_listens(tmp_path: Path) -> None:
    listen(tmp_path, 30001, "5")
    listen(tmp_path, 30000, "6", state="06")
    assert host.check_ports(subject(tmp_path)).measured == "free"


def test_the_instance_s_own_port_passes(tmp_path: Path) -> None:
    listen(tmp_path, 30000, "5")
    add_process(tmp_path, 700, ["python"], sockets=("5",))
    assert host.check_ports(subject(tmp_path)).measured == "held by this instance"


def test_a_port_of_another_unit_is_refused_by_name(tmp_path: Path) -> None:
    listen(tmp_path, 30000, "5")
    add_process(tmp_path, 910, ["nginx"], unit="nginx.service", sockets=("4", "5"))
    result = host.check_ports(subject(tmp_path))
    assert (result.status, result.measured, result.variable) == (
        "blocked",
        "30000 is taken by nginx.service (process 910)",
        "sglang_port",
    )


def test_a_port_held_by_nobody_that_can_be_seen_is_refused(tmp_path: Path) -> None:
    listen(tmp_path, 30000, "5")
    assert "cannot be seen" in host.check_ports(subject(tmp_path)).measured


def test_attention_parallelism_derives_more_ports(tmp_path: Path) -> None:
    plan = a_plan()
    plan["arguments"].append({"flag": "--enable-dp-attention", "values": []})
    listen(tmp_path, 30235, "5")
    result = host.check_ports(subject(tmp_path, plan=plan))
    assert result.status == "blocked"
    assert result.needed == "ports 30000 and 30233 to 30239 free"


def test_ports_without_a_table_are_unknown(tmp_path: Path) -> None:
    (tmp_path / "proc/net/tcp").unlink()
    assert host.check_ports(subject(tmp_path)).status == "unknown"


def test_disk_is_measured_on_the_nearest_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Path] = []
    free = {"value": 9 * GIB}

    def free_bytes(folder: Path) -> int:
        seen.append(folder)
        return free["value"]

    assert host.check_disk(subject(tmp_path)).status in ("passed", "blocked")
    monkeypatch.setattr(host, "_free_bytes", free_bytes)
    assert host.check_disk(subject(tmp_path)).status == "passed"
    free["value"] = 3 * GIB
    assert host.check_disk(subject(tmp_path)).status == "blocked"
    assert {path.relative_to(tmp_path) for path in seen} == {
        Path("var/cache/sglang/kimi"),
        Path("var/lib/sglang/kimi"),
    }


@pytest.mark.parametrize(
    ("load_s", "status"), [(None, "unknown"), (480.0, "passed"), (481.0, "warned")]
)
def test_a_load_beyond_the_engine_s_barrier_is_a_warning(
    tmp_path: Path, load_s: float | None, status: str
) -> None:
    facts = some_facts(server={"startup": {"load_s": load_s}})
    assert host.check_load_barrier(subject(tmp_path, facts)).status == status


# --- all together --------------------------------------------------------------------------------


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Check]:
    """What the checks answer, by name; the others pass."""
    given: dict[str, Check] = {}

    def answer(name: str) -> Any:
        return lambda _subject: given.get(name, Check(name, "passed", "m", "n"))

    monkeypatch.setattr(gate, "CHECKS", {name: answer(name) for name in gate.CHECKS})
    return given


def test_a_converged_host_has_nothing_to_do_and_asks_no_parser(
    tmp_path: Path, answers: dict[str, Check]
) -> None:
    answers["memory"] = Check("memory", "blocked", "m", "n")
    result = gate.judge(subject(tmp_path, need="none"), Need("none"), [])
    assert result["verdict"] == "nothing"
    assert result["checks"][-1]["status"] == "skipped"


def test_one_refusal_blocks_and_an_override_downgrades_it(
    tmp_path: Path, answers: dict[str, Check]
) -> None:
    answers["memory"] = Check("memory", "blocked", "m", "n")
    assert gate.judge(subject(tmp_path), Need("restart"), [])["verdict"] == "blocked"
    result = gate.judge(subject(tmp_path), Need("restart"), ["memory"])
    statuses = {check["id"]: check["status"] for check in result["checks"]}
    assert (result["verdict"], statuses["memory"]) == ("proceed", "overridden")


def test_what_another_step_will_provide_is_unknown(
    tmp_path: Path, answers: dict[str, Check]
) -> None:
    answers["engine"] = Check("engine", "blocked", "not there", "n")
    result = gate.judge(subject(tmp_path), Need("start"), [], ["engine", "weights"])
    statuses = {check["id"]: check["status"] for check in result["checks"]}
    assert (result["verdict"], statuses["engine"], statuses["weights"]) == (
        "proceed",
        "unknown",
        "passed",
    )


def test_only_passing_refusals_mean_wait(tmp_path: Path, answers: dict[str, Check]) -> None:
    answers["memory"] = Check("memory", "blocked", "m", "n", passing=True)
    answers["gpu_busy"] = Check("gpu_busy", "blocked", "m", "n", passing=True)
    assert gate.judge(subject(tmp_path), Need("start"), [])["verdict"] == "wait"
    answers["window"] = Check("window", "blocked", "m", "n")
    assert gate.judge(subject(tmp_path), Need("start"), [])["verdict"] == "blocked"


class Host(Live):
    """A host without GPU tools, with 7 GiB available."""

    def read_text(self, path: str) -> str | None:
        return f"MemAvailable: {7 * 2**20} kB\n" if path == "/proc/meminfo" else None

    def command(self, name: str, argv: list[str], *_more: Any, **_named: Any) -> Output:
        return Output("", None, "no such tool")


def test_after_a_stop_gpus_and_memory_are_measured_anew() -> None:
    facts = gate.measured_anew(Host(), some_facts(), a_plan())
    assert facts["memory"]["available_bytes"] == 7 * GIB
    assert (facts["gpu"]["source"], facts["gpu"]["devices"]) == ("none", [])
    assert facts["model"] == some_facts()["model"]
    assert gate.measured_anew(Host(), {}, a_plan()) == {}


def test_just_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "monotonic_s", lambda: 1000.0)
    plan = a_plan()
    assert not gate.just_stopped(unit_state(inactive_since_s=990.0), plan)
    assert gate.just_stopped(unit_state(active_state="deactivating"), plan)
    dead = {"main_pid": None, "active_state": "failed"}
    assert gate.just_stopped(unit_state(inactive_since_s=990.0, **dead), plan)
    assert not gate.just_stopped(unit_state(inactive_since_s=500.0, **dead), plan)
    assert not gate.just_stopped(unit_state(**dead), plan)
    # A large host pool takes the kernel longer.
    large = a_plan(deadlines={"release_s": 600})
    assert gate.just_stopped(unit_state(inactive_since_s=500.0, **dead), large)


def test_sizes_name_their_unit() -> None:
    assert [gib(size) for size in (0, 2**20, GIB, 386 * GIB)] == [
        "0.0 GiB",
        "1.0 MiB",
        "1.0 GiB",
        "386 GiB",
    ]
