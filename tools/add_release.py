# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Record a release of SGLang from its wheel, and print what changed since the last one.

    python3 tools/add_release.py sglang-0.5.24-*.whl [--python VENV/bin/python]

Names are read from the wheel's source; nothing of it is run, and no GPU is needed. What the source
only computes, such as some defaults and choices, comes from the release's own parser when the
interpreter behind --python can import it, else it is taken over from the release before and named.
A release that is recorded already is compared with its record: exit 1 when they differ.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sglang_wheel import Definition, Release, read_wheel

ROOT = Path(__file__).resolve().parents[1]
ENGINE = ROOT / "plugins" / "module_utils" / "_engine"

# The recorded flags need nothing but the standard library, so no installed collection is asked for.
sys.path.insert(0, str(ROOT))
from plugins.module_utils._engine.flags import FlagInfo, flags_of  # noqa: E402
from plugins.module_utils._engine.version import KNOWN, Version  # noqa: E402

KEYS = (
    *("names", "dest", "action", "type", "nargs", "const"),
    *("default", "choices", "required", "deprecated"),
)
"""What is recorded of a flag."""

_ASK = """
import argparse, json
from sglang.srt.server_args import ServerArgs
parser = argparse.ArgumentParser()
ServerArgs.add_cli_args(parser)
print(json.dumps({
    action.option_strings[0]: {
        "default": action.default,
        "choices": None if action.choices is None else list(action.choices),
    }
    for action in parser._actions if action.option_strings
}, default=str))
"""


