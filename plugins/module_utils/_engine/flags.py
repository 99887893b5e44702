# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command-line flags of every known SGLang version, and what its parser refuses.

Private to the collection, and for the controller only: see `releases.py` for the data. On a target
the installed engine's own parser has the last word.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any, Callable, NoReturn

from .releases import release_data
from .version import KNOWN, Version

_ACTIONS_WITH_VALUE = ("store", "lora_path", "deprecated_alias")


@dataclass(frozen=True)
class FlagInfo:
    """One flag as one version defines it. Field meanings stand at the top of this file."""

    names: tuple[str, ...]
    dest: str
    action: str
    type: str | None
    nargs: int | str | None
    const: Any
    default: Any
    choices: tuple[Any, ...] | None
    required: bool
    deprecated: bool

    @property
    def name(self) -> str:
        """The spelling this version shows first."""
        return self.names[0]

    @property
    def takes_value(self) -> bool:
        """Whether at least one value may follow the flag."""
        return self.nargs != 0


@dataclass(frozen=True)
class ParsedArguments:
    """What an argument list means: every dest with its value, and what is wrong with it."""

    values: dict[str, Any]
    problems: list[str]


class FlagTable:
    """All flags of one version. Iterates over FlagInfo in the order of their first name."""

    def __init__(self, version: Version, flags: Sequence[FlagInfo]) -> None:
        self.version = version
        self._flags = tuple(flags)
        self._by_name = {name: flag for flag in flags for name in flag.names}
        self._parsers: dict[bool, _Parser] = {}

    def __iter__(self) -> Iterator[FlagInfo]:
        return iter(self._flags)

    def names(self) -> tuple[str, ...]:
        """Return every accepted spelling, in alphabetical order."""
        return tuple(sorted(self._by_name))

    def resolve(self, name: str) -> FlagInfo | None:
        """Return the flag with this exact spelling ("--tp-size" or "tp-size"), or None."""
        return self._by_name.get(name) or self._by_name.get(f"--{name}")

    def accepts(self, argv: Sequence[str]) -> list[str]:
        """Return what this version's parser would refuse in `argv`, in argparse's words.

        Every bad value is listed; an error after which argparse cannot go on (an ambiguous
        prefix, whose candidates stand in alphabetical order, or a missing value) comes last.
        An empty list means accepted. What a deprecated flag does beyond its value is not known.
        """
        return self.parse(argv).problems

    def parse(self, argv: Sequence[str]) -> ParsedArguments:
        """Read `argv` as this version's parser does, abbreviations and "--flag=value" included.

        The file behind "--config FILE" is not read, so with it no flag counts as missing.
        """
        parser = self._parser(required="--config" not in argv)
        parser.problems.clear()
        values = argparse.Namespace(**self._defaults())
        try:
            _known, extra = parser.parse_known_args(list(argv), values)
        except _Refused as refusal:
            parser.problems.append(str(refusal))
        else:
            if extra:
                parser.problems.append(f"unrecognized arguments: {' '.join(extra)}")
        return ParsedArguments(vars(values), [*parser.problems])

    def _parser(self, required: bool) -> _Parser:
        """The parser of this version; made once, as hundreds of flags cost more than a plan."""
        if required not in self._parsers:
            self._parsers[required] = _Parser(self._flags, required)
        return self._parsers[required]

    def _defaults(self) -> dict[str, Any]:
        # A renamed flag and its deprecated spelling share a dest; the new one sets the default.
        ordered = sorted(self._flags, key=lambda flag: not flag.action.startswith("deprecated"))
        return {flag.dest: flag.default for flag in ordered}


def flags_of(version: Version) -> FlagTable:
    """Return the flags of `version`, or of the known version nearest to it."""
    return _table(version.nearest_known()[0])


def versions_with(name: str) -> tuple[str, ...]:
    """Return the known versions, oldest first, that accept this exact spelling."""
    return tuple(text for text in KNOWN if flags_of(Version.parse(text)).resolve(name))


@cache
def _table(version: Version) -> FlagTable:
    data = release_data()
    present = [
        entry
        for entry in data["flags"]
        if version >= entry.get("since", KNOWN[0]) and version <= entry.get("until", KNOWN[-1])
    ]
    return FlagTable(version, [_flag(entry, data["choices"]) for entry in present])


