# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Print one run of a server with eight ranks, as its unit would: print_run.py LINES TOKENS.

The start takes some two thousand lines, the rest tells of batches; with fewer lines the run is
still starting. TOKENS are those of the
KV pool, so that a reader can tell which run a line is of.
"""

from __future__ import annotations

import sys

RANKS = 8
SHARDS = 64
# Lines that each rank prints beside those that matter.
CHATTER = 200


def start(tokens: int) -> list[str]:
    """The lines of a start, to the one that says it is ready."""
    stamp = "2026-11-30 20:00"
    lines = [f"[{stamp}:00] server_args={{'tp_size': {RANKS}, 'note': '{'x' * 5000}'}}"]

    def say(second: int, message: str) -> None:
        lines.extend(f"[{stamp}:{second:02d} TP{rank}] {message}" for rank in range(RANKS))

    say(1, "Init parallel begin.")
    say(2, "Init parallel ends. elapsed=1.00 s")
    say(3, "Load weight begin. avail mem=90.00 GB")
    stack = (
        "Loading safetensors checkpoint shards: {:3d}% Completed | {}/{} [00:{:02d}<00:09, 4it/s]"
    )
    lines.append(
        "\r".join(stack.format(n * 100 // SHARDS, n, SHARDS, n % 60) for n in range(SHARDS + 1))
    )
    for number in range(CHATTER):
        say(5, f"Using kernel configuration {number} of layer {number % 61} for this device.")
    say(
        40,
        "Load weight end. elapsed=37.00 s, type=KimiK25ForConditionalGeneration, avail mem=26.00 "
        "GB, mem usage=64.00 GB.",
    )
    say(
        41,
        f"KV Cache is allocated. dtype: torch.bfloat16, #tokens: {tokens}, KV size: 10.50 GB",
    )
    say(42, "Memory pool end. avail mem=15.00 GB")
    say(43, "Capture target decode CUDA graph begin. backend=full, avail mem=15.00 GB")
    say(
        50,
        "Capture target decode CUDA graph end. bs=[1], elapsed=7.00 s, mem usage=2.00 GB, "
        "avail mem=13.00 GB.",
    )
    lines.append(
        f"[{stamp}:51 TP0] max_total_num_tokens={tokens}, chunked_prefill_size=8192, "
        "max_prefill_tokens=16384, max_running_requests=48, context_len=262144, "
        "available_gpu_mem=13.00 GB"
    )
    say(
        52,
        f"Allocating kv hierarchical KV host pool: {tokens * 2} tokens, 22.00 GB host memory.",
    )
    lines.append(f"[{stamp}:59] The server is fired up and ready to roll!")
    return lines


def main() -> None:
    count, tokens = int(sys.argv[1]), int(sys.argv[2])
    lines = start(tokens)
    for number in range(count - len(lines)):
        lines.append(
            f"[2026-11-30 21:00:00 TP0] Decode batch, #running-req: {number % 48}, #token: "
            f"{number % tokens}, token usage: 0.50, cuda graph: True, gen throughput (token/s): "
            f"{number % 900}.00, #queue-req: 0"
        )
    sys.stdout.write("\n".join(lines[:count]) + "\n")


if __name__ == "__main__":
    main()
