# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the hosts of one engine meet: rank, address and interface of each, from network facts.

Private to the collection.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

# What a container engine makes on each host by the same addresses joins no two hosts.
_OWN_BRIDGES = ("docker", "br-", "podman", "cni", "virbr", "veth", "lxc", "lxd")


class NodesError(ValueError):
    """The hosts have no place to meet, or too many; the text says what to set."""


@dataclass(frozen=True)
class Place:
    """One address of a host."""

    interface: str
    address: ipaddress.IPv4Address
    network: ipaddress.IPv4Network


def meet(
    facts: Mapping[str, Mapping[str, Any]], port: int, wanted: str = ""
) -> dict[str, dict[str, Any]]:
    """Return the role variables of each host, in the order of `facts`; the first is rank 0.

    `wanted` is a network such as C(10.0.0.0/24), for hosts that share several.
    Raises NodesError when there is not exactly one place to meet.
    """
    if len(facts) < 2:
        raise NodesError("one engine over several hosts needs at least two (sglang_hosts)")
    places = {host: _places(known) for host, known in facts.items()}
    head = next(iter(facts))
    common = [place for place in places[head] if _joins(place, places)]
    chosen = _chosen(common, wanted, facts[head], places)
    return {
        host: {
            "sglang_nnodes": len(facts),
            "sglang_node_rank": rank,
            "sglang_dist_init_addr": f"{chosen.address}:{port}",
            "sglang_socket_interface": _within(places[host], chosen.network).interface,
        }
        for rank, host in enumerate(facts)
    }


def _places(facts: Mapping[str, Any]) -> list[Place]:
    found = []
    for interface in facts.get("interfaces") or []:
        if interface == "lo" or interface.startswith(_OWN_BRIDGES):
            continue
        # Facts have underscores where a name of an interface may have something else.
        known = facts.get(interface.replace("-", "_").replace(".", "_").replace(":", "_")) or {}
        for entry in [known.get("ipv4"), *(known.get("ipv4_secondaries") or [])]:
            if entry and entry.get("address") and entry.get("netmask"):
                inside = ipaddress.IPv4Interface(f"{entry['address']}/{entry['netmask']}")
                if not inside.is_loopback:
                    found.append(Place(interface, inside.ip, inside.network))
    return found


def _within(places: Iterable[Place], network: ipaddress.IPv4Network) -> Place:
    return next(place for place in places if place.network == network)


def _joins(place: Place, places: Mapping[str, list[Place]]) -> bool:
    """Whether every host has an address of its own in this network."""
    addresses = [
        next((other.address for other in own if other.network == place.network), None)
        for own in places.values()
    ]
    return None not in addresses and len(set(addresses)) == len(addresses)


def _chosen(
    common: list[Place],
    wanted: str,
    head: Mapping[str, Any],
    places: Mapping[str, list[Place]],
) -> Place:
    if wanted:
        try:
            network = ipaddress.IPv4Network(wanted)
        except ValueError:
            raise NodesError(
                f"sglang_nodes_network {wanted!r} is no network such as 10.0.0.0/24"
            ) from None
        common = [place for place in common if place.network == network]
    if len(common) > 1:
        default = (head.get("default_ipv4") or {}).get("address")
        common = [place for place in common if str(place.address) == default] or common
    if len(common) == 1:
        return common[0]
    if common:
        raise NodesError(
            "the hosts share several networks, "
            + ", ".join(str(place.network) for place in common)
            + ": name one in sglang_nodes_network"
        )
    seen = "; ".join(
        f"{host} is in {', '.join(str(place.network) for place in own) or 'none'}"
        for host, own in places.items()
    )
    raise NodesError(
        f"the hosts share no {'such ' if wanted else ''}network, in which each has an address of "
        f"its own: {seen}. Set sglang_nodes_network, or sglang_node_rank, sglang_dist_init_addr "
        "and sglang_socket_interface of each host"
    )
