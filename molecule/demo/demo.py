# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection's main job on the lab host, with the real engine, in one command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPO = HERE.parents[1]
LAB = REPO / "molecule" / "lab" / "lab.py"
GUEST = "gpu-01"
QUESTION = "What is the capital of France?"

ASK = f"""
import json, urllib.request
body = {{"model": "kimi-k2.5", "max_tokens": 16, "temperature": 0,
        "messages": [{{"role": "user", "content": {QUESTION!r}}}]}}
request = urllib.request.Request("http://127.0.0.1:30000/v1/chat/completions",
                                 json.dumps(body).encode(), {{"Content-Type": "application/json"}})
print(urllib.request.urlopen(request, timeout=60).read().decode())
"""


def main() -> int:
    """Set up, look at the headline host, deploy, ask one question, say how to look around."""
    start = time.monotonic()
    title("1 of 5: the lab")
    lab("doctor", "--install")
    for part in ("controller", "collections", "wheelhouse", "models", "image"):
        lab(part)
    lab("up", "demo")
    environment = lab_environment()

    title("2 of 5: Kimi-K2.5 on this host: what is there, and what fits")
    headline = REPO / "examples" / "kimi-k2.5" / "group_vars" / "sglang.yml"
    playbook(environment, "diagnose", "-e", f"@{headline}", "-e", f"@{HERE / 'headline.yml'}")

    title("3 of 5: deploy the real SGLang with a tiny model as sglang-kimi.service")
    playbook(environment, "deploy")

    title("4 of 5: ask it something")
    answer = json.loads(guest(environment, "python3", "-c", ASK))
    print(f"question: {QUESTION}")
    print(f"answer:   {answer['choices'][0]['message']['content']!r}")
    print("          (random weights: the text has no meaning, the path it took has)")
    print(
        f"usage:    {answer['usage']['prompt_tokens']} tokens in, "
        f"{answer['usage']['completion_tokens']} out"
    )

    title("5 of 5: the unit")
    print(guest(environment, "systemctl", "status", "--no-pager", "-n", "3", "sglang-kimi.service"))
    print("look around:   make demo-shell      then: journalctl -u sglang-kimi")
    print("               make demo            again: nothing changes, nothing restarts")
    print("remove it:     make demo-down")
    print(f"\ndone in {int(time.monotonic() - start)} s")
    return 0


def title(text: str) -> None:
    """A heading that is easy to find in a long scroll."""
    print(f"\n=== {text}", flush=True)


def lab(*words: str) -> str:
    """Run the lab's command; its progress goes to the screen, its answer is returned."""
    return subprocess.run(
        [sys.executable, LAB, *words], check=True, text=True, stdout=subprocess.PIPE
    ).stdout


def lab_environment() -> dict[str, str]:
    """The environment that the lab asks Ansible to run in."""
    lines = lab("env").splitlines()
    script = "\n".join([*lines, "env -0"])
    output = subprocess.run(["sh", "-c", script], check=True, capture_output=True, text=True).stdout
    return dict(entry.split("=", 1) for entry in output.split("\0") if "=" in entry)


def playbook(environment: dict[str, str], name: str, *words: str) -> None:
    """Run a playbook of the collection as a user would."""
    command = [
        "ansible-playbook",
        f"llmops.sglang.{name}",
        "-i",
        str(REPO / "molecule" / "shared" / "inventory.yml"),
        "-i",
        str(HERE / "inventory.yml"),
        *words,
    ]
    config = str(REPO / "molecule" / "shared" / "ansible.cfg")
    subprocess.run(command, check=True, env={**environment, "ANSIBLE_CONFIG": config})


def guest(environment: dict[str, str], *words: str) -> str:
    """Run a command in the guest and return what it printed."""
    name = f"{environment['LAB_PREFIX']}-demo-{GUEST}"
    return subprocess.run(
        ["podman", "exec", name, *words], check=True, capture_output=True, text=True, env=os.environ
    ).stdout


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except subprocess.CalledProcessError as error:
        sys.exit(
            f"demo: {' '.join(str(word) for word in error.cmd)[:200]} ended with {error.returncode}"
        )
