# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Unit text: the exact spelling. That systemd reads it back is shown by systemd_roundtrip.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._render.systemd import (
    SystemdTextError,
    environment_lines,
    exec_start,
    unit_text,
)
from hypothesis import given, settings
from hypothesis import strategies as st

PYTHON = "/opt/engine/bin/python"
CASES = Path(__file__).resolve().parents[2] / "systemd_cases.json"


def test_each_flag_stands_on_its_own_line_with_its_values() -> None:
    argv = [PYTHON, "-m", "sglang.launch_server", "--model-path", "/m", "--enable-metrics"]
    argv += ["--cuda-graph-bs-decode", "1", "2", "4"]
    assert exec_start(argv).split("\n") == [
        f"{PYTHON} -m sglang.launch_server \\",
        "    --model-path /m \\",
        "    --enable-metrics \\",
        "    --cuda-graph-bs-decode 1 2 4",
    ]


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("plain-0.5_x:y=z,/@+|", "plain-0.5_x:y=z,/@+|"),
        ("", '""'),
        ("two words", '"two words"'),
        ('{"a": 1}', "'{\"a\": 1}'"),
        ("it's", '"it\'s"'),
        ('it\'s "so"', '"it\'s \\"so\\""'),
        ("100%", "100%%"),
        ("$HOME", "$$HOME"),
        ("a\\b", '"a\\\\b"'),
        ("a\nb\tc\r", '"a\\nb\\tc\\r"'),
        (";", '";"'),
        ("#x", '"#x"'),
        ("é 🙂", '"é 🙂"'),
        ("\x1b", '"\\x1b"'),
        ("\x85", '"\\u0085"'),
        ("\u2028", '"\\u2028"'),
        ("\U000e0001", '"\\U000e0001"'),
    ],
)
def test_words_are_quoted_only_where_needed(word: str, text: str) -> None:
    assert exec_start([PYTHON, word]) == f"{PYTHON} {text}"


def test_environment_keeps_its_dollars() -> None:
    assert environment_lines({"A": "$HOME 5%", "B": ""}) == [
        'Environment="A=$HOME 5%%"',
        "Environment=B=",
    ]


@pytest.mark.parametrize(
    "executable",
    ["python", "", "/a/../b", "/a//b", "/a/", "/a'b", '/a"b', "/a\\b", "/$a", "/a\nb"],
)
def test_a_program_systemd_cannot_run_is_refused(executable: str) -> None:
    with pytest.raises(SystemdTextError):
        exec_start([executable, "x"])


def test_a_command_needs_a_program() -> None:
    with pytest.raises(SystemdTextError):
        exec_start([])


@pytest.mark.parametrize("word", ["a\x00b", "\ud800"])
def test_what_no_unit_file_can_hold_is_refused(word: str) -> None:
    with pytest.raises(SystemdTextError):
        exec_start([PYTHON, word])


@pytest.mark.parametrize("name", ["", "1A", "A-B", "A B", "Ä"])
def test_environment_names_are_checked(name: str) -> None:
    with pytest.raises(SystemdTextError):
        environment_lines({name: "x"})


def test_a_unit_is_written_by_the_types_of_its_values() -> None:
    sections = [
        ["Unit", [["Description", "50% of it"], ["After", ["a.target", "/b c"]]]],
        [
            "Service",
            [
                ["#", "why\nso"],
                ["PrivateTmp", True],
                ["SendSIGKILL", False],
                ["LimitCORE", 0],
                ["Environment", {"A": "1", "B": "2 3"}],
                ["ExecStart", ["/bin/x", "--y", "z"]],
            ],
        ],
    ]
    assert unit_text(sections) == (
        "[Unit]\n"
        "Description=50%% of it\n"
        'After=a.target "/b c"\n'
        "\n"
        "[Service]\n"
        "# why\n"
        "# so\n"
        "PrivateTmp=yes\n"
        "SendSIGKILL=no\n"
        "LimitCORE=0\n"
        "Environment=A=1\n"
        'Environment="B=2 3"\n'
        "ExecStart=/bin/x \\\n"
        "    --y z\n"
    )


@pytest.mark.parametrize("value", ["a\nExecStart=/bin/evil", "a\\", " a", "a\r"])
def test_text_that_would_reach_into_the_next_setting_is_refused(value: str) -> None:
    with pytest.raises(SystemdTextError):
        unit_text([["Service", [["Description", value]]]])


def test_a_key_must_be_the_name_of_a_setting() -> None:
    with pytest.raises(SystemdTextError):
        unit_text([["Service", [["Description=x\nUser", "root"]]]])


_TEXT = st.text(max_size=12)
_NAMES = st.sampled_from(["A", "HOME", "NCCL_DEBUG", "_x9"])


@settings(deadline=None)
@given(st.lists(_TEXT, max_size=8), st.dictionaries(_NAMES, _TEXT))
def test_no_value_ever_adds_a_line_or_a_setting(argv: list[str], values: dict[str, str]) -> None:
    try:
        text = unit_text([["Service", [["Environment", values], ["ExecStart", ["/x", *argv]]]]])
    except SystemdTextError:
        return
    lines = text.split("\n")
    assert lines[0] == "[Service]"
    flags = sum(word.startswith("--") for word in argv)
    assert len(lines) == 1 + len(values) + 1 + flags + 1
    assert all(line.startswith("Environment=") for line in lines[1 : 1 + len(values)])
    # An even number of backslashes would end the command early, one too many would run on.
    assert all(line.endswith(" \\") for line in lines[1 + len(values) : -2])


def test_the_cases_for_systemd_itself_can_all_be_written() -> None:
    for case in json.loads(CASES.read_text(encoding="utf-8")):
        assert unit_text([["Service", [["ExecStart", ["/x", *case["argv"]]]]]])
        assert len(environment_lines(case["environment"])) == len(case["environment"])
