# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an SGLang wheel says about itself, read without running any of it.

Flags come from the syntax tree of `sglang/srt/server_args.py` and `sglang/srt/arg_groups/`: calls
of `add_argument`, and fields annotated with `A[type, "help"]` or `A[type, Arg(...)]`. Every name is
found that way. A default or a list of choices that is computed at run time is not: such a field of
a definition is left out, and whoever merges it asks the engine's own parser or keeps what was.
"""

from __future__ import annotations

import ast
import operator
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

Definition = dict[str, Any]
"""One flag: the keys of `releases.json`, but with the choices in place of their index, and only
what the source tells."""

_FLAG_SOURCES = re.compile(r"sglang/srt/(server_args|arg_groups/.+)\.py")
_ENVIRONMENT_SOURCE = "sglang/srt/environ.py"
_ANNOTATION = ("A", "Annotated")
_STORES_TRUE = ("store_true", "DeprecatedStoreTrueAction")
_ACTIONS = {
    "store_true": "store_true",
    "BooleanOptionalAction": "boolean_optional",
    "DeprecatedAction": "deprecated",
    "DeprecatedStoreTrueAction": "deprecated_store_true",
    "DeprecatedStoreConstAction": "deprecated_store_const",
    "DeprecatedAliasStoreAction": "deprecated_alias",
    "LoRAPathAction": "lora_path",
}
"""Upstream's name of an argparse action, and the one in the release data."""
WITH_VALUE = ("store", "lora_path", "deprecated_alias")
"""Actions that take a value unless `nargs` says otherwise."""
_SCALARS = ("str", "int", "float")
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Mult: operator.mul,
    ast.LShift: operator.lshift,
    ast.Pow: operator.pow,
}
_PINS = {
    "torch": r"torch==([\w.]+)",
    "kernel": r"(?:sglang|sgl)-kernel==([\w.]+)",
    "flashinfer": r"flashinfer[_-]python(?:\[\w+\])?==([\w.]+)",
    "transformers": r"transformers==([\w.]+)",
    "cuda": r"cuda-python *[=><~]+ *(\d+)",
}


@dataclass
class Release:
    """One version of SGLang, as its wheel tells."""

    version: str
    flags: list[Definition] = field(default_factory=list)
    #: Variables that it reads.
    environment: set[str] = field(default_factory=set)
    #: What it needs: python, glibc, cuda, torch, kernel, flashinfer, transformers.
    requires: dict[str, str] = field(default_factory=dict)


class Unknown(Exception):
    """A value that only running the code would give."""


def read_wheel(path: Path) -> Release:
    """Read a wheel. Raises ValueError when it is none of SGLang."""
    with zipfile.ZipFile(path) as archive:
        sources = Sources(archive)
        metadata = sources.text(r"sglang-[^/]+\.dist-info/METADATA")
        version = re.search(r"^Version: *(\S+)", metadata, re.M)
        if version is None:
            raise ValueError(f"{path} is not a wheel of SGLang")
        return Release(
            version[1],
            sorted(_flags(sources), key=lambda flag: str(flag["names"][0])),
            _environment(sources),
            _requires(metadata, sources.text(r"sglang-[^/]+\.dist-info/WHEEL")),
        )


