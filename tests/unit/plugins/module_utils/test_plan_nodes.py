# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the hosts of one engine meet."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._plan.nodes import NodesError, meet


def host(default: str = "", **interfaces: str) -> dict[str, Any]:
    """Network facts: each interface with one address, C(10.0.0.1/24)."""
    facts: dict[str, Any] = {
        "interfaces": ["lo", *(name.replace("_", "-") for name in interfaces)],
        "lo": {"ipv4": {"address": "127.0.0.1", "netmask": "255.0.0.0"}},
        "default_ipv4": {"address": default} if default else {},
    }
    for name, text in interfaces.items():
        address, length = text.split("/")
        mask = {"24": "255.255.255.0", "16": "255.255.0.0"}[length]
        facts[name] = {"ipv4": {"address": address, "netmask": mask}}
    return facts


def test_each_host_gets_its_rank_and_its_own_interface() -> None:
    known = meet({"b": host(eth0="10.0.0.2/24"), "a": host(ens_1="10.0.0.1/24")}, 20000)
    assert list(known) == ["b", "a"]
    assert known["b"] == {
        "sglang_nnodes": 2,
        "sglang_node_rank": 0,
        "sglang_dist_init_addr": "10.0.0.2:20000",
        "sglang_socket_interface": "eth0",
    }
    assert known["a"]["sglang_node_rank"] == 1
    assert known["a"]["sglang_dist_init_addr"] == "10.0.0.2:20000"
    assert known["a"]["sglang_socket_interface"] == "ens-1"


def test_the_network_of_the_default_route_is_the_one_unless_another_is_named() -> None:
    hosts = {
        f"gpu-{number}": host(
            f"10.0.0.{number}", ib0=f"10.9.0.{number}/24", eth0=f"10.0.0.{number}/24"
        )
        for number in (1, 2)
    }
    assert meet(hosts, 1)["gpu-1"]["sglang_dist_init_addr"] == "10.0.0.1:1"
    named = meet(hosts, 1, "10.9.0.0/24")
    assert named["gpu-2"]["sglang_dist_init_addr"] == "10.9.0.1:1"
    assert named["gpu-2"]["sglang_socket_interface"] == "ib0"


def test_what_each_host_has_for_itself_joins_no_two() -> None:
    hosts = {
        name: host(docker0="172.17.0.1/16", eth1=f"10.0.0.{number}/24", vpn="10.5.0.1/24")
        for number, name in enumerate(("a", "b"), 1)
    }
    assert meet(hosts, 1)["a"]["sglang_socket_interface"] == "eth1"


@pytest.mark.parametrize(
    ("hosts", "wanted", "expected"),
    [
        ({"a": host(eth0="10.0.0.1/24")}, "", "at least two"),
        (
            {"a": host(eth0="10.0.0.1/24"), "b": host(eth0="10.1.0.1/24")},
            "",
            "a is in 10.0.0.0/24; b is in 10.1.0.0/24",
        ),
        ({"a": host(eth0="10.0.0.1/24"), "b": host()}, "", "b is in none"),
        (
            {
                name: host(e0=f"10.0.0.{n}/24", e1=f"10.1.0.{n}/24")
                for n, name in enumerate("ab", 1)
            },
            "",
            "name one in sglang_nodes_network",
        ),
        (
            {"a": host(eth0="10.0.0.1/24"), "b": host(eth0="10.0.0.2/24")},
            "10.2.0.0/24",
            "share no such network",
        ),
        (
            {"a": host(eth0="10.0.0.1/24"), "b": host(eth0="10.0.0.2/24")},
            "eth0",
            "is no network such as",
        ),
    ],
)
def test_no_place_or_too_many_is_an_error(
    hosts: dict[str, Any], wanted: str, expected: str
) -> None:
    with pytest.raises(NodesError, match=expected):
        meet(hosts, 20000, wanted)
