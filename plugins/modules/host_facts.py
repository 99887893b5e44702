#!/usr/bin/python
# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: host_facts
short_description: Measure a GPU host and the SGLang server on it
version_added: 0.1.0
author:
  - the llmops.sglang contributors (!UNKNOWN)
description:
  - Reads the GPUs, the memory, the model folder, the installed engine and the running server of a
    host in one round trip and returns them as C(ansible_facts.sglang).
  - Changes nothing, starts nothing and needs nothing on the host but Python.
  - Each part fails alone. A part that could not be read holds a C(reason) instead of its values; a
    value that could not be read is null, never zero.
  - Keys of the server are used to ask it and are never returned.
attributes:
  check_mode:
    description: Can run in C(check_mode) and return the same facts.
    support: full
  diff_mode:
    description: Returns nothing that could be compared.
    support: none
  facts:
    description: Returns C(ansible_facts).
    support: full
  platform:
    description: Target operating systems.
    platforms: posix
    support: full
options:
  instance:
    description:
      - Name of the instance. Its unit is C(sglang-<instance>.service).
    type: str
    default: kimi
  model_path:
    description:
      - Folder of the model. Without it, the folder that the running server was started with.
    type: path
  draft_path:
    description:
      - Folder of the draft model for speculative decoding. Without it, the one that the running
        server was started with, if any.
    type: path
  engine_path:
    description:
      - Folder of the virtual environment with SGLang. Without it, the one that the running server
        was started from.
    type: path
  port:
    description:
      - Port of the server. Without it, the port that the running server was started with, else
        30000.
    type: int
  secrets_file:
    description:
      - File on the host with a JSON object that may hold C(api-key) and C(admin-api-key). They are
        sent to the server on this host and to nobody else.
    type: path
  gather_subset:
    description:
      - Which parts to read. The draft model comes with V(model).
      - Parts that were not asked for are absent from the result.
    type: list
    elements: str
    choices: [gpu, memory, model, engine, server]
    default: [gpu, memory, model, engine, server]
  recording:
    description:
      - Read a recorded host instead of the live one. A folder, or a C(tar.gz) archive, that mirrors
        the host, on the machine the module runs on.
      - What the recording lacks is unknown.
    type: path
  detail:
    description:
      - Also return what every rank printed at the start.
    type: bool
    default: false
  timeout_s:
    description:
      - Longest time in seconds to wait for one command. A driver that hangs costs this time and
        then is a fact.
    type: float
    default: 20
notes:
  - Run as root to see the processes of other users, the journal and the secrets file.
seealso:
  - module: ansible.builtin.setup
"""

EXAMPLES = r"""
- name: Measure the host
  llmops.sglang.host_facts:
    instance: kimi
    model_path: /srv/models/Kimi-K2.5
    engine_path: /opt/sglang/current
    secrets_file: /etc/sglang/kimi/secrets.yaml

- name: Show how many tokens the running server can keep on its GPUs
  ansible.builtin.debug:
    msg: "{{ ansible_facts.sglang.server.startup.max_total_num_tokens }} tokens"

- name: Look at the GPUs only, and wait at most five seconds for the driver
  llmops.sglang.host_facts:
    gather_subset: [gpu]
    timeout_s: 5

- name: Read a host that someone recorded
  llmops.sglang.host_facts:
    recording: /tmp/gpu-01.tar.gz
  delegate_to: localhost
