# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report about a host, as a person sees it."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._render.host_report import host_report
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.probe_recording import (
    RECORDINGS,
    facts_of,
)

HOSTS = sorted(path.name for path in RECORDINGS.iterdir())
TOKEN_BYTES = 70272
CAPACITY: dict[str, Any] = {
    "ranks_per_node": 8,
    "bytes_per_token": {"target": TOKEN_BYTES, "draft": 4096},
    "device": {
        "tokens": 159300,
        "bytes_per_rank": 159300 * TOKEN_BYTES,
        "bytes_node": 159300 * TOKEN_BYTES * 8,
        "origin": "measured",
    },
    "host": {
        "mode": "ratio",
        "tokens": 696600,
        "bytes_per_rank": 696600 * TOKEN_BYTES,
        "bytes_node": 696600 * TOKEN_BYTES * 8,
    },
    "requests": {"context_tokens": 32768, "device": 4, "in_reach": 21},
    "longest_request_tokens": 159300,
    "model_context_tokens": 262144,
}


def test_the_headline_host_answers_the_question() -> None:
    assert (
        host_report("gpu-01", facts_of("headline", detail=True), CAPACITY)
        == """\
gpu-01   sglang-kimi.service   active 3 d 03 h   SGLang 0.5.18   proven 27 Nov

GPU   8 x RTX PRO 6000 Blackwell, 95.6 GiB, PCIe, driver 580.82.07
      weights 63.7   KV pool 10.4   graphs and buffers 13.6   free 7.9 GiB each
RAM   449 GiB   used 53   pinned KV 0   page cache 339   available 396
KV    70,272 B per token and rank (MLA bf16, one copy on each of 8 ranks)
      device tier     159,300 tokens    10.4 GiB per rank     83 GiB in all
      host tier    none
      4 requests of 32,768 tokens at once; longest single request 159,300
      (the model allows 262,144: context beyond 159,300 will be refused)
"""
    )


def test_a_host_that_runs_nothing_shows_what_is_planned() -> None:
    facts = facts_of("gb10", detail=True)
    report = host_report("spark", facts, CAPACITY)
    assert "1 x GB10, memory shared with the host, driver 580.126.09" in report
    assert "host tier       696,600 tokens" in report and "(planned)" in report
    assert "21 requests of 32,768 tokens at once" in report


def test_what_is_unknown_says_why() -> None:
    silent = {"name": "NVIDIA L4", "unknown": {"memory_total_bytes": "Unknown Error"}}
    report = host_report("a", {"gpu": {"devices": [silent]}})
    assert "1 x L4, memory unknown (Unknown Error)" in report
    assert "1 x A100-SXM4-80GB, split by MIG\n" in host_report("a", facts_of("mig"))
    report = host_report("gpu-03", facts_of("driver-mismatch", detail=True))
    assert "none (nvidia-smi: Failed to initialize NVML" in report
    capacity = {
        **CAPACITY,
        "bytes_per_token": {"target": None},
        "device": {"tokens": None, "bytes_per_rank": None, "reason": "no weights"},
        "host": {"mode": "off"},
    }
    report = host_report("a", facts_of("gb10", detail=True), capacity)
    assert "bytes per token unknown" in report
    assert "device tier  unknown (no weights)" in report and "host tier    none" in report


def test_parts_that_failed_or_were_not_read() -> None:
    report = host_report(
        "a",
        {
            "memory": {"reason": "OSError: x"},
            "gpu": {"reason": "y"},
            "server": {"unit": "u.service", "reason": "z"},
        },
    )
    assert "RAM   unknown (OSError: x)" in report
    assert "GPU   none (y)" in report
    assert "u.service   unknown (z)" in report
    assert host_report("a", {}) == "a   SGLang unknown\n\n"


@pytest.mark.parametrize(
    ("server", "words"),
    [
        ({"load_state": "not-found"}, "not installed"),
        ({"startup": {"state": "failed", "cause": "gpu_lost"}}, "failed (gpu_lost)"),
        ({"startup": {"state": "failed"}}, "failed (cause unknown)"),
        ({"startup": {"state": "starting"}, "uptime_s": 95}, "starting 1 min"),
        ({"active_state": "active", "uptime_s": 59}, "active 59 s"),
        ({"active_state": "active", "uptime_s": 7500}, "active 2 h 05 min"),
        ({"active_state": "inactive"}, "inactive"),
    ],
)
def test_states_in_words(server: dict[str, Any], words: str) -> None:
    assert f"   {words}   SGLang" in host_report("a", {"server": {"unit": "u", **server}})