def main() -> int:
    """Read the command line, record or compare, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("wheel", type=Path, help="the wheel of the release")
    parser.add_argument("--python", help="interpreter that can import that release")
    parser.add_argument("--data", type=Path, default=ENGINE, help=argparse.SUPPRESS)
    given = parser.parse_args()
    release = read_wheel(given.wheel)
    told = ask_parser(given.python) if given.python else {}
    version = Version.parse(release.version)
    records = json.loads((given.data / "releases.json").read_text(encoding="utf-8"))
    if version in [Version.parse(text) for text in KNOWN]:
        changes = differences(records, release, told, version)
        print("\n".join(changes) or f"{release.version} is recorded as it is")
        return 1 if changes else 0
    if version < KNOWN[-1]:
        print(f"{release.version} is older than {KNOWN[-1]}: releases are added in order")
        return 2
    changes, guessed = add(records, release, told)
    (given.data / "releases.json").write_text(text_of(records), encoding="utf-8")
    known = given.data / "version.py"
    known.write_text(with_version(known.read_text(encoding="utf-8"), release.version))
    print(f"{release.version} since {KNOWN[-1]}:\n" + "\n".join(changes))
    for name, keys in guessed.items():
        print(f"? {name}: {', '.join(keys)} as in {KNOWN[-1]}; only its parser tells")
    print("Now: what must the rules, the log lines and the pools know of it?")
    return 0


def ask_parser(python: str) -> dict[str, Definition]:
    """Defaults and choices of every flag, from the parser of an installed release."""
    done = subprocess.run([python, "-c", _ASK], capture_output=True, text=True, check=False)
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1:] or ["no message"]
        print(f"{python} cannot be asked, going on without it: {reason[0]}", file=sys.stderr)
        return {}
    told: dict[str, Definition] = json.loads(done.stdout.splitlines()[-1])
    return told


# --- merging ------------------------------------------------------------------------------------


def add(
    records: dict[str, Any], release: Release, told: Mapping[str, Definition]
) -> tuple[list[str], dict[str, list[str]]]:
    """Put a release into the records; return what changed, and what was taken over unseen."""
    last, version = KNOWN[-1], release.version
    before = {flag.name: flag for flag in flags_of(Version.parse(last))}
    # A flag whose first spelling changed is still the flag with the same destination.
    by_dest = {flag.dest: flag for flag in before.values()}
    open_entries = {
        entry["names"][0]: entry for entry in records["flags"] if not entry.get("until")
    }
    changes: list[str] = []
    guessed: dict[str, list[str]] = {}
    kept: set[str] = set()
    for flag in release.flags:
        name = str(flag["names"][0])
        old = before.get(name) or _renamed(by_dest.get(flag["dest"]), release)
        new, missing = completed(flag, told.get(name), old)
        if missing and old is not None:
            guessed[name] = missing
        if old is not None:
            kept.add(old.name)
            difference = changed(definition_of(old), new)
            if not difference:
                continue
            open_entries[old.name]["until"] = last
            changes.append(f"~ {name}: {'; '.join(difference)}")
        else:
            changes.append(f"+ {name}")
        records["flags"].append({**entry_of(new, records["choices"]), "since": version})
    for name in sorted(set(before) - kept):
        open_entries[name]["until"] = last
        changes.append(f"- {name}")
    records["flags"].sort(key=lambda entry: str(entry["names"][0]))
    changes += _add_environment(records["environment"], release.environment, version)
    changes += _requirements(records["requires"][last], release.requires)
    records["requires"][version] = release.requires
    return changes, guessed


def _renamed(old: FlagInfo | None, release: Release) -> FlagInfo | None:
    """The flag with the same destination, unless it is still there under its own name."""
    names = {name for flag in release.flags for name in flag["names"]}
    return old if old is not None and old.name not in names else None


def completed(
    flag: Definition, told: Definition | None, old: FlagInfo | None
) -> tuple[Definition, list[str]]:
    """A definition with every key: as the source tells, else the parser, else the release before.

    Also returns which keys came from the release before, or from nowhere.
    """
    found: Definition = {}
    missing: list[str] = []
    before = definition_of(old) if old is not None else {}
    for key in KEYS:
        if key in flag:
            found[key] = flag[key]
        elif told is not None and key in told:
            found[key] = told[key]
        else:
            found[key] = before.get(key)
            missing.append(key)
    return found, missing


def definition_of(flag: FlagInfo) -> Definition:
    """A recorded flag with every key."""
    found = {key: getattr(flag, key) for key in KEYS}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in found.items()}


def changed(old: Definition, new: Definition) -> list[str]:
    """What differs between two definitions, in words."""
    found = []
    for key in KEYS:
        before, after = old[key], new[key]
        # Upstream makes some choices from a set, whose order is another each time.
        if before == after or (key == "choices" and same_choices(before, after)):
            continue
        if isinstance(before, list) and isinstance(after, list) and set(before) != set(after):
            plus = [f"+{item}" for item in after if item not in before]
            minus = [f"-{item}" for item in before if item not in after]
            found.append(f"{key} {' '.join([*plus, *minus])}")
        else:
            found.append(f"{key} {json.dumps(before)} -> {json.dumps(after)}")
    return found


def same_choices(before: Any, after: Any) -> bool:
    """Whether two lists of choices differ in their order alone."""
    if not (isinstance(before, list) and isinstance(after, list)):
        return False
    return sorted(map(str, before)) == sorted(map(str, after))


def entry_of(flag: Definition, choices: list[list[Any]]) -> Definition:
    """A definition as it is recorded: without what goes without saying."""
    entry: Definition = {"names": flag["names"]}
    stores_true = flag["action"] in ("store_true", "deprecated_store_true")
    with_value = flag["action"] in ("store", "lora_path", "deprecated_alias")
    usual = {
        "dest": flag["names"][0].lstrip("-").replace("-", "_"),
        "action": "store",
        "nargs": None if with_value else 0,
        "type": None if (flag["nargs"] == 0) else "str",
        "const": True if stores_true else None,
        "default": False if stores_true else None,
        "required": False,
        "deprecated": False,
    }
    entry.update({key: flag[key] for key, value in usual.items() if flag[key] != value})
    if flag["choices"] is not None:
        if flag["choices"] not in choices:
            choices.append(flag["choices"])
        entry["choices"] = choices.index(flag["choices"])
    return entry


def _add_environment(recorded: dict[str, list[str]], found: set[str], version: str) -> list[str]:
    changes = []
    for name in sorted(found):
        if name not in recorded:
            recorded[name] = [version]
            changes.append(f"+ {name}")
        elif len(recorded[name]) > 1:
            del recorded[name][1:]
            changes.append(f"+ {name}, again")
    for name, span in recorded.items():
        if len(span) == 1 and name not in found:
            span.append(KNOWN[-1])
            changes.append(f"- {name}")
    return changes


def _requirements(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    names = [*before, *(name for name in after if name not in before)]
    return [
        f"~ needs {name} {before.get(name, 'any')} -> {after.get(name, 'any')}"
        for name in names
        if before.get(name) != after.get(name)
    ]


def differences(
    records: Mapping[str, Any],
    release: Release,
    told: Mapping[str, Definition],
    version: Version,
) -> list[str]:
    """What a wheel says otherwise than the record of its version."""
    recorded = {flag.name: flag for flag in flags_of(version)}
    found = {str(flag["names"][0]): flag for flag in release.flags}
    changes = [f"- {name}" for name in sorted(set(recorded) - set(found))]
    changes += [f"+ {name}" for name in sorted(set(found) - set(recorded))]
    for name in sorted(set(found) & set(recorded)):
        new, _missing = completed(found[name], told.get(name), recorded[name])
        difference = changed(definition_of(recorded[name]), new)
        changes += [f"~ {name}: {'; '.join(difference)}"] if difference else []
    read = {
        name
        for name, span in records["environment"].items()
        if version >= span[0] and (len(span) == 1 or version <= span[1])
    }
    changes += [f"- {name}" for name in sorted(read - release.environment)]
    changes += [f"+ {name}" for name in sorted(release.environment - read)]
    requires = records["requires"][version.nearest_known()[0].text]
    return changes + _requirements(requires, release.requires)


# --- writing ------------------------------------------------------------------------------------


def text_of(records: Mapping[str, Any]) -> str:
    """The records as text: one entry a line, so that a release is a small difference."""
    environment = sorted(records["environment"].items())
    parts = (
        _mapping("requires", records["requires"].items()),
        _mapping("environment", environment),
        _list("choices", records["choices"]),
        _list("flags", records["flags"]),
    )
    return "{" + ", ".join(parts) + "}\n"


def _mapping(name: str, items: Iterable[tuple[str, Any]]) -> str:
    return f'"{name}": {{\n' + ",\n".join(f"{_json(k)}: {_json(v)}" for k, v in items) + "\n}"


def _list(name: str, items: Iterable[Any]) -> str:
    return f'"{name}": [\n' + ",\n".join(map(_json, items)) + "\n]"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def with_version(source: str, version: str) -> str:
    """The text of version.py with one more known version."""
    last = f'    "{KNOWN[-1]}",\n)\n'
    if source.count(last) != 1:
        raise ValueError(f"version.py does not end its list with {KNOWN[-1]}")
    return source.replace(last, f'    "{KNOWN[-1]}",\n    "{version}",\n)\n')


if __name__ == "__main__":
    sys.exit(main())