"""

RETURN = r"""
ansible_facts:
  description: The facts, below one key.
  returned: always
  type: dict
  contains:
    sglang:
      description:
        - The snapshot. Every value may be null, which means unknown.
        - Origin is C(measured) unless a value's description says otherwise.
      returned: always
      type: dict
      contains:
        schema:
          description: Version of this structure.
          type: int
          returned: always
          sample: 1
        taken_at:
          description: When the facts were taken, UTC.
          type: str
          returned: always
          sample: "2026-11-30T20:00:00Z"
        origin:
          description: Where the facts come from, V(live) or V(recording).
          type: str
          returned: always
          sample: live
        boot_id:
          description: Identity of the boot, from C(/proc/sys/kernel/random/boot_id).
          type: str
          returned: always
        gpu:
          description: The GPUs.
          type: dict
          returned: when O(gather_subset) has V(gpu)
          contains:
            source:
              description: Who told, V(nvml), V(nvidia-smi) or V(none).
              type: str
              returned: success
            reason:
              description: Why not NVML, or why nobody told.
              type: str
              returned: success
            driver:
              description: Versions of the loaded kernel module and of the library on disk.
              type: dict
              returned: success
              contains:
                loaded:
                  description: Version of the loaded kernel module.
                  type: str
                  returned: success
                  sample: 580.82.07
                library:
                  description: Version of the NVML library a new process would load.
                  type: str
                  returned: success
                  sample: 580.95.05
            cuda_version:
              description: Newest CUDA version the driver supports. Only NVML tells it.
              type: str
              returned: success
              sample: "13.0"
            devices:
              description: One entry per GPU.
              type: list
              elements: dict
              returned: success
              contains:
                index:
                  description: Number of the GPU.
                  type: int
                  returned: success
                uuid:
                  description: Identity of the GPU.
                  type: str
                  returned: success
                bus_id:
                  description: PCI address.
                  type: str
                  returned: success
                name:
                  description: Product name.
                  type: str
                  returned: success
                compute_capability:
                  description: Compute capability.
                  type: str
                  returned: success
                  sample: "12.0"
                memory_kind:
                  description: V(dedicated), or V(unified) where the GPU uses the host's RAM.
                  type: str
                  returned: success
                memory_total_bytes:
                  description: Memory of the GPU, bytes.
                  type: int
                  returned: success
                memory_used_bytes:
                  description: Used memory, bytes.
                  type: int
                  returned: success
                memory_free_bytes:
                  description: Free memory, bytes. The driver keeps some of what is not used.
                  type: int
                  returned: success
                mig:
                  description: Whether the GPU is split by MIG.
                  type: bool
                  returned: success
                ecc:
                  description: Whether ECC is on.
                  type: bool
                  returned: success
                temperature_c:
                  description: Temperature, degrees Celsius.
                  type: int
                  returned: success
                power_limit_w:
                  description: Power limit, watts.
                  type: float
                  returned: success
                recovery_action:
                  description: What the driver asks for, V(None) when the GPU is sound.
                  type: str
                  returned: success
                numa_node:
                  description: NUMA node the GPU hangs on, from sysfs.
                  type: int
                  returned: success
                processes:
                  description: Processes that use the GPU.
                  type: list
                  elements: dict
                  returned: success
                  contains:
                    pid:
                      description: Process number.
                      type: int
                      returned: success
                    memory_bytes:
                      description: Memory of the GPU it holds, bytes.
                      type: int
                      returned: success
                    unit:
                      description: systemd unit it belongs to.
                      type: str
                      returned: success
                unknown:
                  description: Name of each value that could not be read, with the reason.
                  type: dict
                  returned: success
            topology:
              description:
                - Worst link between any two GPUs, V(NVLINK), V(PIX), V(NODE) or V(SYS).
              type: str
              returned: success
        memory:
          description: The memory of the host and what bounds the instance.
          type: dict
          returned: when O(gather_subset) has V(memory)
          contains:
            total_bytes:
              description: C(MemTotal), bytes.
              type: int
              returned: success
            available_bytes:
              description: C(MemAvailable), bytes.
              type: int
              returned: success
            free_bytes:
              description: C(MemFree), bytes.
              type: int
              returned: success
            shmem_bytes:
              description: C(Shmem), bytes. Host pools of HiCache are shared memory.
              type: int
              returned: success
            cached_bytes:
              description: C(Cached), bytes.
              type: int
              returned: success
            swap_total_bytes:
              description: C(SwapTotal), bytes.
              type: int
              returned: success
            swap_free_bytes:
              description: C(SwapFree), bytes.
              type: int
              returned: success
            hugepages:
              description: Every page size of which pages are reserved.
              type: list
              elements: dict
              returned: success
              contains:
                size_bytes:
                  description: Size of a page, bytes.
                  type: int
                  returned: success
                total:
                  description: Reserved pages.
                  type: int
                  returned: success
                free:
                  description: Unused pages.
                  type: int
                  returned: success
            numa:
              description: NUMA nodes with memory.
              type: list
              elements: dict
              returned: success
              contains:
                node:
                  description: Number of the node.
                  type: int
                  returned: success
                total_bytes:
                  description: Memory of the node, bytes.
                  type: int
                  returned: success
                available_bytes:
                  description:
                    - Free memory plus file pages plus reclaimable slab, bytes. Predicted, the
                      kernel tells no available memory per node.
                  type: int
                  returned: success
            cgroup:
              description: Bounds of the control groups from the unit up to the root.
              type: dict
              returned: success
              contains:
                version:
                  description: Version of the control groups, 1 or 2.
                  type: int
                  returned: success
                limits:
                  description: Every group with a bound, the nearest first.
                  type: list
                  elements: dict
                  returned: success
                  contains:
                    path:
                      description: Path of the group below the mount.
                      type: str
                      returned: success
                    limit_bytes:
                      description: The bound, bytes. Declared by whoever made the group.
                      type: int
                      returned: success
                    current_bytes:
                      description: Memory charged to the group, bytes.
                      type: int
                      returned: success
                    reclaimable_bytes:
                      description: File pages in it, bytes.
                      type: int
                      returned: success
                headroom_bytes:
                  description: Bytes left under the tightest bound, null when nothing bounds.
                  type: int
                  returned: success
            memlock_bytes:
              description: Bytes the instance may lock, null when unlimited or unknown.
              type: int
              returned: success
            memlock_reason:
              description: Why RV(ansible_facts.sglang.memory.memlock_bytes) is null.
              type: str
              returned: success
              sample: unlimited
            instance:
              description: What the running instance holds.
              type: dict
              returned: success
              contains:
                shmem_bytes:
                  description: Shared memory of its processes, bytes.
                  type: int
                  returned: success
                rss_bytes:
                  description: Private memory of its processes, bytes.
                  type: int
                  returned: success
        model:
          description: The model folder. Geometry is declared by its C(config.json).
          type: dict
          returned: when O(gather_subset) has V(model)
          contains:
            path:
              description: Folder of the model.
              type: str
              returned: success
            present:
              description: Whether there is a readable C(config.json).
              type: bool
              returned: success
            reason:
              description: Why the model is not present.
              type: str
              returned: success
            architecture:
              description: First of the configured architectures.
              type: str
              returned: success
              sample: KimiK25ForConditionalGeneration
            model_type:
              description: Type of the model.
              type: str
              returned: success
            attention:
              description:
                - How keys and values are kept, V(mla), V(gqa), V(swa), V(hybrid) or V(unknown).
              type: str
              returned: success
            layers:
              description: Layers of the language model.
              type: int
              returned: success
            hidden_size:
              description: Width of the language model.
              type: int
              returned: success
            heads:
              description: Attention heads.
              type: int
              returned: success
            kv_heads:
              description: Heads of keys and values.
              type: int
              returned: success
            head_dim:
              description: Elements per key head.
              type: int
              returned: success
            v_head_dim:
              description: Elements per value head.
              type: int
              returned: success
            kv_lora_rank:
              description: Rank of the compressed keys and values (MLA).
              type: int
              returned: success
            qk_rope_head_dim:
              description: Rotary elements per token (MLA).
              type: int
              returned: success
            index_head_dim:
              description: Elements per token of the sparse attention's indexer.
              type: int
              returned: success
            dtype:
              description: Type of the weights.
              type: str
              returned: success
              sample: bfloat16
            quantization:
              description: Method of quantization.
              type: str
              returned: success
              sample: compressed-tensors
            context_tokens:
              description: Longest context the model allows, tokens.
              type: int
              returned: success
            vocab_size:
              description: Size of the vocabulary.
              type: int
              returned: success
            multimodal:
              description: Whether the model also takes images or sound.
              type: bool
              returned: success
            weights_bytes:
              description:
                - Bytes of the weight files. When files are missing or the folder could not be
                  listed, what the index declares.
              type: int
              returned: success
            weights_files:
              description: How many weight files there should be.
              type: int
              returned: success
            missing_files:
              description: The first five files that the index names and the folder lacks.
              type: list
              elements: str
              returned: success
            missing_count:
              description: How many files are missing.
              type: int
              returned: success
            truncated_files:
              description: The first five shards that are shorter than their own header says.
              type: list
              elements: str
              returned: success
            fingerprint:
              description: Changes when the configuration, the index or the size of a file changes.
              type: str
              returned: success
              sample: 0f3c19a2b4d5e6f7
        draft:
          description:
            - The draft model, with the keys of RV(ansible_facts.sglang.model). Null when there is
              none.
          type: dict
          returned: when O(gather_subset) has V(model)
        engine:
          description: The installed engine, read from its files.
          type: dict
          returned: when O(gather_subset) has V(engine)
          contains:
            path:
              description: Folder of its virtual environment.
              type: str
              returned: success
            python:
              description: Its interpreter.
              type: str
              returned: success
            present:
              description: Whether there are an interpreter and an installed SGLang.
              type: bool
              returned: success
            reason:
              description: Why it is not present.
              type: str
              returned: success
            version:
              description: Version of SGLang.
              type: str
              returned: success
              sample: 0.5.23
            torch:
              description: Version of PyTorch.
              type: str
              returned: success
            cuda:
              description: CUDA version its wheels were built for.
              type: str
              returned: success
              sample: "13.0"
            kernel:
              description: Version of its kernels.
              type: str
              returned: success
            double:
              description: Whether it is a stand-in made for tests.
              type: bool
              returned: success
        server:
          description: The unit of the instance and the server in it.
          type: dict
          returned: when O(gather_subset) has V(server)
          contains:
            unit:
              description: Name of the unit.
              type: str
              returned: success
            load_state:
              description: C(LoadState), V(not-found) when there is no such unit.
              type: str
              returned: success
            active_state:
              description: C(ActiveState).
              type: str
              returned: success
            sub_state:
              description: C(SubState).
              type: str
              returned: success
            main_pid:
              description: Main process, null when it is down.
              type: int
              returned: success
            invocation_id:
              description: systemd's name of the current run.
              type: str
              returned: success
            active_since:
              description: When the unit became active, UTC.
              type: str
              returned: success
            uptime_s:
              description: Seconds since then.
              type: int
              returned: success
            restarts:
              description: Automatic restarts.
              type: int
              returned: success
            result:
              description: C(Result) of the last run.
              type: str
              returned: success
            exit_status:
              description: Exit status or signal of the last main process that ended.
              type: int
              returned: success
            need_daemon_reload:
              description: Whether the unit's file is newer than what systemd runs.
              type: bool
              returned: success
            url:
              description: Where the host itself reaches the running server; null when none runs.
              type: str
              returned: success
            argv:
              description: Command line of the running server, secrets removed.
              type: list
              elements: str
              returned: success
            startup:
              description: What the current run printed while it started, per rank.
              type: dict
              returned: success
              contains:
                state:
                  description: V(absent), V(starting), V(ready) or V(failed).
                  type: str
                  returned: success
                cause:
                  description: Why it failed, one word of a fixed vocabulary.
                  type: str
                  returned: success
                  sample: host_memory_guard
                cause_line:
                  description: The line that proves it, secrets removed.
                  type: str
                  returned: success
                max_total_num_tokens:
                  description: Tokens the device pool holds.
                  type: int
                  returned: success
                context_tokens:
                  description: Context length the server uses, tokens.
                  type: int
                  returned: success
                max_running_requests:
                  description: Requests it runs at once.
                  type: int
                  returned: success
                device_bytes_per_rank:
                  description: Size of the target's device pool on a rank, bytes.
                  type: int
                  returned: success
                host_tokens:
                  description:
                    - Tokens the host pool holds. 0 when a complete log shows that there is none;
                      null when the release does not print it.
                  type: int
                  returned: success
                host_bytes_per_rank:
                  description: Size of the host pools of a rank without the draft's, bytes.
                  type: int
                  returned: success
                draft_host_tokens:
                  description: Tokens the draft's host pool holds.
                  type: int
                  returned: success
                draft_host_bytes_per_rank:
                  description: Size of the draft's host pool of a rank, bytes.
                  type: int
                  returned: success
                weights_bytes_per_rank:
                  description: Device memory the target's weights took on a rank, bytes.
                  type: int
                  returned: success
                avail_after_bytes:
                  description: Device memory left after the start on the fullest rank, bytes.
                  type: int
                  returned: success
                load_s:
                  description: Seconds the slowest rank loaded weights.
                  type: float
                  returned: success
                graphs_s:
                  description: Seconds the slowest rank captured graphs.
                  type: float
                  returned: success
                ready_s:
                  description: Seconds from the first line to the one that says it is ready.
                  type: float
                  returned: success
                ranks:
                  description: The same for every rank.
                  type: list
                  elements: dict
                  returned: when O(detail=true)
            info:
              description:
                - What the server says of itself, an allow-list of the keys of C(/server_info). Null
                  when it does not answer. Declared by its arguments, but for the measured token
                  counts.
              type: dict
              returned: success
            loads:
              description: Requests and tokens at this moment. Null when the server does not answer.
              type: dict
              returned: success
              contains:
                running:
                  description: Requests that run.
                  type: int
                  returned: success
                waiting:
                  description: Requests that wait.
                  type: int
                  returned: success
                used_tokens:
                  description: Tokens in the device pool that requests hold.
                  type: int
                  returned: success
            tier_fingerprint:
              description:
                - Fingerprint of the variables from which the host pool of the installed unit was
                  planned, null when the unit does not say.
              type: str
              returned: success
            proven:
              description: Record of the last proof of this instance, null when there is none.
              type: dict
              returned: success
              contains:
                at:
                  description: When it was proven, UTC.
                  type: str
                  returned: success
                invocation_id:
                  description: The run that was proven.
                  type: str
                  returned: success
                fingerprint:
                  description: Fingerprint of the plan.
                  type: str
                  returned: success
                device_tokens:
                  description: Tokens on the device then.
                  type: int
                  returned: success
                host_tokens:
                  description: Tokens in the host pool then.
                  type: int
                  returned: success
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.llmops.sglang.plugins.module_utils._probe.snapshot import (
    PARTS,
    Request,
    open_source,
    take_snapshot,
)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "instance": {"type": "str", "default": "kimi"},
            "model_path": {"type": "path"},
            "draft_path": {"type": "path"},
            "engine_path": {"type": "path"},
            "port": {"type": "int"},
            "secrets_file": {"type": "path", "no_log": False},
            "gather_subset": {
                "type": "list",
                "elements": "str",
                "choices": list(PARTS),
                "default": list(PARTS),
            },
            "recording": {"type": "path"},
            "detail": {"type": "bool", "default": False},
            "timeout_s": {"type": "float", "default": 20},
        },
        supports_check_mode=True,
    )
    given = module.params
    request = Request(
        instance=given["instance"],
        model_path=given["model_path"] or "",
        draft_path=given["draft_path"] or "",
        engine_path=given["engine_path"] or "",
        port=given["port"],
        secrets_file=given["secrets_file"] or "",
        parts=tuple(given["gather_subset"]),
        detail=given["detail"],
        timeout_s=given["timeout_s"],
    )
    try:
        source = open_source(given["recording"])
    except ValueError as error:
        module.fail_json(msg=f"{error}; change the option recording")
    module.exit_json(ansible_facts={"sglang": take_snapshot(source, request)})


if __name__ == "__main__":
    main()
