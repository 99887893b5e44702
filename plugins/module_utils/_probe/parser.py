# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The installed engine judges a list of arguments itself.

This module util is private to the llmops.sglang collection.

Its own parser and its own checks across flags run in its interpreter, as the user and with the
environment of the unit, but with scratch folders in place of the instance's: nothing stays.
"""

from __future__ import annotations

import json
import os
import pwd
import re
import shlex
import shutil
import subprocess
import tempfile
import typing as t

from .redact import Redactor, is_secret, secrets_of_argv
from .source import Live, Source

TIMEOUT_S = 180
_SYSTEMD_TIMEOUT_S = 20
_MARK = "LLMOPS-SGLANG-ARGUMENTS "
_LONGEST_MESSAGE = 600

# Exit by exception must not hide the verdict, so it is printed as one marked line.
_PROGRAM = f"""
import json, sys
def tell(verdict, message=""):
    sys.stdout.write("\\n{_MARK}" + json.dumps([verdict, message]) + "\\n")
    sys.stdout.flush()
try:
    from sglang.srt.server_args import prepare_server_args
except ImportError as error:
    absent = (getattr(error, "name", None) or "").startswith("sglang")
    tell("absent" if absent else "refused", "%s: %s" % (type(error).__name__, error))
    sys.exit(0)
try:
    arguments = prepare_server_args(sys.argv[1:])
    for step in ("resolve_once", "check_server_args"):
        getattr(arguments, step, lambda: None)()
except SystemExit:
    tell("refused")
except BaseException as error:
    tell("refused", "%s: %s" % (type(error).__name__, error))
else:
    tell("accepted")
"""


class Verdict(t.NamedTuple):
    """C(accepted) is None when nobody could say; C(message) says why, or why not."""

    accepted: bool | None
    message: str | None


def ask_engine(
    argv: list[str],
    environment: dict[str, str],
    user: str,
    timeout_s: float = TIMEOUT_S,
    secrets: t.Iterable[str] = (),
) -> Verdict:
    """Ask the engine of a command line what it thinks of it; takes 5 to 25 s.

    C(argv) begins with the engine's interpreter. C(secrets) never stand in the message, nor does
    any value whose name tells that it is one. Raises LookupError when there is no such user.
    """
    account = pwd.getpwnam(user)
    if not os.path.exists(argv[0]):
        return Verdict(None, "the engine is not installed")
    scratch = tempfile.mkdtemp(prefix="sglang-arguments-")
    try:
        accepted, message = _ask(argv, environment, account, scratch, timeout_s)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    by_name = (value for name, value in environment.items() if is_secret(name))
    redactor = Redactor({*secrets, *by_name, *secrets_of_argv(argv)})
    return Verdict(accepted, _cut(redactor.text(message)) or None)


def read_verdict(
    source: Source,
    python: str | None,
    arguments: t.Iterable[str],
    unit: str,
    secrets: t.Iterable[str],
) -> dict[str, t.Any]:
    """The C(engine.arguments) part of the facts, with user and environment of the unit."""
    if source.origin == "recording":
        return Verdict(None, "a recording has no engine to ask")._asdict()
    if python is None:
        return Verdict(None, "no engine path was given")._asdict()
    # Asked past the source: a recording must not hold an environment.
    said = Live().command(
        "", ["systemctl", "show", unit, "--property=User,Environment"], _SYSTEMD_TIMEOUT_S
    )
    user, environment = read_unit_process(said.text)
    try:
        return ask_engine([python, *arguments], environment, user, secrets=secrets)._asdict()
    except LookupError:
        return Verdict(None, f"the unit's user {user} does not exist")._asdict()


def read_unit_process(text: str) -> tuple[str, dict[str, str]]:
    """User and environment from systemd's answer; root and nothing for a unit that is not there."""
    pairs = (line.partition("=") for line in text.splitlines())
    told = {name: value for name, _sign, value in pairs}
    try:
        words = shlex.split(told.get("Environment", ""))
    except ValueError:
        words = []
    return told.get("User") or "root", dict(word.split("=", 1) for word in words if "=" in word)


def _ask(
    argv: list[str],
    environment: dict[str, str],
    account: pwd.struct_passwd,
    scratch: str,
    timeout_s: float,
) -> tuple[bool | None, str]:
    """Run the parser in a child."""
    options: dict[str, t.Any] = {}
    if os.geteuid() == 0:
        os.chown(scratch, account.pw_uid, account.pw_gid)
        options = {
            "user": account.pw_uid,
            "group": account.pw_gid,
            "extra_groups": os.getgrouplist(account.pw_name, account.pw_gid),
        }
    try:
        # Not run_command: it has no user, no own environment and no time limit.
        done = subprocess.run(  # pylint: disable=ansible-bad-function
            [argv[0], "-c", _PROGRAM, *engine_flags(argv)],
            env=scratch_environment(environment, scratch),
            cwd=scratch,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
            **options,
        )
    except subprocess.TimeoutExpired:
        return None, f"the engine's parser gave no answer within {timeout_s:g} s"
    except OSError as error:
        return False, f"{argv[0]} cannot be run by the unit's user: {error.strerror}"
    for line in reversed(done.stdout.splitlines()):
        if line.startswith(_MARK):
            verdict, message = json.loads(line[len(_MARK) :])
            if verdict == "absent":
                return None, "this engine has no argument parser to ask"
            if verdict == "accepted":
                return True, ""
            return False, message or _last_line(done.stderr)
    return None, f"the engine's parser ended early: {_last_line(done.stderr)}"


def engine_flags(argv: list[str]) -> list[str]:
    """Return what the engine's parser gets: the flags, without the secrets file.

    The secrets file is a credential that only exists while the unit runs.
    """
    start = next((index for index, part in enumerate(argv) if part.startswith("--")), len(argv))
    flags = argv[start:]
    kept: list[str] = []
    skip = False
    for index, part in enumerate(flags):
        following = flags[index + 1] if index + 1 < len(flags) else ""
        if skip:
            skip = False
        elif part == "--config" and following.startswith(("/run/credentials/", "%d")):
            skip = True
        else:
            kept.append(part)
    return kept


def scratch_environment(environment: dict[str, str], scratch: str) -> dict[str, str]:
    """Return the unit's environment with every folder of its own replaced by the scratch one."""
    own = re.compile(r"/var/(?:lib|cache)/sglang/[^/:]+")
    values = {key: own.sub(scratch, value) for key, value in environment.items()}
    values.setdefault("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    values.setdefault("LANG", "C.UTF-8")
    values.update(
        HOME=scratch,
        TMPDIR=scratch,
        XDG_CACHE_HOME=scratch,
        HF_MODULES_CACHE=scratch,
        PYTHONDONTWRITEBYTECODE="1",
    )
    return values


def _cut(message: str) -> str:
    """The beginning of a message that may be long."""
    return message if len(message) <= _LONGEST_MESSAGE else message[:_LONGEST_MESSAGE] + " ..."


def _last_line(text: str) -> str:
    """Return the last line that says something, without argparse's program name."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return re.sub(r"^[\w .:/-]*?: error: ", "", lines[-1]) if lines else "no message"
