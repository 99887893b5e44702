# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Holds each role's defaults, argument specification and names together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

ROLES = Path(__file__).resolve().parents[2] / "roles"
NAMES = sorted(path.name for path in ROLES.iterdir()) if ROLES.is_dir() else []

TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "path": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "list": (list,),
    "dict": (dict,),
    "raw": (object,),
}


@dataclass(frozen=True)
class Role:
    """What one role says about its variables in defaults, argument specification and tasks."""

    name: str
    options: dict[str, dict[str, Any]]
    defaults: dict[str, Any]
    #: Variables that defaults/main.yml names in a comment instead of giving them a value.
    without_default: frozenset[str]

    @classmethod
    def read(cls, name: str) -> Role:
        folder = ROLES / name
        specs = _load(folder / "meta" / "argument_specs.yml")["argument_specs"]
        text = (folder / "defaults" / "main.yml").read_text(encoding="utf-8")
        return cls(
            name,
            specs["main"].get("options", {}),
            yaml.safe_load(text) or {},
            frozenset(re.findall(rf"^# ?({name}_\w+):", text, re.MULTILINE)),
        )


def _load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else None


def _is_template(value: Any) -> bool:
    """Whether a default is computed by Ansible, wherever in it the expression stands."""
    if isinstance(value, dict):
        return any(_is_template(item) for item in value.values())
    if isinstance(value, list):
        return any(_is_template(item) for item in value)
    return isinstance(value, str) and "{{" in value


def _with_suboptions(options: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, option in options.items():
        yield prefix + name, option
        yield from _with_suboptions(option.get("options", {}), f"{prefix}{name}.")


def _internal_names(node: Any) -> Iterator[str]:
    """Names that tasks define for themselves: registered, set as facts, loop and task variables."""
    if isinstance(node, list):
        for item in node:
            yield from _internal_names(item)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key in ("register", "loop_var", "index_var"):
                yield value
            elif key in ("vars", "set_fact", "ansible.builtin.set_fact"):
                yield from value
            else:
                yield from _internal_names(value)


@pytest.fixture(params=NAMES)
def role(request: pytest.FixtureRequest) -> Role:
    return Role.read(request.param)


def test_the_collection_has_its_roles() -> None:
    assert len(NAMES) >= 4


def test_role_is_documented(role: Role) -> None:
    assert (ROLES / role.name / "README.md").is_file()
    main = _load(ROLES / role.name / "meta" / "argument_specs.yml")["argument_specs"]["main"]
    assert main["short_description"]
    assert main["description"]


def test_every_option_is_described(role: Role) -> None:
    bare = [
        name for name, option in _with_suboptions(role.options) if not option.get("description")
    ]
    assert not bare


def test_every_default_is_an_option(role: Role) -> None:
    assert not set(role.defaults) - set(role.options)


def test_every_option_has_a_default_or_none_on_purpose(role: Role) -> None:
    """Without a default means: named in a comment of defaults/main.yml, required or not."""
    required = {name for name, option in role.options.items() if option.get("required")}
    assert not required & set(role.defaults), "required, but it has a default"
    assert set(role.options) - set(role.defaults) == role.without_default & set(role.options)
    assert not role.without_default - set(role.options), "named in a comment, but no option"


def test_defaults_are_those_of_the_specification(role: Role) -> None:
    """A computed default has none in the specification, which could not show its value."""
    for name, default in role.defaults.items():
        specified = role.options[name].get("default")
        if not (_is_template(default) and specified is None):
            assert (name, specified) == (name, default)


def test_defaults_fit_their_types(role: Role) -> None:
    for name, default in role.defaults.items():
        option = role.options[name]
        if default is None or _is_template(default):
            continue
        kinds = TYPES[option.get("type", "str")]
        assert isinstance(default, kinds), name
        assert bool in kinds or object in kinds or not isinstance(default, bool), name
        assert default in option.get("choices", [default]), name


def test_public_names_begin_with_the_role(role: Role) -> None:
    assert not [name for name in role.options if not name.startswith(f"{role.name}_")]


def test_internal_names_begin_with_two_underscores(role: Role) -> None:
    """Tasks may also set public options of a role, when they call that role."""
    folder = ROLES / role.name
    names = set(_load(folder / "vars" / "main.yml") or {})
    for part in ("tasks", "handlers"):
        for path in (folder / part).glob("**/*.yml"):
            names.update(_internal_names(_load(path)))
    public = {option for name in NAMES for option in Role.read(name).options}
    assert not [name for name in names - public if not name.startswith(f"__{role.name}_")]


def test_roles_agree_on_the_variables_they_share() -> None:
    seen: dict[str, tuple[str, Any]] = {}
    for role in map(Role.read, NAMES):
        for name, option in role.options.items():
            kind, default = seen.setdefault(name, (option["type"], option.get("default")))
            assert (name, option["type"]) == (name, kind)
            if default is not None and option.get("default") is not None:
                assert (name, option["default"]) == (name, default)