def _flag(entry: dict[str, Any], choices: list[list[Any]]) -> FlagInfo:
    names = tuple(entry["names"])
    action = entry.get("action", "store")
    stores_true = action in ("store_true", "deprecated_store_true")
    with_value = action in _ACTIONS_WITH_VALUE
    nargs = entry.get("nargs", None if with_value else 0)
    return FlagInfo(
        names=names,
        dest=entry.get("dest", names[0].lstrip("-").replace("-", "_")),
        action=action,
        type=entry.get("type", None if nargs == 0 else "str"),
        nargs=nargs,
        const=entry.get("const", True if stores_true else None),
        default=entry.get("default", False if stores_true else None),
        choices=tuple(choices[entry["choices"]]) if "choices" in entry else None,
        required=entry.get("required", False),
        deprecated=entry.get("deprecated", False),
    )


class _Refused(Exception):
    """An error after which argparse does not go on."""


class _Parser(argparse.ArgumentParser):
    """The real argparse, with upstream's flags, that collects bad values instead of exiting."""

    def __init__(self, flags: Sequence[FlagInfo], required: bool) -> None:
        super().__init__(add_help=False)
        self.problems: list[str] = []
        self.add_argument("-h", "--help", action=_Switch, nargs=0, default=argparse.SUPPRESS)
        for flag in flags:
            if flag.takes_value:
                self.add_argument(
                    *flag.names,
                    dest=flag.dest,
                    type=_Converter(flag, self.problems),
                    nargs=flag.nargs,
                    const=flag.const,
                    default=argparse.SUPPRESS,
                    required=flag.required and required,
                )
            else:
                self.add_argument(
                    *flag.names,
                    dest=flag.dest,
                    action=_Switch,
                    nargs=0,
                    const=flag.const,
                    default=argparse.SUPPRESS,
                )

    def error(self, message: str) -> NoReturn:
        raise _Refused(message)


class _Switch(argparse.Action):
    """A flag without a value; a "--no-" spelling turns it off."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        off = len(self.option_strings) > 1 and (option_string or "").startswith("--no-")
        setattr(namespace, self.dest, not off)


class _Converter:
    """Turns one value into its type, or notes in argparse's words why it is refused."""

    def __init__(self, flag: FlagInfo, problems: list[str]) -> None:
        self._flag = flag
        self._problems = problems

    def __call__(self, text: str) -> Any:
        flag = self._flag
        try:
            value = _TYPES.get(flag.type or "str", str)(text)
        except argparse.ArgumentTypeError as error:
            return self._refuse(text, str(error))
        except ValueError:
            return self._refuse(text, f"invalid {flag.type} value: {text!r}")
        if flag.choices is not None and value not in flag.choices:
            allowed = ", ".join(repr(choice) for choice in flag.choices)
            return self._refuse(text, f"invalid choice: {value!r} (choose from {allowed})")
        return value

    def _refuse(self, text: str, reason: str) -> str:
        self._problems.append(f"argument {'/'.join(self._flag.names)}: {reason}")
        return text


_SUFFIXES = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY_SUFFIXES = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def _human_readable_int(text: str) -> int:
    """Read a count: 256k is 256 000, 256Ki is 262 144; decimals only before k, M, G and T."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(Ki|Mi|Gi|Ti|k|M|G|T)", text.strip())
    if found is None:
        try:
            return int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(
                f"Invalid integer value: '{text}'. Use a plain integer, SI suffixes (1k, 1M), "
                "or IEC suffixes (1Ki, 1Mi). Suffixes are case-sensitive."
            ) from None
    number, suffix = found.groups()
    if suffix in _SUFFIXES:
        return int(Decimal(number) * _SUFFIXES[suffix])
    if "." in number:
        raise argparse.ArgumentTypeError(
            f"Decimals are not allowed with IEC suffixes like '{suffix}'."
        )
    return int(number) * _BINARY_SUFFIXES[suffix]


def _json_list(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"Invalid JSON list: {text}. Please provide a valid JSON list."
        ) from None


def _cuda_graph_config(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"--cuda-graph-config must be JSON: {error}") from None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError("--cuda-graph-config must be a JSON object")
    return value


def _nullable(text: str) -> str | None:
    return None if text in ("", "None") else text


_TYPES: dict[str, Callable[[str], Any]] = {
    "int": int,
    "float": float,
    "human_readable_int": _human_readable_int,
    "loads": json.loads,
    "json_list_type": _json_list,
    "nullable_str": _nullable,
    "parse_cuda_graph_config_arg": _cuda_graph_config,
}
