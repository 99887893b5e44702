# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A start as each release of the engine prints it, with numbers of our own."""

from __future__ import annotations

READY = "[2026-11-30 10:05:00] The server is fired up and ready to roll!"


def minor(version: str) -> int:
    return int(version.split(".")[2])


def start_lines(version: str, ranks: int = 2, draft: bool = True, host: bool = True) -> list[str]:
    """A start of an MLA model with an EAGLE-3 draft in the words of one release: 1,000 tokens and
    2 GiB on the device, 4,001 tokens and 8 GB (draft 0.5 GB) on the host, per rank."""
    release = minor(version)
    lines: list[str] = []

    def say(second: int, message: str, every: bool = True) -> None:
        for rank in range(ranks if every else 1):
            label = f" TP{rank}" if ranks > 1 else ""
            lines.append(f"[2026-11-30 10:{second // 60:02d}:{second % 60:02d}{label}] {message}")

    def load(second: int, kind: str, size: str) -> None:
        elapsed = "elapsed=40.00 s, " if release >= 9 else ""
        dtype = "dtype=torch.bfloat16, " if release <= 9 else "quant=fp8, fmt=e4m3, "
        say(second, "Load weight begin. avail mem=90.00 GB")
        say(
            second + 40,
            f"Load weight end. {elapsed}type={kind}, {dtype}avail mem=30.00 GB, "
            f"mem usage={size} GB.",
        )

    def pool(sizes: str) -> None:
        dtype = "dtype: torch.bfloat16, " if release >= 13 else ""
        say(120, f"KV Cache is allocated. {dtype}#tokens: 1000, {sizes}")
        say(121, "Memory pool end. avail mem=20.00 GB")

    def capture(name: str, seconds: str, every: bool) -> None:
        if release >= 14:
            say(150, f"Capture {name} CUDA graph begin. backend=full, bs=[1], avail mem=20.00 GB")
            say(
                160,
                f"Capture {name} CUDA graph end. elapsed={seconds} s, mem usage=1.00 GB, "
                "avail mem=19.00 GB.",
                every,
            )
        else:
            old = "cuda graph" if name == "target verify" else f"{name} cuda graph"
            say(
                150, f"Capture {old} begin. This can take up to several minutes. avail mem=20.00 GB"
            )
            say(
                160,
                f"Capture {old} end. Time elapsed: {seconds} s. mem usage=1.00 GB. "
                "avail mem=19.00 GB.",
                every,
            )

    args = "ServerArgs(tp_size=2)" if release <= 18 else "{'tp_size': 2}"
    lines.append(f"[2026-11-30 10:00:00] server_args={args}")
    say(5, "Init parallel begin." if release >= 21 else "Init torch distributed begin.")
    load(10, "KimiK25ForConditionalGeneration", "60.00")
    pool("KV size: 2.00 GB")
    capture("target verify", "10.00", True)
    if draft:
        load(60, "LlamaForCausalLMEagle3", "1.00")
        pool("K size: 0.05 GB, V size: 0.05 GB")
        capture("draft decode" if release >= 14 else "draft", "2.50", False)
    say(
        170,
        "max_total_num_tokens=1000, chunked_prefill_size=8192, max_prefill_tokens=16384, "
        "max_running_requests=48, context_len=4096, available_gpu_mem=18.50 GB",
        False,
    )
    if host:
        if release >= 17:
            say(180, "Allocating kv hierarchical KV host pool: 4001 tokens, 8.00 GB host memory.")
            if draft:
                say(
                    181,
                    "Allocating draft hierarchical KV host pool: 4001 tokens, 0.50 GB host memory.",
                )
        else:
            say(180, "Allocating 8.00 GB host memory for hierarchical KV cache.")
            if draft and release >= 11:
                say(181, "Allocating 0.50 GB host memory for hierarchical KV cache.")
        if draft and 11 <= release <= 18:
            say(182, "HiCache draft KV registered: MHATokenToKVPool (host 4001 slots)")
    lines.append(READY)
    return lines