class Sources:
    """The Python files of a wheel, parsed when they are asked for."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self.names = archive.namelist()
        self._modules: dict[str, Module] = {}

    def text(self, pattern: str) -> str:
        """The file whose name matches, "" when there is none."""
        name = next((name for name in self.names if re.fullmatch(pattern, name)), None)
        return self._archive.read(name).decode("utf-8", "replace") if name else ""

    def module(self, name: str) -> Module | None:
        """The module in a file of this wheel."""
        if name not in self.names:
            return None
        if name not in self._modules:
            self._modules[name] = Module(self, ast.parse(self._archive.read(name)))
        return self._modules[name]


class Module:
    """One parsed file: what its names stand for."""

    def __init__(self, sources: Sources, tree: ast.Module) -> None:
        self.tree = tree
        self._sources = sources
        # Assignments inside of functions count as well: there the choices are put together.
        self._assigned: dict[str, ast.expr] = {}
        self._functions: dict[str, ast.FunctionDef] = {}
        self._imported: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self._assigned.setdefault(node.targets[0].id, node.value)
            elif isinstance(node, ast.FunctionDef):
                self._functions.setdefault(node.name, node)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    self._imported[alias.asname or alias.name] = node.module

    def value(self, node: ast.expr, fields: dict[str, Any] | None = None) -> Any:
        """What an expression is worth; `fields` are the defaults of the arguments' own class.

        Raises Unknown for what only running the code would tell.
        """
        if isinstance(node, ast.Name):
            return self._named(node.id, fields)
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            return [self.value(item, fields) for item in node.elts]
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            left, right = self.value(node.left, fields), self.value(node.right, fields)
            return _OPERATORS[type(node.op)](left, right)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return _field(fields, node.attr) if node.value.id == "ServerArgs" else _unknown()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self._called(node.func.id, node.args, fields)
        if isinstance(node, ast.Call) and "default_factory" in (given := _keywords(node)):
            return _empty(given["default_factory"])
        try:
            return ast.literal_eval(node)
        except ValueError:
            raise Unknown from None

    def _named(self, name: str, fields: dict[str, Any] | None) -> Any:
        if name in self._assigned:
            return self.value(self._assigned[name], fields)
        origin = self._imported.get(name, "").replace(".", "/")
        for path in (f"{origin}.py", f"{origin}/__init__.py"):
            module = self._sources.module(path)
            if module is not None:
                return module.value(ast.Name(name), fields)
        raise Unknown

    def _called(self, name: str, given: list[ast.expr], fields: dict[str, Any] | None) -> Any:
        if name in ("list", "tuple", "set", "sorted") and len(given) == 1:
            found = list(self.value(given[0], fields))
            return sorted(found) if name in ("set", "sorted") else found
        if name == "_declared_default" and len(given) == 1:
            return _field(fields, self.value(given[0]))
        if name in self._functions and not given:
            returned = [n for n in ast.walk(self._functions[name]) if isinstance(n, ast.Return)]
            last = max(returned, key=lambda found: found.lineno, default=None)
            if last is not None and last.value is not None:
                return self.value(last.value, fields)
        raise Unknown


def _unknown() -> Any:
    raise Unknown


def _empty(factory: ast.expr) -> Any:
    """What a default factory makes, as far as it is an empty collection."""
    if _name(factory) not in ("list", "dict"):
        raise Unknown
    return [] if _name(factory) == "list" else {}


def _field(fields: dict[str, Any] | None, name: str) -> Any:
    if fields is None or name not in fields:
        raise Unknown
    return fields[name]


# --- flags --------------------------------------------------------------------------------------


def _flags(sources: Sources) -> Iterator[Definition]:
    names = [name for name in sources.names if _FLAG_SOURCES.fullmatch(name)]
    modules = [module for name in names if (module := sources.module(name)) is not None]
    fields = _defaults(modules)
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.AnnAssign) and _is_field(node):
                definition = _from_field(module, node, fields)
                if definition is not None:
                    yield definition
            elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument":
                names_given = _words(node.args)
                if names_given and names_given[0].startswith("--"):
                    yield _from_call(module, names_given, _keywords(node), fields)


def _defaults(modules: list[Module]) -> dict[str, Any]:
    """The default of each field of the classes that hold arguments, as far as it is written out."""
    found: dict[str, Any] = {}
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
                try:
                    found.setdefault(node.target.id, module.value(node.value))
                except Unknown:
                    continue
    return found


def _is_field(node: ast.AnnAssign) -> bool:
    annotation = node.annotation
    return (
        isinstance(annotation, ast.Subscript)
        and isinstance(annotation.value, ast.Name)
        and annotation.value.id in _ANNOTATION
        and isinstance(annotation.slice, ast.Tuple)
        and isinstance(node.target, ast.Name)
    )


def _from_field(module: Module, node: ast.AnnAssign, fields: dict[str, Any]) -> Definition | None:
    """A flag from `name: A[type, Arg(...)] = default`; None when it is kept off the parser."""
    name = node.target.id  # type: ignore[union-attr]
    kind, *notes = node.annotation.slice.elts  # type: ignore[attr-defined]
    meta: dict[str, ast.expr] = {}
    for note in notes:
        if isinstance(note, ast.Call) and getattr(note.func, "id", "") == "Arg":
            meta = _keywords(note)
            break
        if isinstance(note, (ast.Constant, ast.JoinedStr, ast.BinOp)):
            meta = {"help": note}
            break
    if not meta or _written(module, meta, "no_cli"):
        return None
    names = [_written(module, meta, "cli_name") or f"--{name.replace('_', '-')}"]
    names += _written(module, meta, "aliases") or []
    keywords: dict[str, ast.expr] = {
        key: meta[key] for key in ("choices", "nargs", "const", "help") if key in meta
    }
    keywords["dest"] = ast.Constant(name)
    if node.value is not None:
        keywords["default"] = node.value
    if "action" in meta:
        keywords |= {"action": meta["action"], **_mapping(meta.get("action_kwargs"))}
    else:
        _typed(_inner(kind), meta.get("type_parser"), keywords)
    if node.value is None and "action" not in keywords:
        keywords["required"] = ast.Constant(True)
    return _from_call(module, names, keywords, fields)


def _typed(kind: ast.expr, parser: ast.expr | None, keywords: dict[str, ast.expr]) -> None:
    """What the annotated type means for the parser."""
    outer = getattr(kind.value, "id", "") if isinstance(kind, ast.Subscript) else ""
    if outer == "Literal" and isinstance(kind, ast.Subscript):
        options = kind.slice.elts if isinstance(kind.slice, ast.Tuple) else [kind.slice]
        keywords.setdefault("choices", ast.List(options))
        first = options[0]
        kind = ast.Name(type(first.value).__name__ if isinstance(first, ast.Constant) else "str")
    elif outer in ("List", "list") and isinstance(kind, ast.Subscript) and parser is None:
        keywords.setdefault("nargs", ast.Constant("+"))
        kind = kind.slice
    if getattr(kind, "id", "") == "bool" and parser is None:
        keywords["action"] = ast.Constant("store_true")
    else:
        scalar = getattr(kind, "id", "")
        keywords["type"] = parser or ast.Name(scalar if scalar in _SCALARS else "str")


def _inner(kind: ast.expr) -> ast.expr:
    """X of `Optional[X]` and of `X | None`."""
    if isinstance(kind, ast.Subscript) and getattr(kind.value, "id", "") == "Optional":
        return kind.slice
    if isinstance(kind, ast.BinOp) and isinstance(kind.op, ast.BitOr):
        return kind.left if isinstance(kind.right, ast.Constant) else kind.right
    return kind


def _from_call(
    module: Module, names: list[str], keywords: dict[str, ast.expr], fields: dict[str, Any]
) -> Definition:
    """A flag from the keywords of `add_argument`, each key only where the source tells it."""
    upstream = _name(keywords.get("action")) or "store"
    action = _ACTIONS.get(upstream, "store")
    if action == "boolean_optional":
        names = [*names, *(f"--no-{name[2:]}" for name in names)]
    definition: Definition = {"names": names, "action": action}
    for key in ("dest", "nargs", "required", "const"):
        definition[key] = _told(module, keywords, key, fields)
    definition["dest"] = definition["dest"] or names[0].lstrip("-").replace("-", "_")
    definition["required"] = bool(definition["required"])
    if "nargs" not in keywords and action not in WITH_VALUE:
        definition["nargs"] = 0
    if "const" not in keywords and upstream in _STORES_TRUE:
        definition["const"] = True
    converts = definition["nargs"] != 0 and action in WITH_VALUE
    definition["type"] = (_name(keywords.get("type")) or "str") if converts else None
    definition["deprecated"] = "deprecated" in _help(keywords.get("help")).lower()
    for key, other in (("choices", None), ("default", False if upstream in _STORES_TRUE else None)):
        try:
            definition[key] = module.value(keywords[key], fields) if key in keywords else other
        except Unknown:
            definition.pop(key, None)
    return definition


def _told(module: Module, keywords: dict[str, ast.expr], key: str, fields: dict[str, Any]) -> Any:
    try:
        return module.value(keywords[key], fields) if key in keywords else None
    except Unknown:
        return None


def _written(module: Module, keywords: dict[str, ast.expr], key: str) -> Any:
    return _told(module, keywords, key, {})


def _mapping(node: ast.expr | None) -> dict[str, ast.expr]:
    """The entries of a dict that is written out."""
    if not isinstance(node, ast.Dict):
        return {}
    return {str(key.value): v for key, v in zip(node.keys, node.values) if _is_text(key)}


def _is_text(node: ast.expr | None) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _keywords(node: ast.Call) -> dict[str, ast.expr]:
    return {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}


def _words(nodes: list[ast.expr]) -> list[str]:
    return [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def _name(node: ast.expr | None) -> str:
    """The last part of a name, or the text of a constant."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    return str(getattr(node, "id", "") or getattr(node, "attr", ""))


