# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the checks of the collection and close with one line, `N passed, N failed`.

Every check but molecule runs in a copy of the work tree at .lab/tree, because ansible-test and the
linters want a real path ending in ansible_collections/llmops/sglang; so the checkout stays clean.
Full outputs are kept in .lab/logs. Needs nothing but Python 3.11 and git; the rest is installed by
molecule/lab/lab.py in the first stage.
"""

from __future__ import annotations

import argparse
import configparser
import contextlib
import hashlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

COLLECTION = "llmops.sglang"
ROOT = Path(__file__).resolve().parents[1]
LAB = ROOT / "molecule" / "lab" / "lab.py"
LOGS = ROOT / ".lab" / "logs"
TREE = ROOT / ".lab" / "tree"
COPY = TREE.joinpath("ansible_collections", *COLLECTION.split("."))
CACHE = (
    Path(os.environ.get("LLMOPS_LAB_CACHE") or Path.home() / ".cache" / "llmops-sglang-lab")
    / "tests"
)

STAGES = {
    "prepare": "tools, controller environment, collections of the lab",
    "lint": "yamllint, ruff, mypy, ansible-lint, documentation",
    "sanity": "ansible-test sanity on every Python present",
    "unit": "pytest with the controller's Python, then with the oldest that a host may have",
    "pages": "the HTML report in headless Chromium",
    "lab": "pytest for the lab's own parts",
    "molecule": "scenarios; the longer ones only by name: molecule:pools, molecule:fleet, ...",
}

#: What the target-side tests need beside the ansible.module_utils that a managed host receives.
TARGET_PACKAGES = ("pytest", "hypothesis", "PyYAML")
OLDEST_TARGET_MINOR = 9

PLAIN = {"ANSIBLE_NOCOLOR": "1", "NO_COLOR": "1"}

#: The scenarios that `make test` runs. The others are run by name, `make molecule SCENARIO=pools`:
#: all of them together take longer than the hour that a run of all checks may take.
TESTED = ("default", "headline", "host", "interrupted")

#: Lines of a failed check's log that are shown.
TAIL_LINES = 60


@dataclass
class Tally:
    """How many single tests a check stands for; one whole check counts as one by default."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __iadd__(self, other: Tally) -> Tally:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        return self

    def __str__(self) -> str:
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}"


@dataclass
class Outcome:
    """What became of one process: exit status (None: killed at its time limit) and output."""

    status: int | None
    lines: list[str]


def one(outcome: Outcome) -> Tally:
    """A tool that has one verdict."""
    return Tally(passed=1) if outcome.status == 0 else Tally(failed=1)


def per_pytest_test(outcome: Outcome) -> Tally:
    """Single tests from pytest's closing line; a run without any test is a failure."""
    closing = next(
        (line for line in reversed(outcome.lines) if re.search(r" in [\d.:]+", line)), ""
    )
    found = {
        word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|skipped|error)", closing)
    }
    tally = Tally(
        found.get("passed", 0),
        found.get("failed", 0) + found.get("error", 0),
        found.get("skipped", 0),
    )
    if not tally.failed and (outcome.status != 0 or not tally.passed):
        tally.failed = 1
    return tally


SANITY_STEP = re.compile(r'Running sanity test "?([\w-]+)"?(?: on Python ([\d.]+))?')


def per_sanity_test(outcome: Outcome) -> Tally:
    """Single sanity tests: each one started on each Python, less those in the closing list."""
    started = sum(bool(SANITY_STEP.search(line)) for line in outcome.lines)
    failed = 0
    for position, line in enumerate(outcome.lines):
        if re.search(r"The \d+ sanity test\(s\) listed below", line):
            rest = outcome.lines[position + 1 :]
            failed = next(
                (n for n, name in enumerate(rest) if not re.match(r"[\w-]", name)), len(rest)
            )
    if outcome.status != 0 or not started:
        failed = failed or 1
    skipped = sum("Skipping sanity test" in line for line in outcome.lines)
    return Tally(max(started - failed, 0), failed, skipped)


@dataclass
class Check:
    """One command to run, its time limit in seconds, and how to count what it did."""

    name: str
    argv: list[str]
    limit_s: int
    cwd: Path = COPY
    env: dict[str, str] = field(default_factory=dict)
    count: Callable[[Outcome], Tally] = one
    #: Lines that tell how far it is; the first group is printed.
    step: re.Pattern[str] | None = None
    #: Lines worth showing when it fails; without it, the last ones are.
    telling: re.Pattern[str] | None = None
    #: Show all output as it comes.
    loud: bool = False
    #: Runs only when it is named.
    by_name: bool = False
    #: Makes ready what other checks need: no test, but nothing can be tested when it fails.
    setup: bool = False


