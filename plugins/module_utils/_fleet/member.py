# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One host of a rollout, as it was found before anything was touched. Pure.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .._engine import endpoints

#: What a host needs: nothing, a proof of what runs already, a start, a restart.
NOTHING, PROVE, START, RESTART = "nothing", "prove", "start", "restart"
#: Verdicts of the gate that let a host be changed.
_ALLOWED = ("nothing", "proceed")


@dataclass(frozen=True)
class Member:
    """One instance on one host. Unknown is None; `failure` says why it was not planned."""

    name: str
    address: str
    failure: str | None = None
    instance: str | None = None
    ports: tuple[int, ...] = ()
    model: str | None = None
    engine_version: str | None = None
    worker_url: str | None = None
    routers: tuple[str, ...] = ()
    need: str | None = None
    verdict: str | None = None
    proven: bool = False
    serves: bool = False
    boot_id: str | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    changes: tuple[Mapping[str, Any], ...] = ()
    refusals: tuple[str, ...] = ()

    @property
    def work(self) -> str:
        """What is to be done to it."""
        if self.need == "none":
            return NOTHING if self.proven else PROVE
        return self.need or NOTHING

    @property
    def blocked(self) -> str | None:
        """Why it must not be touched; None when it may."""
        if self.failure is not None:
            return self.failure
        if self.verdict in _ALLOWED:
            return None
        return f"the gate says {self.verdict}: " + "; ".join(self.refusals)


def member_of(name: str, found: Mapping[str, Any] | None) -> Member:
    """A host from what the role noted of it; without a note it was not reached."""
    if not found:
        return Member(name, name, failure="it could not be reached")
    known = {field for field in Member.__dataclass_fields__ if field not in ("name", "address")}
    values = {key: _frozen(value) for key, value in found.items() if key in known}
    if found.get("port"):
        values["ports"] = endpoints.ports(int(found["port"]), bool(found.get("attention_dp")))
    if values.get("engine_version"):
        # A label of where it was built makes no other version.
        values["engine_version"] = str(values["engine_version"]).partition("+")[0]
    return Member(name, str(found.get("address") or name), **values)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
