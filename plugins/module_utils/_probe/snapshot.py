# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole host in one snapshot.

This module util is private to the llmops.sglang collection.

Each part fails alone: whatever goes wrong while one is read becomes its C(reason).

Python compiles what a module brings along at every run, so what few runs need is imported where it
is used.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .._facts import shorten
from .._keys import parse_keys
from .._layout import unit_name
from . import server
from .engine import read_engine
from .gpu import read_gpu
from .memory import read_memory
from .model import read_model
from .redact import Redactor, secrets_of, secrets_of_argv
from .source import Live, Source

Facts = dict[str, t.Any]

SCHEMA = 1
PARTS = ("gpu", "memory", "model", "engine", "server")
DEFAULT_PORT = 30000
# What a replay has to ask for, to get the facts of the host.
REPLAYED = {
    "instance": str,
    "unit": str,
    "model_path": str,
    "draft_path": str,
    "engine_path": str,
    "port": int,
}


@dataclasses.dataclass(frozen=True)
class Request:
    """What to read. Empty paths and no port are taken from the running server's command line.

    With C(arguments) the installed engine is asked whether it accepts them.
    """

    instance: str = "kimi"
    unit: str = ""
    model_path: str = ""
    draft_path: str = ""
    engine_path: str = ""
    port: int | None = None
    secrets_file: str = ""
    parts: tuple[str, ...] = PARTS
    arguments: tuple[str, ...] | None = None
    detail: bool = False
    timeout_s: float = 20.0

    @property
    def unit_name(self) -> str:
        """The systemd unit of the instance."""
        return self.unit or unit_name(self.instance)


def open_source(recording: str | None) -> Source:
    """The live host, or the recording at a path. Raises ValueError when there is none."""
    if not recording:
        return Live()
    from .recorded import Recorded

    return Recorded(recording)


def completed(request: Request, source: Source) -> Request:
    """The request, with what a recording was made with in place of the defaults."""
    if source.origin == "live":
        return request
    from .recorded import Recorded

    recorded = source.request if isinstance(source, Recorded) else {}
    default = Request()
    return dataclasses.replace(
        request,
        **{
            name: recorded[name]
            for name, kind in REPLAYED.items()
            if getattr(request, name) == getattr(default, name)
            and isinstance(recorded.get(name), kind)
        },
    )


def take_snapshot(source: Source, request: Request) -> Facts:
    """The facts of the host, by the parts that were asked for."""
    keys = _keys(source, request.secrets_file)
    unit, timeout_s = request.unit_name, request.timeout_s
    show = _or(dict[str, str](), lambda: server.read_unit(source, unit, timeout_s))
    pid = server.main_pid(show)
    redactor = Redactor({*keys, *_given_away(source, pid)})
    argv = _or(None, lambda: server.read_argv(source, pid, redactor))
    model_path = request.model_path or server.flag_value(argv, "--model-path", "--model") or ""
    draft_path = (
        request.draft_path
        or server.flag_value(argv, "--speculative-draft-model-path", "--speculative-draft-model")
        or ""
    )
    engine_path = request.engine_path or _engine_of(argv)
    port = request.port or server.number(server.flag_value(argv, "--port")) or DEFAULT_PORT
    readers: dict[str, t.Callable[[], t.Any]] = {
        "gpu": lambda: read_gpu(source, engine_path, timeout_s, unit),
        "memory": lambda: read_memory(source, unit, show, pid),
        "model": lambda: read_model(source, "model", model_path),
        "engine": lambda: _engine(source, engine_path, request, keys),
        "server": lambda: server.read_server(
            source,
            redactor,
            unit,
            request.instance,
            show,
            argv,
            port,
            keys,
            request.detail,
            timeout_s,
        ),
    }
    facts: Facts = {
        "schema": SCHEMA,
        "taken_at": source.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        "origin": source.origin,
        "boot_id": (source.read_text("/proc/sys/kernel/random/boot_id") or "").strip() or None,
    }
    for part in PARTS:
        if part in request.parts:
            facts[part] = _part(redactor, readers[part])
    if "model" in request.parts:
        has_draft = (
            bool(draft_path)
            or source.exists(source.folder("draft", ""))
            and (source.origin == "recording")
        )
        facts["draft"] = (
            _part(redactor, lambda: read_model(source, "draft", draft_path))
            if (has_draft)
            else None
        )
    _complete(facts)
    return facts if request.detail else shorten(facts, unit)


def _part(redactor: Redactor, read: t.Callable[[], t.Any]) -> t.Any:
    """A part, or why it could not be read. A probe never ends in a traceback."""
    try:
        return redactor.careful().data(read())
    except Exception as error:
        return {"reason": redactor.text(f"{type(error).__name__}: {error}")[:200]}


_Value = t.TypeVar("_Value")


def _or(default: _Value, read: t.Callable[[], _Value]) -> _Value:
    try:
        return read()
    except Exception:
        return default


def _engine(source: Source, path: str, request: Request, keys: list[str]) -> Facts:
    """The engine, with what it says of the arguments that it was asked about."""
    facts = read_engine(source, path)
    if request.arguments is not None:
        from .parser import read_verdict

        facts["arguments"] = read_verdict(
            source, facts["python"], request.arguments, request.unit_name, keys
        )
    return facts


def _engine_of(argv: list[str] | None) -> str:
    """The engine a server runs with: the folder above bin/python."""
    program = argv[0] if argv else ""
    return program.rsplit("/bin/", 1)[0] if "/bin/" in program else ""


def _complete(facts: Facts) -> None:
    """A server that answers knows its version better than no file at all."""
    engine, info = facts.get("engine") or {}, (facts.get("server") or {}).get("info") or {}
    if "version" in engine and engine["version"] is None:
        engine["version"] = info.get("version")


def _keys(source: Source, path: str) -> list[str]:
    """The keys of the server: the one for requests first. Empty when there is no readable file."""
    text = source.read_text(path) if path else None
    return _or([], lambda: parse_keys(text or "").known())


def _given_away(source: Source, pid: int | None) -> set[str]:
    """Secrets of the running server that its environment and its command line tell."""
    if pid is None:
        return set()
    environment = source.read_text(f"/proc/{pid}/environ") or ""
    command = source.read_text(f"/proc/{pid}/cmdline") or ""
    return secrets_of(environment) | secrets_of_argv(command.split("\0"))
