# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recorded host, replayed, is the same host: the same facts, under other names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._probe.archive import (
    read_archive,
    write_archive,
)
from ansible_collections.llmops.sglang.plugins.module_utils._probe.bundle import (
    Recording,
    record,
)
from ansible_collections.llmops.sglang.plugins.module_utils._probe.snapshot import (
    Request,
    completed,
    open_source,
    take_snapshot,
)
from ansible_collections.llmops.sglang.plugins.module_utils._probe.source import Output, Source
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.live_host import FakeLive
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.planted import (
    SECRETS_FILE,
    PlantedHost,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.probe_recording import (
    RECORDINGS,
)

HOSTS = sorted(path.name for path in RECORDINGS.iterdir() if path.is_dir())
GPU = "GPU-0f3c1d2e-4b5a-6978-8796-a5b4c3d2e1f0"


def replayed(recording: Recording, folder: Path, **options: Any) -> dict[str, Any]:
    """The facts that somebody else gets from the bundle, asking for nothing."""
    path = f"{folder}/bundle.tar.gz"
    write_archive(path, recording.members)
    source = open_source(path)
    return take_snapshot(source, completed(Request(**options), source))


def text_of(recording: Recording, name: str) -> str:
    return (recording.members[name] or b"").decode()


def live_headline(root: Path) -> tuple[FakeLive, Request]:
    """The headline's recording as a live host."""
    folder = RECORDINGS / "headline"
    live = FakeLive(root)
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name.startswith(("proc/", "sys/", "etc/", "usr/")):
            live.put("/" + re.sub(r"devices/0000_(\w\w)_", r"devices/0000:\1:", name), read(path))
    for part, place in (("model", "/srv/models/Kimi-K2.5"), ("draft", "/srv/models/kimi-eagle3")):
        for path in (folder / part).iterdir():
            live.put(f"{place}/{path.name}", read(path))
    for path in (folder / "commands").iterdir():
        live.say(path.name, read(path))
    live.http = {path.name: read(path) for path in (folder / "http").iterdir()}
    live.put(
        "/opt/sglang/current/lib/python3.11/site-packages/sglang-0.5.18.dist-info/METADATA",
        "Name: sglang\nVersion: 0.5.18\n",
    )
    live.put("/opt/sglang/current/bin/python", "")
    live.put("/proc/sys/kernel/hostname", "gpu-01\n")
    live.put("/proc/mounts", "/dev/sda1 / ext4 rw 0 0\nnas:/m /srv nfs4 rw,addr=10.1.2.3 0 0\n")
    return live, Request(engine_path="/opt/sglang/current")


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def differences(facts: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Where two snapshots differ, but for where they come from and what the GPUs are called."""
    assert {facts["origin"], other["origin"]} <= {"live", "recording"}
    return [*_differ(_renamed(facts), _renamed(other), "")]


def _renamed(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts with their GPUs' identities in the order in which these come."""
    text = json.dumps({**facts, "origin": ""})
    for number, name in enumerate(dict.fromkeys(re.findall(r"(?:GPU|MIG)-[\w-]{36}", text))):
        text = text.replace(name, f"gpu {number}")
    renamed: dict[str, Any] = json.loads(text)
    return renamed


def _differ(one: Any, other: Any, path: str) -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            yield from _differ(one.get(key, "absent"), other.get(key, "absent"), f"{path}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, pair in enumerate(zip(one, other)):
            yield from _differ(*pair, f"{path}.{number}")
    elif one != other:
        yield f"{path}: {one} != {other}"


@pytest.mark.parametrize("detail", [False, True])
def test_a_live_host_and_its_bundle_are_one(tmp_path: Path, detail: bool) -> None:
    live, request = live_headline(tmp_path / "host")
    facts = take_snapshot(live, Request(**{**request.__dict__, "detail": detail}))
    assert facts["origin"] == "live" and len(facts["gpu"]["devices"]) == 8
    assert facts["server"]["startup"]["max_total_num_tokens"] == 159300
    assert not detail or facts["model"]["storage"]["filesystem"] == "nfs4"
    recording = record(live, request)
    again = replayed(recording, tmp_path, detail=detail)
    assert differences({**facts, "taken_at": again["taken_at"]}, again) == []
    assert "10.1.2.3" not in text_of(recording, "proc/mounts")


@pytest.mark.parametrize("name", HOSTS)
def test_a_recording_of_a_recording_is_one_with_it(tmp_path: Path, name: str) -> None:
    source = open_source(str(RECORDINGS / name))
    recording = record(source, Request())
    assert (
        differences(
            {**take_snapshot(source, Request()), "taken_at": recording.facts["taken_at"]},
            recording.facts,
        )
        == []
    )
    again = replayed(recording, tmp_path)
    assert differences({**recording.facts, "taken_at": again["taken_at"]}, again) == []


@pytest.mark.parametrize("running", [True, False])
def test_a_host_full_of_secrets_is_one_with_its_bundle(tmp_path: Path, running: bool) -> None:
    live = PlantedHost(tmp_path / "host", running).live
    request = Request(secrets_file=SECRETS_FILE)
    recording = record(live, request)
    again = take_snapshot(live, request)
    assert differences({**recording.facts, "taken_at": again["taken_at"]}, again) == []
    assert differences(recording.facts, replayed(recording, tmp_path)) == []


def test_a_bundle_of_a_bundle_is_the_same_bundle(tmp_path: Path) -> None:
    live = PlantedHost(tmp_path / "host", True).live
    first = record(live, Request(secrets_file=SECRETS_FILE))
    write_archive(f"{tmp_path}/a.tar.gz", first.members)
    second = record(open_source(f"{tmp_path}/a.tar.gz"), completed(Request(), source_of(tmp_path)))
    for name, data in second.members.items():
        if name != "meta.json":
            assert data == first.members[name], name


def source_of(folder: Path) -> Source:
    return open_source(f"{folder}/a.tar.gz")


@pytest.mark.parametrize(
    ("commands", "reason"),
    [
        ({}, "nvidia-smi: No such file or directory"),
        ({"nvidia-smi.csv": Output("", None, "nvidia-smi did not answer within 20 s")}, "20 s"),
        ({"nvidia-smi.csv": Output("Failed: unknown error\n", 9, None)}, "unknown error"),
        ({"systemctl-show.txt": Output("", None, "systemctl: Permission denied")}, None),
        ({"systemctl-show.txt": Output("LoadState=not-found\nMainPID=0\n", 0, None)}, None),
        ({"dmesg.txt": Output("", 1, None)}, None),
    ],
)
def test_a_broken_host_is_as_broken_in_its_bundle(
    tmp_path: Path, commands: dict[str, Output], reason: str | None
) -> None:
    live = FakeLive(tmp_path / "host")
    live.put("/proc/meminfo", "MemTotal: 8 kB\n")
    live.commands.update(commands)
    recording = record(live, Request(instance="other", port=31000))
    assert differences(recording.facts, replayed(recording, tmp_path)) == []
    assert reason is None or reason in recording.facts["gpu"]["reason"]
    assert recording.facts["server"]["unit"] == "sglang-other.service"


def test_a_model_of_one_file_is_found_again(tmp_path: Path) -> None:
    live = FakeLive(tmp_path / "host")
    live.put("/m/tiny.gguf", "GGUF and then some")
    recording = record(live, Request(model_path="/m/tiny.gguf"))
    assert recording.facts["model"]["present"] is True
    assert differences(recording.facts, replayed(recording, tmp_path)) == []


def test_a_model_and_a_draft_in_one_folder_are_both_recorded(tmp_path: Path) -> None:
    live = FakeLive(tmp_path / "host")
    live.put("/m/config.json", '{"num_attention_heads": 4}')
    recording = record(live, Request(model_path="/m", draft_path="/m"))
    assert recording.facts["draft"]["present"] is True
    assert differences(recording.facts, replayed(recording, tmp_path)) == []


def journal(*messages: object) -> str:
    return "".join(
        json.dumps({"MESSAGE": message, "_HOSTNAME": "gpu-01"}) + "\n" for message in messages
    )


def recorded_journal(tmp_path: Path, text: str) -> list[str]:
    """The messages of a journal in a bundle."""
    live = FakeLive(tmp_path / "host")
    live.put("/proc/sys/kernel/hostname", "gpu-01\n")
    live.say(
        "systemctl-show.txt", "LoadState=loaded\nActiveState=failed\nMainPID=9\nInvocationID=a\n"
    )
    live.say("journal.log", text)
    recording = record(live, Request())
    assert differences(recording.facts, replayed(recording, tmp_path)) == []
    lines = text_of(recording, "commands/journal.log").splitlines()
    return [json.loads(line)["MESSAGE"] if line.startswith("{") else line for line in lines]


def test_only_the_start_of_a_journal_is_in_a_bundle(tmp_path: Path) -> None:
    text = journal(
        "[2026-11-30 18:00:20] one",
        "[2026-11-30 18:00:21] The server is fired up and ready to roll!",
        *("[2026-11-30 19:00:00] later",) * 1000,
    )
    assert [message[-3:] for message in recorded_journal(tmp_path, text)] == ["one", "ll!"]


def test_users_requests_are_not_in_a_bundle(tmp_path: Path) -> None:
    stamp = "[2026-11-30 18:00:20]"
    long = "secret plans " * 1000
    text = journal(
        f"{stamp} Receive: obj=GenerateReqInput(rid='1', text='secret plans', x=1)",
        f"{stamp} Finish: obj=GenerateReqInput(rid='1'), out={{'text': 'secret plans'}}",
        f'{stamp} {{"event": "request.finished", "rid": "1", "obj": {{"text": "secret plans"}}}}',
        f"{stamp} Receive OpenAI: obj={{'messages': [{{'content': '{long}",
        "and more secret plans",
        list(f"{stamp} input_value='secret plans'".encode()),
        None,
        f"{stamp} Load weight begin. avail mem=94.00 GB",
    )
    messages = recorded_journal(tmp_path, text)
    assert "secret" not in "".join(messages)
    assert messages[0] == f"{stamp} Receive: obj=<removed>"
    assert messages[4] == "<removed>"
    assert messages[-1].endswith("avail mem=94.00 GB")


def test_no_name_of_the_host_is_in_a_bundle(tmp_path: Path) -> None:
    text = (
        "2026-11-30T18:00:05+0000 gpu-01 python[70]: [2026-11-30 18:00:05] on gpu-01.corp.example\n"
        "2026-11-30T18:00:05+0000 peer-02 python[70]: gpu-01:70:71 [0] NCCL INFO peer-02\n"
        "2026-11-30T18:00:06+0000 gpu-01 python[70]: listening on 10.9.8.7 and /home/mara/m\n"
    )
    lines = recorded_journal(tmp_path, text)
    assert lines[0].startswith("2026-11-30T18:00:05+0000 host-1 python[70]: ")
    assert lines[1].endswith(" host-2 python[70]: host-1:70:71 [0] NCCL INFO host-2")
    assert "gpu-01" not in "".join(lines)
    assert lines[2].endswith("listening on 198.18.0.1 and /home/user-1/m")


def test_names_that_are_words_of_the_unit_stay(tmp_path: Path) -> None:
    live = FakeLive(tmp_path / "host")
    live.put("/proc/sys/kernel/hostname", "kimi\n")
    live.say(
        "systemctl-show.txt", "LoadState=loaded\nControlGroup=/system.slice/sglang-kimi.service\n"
    )
    recording = record(live, Request())
    assert "sglang-kimi.service" in text_of(recording, "commands/systemctl-show.txt")
    assert differences(recording.facts, replayed(recording, tmp_path)) == []


def test_variables_are_readable_and_clean(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    variables = {
        "sglang_tp_size": 8,
        "sglang_model_path": "/home/mara/models/K2",
        "sglang_environment": {"HF_TOKEN": "whatever", "NCCL_DEBUG": "INFO"},
        "sglang_extra_args": {"--api-key": "whatever", "--stop": ["a: b", "#é"]},
        "sglang_quantization": None,
        "sglang_router": "http://gpu-01:8000",
    }
    live = FakeLive(tmp_path / "host")
    recording = record(live, Request(), ["gpu-01"], variables)
    assert yaml.safe_load(text_of(recording, "vars.yml")) == {
        "sglang_tp_size": 8,
        "sglang_model_path": "/home/user-1/models/K2",
        "sglang_environment": {"HF_TOKEN": "<redacted>", "NCCL_DEBUG": "INFO"},
        "sglang_extra_args": {"--api-key": "<redacted>", "--stop": ["a: b", "#é"]},
        "sglang_quantization": None,
        "sglang_router": "http://host-1:8000",
    }
    assert recording.removed == {"secrets": 2, "requests": 0, "hosts": 1, "users": 1}


def test_the_bundle_says_what_was_removed(tmp_path: Path) -> None:
    live = FakeLive(tmp_path / "host")
    live.say("nvidia-smi.csv", f"index, uuid, name\n0, {GPU}, X\n")
    recording = record(live, Request())
    meta = json.loads(text_of(recording, "meta.json"))
    assert meta["removed"] == recording.removed
    assert recording.removed["gpus"] == 1
    assert GPU not in text_of(recording, "commands/nvidia-smi.csv")


def test_what_is_hostile_in_meta_is_ignored(tmp_path: Path) -> None:
    meta = {"taken_at": 5, "request": {"port": "x", "instance": 7, "detail": True}, "failures": [1]}
    write_archive(f"{tmp_path}/a.tar.gz", {"meta.json": json.dumps(meta).encode()})
    source = source_of(tmp_path)
    assert completed(Request(), source) == Request()
    assert take_snapshot(source, Request())["origin"] == "recording"
    assert read_archive(f"{tmp_path}/a.tar.gz").keys() == {"meta.json"}


def test_a_key_that_comes_twice_hides_nothing(tmp_path: Path) -> None:
    live = FakeLive(tmp_path / "host")
    live.put(
        "/m/config.json", '{"api_key": "planted-one", "num_attention_heads": 4, "api_key": ""}'
    )
    recording = record(live, Request(model_path="/m"))
    assert "planted" not in text_of(recording, "model/config.json")
    assert recording.facts["model"]["heads"] == 4
    assert recording.facts["model"]["kv_heads"] == 4
