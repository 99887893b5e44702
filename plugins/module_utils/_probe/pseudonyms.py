# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Other names for what tells one machine or person from another.

This module util is private to the llmops.sglang collection.

Equal originals get equal pseudonyms, so what belonged together still does. A pseudonym is left as
it is, so cleaning a clean text changes nothing.
"""

from __future__ import annotations

import ipaddress
import re
import typing as t

# Names that are words of every log; to replace them would hide no machine and break every line.
_COMMON = (
    "cache cpu cuda debian default gpu host kernel kv local localhost log main memory model nccl "
    "node nvidia python rank server sglang systemd token torch ubuntu user worker"
)
_MIN_NAME = 3

_HEX = "[0-9A-Fa-f]"
_GPU = re.compile(rf"\b(GPU|MIG)-({_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}})\b")
_MAC = re.compile(rf"(?<![\w:.])(?:{_HEX}{{2}}:){{5}}{_HEX}{{2}}(?![\w:])")
_IPV4 = re.compile(r"(?<![0-9A-Za-z.])(?:\d{1,3}\.){3}\d{1,3}(?![0-9A-Za-z]|\.\w|\+|-py)")
# No word of Python or C++ may precede or follow: std::bad_alloc has no address in it.
_IPV6 = re.compile(rf"(?<![\w:.])(?=[\w]*:[\w:]*:){_HEX}{{0,4}}(?::{_HEX}{{0,4}}){{2,8}}(?![\w:.])")
_HOME = re.compile(r"(/home/)([^/\s:;,'\"<>|]+)")
# 2.27.3.1 is a version where one of these stands before it.
_VERSION = re.compile(
    r"(?:version|driver|release|cuda|cudnn|nccl|cublas|vbios|[=<>~]=)[\s:='\"(]*$", re.IGNORECASE
)
# Columns of a log that hold a host's name: journalctl -o short-iso and -o short, NCCL's own prefix;
# and the rendezvous of several nodes.
_NAMED = (
    re.compile(
        r"^(?:\d{4}-\d\d-\d\dT[\d:.,]+(?:[+-]\d\d:?\d\d|Z)?|[A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d) "
        r"([A-Za-z0-9][\w.-]*) [^\s:\[\]]+(?:\[\d+\])?: ",
        re.MULTILINE,
    ),
    re.compile(r"(?:^|\s)([A-Za-z0-9][\w.-]*):\d+:\d+ \[\d+\] NCCL ", re.MULTILINE),
    re.compile(
        r"(?:dist|nccl)[-_]init[-_]addr(?:\\*[\"'])?(?:\s*[:=,]\s*|\s+)(?:\\*[\"'])?"
        r"(?:tcp://)?([A-Za-z0-9][\w.-]*):\d"
    ),
)
_NOT_A_MACHINE = re.compile(r"(?:[\d.]+|host-\d+|localhost(?:\..*)?)$", re.IGNORECASE)
_OWN_RANGES = ("198.18.0.0/15", "2001:db8::/32")


class Pseudonyms:
    """The pseudonyms of one bundle."""

    def __init__(self, names: t.Iterable[str] = (), protected: t.Iterable[str] = ()) -> None:
        """C(names) are the host's own. One that is also a word of C(protected), as of the unit's
        name, cannot be replaced without breaking what is told; it stands in C(kept) then."""
        self._given: dict[str, dict[str, str]] = {}
        self._ours = [ipaddress.ip_network(text) for text in _OWN_RANGES]
        self._hosts: dict[str, str] = {}
        self._host_pattern: t.Pattern[str] | None = None
        self.kept: list[str] = []
        protected = " ".join(protected)
        for name in sorted({name for full in names for name in _names(full)}):
            if _word(name).search(protected):
                self.kept.append(name)
            else:
                self._hosts[name.lower()] = "host-1"
        self._compile()

    def learn(self, text: str) -> None:
        """Take note of the machines that a text names in places meant for names."""
        known = len(self._hosts)
        for pattern in _NAMED:
            for match in pattern.finditer(text):
                for name in _names(match[1]):
                    if name.lower() not in self._hosts and name not in self.kept:
                        others = {*self._hosts.values(), "host-1"}
                        self._hosts[name.lower()] = f"host-{len(others) + 1}"
        if len(self._hosts) > known:
            self._compile()

    def text(self, text: str) -> str:
        """A text with pseudonyms for machines, addresses, GPUs and home folders."""
        if self._host_pattern:
            text = self._host_pattern.sub(lambda match: self._hosts[match[0].lower()], text)
        if "-" in text:
            text = _GPU.sub(self._gpu, text)
        if ":" in text:
            text = _MAC.sub(self._mac, text)
            text = _IPV6.sub(self._address, text)
        text = _IPV4.sub(self._address, text)
        return _HOME.sub(self._home, text) if "/home/" in text else text

    def data(self, value: t.Any) -> t.Any:
        """A JSON value, all its text and keys as L(text) leaves them."""
        if isinstance(value, dict):
            return {
                self.text(key) if isinstance(key, str) else key: self.data(entry)
                for key, entry in value.items()
            }
        if isinstance(value, list):
            return [self.data(entry) for entry in value]
        return self.text(value) if isinstance(value, str) else value

    def counts(self) -> dict[str, int]:
        """How many different originals of each kind got a pseudonym."""
        counts = {kind: len(given) for kind, given in self._given.items()}
        return {"hosts": len(set(self._hosts.values())), **counts}

    def _compile(self) -> None:
        longest_first = sorted(self._hosts, key=len, reverse=True)
        if longest_first:
            words = "|".join(re.escape(name) for name in longest_first)
            self._host_pattern = re.compile(
                rf"(?<![A-Za-z0-9])(?:{words})(?![A-Za-z0-9])", re.IGNORECASE
            )

    def _number(self, kind: str, original: str) -> int:
        given = self._given.setdefault(kind, {})
        return int(given.setdefault(original.lower(), str(len(given) + 1)))

    def _gpu(self, match: t.Match[str]) -> str:
        if match[2].startswith("00000000-0000-"):
            return match[0]
        number = self._number("gpus", match[0])
        return f"{match[1]}-00000000-0000-0000-0000-{number:012d}"

    def _mac(self, match: t.Match[str]) -> str:
        if match[0].startswith("02:00:00:00:") or set(match[0]) <= set("0:"):
            return match[0]
        number = self._number("interfaces", match[0])
        return f"02:00:00:00:{number // 256 % 256:02x}:{number % 256:02x}"

    def _address(self, match: t.Match[str]) -> str:
        try:
            address = ipaddress.ip_address(match[0])
        except ValueError:  # an octet above 255 or with a zero in front, a time of day
            return match[0]
        if address.is_loopback or address.is_unspecified or self._is_public(address):
            return match[0]
        if _VERSION.search(match.string[max(0, match.start() - 24) : match.start()]):
            return match[0]
        number = self._number("addresses", str(address))
        first = "198.18.0.0" if address.version == 4 else "2001:db8::"
        return str(ipaddress.ip_address(first) + number)

    def _is_public(self, address: t.Any) -> bool:
        """Addresses that name no machine: net masks, version numbers below 1, our pseudonyms."""
        if address.version == 4 and (address.packed[0] == 0 or address.packed[:2] == b"\xff\xff"):
            return True
        return any(address in network for network in self._ours)

    def _home(self, match: t.Match[str]) -> str:
        if re.match(r"user-\d+$", match[2]):
            return match[0]
        return f"{match[1]}user-{self._number('users', match[2])}"


def _names(name: str) -> list[str]:
    """The spellings of a machine's name that may be replaced: whole, and without its domain."""
    spellings = {name.strip("."), name.split(".")[0]}
    return [
        spelling
        for spelling in spellings
        if len(spelling) >= _MIN_NAME
        and spelling.lower() not in _COMMON.split()
        and not _NOT_A_MACHINE.match(spelling)
    ]


def _word(name: str) -> t.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", re.IGNORECASE)