def _help(node: ast.expr | None) -> str:
    """All text that is written out in a help."""
    if node is None:
        return ""
    return " ".join(_words([n for n in ast.walk(node) if isinstance(n, ast.Constant)]))


# --- environment and packages -------------------------------------------------------------------


def _environment(sources: Sources) -> set[str]:
    """The variables that the engine declares, by their names."""
    module = sources.module(_ENVIRONMENT_SOURCE)
    classes = (
        [node for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)] if module else []
    )
    return {
        _name(line.targets[0])
        for found in classes
        if found.name == "Envs"
        for line in found.body
        if isinstance(line, ast.Assign)
        and isinstance(line.value, ast.Call)
        and re.fullmatch(r"Env[A-Za-z]+", _name(line.value.func))
    }


def _requires(metadata: str, wheel: str) -> dict[str, str]:
    """Oldest Python and C library, and the versions of the packages that matter."""
    found: dict[str, str] = {}
    python = re.search(r"^Requires-Python: *>= *([\d.]+)", metadata, re.M)
    if python:
        found["python"] = python[1]
    tag = re.search(r"manylinux_(\d+)_(\d+)_", wheel)
    if tag:
        found["glibc"] = f"{tag[1]}.{tag[2]}"
    for name, pattern in _PINS.items():
        pin = re.search(rf"^Requires-Dist: *{pattern}", metadata, re.M)
        if pin:
            found[name] = pin[1]
    return found