def execute(check: Check, log: Path) -> Outcome:
    """Run a check in a process group of its own, keep its output, end the group at the limit."""
    lines: list[str] = []
    began = time.monotonic()
    process = subprocess.Popen(
        check.argv,
        cwd=check.cwd,
        env={**os.environ, **check.env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )

    def read() -> None:
        with log.open("w", encoding="utf-8") as sink:
            for line in process.stdout or ():
                lines.append(line.rstrip("\n"))
                sink.write(line)
                sink.flush()
                step = check.step.search(line) if check.step else None
                if check.loud:
                    print(f"    {line}", end="", flush=True)
                elif step:
                    said = " ".join(filter(None, step.groups()))
                    print(f"    {time.monotonic() - began:5.0f} s  {said}", flush=True)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    status: int | None = None
    try:
        status = process.wait(check.limit_s)
    except subprocess.TimeoutExpired:
        lines.append(f"stopped: not finished within its limit of {check.limit_s} s")
    finally:
        end_group(process)
    reader.join(10)
    return Outcome(status, list(lines))


def end_group(process: subprocess.Popen[str]) -> None:
    """End what is left of a process group: politely, then for certain after ten seconds."""
    for number, patience_s in ((signal.SIGTERM, 10.0), (signal.SIGKILL, 0.0)):
        try:
            os.killpg(process.pid, number)
        except (ProcessLookupError, PermissionError):
            break
        until = time.monotonic() + patience_s
        while time.monotonic() < until and process.poll() is None:
            time.sleep(0.1)
    process.wait()


def report(stage: str, check: Check) -> Tally:
    """Run one check and say in one line how it went; the end of its output if it failed."""
    log = LOGS / f"{stage}-{check.name}.log"
    if check.step or check.loud:
        print(f"  {check.name} ...", flush=True)
    began = time.monotonic()
    outcome = execute(check, log)
    tally = check.count(outcome)
    if check.setup:
        tally.passed = 0
    verdict = "FAILED" if tally.failed else "passed"
    many = f"  ({tally})" if tally.passed + tally.failed > 1 else ""
    print(f"  {check.name:<28} {verdict} {time.monotonic() - began:6.0f} s{many}", flush=True)
    if tally.failed:
        print(f"    from {log.relative_to(ROOT)}:")
        telling = [line for line in outcome.lines if check.telling and check.telling.search(line)]
        for line in (telling or outcome.lines)[-TAIL_LINES:]:
            print(f"    | {line}")
    return tally


# The tools and where they run


@dataclass
class Tools:
    """The controller environment that the lab made, and the environment for what runs in it."""

    bin: Path

    @property
    def env(self) -> dict[str, str]:
        return {
            "PATH": os.pathsep.join([str(self.bin), *python_folders()]),
            "ANSIBLE_COLLECTIONS_PATH": str(TREE),
            **PLAIN,
            "PYTHONPATH": str(TREE),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def __call__(self, tool: str, *arguments: str) -> list[str]:
        return [str(self.bin / tool), *arguments]

    def minor(self) -> int:
        """The minor version of the controller's Python 3."""
        ask = "import sys; print(sys.version_info[1])"
        return int(subprocess.check_output(self("python", "-c", ask), text=True))


def python_folders() -> list[str]:
    """PATH without version-manager shims, which answer for Pythons that they then refuse to run."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    real = [folder for folder in folders if "shims" not in Path(folder).parts]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    return [*(str(path) for path in sorted(pyenv.glob("3.*/bin"))), *real]


def oldest_target_python(below_minor: int) -> str | None:
    """Path of the oldest Python present that a managed host may have and the controller has not."""
    path = os.pathsep.join(python_folders())
    names = (f"python3.{minor}" for minor in range(OLDEST_TARGET_MINOR, below_minor))
    return next(filter(None, (shutil.which(name, path=path) for name in names)), None)


def copy_tree() -> None:
    """Bring .lab/tree up to date with the files that git tracks or would add."""
    # A checkout that another user owns is still the one to test.
    git = ["git", "-c", "safe.directory=*", "ls-files"]
    which = ["-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.check_output([*git, *which], cwd=ROOT)
    names = {name for name in os.fsdecode(listing).split("\0") if name}
    wanted = {name for name in names if os.path.lexists(ROOT / name)}
    COPY.mkdir(parents=True, exist_ok=True)
    if not (COPY / ".git").is_dir():
        subprocess.run(["git", "init", "--quiet"], cwd=COPY, check=True)
    for name in wanted:
        source, target = ROOT / name, COPY / name
        if source.is_symlink() or not same_file(source, target):
            target.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                target.unlink()
            shutil.copy2(source, target, follow_symlinks=False)
    for folder, folders, files in os.walk(COPY, topdown=False):
        if ".git" in Path(folder).relative_to(COPY).parts:
            continue
        for name in files:
            path = Path(folder, name)
            if str(path.relative_to(COPY)) not in wanted:
                path.unlink()
        for name in folders:
            with contextlib.suppress(OSError):
                Path(folder, name).rmdir()


def same_file(source: Path, target: Path) -> bool:
    """Whether a copy is still as its source, by size, time and mode."""
    try:
        there = target.lstat()
    except FileNotFoundError:
        return False
    here = source.lstat()
    return (here.st_size, here.st_mtime_ns, here.st_mode) == (
        there.st_size,
        there.st_mtime_ns,
        there.st_mode,
    )


# The stages: each yields its checks in order


def prepare() -> Iterator[Check]:
    yield lab_step("doctor", "--install")
    yield lab_step("controller")
    yield lab_step("collections")


def lab_step(*command: str) -> Check:
    """One thing that the lab makes, with its own progress."""
    argv = [sys.executable, str(LAB), *command]
    return Check(command[0], argv, 1800, ROOT, loud=True, setup=True)


def lint(tools: Tools) -> Iterator[Check]:
    cache = str(CACHE / "mypy")
    env = {**tools.env, "RUFF_CACHE_DIR": str(CACHE / "ruff")}
    yield Check("yamllint", tools("yamllint", "--strict", "."), 120, env=env)
    yield Check("ruff", tools("ruff", "check", "."), 120, env=env)
    yield Check("ruff-format", tools("ruff", "format", "--check", "--diff", "."), 120, env=env)
    inside = COPY.relative_to(TREE)
    config = str(inside / "pyproject.toml")
    mypy = tools("mypy", "--config-file", config, "--cache-dir", cache, str(inside / "plugins"))
    yield Check("mypy", mypy, 600, TREE, env)
    yield Check("ansible-lint", tools("ansible-lint", "--offline", "--nocolor"), 900, env=env)
    yield from documentation(tools, env)


def documentation(tools: Tools, env: dict[str, str]) -> Iterator[Check]:
    """ansible-doc must render every module, filter and role; a warning is a failure, too."""

    def strictly(outcome: Outcome) -> Tally:
        # ansible-core warns about an internal collection of its own when it looks for roles.
        warned = any("WARNING" in line and "_protomatter" not in line for line in outcome.lines)
        return Tally(failed=1) if warned else one(outcome)

    argv = tools("ansible-doc", "--list", "--type", "filter", COLLECTION)
    listed = subprocess.run(
        argv, env={**os.environ, **env}, capture_output=True, text=True, check=False
    )
    found = {
        "module": [path.stem for path in COPY.glob("plugins/modules/[!_]*.py")],
        "filter": re.findall(rf"^{re.escape(COLLECTION)}\.(\w+)", listed.stdout, re.MULTILINE),
        "role": [path.name for path in COPY.glob("roles/*")],
    }
    for kind, names in found.items():
        full = sorted(f"{COLLECTION}.{name}" for name in names)
        if full:
            argv = tools("ansible-doc", "--type", kind, *full)
            yield Check(f"docs-{kind}", argv, 120, env=env, count=strictly)


def sanity(tools: Tools) -> Iterator[Check]:
    """ansible-test with a home of its own: it caches environments and pip's installer there."""
    home = CACHE / "sanity"
    env = {**tools.env, "HOME": str(home)}
    env.pop("PYTHONPATH")
    configure_pip(home)
    bootstrap_pip(tools, home / ".ansible" / "test" / "cache")
    argv = tools("ansible-test", "sanity", "--local", "--color", "no")
    yield Check(
        "ansible-test",
        argv,
        2400,
        env=env,
        count=per_sanity_test,
        step=SANITY_STEP,
        telling=re.compile(r"^(ERROR|FATAL): "),
    )


def configure_pip(home: Path) -> None:
    """Take pip's settings along: ansible-test drops the environment variables that hold some."""
    config = configparser.RawConfigParser()
    config.read([Path.home() / ".pip" / "pip.conf", Path.home() / ".config" / "pip" / "pip.conf"])
    if not config.has_section("global"):
        config.add_section("global")
    for name, value in os.environ.items():
        if name.startswith("PIP_") and name != "PIP_CONFIG_FILE":
            config.set("global", name[4:].lower().replace("_", "-"), value)
    if not config.has_option("global", "cache-dir"):
        config.set("global", "cache-dir", str(Path.home() / ".cache" / "pip"))
    target = home / ".config" / "pip" / "pip.conf"
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("w", encoding="utf-8") as sink:
        config.write(sink)


def bootstrap_pip(tools: Tools, cache: Path) -> None:
    """Spare ansible-test the download of get-pip.py: Python's own ensurepip does the same."""
    ask = "import ansible_test; print(ansible_test.__path__[0])"
    package = Path(subprocess.check_output(tools("python", "-c", ask), text=True).strip())
    source = (package / "_internal" / "python_requirements.py").read_text(encoding="utf-8")
    cache.mkdir(parents=True, exist_ok=True)
    for version in set(re.findall(r"""\bpip['"]?\s*[=:]\s*['"]([\d.]+)['"]""", source)):
        # A process each: ensurepip switches off pip's settings for its own.
        (cache / f"get_pip_{version.replace('.', '_')}.py").write_text(
            "import subprocess\nimport sys\n\n"
            f'for command in ("ensurepip", "pip install --quiet pip=={version}"):\n'
            '    subprocess.check_call([sys.executable, "-m", *command.split()])\n',
            encoding="utf-8",
        )


def unit(tools: Tools) -> Iterator[Check]:
    pytest = ["-m", "pytest", "-q", "--color=no"]
    argv = tools("python", *pytest, "tests/unit")
    yield Check("controller", argv, 900, env=tools.env, count=per_pytest_test)
    python = oldest_target_python(tools.minor())
    if python is None:
        print(f"  no Python from 3.{OLDEST_TARGET_MINOR} on below the controller's is installed:")
        print("  the target side was tested with the controller's alone")
        return
    version = Path(python).name
    venv = CACHE / f"target-{version}-{digest(python, *TARGET_PACKAGES)}"
    ready = venv / "ready"
    if not ready.exists():
        shutil.rmtree(venv, ignore_errors=True)
        script = (
            f"set -e; {shlex.quote(python)} -m venv {venv}; "
            f"{venv}/bin/pip install -q --disable-pip-version-check {' '.join(TARGET_PACKAGES)}; "
            f"touch {ready}"
        )
        yield Check(f"{version}-venv", ["sh", "-c", script], 600, ROOT, setup=True)
    target = [f"tests/unit/plugins/{kind}" for kind in ("module_utils", "modules")]
    argv = [
        str(venv / "bin" / "python"),
        *pytest,
        *(path for path in target if (COPY / path).is_dir()),
    ]
    env = {**tools.env, "PYTHONPATH": os.pathsep.join([str(TREE), str(ansible_alone(tools))])}
    yield Check(version, argv, 900, env=env, count=per_pytest_test)


def ansible_alone(tools: Tools) -> Path:
    """A folder with the controller's `ansible` package and nothing else of its environment.

    Modules run on a host with the module_utils that the controller sends along, so an old Python
    has to be tried with exactly those.
    """
    ask = "import ansible; print(ansible.__path__[0])"
    package = Path(subprocess.check_output(tools("python", "-c", ask), text=True).strip())
    folder = CACHE / f"ansible-{digest(str(package))}"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "ansible").is_symlink():
        (folder / "ansible").symlink_to(package)
    return folder


def digest(*parts: str) -> str:
    """A short name for what a cached folder was made from."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]


def pages(tools: Tools) -> Iterator[Check]:
    """Pictures of the page and the printed one are kept beside the logs."""
    env = {**tools.env, "PAGES_OUT": str(LOGS / "pages")}
    argv = tools("python", "-m", "pytest", "-q", "--color=no", "tests/pages")
    yield Check("chromium", argv, 300, env=env, count=per_pytest_test)


def lab(tools: Tools) -> Iterator[Check]:
    folders = sorted(
        str(path.relative_to(COPY)) for path in COPY.glob("molecule/lab/**/tests") if path.is_dir()
    )
    if folders:
        argv = tools("python", "-m", "pytest", "-q", "--color=no", *folders)
        yield Check("pytest", argv, 900, env=tools.env, count=per_pytest_test)


MOLECULE_STEP = re.compile(r"\[\S+ > ([\w-]+)\] Executing")


def molecule(tools: Tools) -> Iterator[Check]:
    """Each scenario from the checkout itself, against what the lab makes for all of them."""
    for part in ("wheelhouse", "models", "image"):
        yield lab_step(part)
    printed = subprocess.check_output([sys.executable, str(LAB), "env"], cwd=ROOT, text=True)
    words = (word for line in printed.splitlines() for word in shlex.split(line))
    env = dict(word.split("=", 1) for word in words if "=" in word)
    names = [path.parent.name for path in (ROOT / "molecule").glob("*/molecule.yml")]
    for name in sorted(names, key=lambda name: (name != "default", name)):
        argv = tools("molecule", "test", "-s", name)
        yield Check(
            name, argv, 2400, ROOT, {**env, **PLAIN}, step=MOLECULE_STEP, by_name=name not in TESTED
        )


RUNNERS: dict[str, Callable[[Tools], Iterator[Check]]] = {
    "lint": lint,
    "sanity": sanity,
    "unit": unit,
    "pages": pages,
    "lab": lab,
    "molecule": molecule,
}


# The command


def controller() -> Tools:
    """The controller environment: its folder of programs is the lab's last line of output."""
    printed = subprocess.check_output([sys.executable, str(LAB), "controller"], cwd=ROOT, text=True)
    return Tools(Path(printed.strip().splitlines()[-1]))


def selection(words: list[str]) -> dict[str, set[str]]:
    """What to run: stage -> names of its checks, an empty set for all. `lint:ruff` names one."""
    chosen: dict[str, set[str]] = {}
    for word in words or list(STAGES):
        stage, *name = word.split(":", 1)
        if stage not in STAGES:
            raise SystemExit(f"no stage is named {stage!r}; there are {', '.join(STAGES)}")
        chosen.setdefault(stage, set()).update(name)
    return {stage: chosen[stage] for stage in STAGES if stage in chosen}


def run_stage(stage: str, checks: Iterator[Check], names: set[str]) -> Tally:
    """Run the chosen checks of a stage; one that has none to run has failed."""
    print(f"{stage}  ({STAGES[stage]})", flush=True)
    tally = Tally()
    ran = 0
    try:
        for check in checks:
            wanted = check.name in names if names else not check.by_name
            if wanted or check.setup:
                tally += report(stage, check)
                ran += not check.setup or stage == "prepare"
                if check.setup and tally.failed:
                    break
    except (OSError, subprocess.SubprocessError) as error:
        print(f"  FAILED: {error}")
        tally.failed += 1
    if not ran and not tally.failed:
        print(f"  FAILED: nothing to run {', '.join(sorted(names))}")
        tally.failed += 1
    return tally


def main() -> int:
    stages = "\n".join(f"  {name:<10} {what}" for name, what in STAGES.items())
    parser = argparse.ArgumentParser(
        description="Run the checks of the collection.",
        epilog=f"stages, all by default:\n{stages}\n\nstage:check runs one check of a stage",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("stage", nargs="*", help="such as: lint  unit  molecule:default")
    chosen = selection(parser.parse_args().stage)
    began = time.monotonic()
    LOGS.mkdir(parents=True, exist_ok=True)
    total = Tally()
    if "prepare" in chosen:
        total += run_stage("prepare", prepare(), chosen.pop("prepare"))
    if chosen and not total.failed:
        try:
            tools = controller()
            copy_tree()
        except (OSError, subprocess.SubprocessError) as error:
            print(f"FAILED: {error}")
            total.failed += 1
            chosen = {}
        for stage, names in chosen.items():
            total += run_stage(stage, RUNNERS[stage](tools), names)
    print(f"finished after {time.monotonic() - began:.0f} s; outputs in {LOGS.relative_to(ROOT)}/")
    if total.skipped:
        print(f"skipped: {total.skipped}, for tools and Python versions that are not installed")
    print(f"{total.passed} passed, {total.failed} failed")
    return 1 if total.failed else 0


if __name__ == "__main__":
    # Ended from outside, it ends what it started, as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
