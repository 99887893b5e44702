# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The installed engine judges the planned arguments itself.

Its own parser and its own checks across flags run in its interpreter, as the user and with the
environment of the unit, but with scratch folders in place of the instance's: nothing stays.

Private to the collection.
"""

from __future__ import annotations

import json
import os
import pwd
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from .._probe.redact import Redactor
from .checks import BLOCKED, Check, Subject, passed, unknown
from .need import is_secret

TIMEOUT_S = 180
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


def check_arguments(subject: Subject, timeout_s: int = TIMEOUT_S) -> Check:
    """Ask the installed engine whether it accepts the planned command line; takes 5 to 25 s."""
    name, needed = "arguments", "a command line that the installed engine accepts"
    argv = [str(part) for part in subject.planned("argv") or []]
    if not argv or not Path(argv[0]).exists():
        return unknown(name, "the engine is not installed", needed)
    user = subject.service("User") or "root"
    try:
        account = pwd.getpwnam(user)
    except KeyError:
        return Check(
            name,
            BLOCKED,
            f"the unit's user {user} does not exist",
            needed,
            "create it (role sglang_host does), or name another",
            "sglang_user",
        )
    environment = {key: str(value) for key, value in (subject.planned("environment") or {}).items()}
    scratch = tempfile.mkdtemp(prefix="sglang-gate-")
    try:
        verdict, message = _ask(argv, environment, account, scratch, timeout_s)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if verdict == "accepted":
        return passed(name, f"accepted by its own parser, as {user}", needed)
    message = cut(message, environment)
    if verdict == "refused":
        return Check(
            name,
            BLOCKED,
            message or "refused without a message",
            needed,
            "correct the variable behind that flag",
            _variable_behind(subject, message),
        )
    return unknown(name, message, needed)


def _ask(
    argv: list[str],
    environment: dict[str, str],
    account: pwd.struct_passwd,
    scratch: str,
    timeout_s: int,
) -> tuple[str, str]:
    """Run the parser in a child; returns ("accepted" | "refused" | "unknown", message)."""
    options: dict[str, Any] = {}
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
        return "unknown", f"the engine's parser gave no answer within {timeout_s} s"
    except OSError as error:
        return "refused", f"{argv[0]} cannot be run by the unit's user: {error.strerror}"
    for line in reversed(done.stdout.splitlines()):
        if line.startswith(_MARK):
            verdict, message = json.loads(line[len(_MARK) :])
            if verdict == "absent":
                return "unknown", "this engine has no argument parser to ask"
            return verdict, message or _last_line(done.stderr)
    return "unknown", f"the engine's parser ended early: {_last_line(done.stderr)}"


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


def cut(message: str, environment: dict[str, str]) -> str:
    """Take secrets out of a message, and all but its beginning."""
    known = [value for name, value in environment.items() if is_secret(name)]
    message = Redactor(known).text(message)
    return message if len(message) <= _LONGEST_MESSAGE else message[:_LONGEST_MESSAGE] + " ..."


def _last_line(text: str) -> str:
    """Return the last line that says something, without argparse's program name."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return re.sub(r"^[\w .:/-]*?: error: ", "", lines[-1]) if lines else "no message"


def _variable_behind(subject: Subject, message: str) -> str:
    """Return the variable of the first planned flag that the message names."""
    words = message.replace("_", "-")
    named: list[tuple[int, str]] = []
    for argument in subject.planned("arguments") or []:
        flag = str(argument.get("flag", "")).lstrip("-")
        found = re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", words) if flag else None
        if found and argument.get("source"):
            named.append((found.start(), str(argument["source"])))
    return min(named)[1] if named else "sglang_extra_args"
