# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A GPU server with a secret in every place that one is known to leak from.

A new leak is one more line in `PLANTED` or `ECHOED`. Each `{}` becomes a secret of its own, of a
look that no pattern knows.
"""

from __future__ import annotations

import json
from pathlib import Path

from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.live_host import FakeLive

PID = 7001
UNIT = "sglang-kimi.service"
INVOCATION = "1f0c9a7e5d3b4f6a8c2e4d6f8a0b1c2d"
HOST = "rack7-node03"
SECRETS_FILE = f"/run/credentials/{UNIT}/secrets.yaml"

# (where, what): secrets that only their name or their place gives away.
PLANTED = (
    ("secrets", '{{"api-key": "{}"'),
    ("secrets", '"admin-api-key": "{}"}}'),
    ("argv", "--api-key {}"),
    ("argv", "--admin-api-key={}"),
    ("argv", "--hf-token {}"),
    ("argv", "--ssl-keyfile-password {}"),
    ("argv", '--json-model-override-args {{"secret_key":"{}"}}'),
    ("environ", "HF_TOKEN={}"),
    ("environ", "OPENAI_API_KEY={}"),
    ("environ", "AWS_SECRET_ACCESS_KEY={}"),
    ("environ", "WEBHOOK_CREDENTIALS={}"),
    ("environ", "HTTPS_PROXY=http://mirror:{}@proxy.corp.example:3128"),
    ("hub", "{}"),
    ("hub", "hf_{}"),
    ("unit", "Environment=OPENAI_API_KEY={}"),
    ("unit", 'Environment="HF_TOKEN={}"'),
    ("unit", "Environment=HTTP_PROXY=http://{}@proxy.corp.example:3128"),
    ("systemctl", "Environment=SGLANG_API_KEY={} LANG=C"),
    ("journal", "server_args=ServerArgs(model_path='/m', api_key='{}', tp_size=8)"),
    ("journal", "server_args={{'model_path': '/m', 'admin_api_key': '{}', 'tp_size': 8}}"),
    ("journal", "server_args=ServerArgs(ssl_keyfile_password='it\\'s {}', port=30000)"),
    ("journal", "launch_command: python -m sglang.launch_server --api-key {} --tp 8"),
    ("journal", "launch_command: ['sglang', 'serve', '--api-key', '{}']"),
    ("journal", 'config: "{{\\"api_key\\": \\"{}\\"}}"'),
    ("journal", 'config: "{{\\"api_key\\": \\"a\\\\\\"{}\\"}}"'),
    ("journal", "api-key: {}"),
    ("journal", "api_keys=['{}', '{}']"),
    ("journal", "requests.get(headers={{'Authorization': 'Bearer {}'}})"),
    ("journal", "> authorization: Basic {}"),
    ("journal", "ProxyError: cannot connect to http://squid:{}@10.20.30.40:3128"),
    ("journal", "pip: looking in https://{}@pypi.corp.example/simple"),
    ("journal", "RuntimeError: CUDA out of memory; HF_TOKEN={} is set"),
    ("journal", 'torch.OutOfMemoryError: rank 0 got {{"password": "{}"}}'),
    ("kernel", "Out of memory: Killed process 7002 (python) args --api-key {}"),
    ("server_info", '"api_key": "{}"'),
    ("server_info", '"admin_api_key": "{}"'),
    ("server_info", '"launch_command": "python -m sglang.launch_server --api-key {}"'),
    ("server_info", '"argv": ["--api-key", "{}"]'),
    ("server_info", '"kv_cache_dtype": "auto --hf-token={}"'),
    ("server_info", '"internal_states": [{{"credentials": {{"password": ["{}"]}}}}]'),
    ("metrics", 'sglang:info{{api_key="{}"}} 1'),
    ("plan", '"environment": {{"HF_TOKEN": {{"value": "{}", "reason": "asked for"}}}}'),
    ("plan", '"argv": ["--api-key", "{}"]'),
    ("nvidia-smi", "NVIDIA-SMI has failed: https://ops:{}@licence.corp.example refused"),
    ("mounts", "//nas/models /srv cifs rw,username=ops,password={} 0 0"),
    ("variables", "sglang_environment.HF_TOKEN={}"),
    ("variables", "sglang_extra_args.--admin-api-key={}"),
    ("variables", "sglang_engine_index_url=https://ci:{}@pypi.corp.example/simple"),
)
# (what it is, where else it turns up): the same secrets again, with nothing that gives them away.
ECHOED = (
    ("api-key", "journal", "KeyError: '{}'"),
    ("admin-api-key", "journal", "refused {}"),
    ("--api-key {}", "journal", "  File 'x.py', line 1, in {}"),
    ("HF_TOKEN={}", "journal", "401 Client Error for {} at the hub"),
    ("WEBHOOK_CREDENTIALS", "journal", "ValueError: {}"),
    ("HTTPS_PROXY", "journal", "407 for mirror with {}"),
    ("server_args=ServerArgs(model_path", "journal", "header was {}"),
    ("AWS_SECRET", "server_info", '"served_model_name": "{}"'),
)


class PlantedHost:
    """The host, and the secrets in it."""

    def __init__(self, root: Path, running: bool) -> None:
        self.secrets: list[str] = []
        places: dict[str, list[str]] = {}
        values: dict[str, str] = {}
        for where, what in PLANTED:
            fresh = [self._secret() for _each in range(what.replace("{{", "").count("{}"))]
            places.setdefault(where, []).append(what.format(*fresh))
            values[f"{where} {what}"] = fresh[0]
        for origin, where, what in ECHOED:
            found = [value for key, value in values.items() if origin in key]
            places.setdefault(where, []).append(what.format(found[0]))
        self.variables = self._variables(places["variables"])
        self.live = self._live(root, running, places)

    def _secret(self) -> str:
        secret = f"Zq{len(self.secrets):02d}/w+7.Planted~x"
        self.secrets.append(secret)
        return secret

    def _variables(self, lines: list[str]) -> dict[str, object]:
        variables: dict[str, object] = {"sglang_instance": "kimi", "sglang_tp_size": 8}
        for line in lines:
            path, _sign, value = line.partition("=")
            name, _dot, key = path.partition(".")
            variables[name] = {key: value} if key else value
        return variables

    def _live(self, root: Path, running: bool, places: dict[str, list[str]]) -> FakeLive:
        live = FakeLive(root)
        words = ["/opt/e/bin/python", "-m", "sglang.launch_server", "--model-path", "/m"]
        words += " ".join(places["argv"]).split(" ")
        live.put(f"/proc/{PID}/cmdline", "\0".join([*words, ""]))
        live.put(f"/proc/{PID}/environ", "\0".join([*places["environ"], "LANG=C", ""]))
        live.put(SECRETS_FILE, ", ".join(places["secrets"]))
        for home, token in zip(("/root", "/var/lib/sglang/kimi"), places["hub"]):
            live.put(f"{home}/.cache/huggingface/token", token)
        live.put(f"/etc/systemd/system/{UNIT}", "\n".join(["[Service]", *places["unit"], ""]))
        live.put(
            "/etc/systemd/system/sglang-other.service",
            "\n".join(["[Service]", "ExecStart=x --enable-hierarchical-cache", *places["unit"]]),
        )
        live.put("/sys/fs/cgroup/system.slice/sglang-other.service/memory.current", "1\n")
        live.put("/sys/fs/cgroup/cgroup.controllers", "memory\n")
        live.put("/proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 900 kB\n")
        live.put("/proc/mounts", "\n".join([*places["mounts"], ""]))
        live.put("/proc/uptime", "5000.0 1\n")
        live.put("/m/config.json", '{"num_attention_heads": 8, "num_hidden_layers": 2}')
        live.put("/etc/sglang/other/proven/current.json", '{"invocation_id": "a"}')
        live.put("/etc/sglang/other/proven/a/plan.json", _object(places["plan"]))
        live.put("/proc/sys/kernel/hostname", f"{HOST}\n")
        live.put("/etc/hosts", f"10.20.30.41 {HOST}.corp.example {HOST}\n")
        live.say("nvidia-smi.csv", "\n".join([*places["nvidia-smi"], ""]), status=9)
        journal = "".join(
            json.dumps({"__REALTIME_TIMESTAMP": str(1795795080000000 + n), "MESSAGE": text}) + "\n"
            for n, text in enumerate(places["journal"])
        )
        live.say("journal.log", journal)
        live.say("journal-end.log", journal)
        live.say("kernel.log", json.dumps({"MESSAGE": places["kernel"][0]}) + "\n")
        state = "active" if running else "failed"
        shown = {
            "LoadState": "loaded",
            "ActiveState": state,
            "MainPID": str(PID),
            "InvocationID": INVOCATION,
            "Result": "success" if running else "exit-code",
        }
        lines = [*(f"{name}={value}" for name, value in shown.items()), *places["systemctl"], ""]
        live.say("systemctl-show.txt", "\n".join(lines))
        if running:
            live.http["server_info.json"] = _object(places["server_info"])
            live.http["metrics.txt"] = "\n".join([*places["metrics"], ""])
        return live


def _object(pairs: list[str]) -> str:
    """A JSON object of pairs that may have the same key."""
    return "{" + ", ".join(pairs) + "}"
