# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers that public start-up logs print, and what the plan makes of the same configuration.

The one source of the tables in docs/accuracy.md; run as a program, this prints them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.llmops.sglang.plugins.module_utils._plan.capacity import plan_capacity
from ansible_collections.llmops.sglang.plugins.module_utils._plan.device import floor_page
from ansible_collections.llmops.sglang.plugins.module_utils._plan.setting import (
    Setting,
    read_setting,
)
from ansible_collections.llmops.sglang.plugins.module_utils._probe.geometry import read_geometry
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.plan_facts import (
    host,
    wishes,
)

GIB = 2**30
GB = 10**9

Config = dict[str, Any]

KIMI: Config = {
    "architectures": ["KimiK25ForConditionalGeneration"],
    "vision_config": {},
    "text_config": {
        "num_hidden_layers": 61,
        "num_attention_heads": 64,
        "kv_lora_rank": 512,
        "qk_rope_head_dim": 64,
    },
}
GLM: Config = {
    "architectures": ["GlmMoeDsaForCausalLM"],
    "num_hidden_layers": 78,
    "num_attention_heads": 64,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "index_head_dim": 128,
    "num_nextn_predict_layers": 1,
}
MIMO: Config = {
    "architectures": ["MiMoV2FlashForCausalLM"],
    "num_hidden_layers": 48,
    "hybrid_layer_pattern": [0, *[1] * 4, *([0] + [1] * 5) * 7, 0],
    "num_attention_heads": 64,
    "num_key_value_heads": 4,
    "head_dim": 192,
    "v_head_dim": 128,
    "swa_num_key_value_heads": 8,
    "swa_head_dim": 192,
    "swa_v_head_dim": 128,
    "sliding_window_size": 128,
}
DEEPSEEK: Config = {
    "architectures": ["DeepseekV3ForCausalLM"],
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
}
DELTA: Config = {
    "architectures": ["Qwen3_5ForConditionalGeneration"],
    "text_config": {
        "num_hidden_layers": 64,
        "full_attention_interval": 4,
        "num_attention_heads": 24,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "linear_num_key_heads": 16,
        "linear_key_head_dim": 128,
        "linear_num_value_heads": 48,
        "linear_value_head_dim": 128,
        "linear_conv_kernel_dim": 4,
    },
}


def grouped(layers: int, heads: int, kv_heads: int, head_dim: int = 128) -> Config:
    """A model of grouped heads that all keep the whole context."""
    return {
        "architectures": ["Qwen3MoeForCausalLM"],
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": head_dim,
    }


@dataclass(frozen=True)
class PoolSize:
    """A pool of one rank: `printed` numbers of a log for `tokens` slots, in `unit` bytes.

    Device pools are allocated with one page more than their tokens; slots of host pools are all.
    """

    source: str
    model: str
    pool: str
    config: Config
    version: str
    tokens: int
    printed: tuple[float, ...]
    unit: int = GIB
    draft: Config = field(default_factory=dict)
    asked: dict[str, Any] = field(default_factory=dict)

    @property
    def setting(self) -> Setting:
        """The plan's reading of the configuration."""
        facts = host(self.version, model=read_geometry(self.config), tokens=None)
        facts["draft"] = read_geometry(self.draft) if self.draft else None
        return read_setting(facts, wishes(**self.asked))

    @property
    def bytes_per_token(self) -> int:
        """What the plan takes for one token of this pool, on one rank."""
        target, draft = self.setting.target, self.setting.draft
        if target is None or (self.pool == "draft" and draft is None):
            raise ValueError(f"{self.source}: no geometry")
        known = {
            "KV": target.kv,
            "KV and index": target.device,
            "index": target.indexer,
            "window": target.window,
            "draft": draft.device if draft else 0,
        }
        return known[self.pool]

    @property
    def predicted(self) -> float:
        """Size of the pool by the plan, in the log's unit."""
        spare = self.setting.page if self.unit == GIB else 0
        return self.bytes_per_token * (self.tokens + spare) / self.unit

    @property
    def in_log(self) -> float:
        """Size of the pool by the log."""
        return sum(self.printed)

    @property
    def rounding(self) -> float:
        """How far the log's own rounding to two decimals may take the sum."""
        return 0.005 * len(self.printed)

    @property
    def off_percent(self) -> float:
        """By how much the plan is off, in percent of the log's number."""
        return 100 * (self.predicted - self.in_log) / self.in_log


