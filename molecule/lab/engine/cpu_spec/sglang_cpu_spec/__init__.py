# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""TEST ONLY: EAGLE-3 with topk 1 (a chain, never a tree) for SGLang 0.5.23 on plain torch.

Real: argument checks, the EAGLE worker, the draft model, the scheduler, the bookkeeping of
accepted tokens, its metrics, the draft's host pool. Stood in: every kernel, the verification
(always greedy) and the attention. It replaces some ten internals through SGLang's own hook
registry, so a new SGLang will need a new one. Selected with SGLANG_PLATFORM=plain_cpu_spec.
"""

from __future__ import annotations


def activate() -> None:
    """Put the torch versions in place, when the platform that needs them is selected."""
    from sglang.srt.platforms import current_platform

    if type(current_platform).__name__ != "PlainCpuSpecPlatform":
        return
    from sglang.srt.layers.attention.torch_native_backend import TorchNativeAttnBackend
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    from . import attention, chain

    kernels = "sglang.kernels.ops.speculative"
    backends = "sglang.srt.speculative.draft_utils.DraftBackendFactory"
    native = "sglang.srt.layers.attention.torch_native_backend.TorchNativeAttnBackend"
    memory = "sglang.srt.mem_cache"
    replacements = {
        f"{kernels}.cache_locs.assign_draft_cache_locs_contiguous_func": chain.assign_draft_locs,
        f"{kernels}.spec_tree.build_tree_kernel_efficient_func": chain.build,
        f"{kernels}.spec_tree.verify_tree_greedy_func": chain.verify,
        f"{kernels}.eagle.fill_bonus_tokens_func": chain.fill_bonus_tokens,
        f"{memory}.allocation.assign_req_to_token_pool_func": chain.assign_request_tokens,
        f"{memory}.memory_pool.MHATokenToKVPool._init_kv_copy_and_warmup": chain.no_moves,
        f"{backends}.create_decode_backend": attention.create_decode_backend,
        f"{backends}.create_draft_extend_backend": attention.create_draft_extend_backend,
        # What SGLang answers itself where it takes the machine for a CPU.
        "sglang.srt.speculative.eagle_utils._verify_uses_greedy": lambda **_: True,
    }
    for name, function in replacements.items():
        HookRegistry.register(name, function, HookType.REPLACE)
    HookRegistry.register(f"{native}.forward_extend", attention.forward_extend, HookType.AROUND)
    TorchNativeAttnBackend.max_context_len = 0  # it only sizes a tree mask that nobody reads
