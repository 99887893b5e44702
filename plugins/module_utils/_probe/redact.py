# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps secrets out of whatever leaves the probe.

This module util is private to the llmops.sglang collection.

The engine prints its keys in clear (C(server_args=), C(/server_info)), and a person may pass one on
the command line. Everything that leaves the probe as text goes through one L(Redactor). It errs on
the safe side: where the end of a secret cannot be told, the rest of its line goes too.
"""

from __future__ import annotations

import json
import re
import typing as t

REDACTED = "<redacted>"

# Names of secrets, by their ends: --max-total-tokens is a size, --hf-token is a secret.
_KEY = (
    r"(?:(?:api|access|secret|private|auth|encryption|signing|master|account|shared)[-_]?keys?"
    r"|secrets?|passw(?:or)?ds?|passphrase"
)
# Words of a vocabulary are public, so a token that one of these stands before is none.
_WORD = "bos eos pad unk sep cls mask img image video audio start end stop special per next first"
_TOKEN = "".join(rf"(?<!{word}[-_ ])" for word in _WORD.split()) + "token"
_NAME = rf"{_KEY}|{_TOKEN})"
_SECRET_NAME = re.compile(rf"{_NAME}$", re.IGNORECASE)
_SECRET_SETTING = re.compile(r"(?:^|[_-])(?:key|credentials?|pass|auth)$", re.IGNORECASE)
_SECRET_FLAG = re.compile(rf"^--?[\w-]*{_NAME}$", re.IGNORECASE)
# In JSON that was escaped into a string, a quote has a backslash before it.
_QUOTE = r"\\*[\"']"
# What a program prints for "not set", and how many tokens there are, is no secret.
_ENDED = r"(?![^\s,;)\]}])"
_UNSET = rf"(?:None|null|True|False){_ENDED}"
_COUNT = rf"-?\d[\d.,]*{_ENDED}"

# Each has the groups head and secret. A quotation is closed by the first quote like the opening one
# with no backslash before it: what is escaped belongs to the secret. What is not quoted ends at
# white space, and what no end can be told of ends with its line.
_QUOTED = r"(?P<quote>\\*[\"'])(?P<secret>.*?)(?P<end>(?<!\\)(?P=quote)|$)"
_BARE = rf"(?![\[{{(]|{_QUOTE}|{_UNSET})(?P<secret>\S+)"
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        # api_key='x', "api-key": "x"
        rf"(?P<head>{_NAME}(?:{_QUOTE})?\s*[:=]\s*){_QUOTED}",
        # --api-key 'x', and in a list '--api-key', 'x'
        rf"(?P<head>--[\w-]{{0,60}}{_NAME}(?:{_QUOTE}\s*,\s*|\s+|=)){_QUOTED}",
        # --api-key x, --api-key=x
        rf"(?P<head>--[\w-]{{0,60}}{_NAME}(?:\s+(?!--)|=))(?!{_QUOTE})(?P<secret>\S+)",
        # api_keys=['x', 'y']
        rf"(?P<head>{_NAME}(?:{_QUOTE})?\s*[:=]\s*[\[{{(])(?P<secret>.+)",
        # API_KEY=x, api-key: x, HF_TOKEN=x; "#cached-token: 128" is a count
        rf"(?P<head>{_KEY}|(?-i:TOKEN))(?:{_QUOTE})?\s*[:=][^\S\n]*){_BARE}",
        rf"(?P<head>{_TOKEN}(?:{_QUOTE})?\s*[:=][^\S\n]*)(?!{_COUNT}){_BARE}",
        # Authorization: Bearer x, Authorization: Basic x
        r"(?P<head>\bBearer\s+|Authorization\W+Basic\s+)(?P<secret>\S+)",
        # https://user:password@host, https://token@host
        r"(?P<head>://)(?P<secret>[^\s\"']+)(?P<end>@)",
        r"(?P<head>-----BEGIN [A-Z ]*PRIVATE KEY-----)(?P<secret>[^-]+)",
        # Keys that can be known by their look.
        r"(?P<head>)(?<![A-Za-z0-9])(?P<secret>(?:sk-|hf_|gh[opsu]_|github_pat_|glpat-|nvapi-|npm_"
        r"|xox[abp]-|AKIA|ASIA)[A-Za-z0-9_-]{6,}|eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?)",
    )
)
# One look that is cheap: most texts have nothing of the kind.
_SUSPICIOUS = (
    *("key", "secret", "passw", "passphrase", "token", "bearer", "authorization", "://"),
    *("sk-", "hf_", "ghp_", "gho_", "ghs_", "ghu_", "github_pat_", "glpat-", "nvapi-", "npm_"),
    *("xox", "akia", "asia", "eyj"),
)
_ENDS = ("key", "keys", "secret", "secrets", "passwd", "passwds", "password", "passwords")
# A value that is found by its name is looked for everywhere else; a short one may be a mere word.
_MIN_FOUND = 8


class Redactor:
    """Removes secrets: the known ones wherever they stand, the others by their name or look."""

    def __init__(self, secrets: t.Iterable[str] = ()) -> None:
        # The longest first, so that a key that contains another one goes as a whole. A secret of
        # three letters would blot out half of the text and protects nothing.
        self._secrets = sorted({s for s in secrets if len(s) > 3}, key=len, reverse=True)

    def careful(self) -> Redactor:
        """The same for values that something is decided by, such as paths: a known secret that is
        as short as a word (C(sglang), C(test)) is left in them."""
        return Redactor(secret for secret in self._secrets if len(secret) >= _MIN_FOUND)

    def text(self, text: str) -> str:
        """A text without its secrets."""
        for secret in self._secrets:
            text = text.replace(secret, REDACTED)
        if _is_suspicious(text):
            for pattern in _PATTERNS:
                text = pattern.sub(_replace, text)
        return text

    def argv(self, argv: t.Iterable[str]) -> list[str]:
        """A command line; the value after a flag that names a secret is removed."""
        result: list[str] = []
        hide = False
        for word in argv:
            result.append(REDACTED if hide and not word.startswith("--") else self.text(word))
            hide = bool(_SECRET_FLAG.match(word))
        return result

    def data(self, value: t.Any, hide: bool = False) -> t.Any:
        """A JSON value; all text below a key that names a secret is removed."""
        if isinstance(value, dict):
            return {
                self.text(key) if isinstance(key, str) else key: self.data(
                    entry, hide or is_secret_name(str(key))
                )
                for key, entry in value.items()
            }
        if isinstance(value, list):
            if hide or not all(isinstance(entry, str) for entry in value):
                return [self.data(entry, hide) for entry in value]
            return self.argv(value)
        if isinstance(value, str) and value:
            return REDACTED if hide else self.text(value)
        return value


def is_secret_name(name: str) -> bool:
    """Whether a key, a flag or a variable is called like a secret."""
    ending = name[-10:].lower().endswith((*_ENDS, "passphrase", "token"))
    return ending and _SECRET_NAME.search(name) is not None


def is_secret(name: str) -> bool:
    """Whether a flag or a variable may hold a secret: there, any KEY or CREDENTIAL is one too."""
    return is_secret_name(name) or bool(_SECRET_SETTING.search(name))


def secrets_in(text: str) -> set[str]:
    """The secrets that a text gives away by their names or look, to be looked for elsewhere."""
    # Lines first: nearly all of a log has nothing to do with secrets.
    text = "\n".join(line for line in text.split("\n") if _is_suspicious(line))
    found = {match["secret"] for pattern in _PATTERNS for match in pattern.finditer(text)}
    # The password alone may turn up without its URL.
    found |= {secret.split(":", 1)[1] for secret in found if ":" in secret}
    return _worth_looking_for(found)


def secrets_of_argv(argv: t.Sequence[str]) -> set[str]:
    """The secrets on a command line: the values of flags that are named like one, and the rest."""
    named: list[str] = []
    for flag, value in zip(argv, [*argv[1:], ""]):
        name, sign, same = flag.partition("=")
        if flag.startswith("-") and is_secret(name):
            named.append(same if sign else value)
    return secrets_in("\n".join(argv)) | _worth_looking_for(named)


def _worth_looking_for(values: t.Iterable[str]) -> set[str]:
    """Those that are no word of every text, and no path of a file that holds a secret."""
    return {
        value
        for value in values
        if len(value) >= _MIN_FOUND and REDACTED not in value and not value.startswith("/")
    }


def secrets_of(text: str) -> set[str]:
    """The secrets in a text that is made of them: a secrets file, or C(/proc/PID/environ)."""
    try:
        values = json.loads(text)
    except ValueError:
        words = text.split("\0")
        named = (word.partition("=")[2] for word in words if is_secret(word.partition("=")[0]))
        return secrets_in("\n".join(words)) | _worth_looking_for(named)
    return {str(value) for value in values.values()} if isinstance(values, dict) else set()


def _is_suspicious(text: str) -> bool:
    lower = text.lower()
    return any(part in lower for part in _SUSPICIOUS)


def _replace(match: t.Match[str]) -> str:
    """The match with its secret removed."""
    if not match["secret"]:
        return match[0]
    groups = match.groupdict()
    return f"{match['head']}{groups.get('quote', '')}{REDACTED}{groups.get('end') or ''}"
