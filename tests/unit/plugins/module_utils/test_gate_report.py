# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person reads of gate and proof."""

from __future__ import annotations

from typing import Any

from ansible_collections.llmops.sglang.plugins.module_utils._render.gate_report import (
    gate_report,
    prove_report,
)


def check(name: str, status: str = "passed", **more: Any) -> dict[str, Any]:
    entry = {"id": name, "status": status, "measured": "m", "needed": "n", "remedy": None}
    return {**entry, "variable": None, **more}


def gate(need: str, verdict: str, *checks: dict[str, Any], **more: Any) -> dict[str, Any]:
    entry = {"need": need, "verdict": verdict, "checks": list(checks), "differences": []}
    return {**entry, "doubt": None, **more}


def difference(name: str, running: str | None, wanted: str | None) -> dict[str, Any]:
    return {"kind": "argument", "name": name, "running": running, "wanted": wanted}


def test_a_restart_shows_why_and_what_was_checked() -> None:
    text = gate_report(
        "gpu-01",
        gate(
            "restart",
            "proceed",
            check("driver"),
            check("memory", "warned", measured="only by luck"),
            check("disk", "unknown", measured="/var is not there"),
            check("window", "overridden", measured="frozen: fair"),
            differences=[
                difference("--hicache-ratio", None, "4.37"),
                difference("--enable-metrics", "", None),
            ],
        ),
    )
    assert text == (
        "gpu-01   restart needed: --hicache-ratio (none) -> 4.37\n"
        "                         --enable-metrics (set) -> (none)\n"
        "gpu-01   gate: 1 check passed, 0 blocked, 1 warned, 1 overridden, 1 unknown\n"
        "gpu-01   warned: memory: only by luck\n"
        "gpu-01   unknown: disk: /var is not there\n"
        "gpu-01   overridden: window: frozen: fair\n"
    )


def test_nothing_to_do_and_a_first_start() -> None:
    assert gate_report("a", gate("none", "nothing", check("ports"))) == (
        "a   nothing to do: the running server is what the plan says\n"
        "a   gate: 1 check passed, 0 blocked\n"
    )
    assert gate_report("a", gate("start", "proceed")).startswith(
        "a   start needed: the server is not running\n"
    )


def test_what_does_not_come_back_after_a_stop_is_said() -> None:
    held = check("gpu_busy", "blocked", measured="GPU 0: 40.0 GiB without a process")
    text = gate_report("gpu-01", gate("start", "wait", held, only=["gpu_busy"]))
    assert text.startswith(
        "gpu-01   start must WAIT; the old server is stopped, but not all that it held is\n"
        "         free\n"
    )


def test_what_could_not_be_compared_is_said() -> None:
    text = gate_report("a", gate("restart", "proceed", doubt="process 7 shows a title"))
    assert "restart needed: the proof is missing\n" in text
    assert "not compared: process 7 shows a title\n" in text


def test_a_refusal_names_measurement_need_remedy_and_the_way_round() -> None:
    text = gate_report(
        "gpu-03",
        gate(
            "restart",
            "blocked",
            check("driver"),
            check(
                "memory",
                "blocked",
                measured="371 GiB available after the old pools (60.0 GiB) are gone",
                needed="386 GiB for the host pools and 10.0 GiB kept free",
                remedy="stop what else holds memory, or plan a smaller pool",
                variable="sglang_hicache_reserve_gib",
            ),
        ),
    )
    assert text == (
        "gpu-03   restart BLOCKED; the running server was not touched\n"
        "\n"
        "  memory   371 GiB available after the old pools (60.0 GiB) are gone\n"
        "           needed: 386 GiB for the host pools and 10.0 GiB kept free\n"
        "           -> stop what else holds memory, or plan a smaller pool, or\n"
        "              sglang_hicache_reserve_gib\n"
        "\n"
        "  To go on in spite of one check: sglang_gate_overrides: [memory]\n"
    )


def test_waiting_is_not_blocked() -> None:
    text = gate_report("a", gate("start", "wait", check("memory", "blocked")))
    assert text.startswith("a   start must WAIT; nothing was changed\n")


def test_no_line_is_wider_than_the_page() -> None:
    long = "/srv/models/" + "x" * 200 + " and some more words " * 9
    refused = check("weights", "blocked", measured=long)
    text = gate_report("a" * 30, gate("restart", "blocked", refused))
    text += gate_report(
        "a" * 30,
        gate("restart", "proceed", differences=[difference("--json", None, "{" + "y" * 300 + "}")]),
    )
    assert max(len(line) for line in text.splitlines()) <= 80


def proof(name: str, status: str, text: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "status": status, "text": text, "measured": None, "planned": None, **more}


def test_a_proof_lists_what_was_shown_and_what_was_not() -> None:
    text = prove_report(
        "gpu-01",
        {
            "ready_s": 451.2,
            "proofs": [
                proof("fired_up", "proven", "fired up"),
                proof("device_tokens", "proven", "159,300 device tokens as planned"),
                proof("speculation", "not_proven", "the server tells no accept length"),
            ],
        },
    )
    assert text == (
        "gpu-01   fired up after 7:31\n"
        "gpu-01   proven: 159,300 device tokens as planned\n"
        "gpu-01   not proven: speculation: the server tells no accept length\n"
    )


def test_a_failed_proof_puts_plan_and_measurement_side_by_side() -> None:
    text = prove_report(
        "a",
        {
            "proofs": [
                proof("fired_up", "proven", "fired up"),
                proof("host_tokens", "failed", "too few", measured=1000, planned=4016),
            ]
        },
    )
    assert "NOT PROVEN: the server does not deliver what was planned" in text
    assert "      planned   4,016\n      measured  1,000\n      too few\n" in text


def test_a_failed_start_names_cause_line_and_remedy() -> None:
    text = prove_report(
        "a", {"cause": "port_taken", "cause_line": "address in use", "remedy": "stop it"}
    )
    assert text == (
        "a   NOT PROVEN: the server did not start\n\n"
        "  cause     port_taken\n  journal   address in use\n            -> stop it\n"
    )