def test_other_years_are_named() -> None:
    facts = {
        "taken_at": "2027-01-02T00:00:00Z",
        "server": {"proven": {"at": "2026-11-27T16:06:10Z"}},
    }
    assert "proven 27 Nov 2026" in host_report("a", facts)


@pytest.mark.parametrize("detail", [True, False])
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("name", ["a", "a-very-long-host-name.rack-17.datacenter.example.org"])
@pytest.mark.parametrize("capacity", [None, CAPACITY])
def test_no_line_is_wider_than_a_terminal(
    host: str, detail: bool, name: str, capacity: Any
) -> None:
    report = host_report(name, facts_of(host, detail=detail), capacity)
    assert report.endswith("\n") and max(map(len, report.splitlines())) <= 80
    assert not any(line != line.rstrip() for line in report.splitlines())


@pytest.mark.parametrize("detail", [True, False])
def test_gpus_that_are_not_sound_are_named_one_by_one(detail: bool) -> None:
    report = host_report("gpu-01", facts_of("odd-gpus", detail=detail))
    gpus = report.split("GPU   ", 1)[1].split("\nRAM", 1)[0]
    if detail:
        gpus, free = gpus.rsplit("\n", 1)
        assert free == "      free 16.4 GiB on the fullest"
    assert (
        gpus
        == """\
6 x H100 80GB HBM3, 79.6 GiB
      1 x H100 80GB HBM3, split by MIG, NVLink, driver 570.133.20
      GPU 6 has 3g.40gb 39.5 GiB, 3g.40gb 39.5 GiB
      GPU 1 (00000000:3B:00.0) stuck: busy at 97 % without a process
      GPU 2 (00000000:4C:00.0) stuck: 62.7 GiB in use that no process holds (Xid
      31)
      GPU 3 (00000000:5D:00.0) reset: the driver asks for: Drain and Reset
      GPU 4 (00000000:9B:00.0) repair: broken memory rows wait for a reset to be
      replaced
      GPU 5 (00000000:BB:00.0) failing: the driver fails to read power_limit_w,
      temperature_c
      a GPU at 0000:db:00.0 fell off the bus; the driver does not list it"""
    )


def test_a_lost_gpu_is_counted_apart() -> None:
    report = host_report("gpu-01", facts_of("lost-gpu"))
    assert "7 x RTX PRO 6000 Blackwell, 95.6 GiB, driver 580.82.07   1 lost" in report
    assert "GPU 3 (0000:45:00.0) lost: GPU is lost." in report


def test_a_host_whose_gpus_are_all_lost_says_so() -> None:
    lost = {"index": 0, "state": "lost", "state_reason": "GPU is lost"}
    report = host_report("gpu-01", {"gpu": {"devices": [lost], "driver": {}}})
    assert "GPU   none that answers, driver unknown   1 lost\n" in report
    assert "GPU 0 lost: GPU is lost\n" in report


def test_a_server_that_keeps_crashing_says_so_with_its_cause() -> None:
    crashes = {
        "count": 3,
        "since": "2026-11-29T02:11:00Z",
        "at": "2026-11-30T03:00:00Z",
        "cause": "host_oom_kill",
        "cause_line": "Memory cgroup out of memory: Killed process 4711 (sglang::TP3)",
    }
    facts = {"server": {"unit": "sglang-kimi.service", "active_state": "active"}}
    facts["server"]["crashes"] = crashes  # type: ignore[assignment]
    assert host_report("gpu-01", facts).splitlines()[1:5] == [
        "gpu-01   crashed 3 times since 29 Nov 2026, 02:11 UTC: host_oom_kill",
        "         Memory cgroup out of memory: Killed process 4711 (sglang::TP3)",
        "         -> the kernel ended a rank for lack of RAM: plan a smaller pool",
        "         (sglang_hicache_ratio) or keep more free (sglang_hicache_reserve_gib)",
    ]
    crashes.update(count=1, cause=None, cause_line=None)
    report = host_report("gpu-01", facts)
    assert "crashed on 29 Nov 2026, 02:11 UTC: exit" in report
    assert "crashed" not in host_report("gpu-01", {"server": {"crashes": None}})
