# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the maintainer's commands write is what lies in the tree."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._engine.flags import FlagInfo, flags_of
from ansible_collections.llmops.sglang.plugins.module_utils._engine.profile import (
    profile,
    profile_names,
)
from ansible_collections.llmops.sglang.plugins.module_utils._engine.releases import release_data
from ansible_collections.llmops.sglang.plugins.module_utils._engine.rules import RULES
from ansible_collections.llmops.sglang.plugins.module_utils._engine.version import KNOWN, Version

ROOT = Path(__file__).resolve().parents[2]
ENGINE = ROOT / "plugins" / "module_utils" / "_engine"
NEWEST = Version.parse(KNOWN[-1])
ACTIONS = {
    "store_true": "'store_true'",
    "boolean_optional": "argparse.BooleanOptionalAction",
    "deprecated": "DeprecatedAction",
    "deprecated_store_true": "DeprecatedStoreTrueAction",
    "deprecated_store_const": "DeprecatedStoreConstAction",
    "deprecated_alias": "DeprecatedAliasStoreAction",
    "lora_path": "LoRAPathAction",
}


def tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    if spec is None or spec.loader is None:
        raise ImportError(name)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_the_page_of_rules_is_written_from_the_rules() -> None:
    page = tool("list_rules").page(RULES)
    assert page == (ROOT / "docs" / "rules.md").read_text(encoding="utf-8"), (
        "run tools/list_rules.py"
    )


def test_every_rule_stands_on_the_page_without_gaps() -> None:
    page = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    assert page.count("\n### ENG-") == len(RULES) >= 40
    assert "{" not in page


def test_the_page_of_profiles_is_written_from_the_profiles() -> None:
    page = tool("list_profiles").page([profile(name) for name in profile_names()])
    assert page == (ROOT / "docs" / "profiles.md").read_text(encoding="utf-8"), (
        "run tools/list_profiles.py"
    )


# --- a release from its wheel


def source_of(flag: FlagInfo) -> str:
    """A call of add_argument that defines a flag as it is recorded."""
    names = [name for name in flag.names if not name.startswith("--no-")] or flag.names
    words: dict[str, str] = {"dest": repr(flag.dest), "default": repr(flag.default)}
    if flag.action in ACTIONS:
        words["action"] = ACTIONS[flag.action]
    elif flag.type:
        words["type"] = flag.type
    for key in ("nargs", "const"):
        if getattr(flag, key) is not None and flag.action not in ("store_true", "boolean_optional"):
            words[key] = repr(getattr(flag, key))
    if flag.action in ("deprecated", "deprecated_store_const") and flag.nargs is None:
        words["nargs"] = "None"
    if flag.choices is not None:
        words["choices"] = repr(list(flag.choices))
    if flag.required:
        words["required"] = "True"
    words["help"] = "'Deprecated.'" if flag.deprecated else "'What it does.'"
    told = ", ".join(f"{key}={value}" for key, value in words.items())
    return f"    parser.add_argument({', '.join(map(repr, names))}, {told})"


def wheel(folder: Path, version: str, lines: Iterable[str], variables: Iterable[str]) -> Path:
    """A small wheel that only has what is read."""
    path = folder / f"sglang-{version}-cp311-cp311-manylinux_2_34_x86_64.whl"
    pins = [("torch", "torch"), ("kernel", "sglang-kernel"), ("flashinfer", "flashinfer_python")]
    needs = {**release_data()["requires"][KNOWN[-1]], "torch": "2.15.0"}
    metadata = [f"Version: {version}", f"Requires-Python: >={needs['python']}"]
    metadata += [f"Requires-Dist: {package}=={needs[name]}" for name, package in pins]
    metadata += [f"Requires-Dist: transformers=={needs['transformers']}"]
    metadata += ["Requires-Dist: cuda-python>=13.0"]
    with zipfile.ZipFile(path, "w") as archive:
        body = "\n".join(["    pass", *lines])
        archive.writestr("sglang/srt/server_args.py", f"def add(parser):\n{body}\n")
        declared = "\n".join(f"    {name} = EnvBool(False)" for name in variables)
        archive.writestr("sglang/srt/environ.py", f"class Envs:\n    pass\n{declared}\n")
        archive.writestr(f"sglang-{version}.dist-info/METADATA", "\n".join(metadata))
        tag = "Tag: cp311-cp311-manylinux_2_34_x86_64"
        archive.writestr(f"sglang-{version}.dist-info/WHEEL", tag)
    return path


def read_variables() -> list[str]:
    spans = release_data()["environment"].items()
    return [name for name, span in spans if len(span) == 1]


