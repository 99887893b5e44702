# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recorded host as one file that may be given away: without secrets, under other names.

This module util is private to the llmops.sglang collection.

What is given away is all that the readers read, and nothing else. Secrets become C(<redacted>),
what users asked becomes C(<removed>), and machines, addresses, GPUs and home folders get
pseudonyms. Replayed, it gives the facts of the host under these names.
"""

from __future__ import annotations

import json
import re
import typing as t

from .._engine.log_line import MAX_LINE, split_line
from .._engine.request_lines import REMOVED, without_request
from .archive import Members
from .journal import message_of
from .pseudonyms import Pseudonyms
from .recorded import META, VARIABLES
from .recorder import Recorder
from .redact import REDACTED, Redactor, secrets_in, secrets_of, secrets_of_argv
from .snapshot import REPLAYED, Request, take_snapshot
from .source import Source, parse_json

FORMAT = 1

# Of a journal entry, what tells its time and its run.
_JOURNAL_FIELDS = ("__REALTIME_TIMESTAMP", "_SYSTEMD_INVOCATION_ID", "INVOCATION_ID")
# A progress bar writes over itself: a message has all of its states.
_BREAKS = re.compile(r"([\r\n]+)")
_JOURNAL = re.compile(r"commands/(?:journal.*|kernel)\.log$")
# What a model's files call a token or a key is public.
_MODEL = re.compile(r"(?:model|draft)/")
_CMDLINE = re.compile(r"proc/\d+/cmdline$")
# Servers, shares and options of file systems; the readers look at places and types.
_MOUNTS = re.compile(r"^\S+ (\S+ \S+) .*$", re.MULTILINE)
_MOUNTINFO = re.compile(r"^(.* - \S+) .*$", re.MULTILINE)


class Recording(t.NamedTuple):
    """A host's facts, the files they come from, and how much was removed from these by kind."""

    facts: dict[str, t.Any]
    members: Members
    removed: dict[str, int]


