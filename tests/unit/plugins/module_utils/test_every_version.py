# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No version ever gets a flag it does not know, and systemd hands over what was meant."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._engine.arguments import (
    MANAGED,
    build_arguments,
    to_argv,
)
from ansible_collections.llmops.sglang.plugins.module_utils._engine.environment import (
    build_environment,
)
from ansible_collections.llmops.sglang.plugins.module_utils._engine.flags import (
    FlagInfo,
    FlagTable,
    flags_of,
)
from ansible_collections.llmops.sglang.plugins.module_utils._engine.releases import (
    reads_variable,
    requirements_of,
    variable_span,
)
from ansible_collections.llmops.sglang.plugins.module_utils._engine.version import KNOWN, Version
from ansible_collections.llmops.sglang.plugins.module_utils._render.systemd import exec_start
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.engine_case import (
    HEADLINE,
    capacity,
    facts,
    wishes,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.systemd_reader import (
    read_exec_start,
)
from hypothesis import given, settings
from hypothesis import strategies as st

PYTHON = "/opt/engine/bin/python"
PLANS = [
    capacity("off"),
    capacity("ratio", ratio=1.5),
    capacity("size", size_gb=40),
]
SWITCHES = {
    "enable_dp_attention": st.booleans(),
    "overlap_schedule": st.booleans(),
    "disable_cuda_graph": st.booleans(),
    "trust_remote_code": st.booleans(),
    "log_requests": st.booleans(),
    "pcie_all_reduce": st.booleans(),
    "allreduce_fusion": st.sampled_from(["auto", "on", "off"]),
    "custom_all_reduce": st.sampled_from(["auto", "on", "off"]),
    "numa_bind": st.sampled_from(["auto", "on", "off"]),
    "dp_size": st.sampled_from([1, 2, 4]),
    "nnodes": st.sampled_from([1, 2]),
    "speculative_algorithm": st.sampled_from([None, "EAGLE", "EAGLE3", "NEXTN"]),
}
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)
NUMBERS = st.integers(-9, 10**6)


def plain_variables() -> dict[str, str]:
    """The variables that say one value with one flag, each with its newest spelling."""
    found = {}
    for managed in MANAGED:
        name = managed.variable[len("sglang_") :]
        if name not in SWITCHES and len(managed.forms[0]) == 1:
            found[name] = next(iter(managed.forms[0]))
    for name in ("api_key_file", "hicache_mode", "model_path", "port", "model_draft_path"):
        del found[name]
    return found


def value_of(info: FlagInfo) -> st.SearchStrategy[Any]:
    """A value that the parser of this version takes for a flag."""
    if not info.takes_value:
        return st.booleans()
    if info.choices:
        one = st.sampled_from([choice for choice in info.choices if choice is not None])
    else:
        one = {
            "int": NUMBERS,
            "human_readable_int": NUMBERS,
            "float": st.floats(0, 1e6),
            "loads": st.dictionaries(TEXT, TEXT),
            "str": TEXT,
        }.get(info.type or "str", st.none())
    # Among others a word that begins with a dash cannot be told from a flag.
    if info.nargs in ("+", "*"):
        return st.lists(one.filter(lambda item: not str(item).startswith("-")), min_size=1)
    return one


@st.composite
def situations(draw: st.DrawFn) -> tuple[Version, dict[str, Any]]:
    version = Version.parse(draw(st.sampled_from(KNOWN)))
    table = flags_of(version)
    change: dict[str, Any] = {name: draw(choice) for name, choice in SWITCHES.items()}
    if change["nnodes"] > 1:
        change["dist_init_addr"] = "10.0.0.1:20000"
    names = draw(st.lists(st.sampled_from(sorted(plain_variables())), unique=True, max_size=6))
    for name in names:
        info = table.resolve(plain_variables()[name])
        if info is not None:
            change[name] = draw(value_of(info))
    change["extra_args"] = draw(extras(table))
    return version, change


@st.composite
def extras(draw: st.DrawFn, table: FlagTable) -> dict[str, Any]:
    owned = {flag for managed in MANAGED for form in managed.forms for flag in form}
    free = [
        info
        for info in table
        if not owned & set(info.names)
        and not info.deprecated
        and info.action in ("store", "store_true")
        and info.name not in ("--api-key", "--admin-api-key")
        and (info.choices or info.type in (None, "int", "float", "str", "loads"))
    ]
    chosen = draw(st.lists(st.sampled_from(free), unique_by=lambda info: info.name, max_size=4))
    return {info.name.lstrip("-"): draw(value_of(info)) for info in chosen}


@settings(deadline=None, max_examples=150)
@given(situation=situations(), plan=st.sampled_from(PLANS))
def test_no_version_gets_what_it_does_not_know(
    situation: tuple[Version, dict[str, Any]], plan: dict[str, Any]
) -> None:
    version, change = situation
    asked = wishes(**change)
    arguments, findings = build_arguments(asked, plan, facts(), version)
    table = flags_of(version)
    assert findings == []
    assert all(table.resolve(argument["flag"]) for argument in arguments)
    argv = to_argv(arguments)
    assert table.accepts(argv) == []
    command = [PYTHON, "-m", "sglang.launch_server", *argv]
    assert read_exec_start(exec_start(command)) == command
    names = build_environment(asked, plan, facts(), version)
    assert all(reads_variable(name, version) is not False for name in names)


@pytest.mark.parametrize("text", KNOWN)
def test_the_headline_renders_for_every_version(text: str) -> None:
    version = Version.parse(text)
    host = facts(topology="SYS")
    arguments, findings = build_arguments(
        wishes(**HEADLINE), capacity("ratio", ratio=2.5), host, version
    )
    table = flags_of(version)
    flags = {argument["flag"] for argument in arguments}
    assert all(table.resolve(flag) for flag in flags)
    assert {"--tp-size", "--hicache-ratio", "--speculative-num-steps"} <= {
        name for flag in flags for info in [table.resolve(flag)] if info for name in info.names
    }
    # A file for the keys came with 0.5.3; nothing else of it cannot be said.
    assert [entry["variable"] for entry in findings] == (
        ["sglang_api_key_file"] if version < "0.5.3" else []
    )
    # The parser that reads Kimi's reasoning came with 0.5.5.
    refused = table.accepts(to_argv(arguments))
    assert [problem.split(":")[0] for problem in refused] == (
        ["argument --reasoning-parser"] if version < "0.5.5" else []
    )


def test_what_a_release_needs_is_recorded() -> None:
    assert requirements_of(Version.parse("0.5.23"))["python"] == "3.11"
    assert requirements_of(Version.parse("0.5.11"))["glibc"] == "2.34"
    assert "glibc" not in requirements_of(Version.parse("0.5.10.post1"))
    assert requirements_of(Version.parse("0.5.24")) == requirements_of(Version.parse("0.5.23"))


def test_which_release_reads_a_variable_is_recorded() -> None:
    def reads(name: str) -> list[str]:
        return [text for text in KNOWN if reads_variable(name, Version.parse(text))]

    assert (reads("SGLANG_ENABLE_SPEC_V2")[0], reads("SGLANG_ENABLE_SPEC_V2")[-1]) == (
        "0.5.4.post3",
        "0.5.13.post1",
    )
    assert variable_span("SGLANG_ENABLE_PCIE_IPC_ALLREDUCE") == ("0.5.21", None)
    # Before 0.5.3 nothing is recorded of a variable that may be older.
    assert reads_variable("SGLANG_SET_CPU_AFFINITY", Version.parse("0.5.2")) is None
    assert reads_variable("NCCL_DEBUG", Version.parse("0.5.23")) is None
