# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names and folders of one instance, all derived from its name. Private to the collection."""

from __future__ import annotations

CREDENTIAL = "secrets.yaml"
# Where a unit says from which variables its host pool was planned.
TIER_SECTION = "X-Llmops"
TIER_KEY = "Tier"

_LOOPBACK = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}


def server_url(host: str | None, port: int) -> str:
    """Return where the host itself reaches a server that listens on `host`.

    A wildcard address is not an address to ask: each includes its family's loopback.
    """
    address = _LOOPBACK.get(host or "", host or "")
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"


def unit_name(instance: str) -> str:
    """Return the name of the instance's systemd unit."""
    return f"sglang-{instance}.service"


def unit_file(instance: str) -> str:
    """Return where the instance's unit is written."""
    return f"/etc/systemd/system/{unit_name(instance)}"


def service_folder(instance: str) -> str:
    """Return the instance's folder below /var/lib, /var/cache and the like."""
    return f"sglang/{instance}"


def state_folder(instance: str) -> str:
    """Return the instance's home: what must survive a restart."""
    return f"/var/lib/{service_folder(instance)}"


def cache_folder(instance: str) -> str:
    """Return where the engine's compiled kernels go: may be lost, at the price of a slow start."""
    return f"/var/cache/{service_folder(instance)}"


def secrets_file(instance: str) -> str:
    """Return the file that only root reads and systemd hands over as a credential."""
    return f"/etc/{service_folder(instance)}/{CREDENTIAL}"


def proven_folder(instance: str) -> str:
    """Return where proven units are kept, below a folder that the service cannot write."""
    return f"/etc/{service_folder(instance)}/proven"


def proven_record(instance: str) -> str:
    """Return the record of the last proof."""
    return f"{proven_folder(instance)}/current.json"


def claim_file(instance: str) -> str:
    """Return who changes the instance right now; a reboot ends every claim."""
    return f"/run/llmops-sglang/{instance}.json"


def notes_file(instance: str) -> str:
    """Return the diary of changes, one JSON object per line."""
    return f"/var/log/llmops-sglang/{instance}.jsonl"


def credential_path(instance: str) -> str:
    """Return where the running engine finds its secrets."""
    return f"/run/credentials/{unit_name(instance)}/{CREDENTIAL}"