def run(*words: str | Path, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "add_release.py"), *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": str(path) if path else ""}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A copy of the records that a command may write."""
    for name in ("releases.json", "version.py"):
        shutil.copy(ENGINE / name, tmp_path)
    return tmp_path


def test_the_record_of_a_release_is_what_its_wheel_says(data: Path) -> None:
    lines = [source_of(flag) for flag in flags_of(NEWEST)]
    done = run(wheel(data, KNOWN[-1], lines, read_variables()), "--data", data)
    assert (done.returncode, done.stdout) == (1, "~ needs torch 2.14.1 -> 2.15.0\n")
    assert (data / "releases.json").read_bytes() == (ENGINE / "releases.json").read_bytes()


def test_a_new_release_is_recorded_with_what_it_changed(data: Path) -> None:
    lines = []
    for flag in flags_of(NEWEST):
        line = source_of(flag)
        if flag.name == "--sleep-on-idle":
            continue
        if flag.name == "--decode-log-interval":
            line = line.replace("default=40", "default=100")
        if flag.name == "--hicache-io-backend":
            # What only running the code would tell is taken over.
            line = line.replace("choices=['direct'", "choices=computed(['direct'")
            line = line.replace("'kernel_ascend']", "'kernel_ascend'])")
        lines.append(line)
    lines.append("    parser.add_argument('--warp-speed', type=int, default=9)")
    variables = [name for name in read_variables() if name != "SGLANG_LOG_MS"]
    path = wheel(data, "0.5.99", lines, [*variables, "SGLANG_WARP"])

    done = run(path, "--data", data)

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:8] == [
        f"0.5.99 since {KNOWN[-1]}:",
        "~ --decode-log-interval: default 40 -> 100",
        "+ --warp-speed",
        "- --sleep-on-idle",
        "+ SGLANG_WARP",
        "- SGLANG_LOG_MS",
        "~ needs torch 2.14.1 -> 2.15.0",
        f"? --hicache-io-backend: choices as in {KNOWN[-1]}; only its parser tells",
    ]
    records = json.loads((data / "releases.json").read_text(encoding="utf-8"))
    assert '    "0.5.99",\n)' in (data / "version.py").read_text(encoding="utf-8")
    assert records["requires"]["0.5.99"]["torch"] == "2.15.0"
    assert records["environment"]["SGLANG_WARP"] == ["0.5.99"]
    assert records["environment"]["SGLANG_LOG_MS"][1] == KNOWN[-1]

    def entries(name: str) -> list[dict[str, Any]]:
        return [entry for entry in records["flags"] if entry["names"][0] == name]

    assert entries("--warp-speed") == [
        {"names": ["--warp-speed"], "type": "int", "default": 9, "since": "0.5.99"}
    ]
    assert entries("--sleep-on-idle")[-1]["until"] == KNOWN[-1]
    old, new = entries("--decode-log-interval")
    assert (old["default"], old["until"]) == (40, KNOWN[-1])
    assert (new["default"], new["since"]) == (100, "0.5.99")
    assert len(records["flags"]) == len(release_data()["flags"]) + 2


def test_a_release_between_known_ones_is_not_added(data: Path) -> None:
    done = run(wheel(data, "0.5.22.post1", [], []), "--data", data)
    assert done.returncode == 2
    assert (data / "releases.json").read_bytes() == (ENGINE / "releases.json").read_bytes()


def test_an_interpreter_without_the_release_is_told_and_not_needed(data: Path) -> None:
    lines = [source_of(flag) for flag in flags_of(NEWEST)]
    path = wheel(data, "0.5.99", lines, read_variables())
    done = run(path, "--data", data, "--python", sys.executable)
    assert done.returncode == 0
    assert "cannot be asked, going on without it" in done.stderr


def test_the_parser_of_the_release_tells_what_the_source_only_computes(data: Path) -> None:
    package = data / "importable" / "sglang" / "srt"
    package.mkdir(parents=True)
    (package / "server_args.py").write_text(
        "class ServerArgs:\n"
        "    @staticmethod\n"
        "    def add_cli_args(parser):\n"
        "        parser.add_argument('--warp-speed', type=int, default=9, choices=[9, 10])\n"
    )
    lines = [source_of(flag) for flag in flags_of(NEWEST)]
    lines.append("    parser.add_argument('--warp-speed', type=int, default=f(), choices=g())")
    archive = wheel(data, "0.5.99", lines, read_variables())
    done = run(archive, "--data", data, "--python", sys.executable, path=data / "importable")
    assert done.returncode == 0, done.stderr
    records = json.loads((data / "releases.json").read_text(encoding="utf-8"))
    [entry] = [entry for entry in records["flags"] if entry["names"] == ["--warp-speed"]]
    assert entry["default"] == 9
    assert records["choices"][entry["choices"]] == [9, 10]
