# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drives the cases of cases.yml: break something, run the play as a user would, look at both.

    python3 drive.py [NAME...]      all cases, or those whose names contain one of the words

Two guests take the cases in turn. A case begins and ends with a server that is up and proven, so
cases need no order. What a case may say stands at the head of cases.yml.
"""

from __future__ import annotations

import json
import os
import queue
import re
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
REPO = HERE.parents[1]
sys.path.insert(0, str(REPO / "molecule" / "lab"))

import guest as lab  # noqa: E402

LOGS = REPO / ".lab" / "logs" / "faults"
PLAY_TIMEOUT_S = 240
WAIT_S = 60
# Run in a guest: what runs, what systemd would run, what is proven, who changes it.
LOOK = """
import json, pathlib, subprocess
unit = "sglang-kimi.service"
proven = pathlib.Path("/etc/sglang/kimi/proven")
def text(path):
    try: return pathlib.Path(path).read_text()
    except OSError: return ""
show = subprocess.run(
    ["systemctl", "show", unit, "--property=ActiveState,MainPID,InvocationID"],
    capture_output=True, text=True).stdout
values = dict(line.split("=", 1) for line in show.splitlines() if "=" in line)
record = json.loads(text(proven / "current.json") or "{}")
kept = proven / str(record.get("invocation_id"))
argv = text("/proc/" + values["MainPID"] + "/cmdline").rstrip(chr(0)).split(chr(0))
def marker(words):
    flag = "--decode-log-interval"
    return words[words.index(flag) + 1] if flag in words else None
