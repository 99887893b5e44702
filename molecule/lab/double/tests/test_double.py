# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The double of three versions: log lines, sizes, guard, endpoints, refusals, drain, faults."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

INSTALL = Path(__file__).resolve().parents[1] / "install.py"
OLD, MIDDLE, NEW = VERSIONS = ("0.5.10.post1", "0.5.18", "0.5.23")
ENVIRONMENT = {
    "PATH": os.defpath,
    "LAB_DOUBLE_START_S": "0.2",
    "LAB_DOUBLE_HOST_BYTES": "440000000000",
}
API_KEY, ADMIN_KEY = "sk-lab-user", "sk-lab-admin"

# Plans the host pools of a command line; prints [errors, killed, tokens of the first rank].
PLAN_SCRIPT = """
import json, sys
from sglang.double.gpus import Gpus
from sglang.double.host import read_host_memory
from sglang.double.pools import allocate_host, compute_sizes
from sglang.srt.server_args import prepare_server_args
args = prepare_server_args(sys.argv[1:])
args.resolve_once()
sizes = compute_sizes(args, Gpus(), tiny=False)
outcomes = allocate_host(args, sizes, read_host_memory())
errors = [str(outcome.error) for outcome in outcomes if outcome.error]
pools = outcomes[0].pools
print(json.dumps([errors, sum(o.killed for o in outcomes), [p.tokens for p in pools]]))
"""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models without weights, a file with keys, and one engine double per version."""
    root = tmp_path_factory.mktemp("lab")
    text = {
        "num_hidden_layers": 61,
        "hidden_size": 7168,
        "num_attention_heads": 64,
        "kv_lora_rank": 512,
        "qk_rope_head_dim": 64,
        "max_position_embeddings": 262144,
    }
    target = {"architectures": ["KimiK25ForConditionalGeneration"], "text_config": text}
    write_model(root / "target", {**target, "vision_config": {}}, 547_000_000_000)
    draft = {
        "architectures": ["LlamaForCausalLMEagle3"],
        "num_hidden_layers": 1,
        "hidden_size": 7168,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "max_position_embeddings": 262144,
    }
    write_model(root / "draft", draft, 2_400_000_000)
    keys = {"api-key": API_KEY, "admin-api-key": ADMIN_KEY}
    (root / "keys.yaml").write_text(json.dumps(keys))
    for version in VERSIONS:
        subprocess.run([sys.executable, INSTALL, "--version", version, root / version], check=True)
    return root


def write_model(path: Path, config: dict[str, Any], weights_bytes: int) -> None:
    path.mkdir()
    (path / "config.json").write_text(json.dumps(config))
    index = {"metadata": {"total_size": weights_bytes}, "weight_map": {}}
    (path / "model.safetensors.index.json").write_text(json.dumps(index))


def arguments(folder: Path, *extra: str) -> list[str]:
    return [
        *("--model-path", str(folder / "target"), "--served-model-name", "kimi-k2.5"),
        *("--tp-size", "8", "--mem-fraction-static", "0.85", "--trust-remote-code"),
        *("--speculative-algorithm", "EAGLE3", "--speculative-eagle-topk", "1"),
        *("--speculative-num-steps", "3", "--speculative-num-draft-tokens", "4"),
        *("--speculative-draft-model-path", str(folder / "draft")),
        *("--tool-call-parser", "kimi_k2", "--enable-metrics", "--enable-cache-report", *extra),
    ]


def run(folder: Path, version: str, *command: str, **variables: str) -> Any:
    return subprocess.run(
        [folder / version / "bin" / "python", *command],
        env={**ENVIRONMENT, **variables},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )


class Running:
    """A started double: its process, its lines so far, and requests to it."""

    def __init__(self, folder: Path, version: str, *extra: str, **variables: str) -> None:
        self.version = version
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.log = folder / f"{version}-{self.port}.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [
                    *(folder / version / "bin" / "python", "-m", "sglang.launch_server"),
                    *("--config", folder / "keys.yaml", "--port", str(self.port)),
                    *arguments(folder, *extra),
                ],
                env={**ENVIRONMENT, **variables},
                cwd=folder,
                stderr=log,
            )

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def lines(self) -> list[str]:
        return self.log.read_text().splitlines()

    def wait_for(self, text: str) -> None:
        until = time.monotonic() + 15
        while not any(text in line for line in self.lines):
            assert self.process.poll() is None, self.lines[-5:]
            assert time.monotonic() < until, self.lines[-5:]
            time.sleep(0.05)

    def messages(self, label: str) -> list[str]:
        """The lines of one rank without their prefix; label "" is the main process."""
        form = re.compile(rf"\[[-\d]+ [:\d]+{' ' if label else ''}{label}\] (.*)")
        found = (form.fullmatch(line) for line in self.lines)
        return [match[1] for match in found if match]

    def ask(self, path: str, body: Any = None, key: str | None = API_KEY) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", data=data, headers=headers
        )
        try:
            with urllib.request.urlopen(request, timeout=15) as answer:
                status, text = answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read().decode()
        try:
            return status, json.loads(text)
        except ValueError:
            return status, text


@pytest.fixture(scope="session", params=VERSIONS)
def server(request: pytest.FixtureRequest, folder: Path) -> Iterator[Running]:
    extra = ["--enable-hierarchical-cache", "--hicache-ratio", "2", "--max-total-tokens", "9000"]
    with Running(folder, request.param, *extra) as running:
        running.wait_for("fired up")
        yield running


EXPECTED = {
    OLD: [
        r"Init torch distributed begin\.",
        r"Init torch distributed ends\. elapsed=[\d.]+ s, mem usage=0\.43 GB",
        r"Load weight begin\. avail mem=94\.49 GB",
        r"Load weight end\. elapsed=[\d.]+ s, type=KimiK25\w+, avail mem=30\.81 GB, "
        r"mem usage=63\.68 GB\.",
        r"KV Cache is allocated\. #tokens: 9000, KV size: 0\.59 GB",
        r"Memory pool end\. avail mem=30\.22 GB",
        r"Capture cuda graph begin\. This can take up to several minutes\. avail mem=30\.22 GB",
        r"Capture cuda graph end\. Time elapsed: [\d.]+ s\. mem usage=2\.00 GB\. "
        r"avail mem=28\.22 GB\.",
        r"Load weight begin\. .*",
        r"Load weight end\. elapsed=[\d.]+ s, type=LlamaForCausalLMEagle3, .*",
        r"KV Cache is allocated\. #tokens: 9000, K size: 0\.00 GB, V size: 0\.00 GB",
        r"Memory pool end\. .*",
        r"Capture draft cuda graph begin\. .*",
        r"Capture draft cuda graph end\. .*",
        r"Capture draft extend cuda graph begin\. .*",
        r"Capture draft extend cuda graph end\. .*",
        r"max_total_num_tokens=9000, chunked_prefill_size=8192, max_prefill_tokens=16384, "
        r"max_running_requests=48, context_len=262144, available_gpu_mem=[\d.]+ GB",
        r"Allocating 1\.26 GB host memory for hierarchical KV cache\.",
    ],
    MIDDLE: [
        r"Init torch distributed begin\.",
        r"Init torch distributed ends\. elapsed=.*",
        r"Load weight begin\. avail mem=94\.49 GB",
        r"Load weight end\. elapsed=[\d.]+ s, type=KimiK25\w+, avail mem=30\.81 GB, "
        r"mem usage=63\.68 GB\.",
        r"Load weight begin\. avail mem=30\.81 GB",
        r"Load weight end\. elapsed=[\d.]+ s, type=LlamaForCausalLMEagle3, .*",
        r"Reserving 0\.10 GB of the KV budget for post-sizing multimodal allocations .*",
        r"KV Cache is allocated\. dtype: torch\.bfloat16, #tokens: 9000, KV size: 0\.59 GB",
        r"Memory pool end\. .*",
        r"Capture target verify CUDA graph begin\. backend=full, num_tokens_per_req=4, bs=.*",
        r"Capture target verify CUDA graph end\. elapsed=[\d.]+ s, mem usage=2\.00 GB, .*",
        r"KV Cache is allocated\. dtype: torch\.bfloat16, #tokens: 9000, K size: .*",
        r"Memory pool end\. .*",
        r"Capture draft decode CUDA graph begin\. backend=full, num_tokens_per_req=1, bs=.*",
        r"Capture draft decode CUDA graph end\. .*",
        r"Capture draft extend CUDA graph begin\. .*",
        r"Capture draft extend CUDA graph end\. .*",
        r"max_total_num_tokens=9000, .*",
        r"Allocating kv hierarchical KV host pool: 18001 tokens, 1\.26 GB host memory\.",
        r"Allocating draft hierarchical KV host pool: 18001 tokens, 0\.01 GB host memory\.",
        r"HiCache draft KV registered: MHATokenToKVPoolHost \(host 18001 slots\)",
    ],
    NEW: [
        r"Init parallel begin\.",
        r"Init parallel ends\. elapsed=[\d.]+ s",
        r"Memory baseline taken\. mem usage=0\.43 GB",
        r"Load weight begin\. avail mem=94\.49 GB",
        r"Load weight end\. .*",
        r"Load weight begin\. avail mem=30\.81 GB",
        r"Load weight end\. .*",
        r"Reserving 0\.10 GB .*",
        r"KV Cache is allocated\. dtype: torch\.bfloat16, #tokens: 9000, KV size: 0\.59 GB",
        r"Memory pool end\. .*",
        r"Capture target verify CUDA graph begin\. backend=full, num_tokens_per_req=4, avail .*",
        r"Capture target verify CUDA graph end\. bs=\[1, 2, 4, .*\], elapsed=.*",
        r"KV Cache is allocated\. .*",
        r"Memory pool end\. .*",
        r"Capture draft decode CUDA graph begin\. .*",
        r"Capture draft decode CUDA graph end\. .*",
        r"Capture draft extend CUDA graph begin\. .*",
        r"Capture draft extend CUDA graph end\. .*",
        r"max_total_num_tokens=9000, .*",
        r"HiCache memory headroom: host 409\.8 GiB, cgroup 409\.8 GiB",
        r"Allocating kv hierarchical KV host pool: 18001 tokens, 1\.26 GB host memory\.",
        r"Allocating draft hierarchical KV host pool: 18001 tokens, 0\.01 GB host memory\.",
    ],
}


def test_rank_0_says_what_its_version_says(server: Running) -> None:
    said = server.messages("TP0")
    expected = EXPECTED[server.version]
    misses = [(form, line) for form, line in zip(expected, said) if not re.fullmatch(form, line)]
    assert misses == []
    assert len(said) == len(expected)


def test_every_rank_is_a_process_with_its_own_lines(server: Running) -> None:
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text()
    assert len(children.split()) == 8
    for rank in range(8):
        said = server.messages(f"TP{rank}")
        assert sum("Memory pool end" in line for line in said) == 2
        assert sum("max_total_num_tokens" in line for line in said) == (rank == 0)


def test_main_process_says_the_rest_and_shows_the_key(server: Running) -> None:
    said = server.messages("")
    assert said[0].startswith(
        "server_args={" if server.version == NEW else "server_args=ServerArgs("
    )
    assert API_KEY in said[0]
    assert said.index("The server is fired up and ready to roll!") > 0
    cmdline = Path(f"/proc/{server.process.pid}/cmdline").read_bytes()
    assert cmdline.split(b"\0")[0].endswith(b"/bin/python")
    assert API_KEY.encode() not in cmdline


def test_server_info_tells_sizes_and_version(server: Running) -> None:
    status, info = server.ask("/server_info")
    assert status == 200
    assert info["version"] == f"{server.version}+double"
    assert info["max_total_num_tokens"] == 9000
    assert info["internal_states"][0]["memory_usage"]["token_capacity"] == 9000
    assert (info["tp_size"], info["max_running_requests"]) == (8, 48)
    assert info["api_key"] == API_KEY
    assert ("launch_command" in info) == (server.version == NEW)


def test_endpoints_and_keys_follow_the_version(server: Running) -> None:
    assert server.ask("/health", key=None)[0] == 200
    assert server.ask("/v1/models", key=None) == (401, {"error": "Unauthorized"})
    assert server.ask("/v1/models")[1]["data"][0]["id"] == "kimi-k2.5"
    assert server.ask("/flush_cache")[0] == 401
    assert server.ask("/flush_cache", key=ADMIN_KEY)[0] == 200
    assert server.ask("/v1/loads")[1]["loads"][0]["num_running_reqs"] == 0
    newest = server.version == NEW
    assert server.ask("/get_load")[0] == (404 if newest else 200)
    assert server.ask("/ready", key=None)[0] == (200 if newest else 401)
    metrics = server.ask("/metrics", key=None)[1]
    assert "sglang:hicache_host_total_tokens{" in metrics
    assert ("sglang:page_size{" in metrics) == (server.version != OLD)


def test_a_prompt_asked_twice_hits_the_cache_and_gets_the_same_answer(server: Running) -> None:
    body = {"messages": [{"role": "user", "content": "ninety-nine harbours " * 9}], "max_tokens": 6}
    first, second = (server.ask("/v1/chat/completions", body)[1] for _index in range(2))
    assert first["choices"] == second["choices"]
    details = [
        answer["usage"]["prompt_tokens_details"]["cached_tokens"] for answer in (first, second)
    ]
    assert details[0] < details[1] == first["usage"]["prompt_tokens"] - 1


def test_tools_are_called(server: Running) -> None:
    function = {
        "name": "tide",
        "parameters": {"properties": {"day": {"type": "integer"}}, "required": ["day"]},
    }
    body = {
        "messages": [{"role": "user", "content": "When?"}],
        "tools": [{"type": "function", "function": function}],
        "max_tokens": 4,
    }
    choice = server.ask("/v1/chat/completions", body)[1]["choices"][0]
    call = choice["message"]["tool_calls"][0]["function"]
    assert choice["finish_reason"] == "tool_calls"
    assert (call["name"], json.loads(call["arguments"])) == ("tide", {"day": 1})


@pytest.mark.parametrize(
    ("version", "order", "option", "errors", "killed", "pools"),
    [
        (OLD, "together", "--hicache-ratio=2", 0, 0, 1),
        (OLD, "together", "--hicache-ratio=4", 0, 1, 1),
        (OLD, "by_pool", "--hicache-ratio=4", 2, 0, 1),
        (MIDDLE, "together", "--hicache-ratio=2", 0, 0, 2),
        (MIDDLE, "together", "--hicache-ratio=4", 0, 1, 1),
        (NEW, "together", "--hicache-ratio=2", 0, 0, 2),
        (NEW, "by_pool", "--hicache-ratio=2", 3, 0, 2),
        (NEW, "together", "--hicache-ratio=4", 8, 0, 0),
        (NEW, "by_pool", "--hicache-size=20", 0, 0, 2),
        (NEW, "late", "--enable-metrics", 0, 0, 2),
    ],
)
def test_the_guard_decides_as_in_its_version(
    folder: Path, version: str, order: str, option: str, errors: int, killed: int, pools: int
) -> None:
    line = arguments(folder, "--enable-hierarchical-cache", option)
    result = run(folder, version, "-c", PLAN_SCRIPT, *line, LAB_DOUBLE_RANK_ORDER=order)
    assert result.returncode == 0, result.stderr
    refused, dead, first = json.loads(result.stdout)
    assert (len(refused), dead, len(first)) == (errors, killed, pools)
    assert all(text.startswith("Not enough host memory available.") for text in refused)


ORDERS = ["together", "by_pool", "late", *(f"random:{seed}" for seed in range(8))]


# 440 GB less 10 GiB are shared by 8; the last rank finds 7 x 70,784 B per token gone and asks for
# 70,272 B: 405,858 tokens. A ratio of 4 and one token of padding come to 405,857 and 405,861.
@pytest.mark.parametrize(("device_tokens", "refused_in"), [(101_464, []), (101_465, ["late"])])
def test_what_a_late_rank_is_granted_is_granted_in_every_order(
    folder: Path, device_tokens: int, refused_in: list[str]
) -> None:
    line = arguments(folder, "--enable-hierarchical-cache", "--hicache-ratio=4")
    line += ["--max-total-tokens", str(device_tokens)]
    refused = []
    for order in ORDERS:
        result = run(folder, NEW, "-c", PLAN_SCRIPT, *line, LAB_DOUBLE_RANK_ORDER=order)
        errors, killed, _pools = json.loads(result.stdout)
        assert killed == 0
        refused += [order] if errors else []
    assert refused == refused_in


def test_too_small_a_host_pool_is_refused_only_by_old_versions(folder: Path) -> None:
    line = arguments(folder, "--enable-hierarchical-cache", "--hicache-ratio=0.5")
    old = json.loads(run(folder, OLD, "-c", PLAN_SCRIPT, *line).stdout)
    new = json.loads(run(folder, NEW, "-c", PLAN_SCRIPT, *line).stdout)
    assert "larger than the device memory" in old[0][0]
    assert new[0] == []


@pytest.mark.parametrize(
    ("version", "extra", "message"),
    [
        (NEW, ["--no-such-flag"], "error: unrecognized arguments: --no-such-flag"),
        (NEW, ["--cuda-graph-max-bs", "8"], "error: ambiguous option: --cuda-graph-max-bs could"),
        (
            OLD,
            ["--speculative-algorithm", "ORACLE"],
            "error: argument --speculative-algorithm: inv",
        ),
        (NEW, ["--port", "x"], "error: argument --port: invalid int value: 'x'"),
    ],
)
def test_the_parser_refuses(folder: Path, version: str, extra: list[str], message: str) -> None:
    line = arguments(folder, *extra)
    result = run(folder, version, "-m", "sglang.launch_server", *line)
    assert result.returncode == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--speculative-algorithm", "ORACLE"], "ValueError: Unknown speculative algorithm name"),
        (["--pp-size", "2"], "AssertionError: Pipeline parallelism currently only supports EAGLE"),
        (["--served-model-name", "a:b"], "AssertionError: served_model_name cannot contain"),
        (
            ["--enable-hierarchical-cache", "--disable-radix-cache"],
            "ValueError: The arguments enable-hierarchical-cache and disable-radix-cache are",
        ),
    ],
)
def test_combinations_are_refused(folder: Path, extra: list[str], message: str) -> None:
    result = run(folder, NEW, "-m", "sglang.launch_server", *arguments(folder, *extra))
    assert result.returncode == 1
    assert message in result.stderr


@pytest.mark.parametrize(("version", "code"), [(MIDDLE, -signal.SIGKILL), (NEW, 0)])
def test_sigterm_drains(folder: Path, version: str, code: int) -> None:
    with Running(folder, version, "--max-total-tokens", "9000") as running:
        running.wait_for("fired up")
        answers: list[tuple[int, Any]] = []
        body = {"prompt": "a long story", "max_tokens": 200}
        request = threading.Thread(
            target=lambda: answers.append(running.ask("/v1/completions", body))
        )
        request.start()
        until = time.monotonic() + 5
        while running.ask("/v1/loads")[1]["loads"][0]["num_running_reqs"] == 0:
            assert time.monotonic() < until
        running.process.send_signal(signal.SIGTERM)
        running.wait_for("Remaining number of requests 1.")
        assert running.ask("/health", key=None)[0] == 503
        assert running.process.wait(timeout=10) == code
        request.join()
        assert answers[0][0] == 200
        assert "Remaining number of requests 0." in running.lines[-1]


@pytest.mark.parametrize(
    ("version", "fault", "code", "message"),
    [
        (OLD, "oom_rank", 1, "Rank 7 scheduler died during initialization (exit code: -9)."),
        (NEW, "guard", -signal.SIGKILL, "ValueError: Not enough host memory available."),
        (NEW, "scheduler_dead", 1, "Rank 0 scheduler died during initialization (exit code: 1)."),
        (NEW, "port_in_use", 1, "address already in use"),
        (NEW, "exit0", 0, "server_args="),
        (NEW, "load_barrier", -signal.SIGKILL, "could finish the model loading, but there are"),
    ],
)
def test_faults_end_the_start(
    folder: Path, version: str, fault: str, code: int, message: str
) -> None:
    line = arguments(folder, "--enable-hierarchical-cache", "--hicache-ratio=2")
    line += ["--max-total-tokens", "9000"]
    result = run(folder, version, "-m", "sglang.launch_server", *line, LAB_DOUBLE_FAULT=fault)
    assert result.returncode == code
    assert message in result.stderr
    assert "fired up" not in result.stderr


def test_faults_of_a_running_server(folder: Path) -> None:
    faults = "wrong_output,no_cache_hit,tiny_pool"
    with Running(folder, NEW, LAB_DOUBLE_FAULT=faults) as running:
        running.wait_for("fired up")
        assert running.ask("/server_info")[1]["max_total_num_tokens"] == 2048
        body = {"prompt": "a prompt of some length", "max_tokens": 3}
        first, second = (running.ask("/v1/completions", body)[1] for _index in range(2))
        assert first["choices"][0]["text"] != second["choices"][0]["text"]
        assert second["usage"]["prompt_tokens_details"]["cached_tokens"] == 0


def test_a_server_can_look_healthy_and_answer_nothing(folder: Path) -> None:
    with Running(folder, NEW, LAB_DOUBLE_FAULT="unanswered") as running:
        running.wait_for("fired up")
        assert running.ask("/health", key=None)[0] == 200
        body = {"prompt": "a prompt", "max_tokens": 3}
        request = threading.Thread(target=lambda: running.ask("/v1/completions", body), daemon=True)
        request.start()
        request.join(timeout=1.0)
        assert request.is_alive()
        # Nobody waits for the answer when it is told to stop.
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(timeout=10) == 0


TIERED = ("--enable-hierarchical-cache", "--hicache-ratio", "4", "--max-total-tokens", "2048")


def ask_again_after_filling(running: Running) -> tuple[Any, Any]:
    """The second answer to a prompt, and the one after other text has filled the device tier."""

    def generate(text: str) -> Any:
        body = {"text": text, "sampling_params": {"max_new_tokens": 4}}
        return running.ask("/generate", body)[1]

    running.wait_for("fired up")
    page = "the wind came from the west " * 40
    generate(page)
    second = generate(page)
    for number in range(3):
        generate(f"{number} other text " * 250)
    return second, generate(page)


def test_what_left_the_device_tier_comes_from_the_host_tier(folder: Path) -> None:
    with Running(folder, NEW, *TIERED) as running:
        before, after = ask_again_after_filling(running)
    assert before["text"] == after["text"]
    tokens = before["meta_info"]["cached_tokens"]
    assert tokens == after["meta_info"]["cached_tokens"] > 200
    details = [answer["meta_info"]["cached_tokens_details"] for answer in (before, after)]
    assert details == [{"device": tokens, "host": 0}, {"device": 0, "host": tokens}]
    lengths = [answer["meta_info"]["spec_accept_length"] for answer in (before, after)]
    assert lengths[0] == lengths[1] > 2


@pytest.mark.parametrize(
    ("fault", "changed"),
    [
        ("host_never_read", "cached_tokens"),
        ("wrong_after_load", "text"),
        ("accept_collapse", "spec_accept_length"),
    ],
)
def test_faults_of_the_host_tier(folder: Path, fault: str, changed: str) -> None:
    with Running(folder, NEW, *TIERED, LAB_DOUBLE_FAULT=fault) as running:
        before, after = (
            {**answer["meta_info"], "text": answer["text"]}
            for answer in ask_again_after_filling(running)
        )
    told = ("text", "cached_tokens", "spec_accept_length")
    assert [name for name in told if before[name] != after[name]] == [changed]


def test_sigterm_while_loading_ends_at_once(folder: Path) -> None:
    with Running(folder, NEW, LAB_DOUBLE_FAULT="hang_load") as running:
        running.wait_for("Load weight begin")
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(timeout=5) == -signal.SIGTERM
        assert not any("Load weight end" in line for line in running.lines)


def test_sigterm_can_be_ignored(folder: Path) -> None:
    with Running(folder, NEW, LAB_DOUBLE_FAULT="ignore_sigterm,slow_load:0.5") as running:
        running.wait_for("fired up")
        running.process.send_signal(signal.SIGTERM)
        running.wait_for("SIGTERM received.")
        assert running.ask("/health", key=None)[0] == 200


def test_a_rank_that_dies_takes_the_server_with_it(folder: Path) -> None:
    with Running(folder, NEW) as running:
        running.wait_for("fired up")
        pid = running.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        os.kill(int(children[3]), signal.SIGTERM)
        assert running.process.wait(timeout=5) == -signal.SIGKILL
        assert any("Subprocess scheduler_3" in line for line in running.lines)