_FP8 = {"kv_cache_dtype": "fp8_e4m3"}
_MTP = {"speculative_algorithm": "NEXTN"}
# floor(96e9 / 51,168) tokens of 656 x 78 bytes, in pages of 64, and a page beside them.
_SLOTS_OF_96_GB = (96 * GB // 51_168 // 64 + 1) * 64

POOL_SIZES = (
    PoolSize("kvcache-ai/ktransformers#2007", "Kimi-K2.5", "KV", KIMI, "0.5.10.post1",
             260_000, (17.02,), asked={"tp_size": 1}),
    PoolSize("local-inference-lab/rtx6kpro (GLM-5 NVFP4 guide)", "GLM-5", "KV and index", GLM,
             "0.5.9", 314_304, (29.32,), asked={"kv_cache_dtype": "bf16"}),
    PoolSize("vllm-project/vllm#21348", "Qwen3-235B-A22B", "KV", grouped(94, 64, 4), "0.5.1.post3",
             367_404, (8.23, 8.23), asked={"tp_size": 4}),
    PoolSize("sgl-project/sglang#15464", "MiMo-V2-Flash", "KV", MIMO, "0.5.6.post2",
             1_496_958, (4.82, 3.21), asked={"tp_size": 4}),
    PoolSize("sgl-project/sglang#15464", "MiMo-V2-Flash", "window", MIMO, "0.5.6.post2",
             1_496_958, (41.76, 27.84), asked={"tp_size": 4}),
    PoolSize("sgl-project/sglang#18039", "MiMo-V2-Flash (inferred)", "window", MIMO, "0.5.8.post1",
             300_288, (8.38, 5.59), asked={"tp_size": 4}),
    PoolSize("noonghunna/club-3090#1261", "Qwen3.8-27B (inferred)", "KV", DELTA, "0.5.19",
             454_112, (3.46, 3.46), asked={"tp_size": 2, **_FP8}),
    PoolSize("noonghunna/club-3090#1261", "its draft (inferred)", "draft", DELTA, "0.5.19",
             454_112, (1.08, 1.08), draft=grouped(5, 32, 8),
             asked={"tp_size": 2, "model_draft_path": "/models/draft",
                    "speculative_algorithm": "DSPARK", **_FP8}),
    PoolSize("sgl-project/sglang#17356", "28 layers, 4 KV heads (inferred)", "KV",
             grouped(28, 28, 4), "0.5.7", 671_362, (17.93, 17.93), asked={"tp_size": 1}),
    PoolSize("sgl-project/sglang#17157", "Qwen3-VL-MoE (inferred)", "KV",
             grouped(48, 32, 4), "0.5.7", 192_896, (8.84, 8.84),
             asked={"tp_size": 2, "dp_size": 2, "enable_dp_attention": True, "page_size": 128}),
    PoolSize("public test data, Qwen3-VL-8B on 2 GPUs", "Qwen3-VL-8B", "KV", grouped(36, 32, 8),
             "0.5.17", 932_032, (68.72,), GB, asked={"tp_size": 2}),
    PoolSize("public deployment note, GLM-5.2 on 8 H200", "GLM-5.2", "KV", GLM, "0.5.13.post1",
             _SLOTS_OF_96_GB, (96.00,), GB, asked=_FP8),
    PoolSize("public deployment note, GLM-5.2 on 8 H200", "GLM-5.2", "index", GLM, "0.5.13.post1",
             _SLOTS_OF_96_GB, (19.32,), GB, asked=_FP8),
    PoolSize("public deployment note, GLM-5.2 on 8 H200", "GLM-5.2", "draft", GLM, "0.5.13.post1",
             _SLOTS_OF_96_GB, (1.08,), GB, asked={**_FP8, **_MTP}),
)  # fmt: skip


@dataclass(frozen=True)
class Tokens:
    """Tokens of a device pool that a log prints, None where it fails; `given` is what they follow
    from: memory of a GPU and weights, a budget for the pools, or the tokens of the other pool."""

    source: str
    model: str
    given: str
    config: Config
    version: str
    tokens: int | None
    asked: dict[str, Any]
    gpu_mib: int = 0
    weights_gib: float = 0
    budget_gib: float = 0
    measured: int | None = None

    @property
    def predicted(self) -> int | None:
        """Tokens by the plan, None where nothing is left."""
        facts = host(
            self.version,
            tokens=self.measured,
            model=read_geometry(self.config),
            gpu_mib=self.gpu_mib,
            startup={"weights_bytes_per_rank": int(self.weights_gib * GIB)},
        )
        if self.budget_gib:
            setting = read_setting(facts, wishes(**self.asked))
            return floor_page(
                int(self.budget_gib * GIB) // (setting.device_cell or 1), setting.page
            )
        device = plan_capacity(facts, wishes(**self.asked))["device"]
        found: int | None = device["swa_tokens" if self.measured else "tokens"]
        return found

    @property
    def off_percent(self) -> float | None:
        """By how much the plan is off, in percent of the log's number."""
        if self.predicted is None or self.tokens is None:
            return None
        return 100 * (self.predicted - self.tokens) / self.tokens


TOKENS = (
    Tokens("local-inference-lab/rtx6kpro (GLM-5 NVFP4 guide)", "GLM-5",
           "GPU of 97,887 MiB, weights of 57.06 GiB, fraction 0.92", GLM, "0.5.9", 314_304,
           {"mem_fraction_static": 0.92, "kv_cache_dtype": "bf16"},
           gpu_mib=97_887, weights_gib=57.06),
    Tokens("sgl-project/sglang#17157", "Qwen3-VL-MoE (inferred)",
           "budget of 17.67 GiB, pages of 128", grouped(48, 32, 4), "0.5.7", 192_896,
           {"tp_size": 2, "dp_size": 2, "enable_dp_attention": True, "page_size": 128},
           budget_gib=17.67),
    Tokens("sgl-project/sglang#18039", "MiMo-V2-Flash (inferred)",
           "375,360 tokens in the pool of full layers", MIMO, "0.5.8.post1", 300_288,
           {"tp_size": 4}, measured=375_360),
    # The log counts -561,981 tokens: with 21.73 GiB left of 188.32 that is a fraction of 0.689.
    Tokens("sgl-project/sglang#7691", "DeepSeek-V3",
           "GPU of 188.32 GiB, weights of 166.59 GiB, fraction 0.689 (inferred)", DEEPSEEK,
           "0.5.1.post3", None, {"mem_fraction_static": 0.689},
           gpu_mib=int(189.32 * 1024), weights_gib=166.59),
)  # fmt: skip


def pool_table() -> str:
    """Bytes per token against the sizes of pools that logs print."""
    head = ("source", "model", "pool", "SGLang", "tokens", "B per token", "log", "plan", "off")
    return _table(head, _pool_rows())


def _pool_rows() -> Iterator[tuple[str, ...]]:
    for case in POOL_SIZES:
        unit = "GiB" if case.unit == GIB else "GB"
        yield (
            case.source,
            case.model,
            case.pool,
            case.version,
            f"{case.tokens:,}",
            f"{case.bytes_per_token:,}",
            f"{case.in_log:.2f} {unit}",
            f"{case.predicted:.2f} {unit}",
            f"{case.off_percent:+.2f} %",
        )


def token_table() -> str:
    """Tokens of device pools against those that logs print."""
    return _table(("source", "model", "SGLang", "given", "log", "plan", "off"), _token_rows())


def _token_rows() -> Iterator[tuple[str, ...]]:
    for case in TOKENS:
        off = case.off_percent
        yield (
            case.source,
            case.model,
            case.version,
            case.given,
            "no room" if case.tokens is None else f"{case.tokens:,}",
            "refused" if case.predicted is None else f"{case.predicted:,}",
            "" if off is None else f"{off:+.1f} %",
        )


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


if __name__ == "__main__":
    print(pool_table(), token_table(), sep="\n\n")