print(json.dumps({
    "active": values["ActiveState"],
    "invocation": values["InvocationID"],
    "runs": values["MainPID"] != "0",
    "argv": argv,
    "marker": marker(argv),
    "proven": record.get("invocation_id"),
    "proven_argv": json.loads(text(kept / "plan.json") or "{}").get("argv"),
    "unit_is_proven": text("/etc/systemd/system/" + unit) == text(kept / unit),
    "claimed": pathlib.Path("/run/llmops-sglang/kimi.json").exists(),
}))
"""


class Wrong(AssertionError):
    """Something is not as the case says."""


@dataclass(frozen=True)
class Case:
    """One row of cases.yml."""

    name: str
    ends: str
    says: list[str] = field(default_factory=list)
    fault: str = ""
    start_s: float = 1
    variables: dict[str, Any] = field(default_factory=dict)
    first: dict[str, Any] | None = None
    again: bool = False
    before: str = ""
    beside: str = ""
    after: str = ""
    mend: str = ""
    diagnose: list[str] = field(default_factory=list)
    killed: list[dict[str, Any]] = field(default_factory=list)
    rival: list[str] = field(default_factory=list)


class Driver:
    """One guest, and the variables of the server that runs there."""

    def __init__(self, guest: lab.Guest) -> None:
        self.guest = guest
        self.plays = 0
        self.variables: dict[str, Any] = {}
        self.case = ""

    def drive(self, case: Case) -> None:
        """Go through one case; raises Wrong."""
        self.case = case.name
        if case.first is not None:
            self._deploy_first(case.first)
        old = self._look()
        self._check_proven(old)
        try:
            self._shell(case.before)
            if case.diagnose:
                self._check_texts(self._play({}, playbook="diagnose")[1], case.diagnose)
            wanted = self.variables if case.again else self._wanted(case)
            helper = self._background(case.beside)
            for step in case.killed:
                self._kill(step, wanted, old)
            code, text = self._race(case, wanted) if case.rival else self._play(wanted)
            if helper is not None:
                helper.wait(timeout=WAIT_S)
            self._check_texts(text, case.says)
            self._check_end(case, code, old, self._look(), wanted)
            self._shell(case.after)
        finally:
            self._shell(case.mend)
        if case.ends == "new":
            self.variables = wanted

    def _deploy_first(self, variables: dict[str, Any]) -> None:
        wanted = {**variables, "sglang_decode_log_interval": self._marker()}
        code, _text = self._play(wanted)
        if code:
            raise Wrong("the server of before could not be deployed")
        self.variables = wanted

    def _marker(self) -> int:
        """A flag that changes nothing, by which a server can be told from another one."""
        self.plays += 1
        return 100 + self.plays

    def _wanted(self, case: Case) -> dict[str, Any]:
        environment = {"LAB_DOUBLE_START_S": str(case.start_s)}
        if case.fault:
            environment["LAB_DOUBLE_FAULT"] = case.fault
        return {
            "sglang_environment": environment,
            "sglang_decode_log_interval": self._marker(),
            **case.variables,
        }

    def _kill(self, step: dict[str, Any], wanted: dict[str, Any], old: dict[str, Any]) -> None:
        """Run the play until it is killed at a task, then look at what it left."""
        code, _text = self._play(wanted, kill_at=step["at"])
        if code != -9:
            raise Wrong(f"the play did not reach {step['at']!r}")
        if step.get("reboot"):
            lab.reboot(self.guest)
        state = self._look()
        new = str(wanted["sglang_decode_log_interval"])
        found = {old["marker"]: "old", new: "new"}[state["marker"]] if state["runs"] else "stopped"
        if found != step["leaves"]:
            raise Wrong(f"killed at {step['at']!r} it left {found}, not {step['leaves']}")

    def _race(self, case: Case, wanted: dict[str, Any]) -> tuple[int, str]:
        """Run the play, and another one as soon as the first has claimed the instance."""
        other = {**wanted, "sglang_decode_log_interval": self._marker(), "sglang_claim_wait_s": 0}
        answers: list[tuple[int, str]] = []
        first = threading.Thread(target=lambda: answers.append(self._play(wanted)))
        first.start()
        until = time.monotonic() + WAIT_S
        while not self._look()["claimed"] and time.monotonic() < until:
            time.sleep(0.2)
        code, text = self._play(other)
        first.join()
        self._check_texts(text, case.rival)
        if code == 0:
            raise Wrong("the second play changed the host, too")
        return answers[0]

    # --- what is looked at -----------------------------------------------------------------------

    def _check_end(
        self,
        case: Case,
        code: int,
        old: dict[str, Any],
        state: dict[str, Any],
        wanted: dict[str, Any],
    ) -> None:
        """The old server or the new one, whole, and the play's exit status tells which."""
        self._check_proven(state)
        same = state["invocation"] == old["invocation"]
        new = state["marker"] == str(wanted["sglang_decode_log_interval"])
        found = {
            "untouched": code != 0 and same,
            "back": code != 0 and not same and state["marker"] == old["marker"],
            "new": code == 0 and not same and new,
            "same": code == 0 and same,
        }
        if not found[case.ends]:
            told = [name for name, holds in found.items() if holds] or [f"status {code}", state]
            raise Wrong(f"it ends as {told}, not {case.ends}")
        if case.ends != "back" and state["proven"] != state["invocation"]:
            raise Wrong(f"what runs is {state['invocation']}, proven is {state['proven']}")
        if state["claimed"]:
            raise Wrong("the instance is still claimed")

    def _check_proven(self, state: dict[str, Any]) -> None:
        """What runs, what systemd would start again and what was proven are the same."""
        if state["active"] != "active" or not state["runs"]:
            raise Wrong(f"nothing serves: the unit is {state['active']}")
        if state["argv"] != state["proven_argv"]:
            raise Wrong(f"what runs was not proven: {' '.join(state['argv'])}")
        if not state["unit_is_proven"]:
            raise Wrong("the unit on the disk is not the one that was proven")

    def _check_texts(self, text: str, wanted: list[str]) -> None:
        said = " ".join(text.split())
        for words in wanted:
            if words not in said:
                raise Wrong(f"nothing says {words!r}")

    # --- guest and controller --------------------------------------------------------------------

    def _look(self) -> dict[str, Any]:
        state: dict[str, Any] = json.loads(self._inside("python3", "-c", LOOK))
        return state

    def _shell(self, script: str) -> None:
        if script:
            self._inside("bash", "-euc", script)

    def _background(self, script: str) -> subprocess.Popen[bytes] | None:
        if not script:
            return None
        return subprocess.Popen(["podman", "exec", self.guest.container, "bash", "-euc", script])

    def _inside(self, *command: str) -> str:
        done = subprocess.run(
            ["podman", "exec", self.guest.container, *command],
            capture_output=True, text=True, check=False, timeout=WAIT_S,
        )  # fmt: skip
        if done.returncode:
            raise Wrong(f"{' '.join(command)[:200]}: {done.stderr.strip()[-500:]}")
        return done.stdout

    def _play(
        self, variables: dict[str, Any], kill_at: str = "", playbook: str = "deploy"
    ) -> tuple[int, str]:
        """Run a playbook on the guest; returns its exit status and what it printed."""
        argv = ["ansible-playbook", f"llmops.sglang.{playbook}", "--limit", self.guest.name]
        for inventory in (HERE.parent / "shared" / "inventory.yml", HERE / "inventory.yml"):
            argv += ["--inventory", str(inventory)]
        argv += ["--extra-vars", json.dumps(variables)]
        environment = {**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_PIPELINING": "1"}
        # Molecule's own settings are for its own playbook.
        environment.pop("ANSIBLE_FORCE_COLOR", None)
        if kill_at:
            environment["LAB_KILL_AT"] = kill_at
        done = subprocess.run(
            argv, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False, timeout=PLAY_TIMEOUT_S,
            start_new_session=True,
        )  # fmt: skip
        with (LOGS / f"{_slug(self.case)}.log").open("a") as log:
            log.write(f"$ {playbook} {json.dumps(variables)} {kill_at}\n{done.stdout}\n")
        return done.returncode, done.stdout


def _slug(name: str) -> str:
    return re.sub(r"\W+", "-", name.lower()).strip("-")


def work(driver: Driver, cases: queue.SimpleQueue[Case], failed: list[str]) -> None:
    """Take cases until none is left."""
    while True:
        try:
            case = cases.get_nowait()
        except queue.Empty:
            return
        began = time.monotonic()
        try:
            driver.drive(case)
            outcome = f"ok, {case.ends}"
        except (Wrong, lab.LabError, subprocess.SubprocessError, KeyError) as error:
            outcome = f"FAILED: {type(error).__name__}: {error}"
            failed.append(case.name)
        seconds = time.monotonic() - began
        print(f"{driver.guest.name}  {seconds:4.0f} s  {case.name}: {outcome}", flush=True)


def read_cases(words: list[str]) -> list[Case]:
    """The rows of cases.yml, those that take long first."""
    rows = yaml.safe_load((HERE / "cases.yml").read_text())
    cases = [Case(**row) for row in rows]
    if len({_slug(case.name) for case in cases}) < len(cases):
        raise SystemExit("cases.yml: two cases have the same name")
    return [case for case in cases if not words or any(word in case.name for word in words)]


def main() -> int:
    LOGS.mkdir(parents=True, exist_ok=True)
    for log in LOGS.glob("*.log"):
        log.unlink()
    cases: queue.SimpleQueue[Case] = queue.SimpleQueue()
    for case in read_cases(sys.argv[1:]):
        cases.put(case)
    failed: list[str] = []
    workers = [
        threading.Thread(target=work, args=(Driver(guest), cases, failed))
        for guest in lab.guests("faults")
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if failed:
        print(f"{len(failed)} failed: {'; '.join(failed)}\nfull outputs are in {LOGS}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