class Bundle:
    """What a recorder kept, cleaned."""

    def __init__(
        self, recorder: Recorder, names: t.Iterable[str], protected: t.Iterable[str]
    ) -> None:
        """C(names) are those of the host, C(protected) are texts that have to stay readable, such
        as the unit's name."""
        self._recorder = recorder
        self._pseudonyms = Pseudonyms(names, protected)
        secrets = {secret for text in recorder.secrets for secret in secrets_of(text)}
        for name, data in sorted(recorder.members.items()):
            if data and not _MODEL.match(name):
                text = data.decode("utf-8", "replace")
                words = text.split("\0") if _CMDLINE.match(name) else None
                secrets |= secrets_of_argv(words) if words else secrets_in(text)
                self._pseudonyms.learn(text.replace("\0", " "))
        self._redactor = Redactor(secrets)

    def pack(
        self, request: dict[str, t.Any], variables: dict[str, t.Any]
    ) -> tuple[Members, dict[str, int]]:
        """The files of the bundle, and how much was removed from them by kind.

        C(request) is what was asked, C(variables) are those of the role.
        """
        members: Members = {
            self._text(name): None if data is None else self._clean(name, data)
            for name, data in self._recorder.members.items()
        }
        if variables:
            lines = (
                f"{name}: {json.dumps(value, ensure_ascii=False)}"  # JSON is YAML, too
                for name, value in sorted(self._data(variables).items())
            )
            members[VARIABLES] = "\n".join(["---", *lines, ""]).encode()
        removed = self._removed(members)
        meta = {
            "format": FORMAT,
            "taken_at": self._recorder.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
            "request": self._data(request),
            "failures": self._data(self._recorder.failures),
            "cut": sorted(self._recorder.cut),
            "removed": removed,
        }
        members[META] = (json.dumps(meta, indent=1, sort_keys=True) + "\n").encode()
        return members, removed

    def _removed(self, members: Members) -> dict[str, int]:
        """How much was removed or got another name, by kind."""
        contents = [data for data in members.values() if data]
        return {
            "secrets": sum(data.count(REDACTED.encode()) for data in contents),
            "requests": sum(data.count(REMOVED.encode()) for data in contents),
            **self._pseudonyms.counts(),
        }

    def _clean(self, name: str, data: bytes) -> bytes:
        """One file. A file that has nothing to hide stays as it is, to the byte."""
        text = data.decode("utf-8", "replace")
        if _JOURNAL.match(name):
            return self._journal(text).encode()
        if _CMDLINE.match(name):
            words = self._redactor.argv(text.split("\0"))
            return self._pseudonyms.text("\0".join(words)).encode()
        if name == "proc/mounts":
            return self._text(_MOUNTS.sub(r"- \1 -", text)).encode()
        if name == "proc/self/mountinfo":
            return self._text(_MOUNTINFO.sub(r"\1 - -", text)).encode()
        value = _parsed(text) if name.endswith(".json") else None
        if value is not None:
            cleaned = self._data(value)
            return data if cleaned == value else json.dumps(cleaned).encode()
        cleaned = self._text(text)
        return data if cleaned == text else cleaned.encode()

    def _text(self, text: str) -> str:
        return self._pseudonyms.text(self._redactor.text(text))

    def _data(self, value: t.Any) -> t.Any:
        return self._pseudonyms.data(self._redactor.data(value))

    def _journal(self, text: str) -> str:
        """A journal, line by line, in the form it has."""
        lines: list[str] = []
        continues = False
        for line in text.rstrip("\n").split("\n"):
            fields = parse_json(line) if line.startswith("{") else None
            if isinstance(fields, dict) and "MESSAGE" in fields:
                message, continues = self._message(message_of(fields["MESSAGE"]), continues)
                kept = {name: fields[name] for name in _JOURNAL_FIELDS if name in fields}
                lines.append(json.dumps({**kept, "MESSAGE": message}))
            else:
                message, continues = self._message(line, continues)
                lines.append(message)
        return "\n".join([*lines, ""])

    def _message(self, message: str, continues: bool) -> tuple[str, bool]:
        """A log message without secrets and requests, and whether a request goes on in the next
        line: the journal cuts a long message, and only its first part can be known."""
        if continues and split_line(message).at is None:
            return REMOVED, len(message) > MAX_LINE
        without = without_request(message)
        continues = without != message and len(message) > MAX_LINE
        return "".join(self._piece(piece) for piece in _BREAKS.split(without)), continues

    def _piece(self, text: str) -> str:
        """One line of a message, as much of it as is looked at. Half a secret would not be
        recognised, so it is cut last."""
        return self._text(text)[:MAX_LINE]


def record(
    source: Source,
    request: Request,
    names: t.Iterable[str] = (),
    variables: dict[str, t.Any] | None = None,
) -> Recording:
    """Take the snapshot of a host and keep what it was made of.

    C(names) are further names of the host, C(variables) the role variables of the instance.
    """
    recorder = Recorder(source, withheld=[request.secrets_file] if request.secrets_file else [])
    facts = take_snapshot(recorder, request)
    if source.origin == "recording":
        recorder.read_text(VARIABLES)
    bundle = Bundle(recorder, [*own_names(source), *names], [request.unit_name, request.instance])
    asked = {name: getattr(request, name) for name in REPLAYED}
    return Recording(facts, *bundle.pack(asked, variables or {}))


def own_names(source: Source) -> list[str]:
    """What the host calls itself, by the kernel and by /etc/hosts."""
    name = (source.read_text("/proc/sys/kernel/hostname") or "").strip()
    hosts = (line.partition("#")[0].split() for line in _lines(source.read_text("/etc/hosts")))
    aliases = [alias for words in hosts if name in words for alias in words[1:]]
    return [alias for alias in (name, *aliases) if alias]


def _parsed(text: str) -> t.Any:
    """A JSON value; None for what is none, and for one that hides a key behind its like."""
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except ValueError:
        return None


def _unique(pairs: list[tuple[str, t.Any]]) -> dict[str, t.Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key came twice")
    return value


def _lines(text: str | None) -> list[str]:
    return (text or "").splitlines()
