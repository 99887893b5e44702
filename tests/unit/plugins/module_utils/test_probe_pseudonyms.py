# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines and people get other names; versions, times and words do not."""

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._probe.pseudonyms import Pseudonyms


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("http://10.1.2.3:30000/x", "http://198.18.0.1:30000/x"),
        ("from 10.1.2.3 to 8.8.4.4, 10.1.2.3.", "from 198.18.0.1 to 198.18.0.2, 198.18.0.1."),
        ("addr=10.0.0.0/8", "addr=198.18.0.1/8"),
        ("[2a01:4f8::5]:80", "[2001:db8::1]:80"),
        ("fe80::1:2 and fe80::1:2", "2001:db8::1 and 2001:db8::1"),
        ("2001:0:1:2:3:4:5:6", "2001:db8::1"),
        ("02:42:ac:11:00:02", "02:00:00:00:00:01"),
        (
            "GPU-0f3c1d2e-4b5a-6978-8796-a5b4c3d2e1f0, x",
            "GPU-00000000-0000-0000-0000-000000000001, x",
        ),
        (
            "/home/mara/models /home/otto /home/mara",
            "/home/user-1/models /home/user-2 /home/user-1",
        ),
        ("on GPU-01.corp.example and gpu-01", "on host-1 and host-1"),
    ],
)
def test_what_tells_a_machine_is_replaced(text: str, clean: str) -> None:
    assert Pseudonyms(["gpu-01.corp.example"]).text(text) == clean


@pytest.mark.parametrize(
    "text",
    [
        "driver 580.82.07, library 580.82.07.01, NVML 13.580.95.05",
        "SGLang 0.5.12.post1, torch 2.9.1+cu130, 0.5.23",
        "nccl version 2.27.3.1 cudnn 9.10.2.21 Version: 12.9.1.4",
        "nvidia_cublas_cu12-12.9.1.4.dist-info nvidia_x-12.9.1.4-py3-none-any.whl x==12.9.1.4",
        "127.0.0.1:30000 0.0.0.0 255.255.255.0 [::]:80 ::1",
        "2026-11-30 20:30:22.123 00000000:01:00.0 0000:c6:00.0 12:30:45",
        "std::bad_alloc c10::Error at::native torch::cuda a::b",
        "vbios 98.02.2E.00.02 96.00.61.00.02",
        "gpu-011 xgpu-01 /homely/mara /root/x",
        "#tokens: 159300, KV size: 10.43 GB, 1.2.3",
    ],
)
def test_what_tells_none_stays(text: str) -> None:
    assert Pseudonyms(["gpu-01"]).text(text) == text


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-30T18:00:05+0000 rack-9 python[70]: rack-9 is up",
        "Nov 30 18:00:05 rack-9 systemd[1]: started on rack-9",
        "rack-9:70:71 [0] NCCL INFO rack-9",
        "--dist-init-addr rack-9:5000 is rack-9",
        "dist_init_addr='tcp://rack-9:5000', x on rack-9",
    ],
)
def test_machines_are_learned_where_a_log_names_them(line: str) -> None:
    names = Pseudonyms(["gpu-01"])
    names.learn(line)
    assert "rack-9" not in names.text(line) and names.text("rack-9 gpu-01") == "host-2 host-1"


def test_a_time_of_day_is_no_machine() -> None:
    names = Pseudonyms()
    names.learn("2026-11-30T18:00:05Z 10.1.2.3 x: y\n[2026-11-30 18:00:05] a b: c")
    assert names.counts() == {"hosts": 0}


def test_a_word_of_every_log_is_not_replaced_as_a_name() -> None:
    names = Pseudonyms(["gpu", "x", "kimi"], ["sglang-kimi.service"])
    assert names.text("gpu x kimi") == "gpu x kimi"
    assert names.kept == ["kimi"]


def test_names_are_counted_by_kind() -> None:
    names = Pseudonyms(["gpu-01"])
    names.text("gpu-01 10.1.2.3 10.1.2.4 10.1.2.3 /home/mara")
    assert names.counts() == {"hosts": 1, "addresses": 2, "users": 1}
