# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which architectures get KV pools of their own kind, and since which SGLang version.

Private to the collection. Data first: adding a release means adding names with its number.
"""

from __future__ import annotations

from .version import Version

_LATENT = frozenset(
    {
        "BailingMoeForCausalLMNextN",
        "BailingMoeV2_5ForCausalLM",
        "BailingMoeV3ForCausalLM",
        "BailingMoeV3VLForConditionalGeneration",
        "DeepseekV2ForCausalLM",
        "DeepseekV32ForCausalLM",
        "DeepseekV3ForCausalLM",
        "DeepseekV3ForCausalLMNextN",
        "DeepseekVL2ForCausalLM",
        "DotsVLMForCausalLM",
        "Eagle3DeepseekV2ForCausalLM",
        "GigaChat35ForCausalLM",
        "GigaChat35ForCausalLMNextN",
        "Glm4MoeLiteForCausalLM",
        "Glm4MoeLiteForCausalLMNextN",
        "GlmMoeDsaForCausalLM",
        "GlmMoeDsaForCausalLMNextN",
        "HYV4ForCausalLM",
        "HYV4ForCausalLMNextN",
        "KimiK25ForConditionalGeneration",
        "KimiK3ForConditionalGeneration",
        "KimiLinearForCausalLM",
        "KimiVLForConditionalGeneration",
        "LongcatFlashForCausalLM",
        "LongcatFlashForCausalLMNextN",
        "MiniCPM3ForCausalLM",
        "MistralLarge3ForCausalLM",
        "MistralLarge3ForCausalLMEagle",
        "PixtralForConditionalGeneration",
        "SarvamMLAForCausalLM",
    }
)

# Sliding-window layers get a pool of their own only in these, since the version given. Before
# 0.5.9 each model that tells its window did, Llama 4 excepted.
_OWN_WINDOW_POOL = {
    "GptOssForCausalLM": "0.5.9",
    "Llama4ForConditionalGeneration": "0.5.9",
    "MiMoV2FlashForCausalLM": "0.5.9",
    "Step3p5ForCausalLM": "0.5.9",
    "Gemma4ForCausalLM": "0.5.11",
    "Gemma4ForConditionalGeneration": "0.5.11",
    "MiMoV2ForCausalLM": "0.5.11",
    "LagunaForCausalLM": "0.5.12",
    "Gemma4UnifiedForConditionalGeneration": "0.5.13",
    "Step3p7ForConditionalGeneration": "0.5.13",
    "MellumForCausalLM": "0.5.16",
    "MuseGlimmerForCausalLM": "0.5.18",
    "MuseGlimmerForConditionalGeneration": "0.5.18",
}
_BY_NAME_SINCE = "0.5.9"
_NEVER_BEFORE = "Llama4ForConditionalGeneration"

# With HiCache these give up the pool of their sliding-window layers, or need a switch that is
# off; until the version given, or in all of them.
_NO_WINDOW_ON_HOST: dict[str, str | None] = {
    "MiMoV2FlashForCausalLM": "0.5.21",
    "MiMoV2ForCausalLM": "0.5.21",
    "Step3p5ForCausalLM": None,
    "Step3p7ForConditionalGeneration": None,
}

# Layers with which these draft for themselves choose tokens as the others do, since the version
# given; before, they keep plain latents.
_SPARSE_DRAFT = {"GlmMoeDsaForCausalLM": "0.5.16"}

_SPARSE_ON_SM12 = "GlmMoeDsaForCausalLM"


def keeps_latents(architecture: str | None) -> bool:
    """Whether a configuration with a latent rank makes the engine cache latents.

    A configuration without architectures is taken at its word.
    """
    return architecture is None or architecture in _LATENT


def has_window_pool(architecture: str | None, version: Version) -> bool:
    """Whether sliding-window layers have a pool of their own, instead of the full context."""
    if version < _BY_NAME_SINCE:
        return architecture != _NEVER_BEFORE
    since = _OWN_WINDOW_POOL.get(architecture or "")
    return since is not None and version >= since


def mirrors_window(architecture: str | None, version: Version) -> bool:
    """Whether HiCache copies a sliding-window pool as it is, on a version that can at all."""
    until = _NO_WINDOW_ON_HOST.get(architecture or "", "0.0")
    return until is not None and version >= until


def drafts_sparsely(architecture: str | None, version: Version) -> bool:
    """Whether the layers of a sparse model that draft for it are sparse, too."""
    return version >= _SPARSE_DRAFT.get(architecture or "", "0.0")


def packs_sparse_rows(architecture: str | None, capability: float | None, version: Version) -> bool:
    """Whether 8-bit rows of a sparse model carry scales and 16-bit rope, by the default backend.

    `capability` is the compute capability of the GPU, such as 12.0.
    """
    if capability is None or capability < 10 or version < "0.5.10":
        return True
    return architecture == _SPARSE_ON_SM12 and capability >= 12 and version >= "0.5.18"
