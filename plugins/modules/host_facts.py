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
  - Changes nothing and needs nothing on the host but Python. Starts nothing either, unless
    O(arguments) asks the engine, and makes no file but O(bundle).
  - Each part fails alone. A part that could not be read holds a C(reason) instead of its values; a
    value that could not be read is null, never zero.
  - Keys of the server are used to ask it and are never returned.
attributes:
  check_mode:
    description: Can run in C(check_mode) and return the same facts; O(bundle) is not written then.
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
  arguments:
    description:
      - Arguments of the server. The installed engine is asked whether it accepts them, in its own
        interpreter, as the user and with the environment of the unit. This takes 5 to 25 seconds.
      - Keep secrets out of it. A C(--config) below C(/run/credentials) is left out, as it only
        exists while the unit runs.
    type: list
    elements: str
  recording:
    description:
      - Read a recorded host instead of the live one. A folder, or a C(tar.gz) archive, that mirrors
        the host, on the machine the module runs on.
      - What the recording lacks is unknown. Of a recording that O(bundle) wrote, options with their
        default value take the values that it was written with.
    type: path
  bundle:
    description:
      - Keep what the facts were made of in this file, a C(tar.gz) archive on the host with mode
        0600, which O(recording) reads. Its folder must exist; a file that is there is replaced.
      - Secrets, and what users asked the server, are removed. Names of machines, addresses, GPU
        identities and names of home folders are replaced, equal ones by equal ones. The facts
        returned are the host's own.
      - The result is always changed, as every bundle has its own time.
    type: path
  bundle_names:
    description:
      - Further names of the host that are replaced in O(bundle), such as the one in the inventory.
    type: list
    elements: str
    default: []
  bundle_variables:
    description:
      - Role variables of the instance to put into O(bundle). Give no secrets here; what looks like
        one is removed all the same.
    type: dict
    default: {}
  detail:
    description:
      - Return everything. Without it the facts have what the roles decide by and stay below 5 KB on
        a host with eight GPUs.
      - "The short form leaves out values such as addresses and temperatures of sound GPUs, the
        ranks of the start, swap, and what is null or empty in RV(ansible_facts.sglang.memory),
        RV(ansible_facts.sglang.model), RV(ansible_facts.sglang.draft),
        RV(ansible_facts.sglang.engine) and RV(ansible_facts.sglang.server.startup)."
      - What most GPUs have in common then stands once in RV(ansible_facts.sglang.gpu.common), and
        processes of the instance are one number,
        RV(ansible_facts.sglang.gpu.devices[].instance_bytes).
    type: bool
    default: false
  timeout_s:
    description:
      - Longest time in seconds to wait for one command. A driver that hangs costs this time for
        NVML and once more for all of C(nvidia-smi), and then is a fact.
    type: float
    default: 20
notes:
  - Run as root to see the processes of other users, the journal, the kernel's log and the secrets
    file.
  - "With C(ansible_facts_modules: [ansible.builtin.setup, llmops.sglang.host_facts]) as a variable
    of a host or group, every C(gather_facts) brings these facts along and a fact cache keeps them.
    Options then come from C(module_defaults) of the play, which may use variables of the host."
  - "Two modules run in parallel by default, and ansible-core then fails with C('ansible_job_id') on
    a host whose Python it has to discover first. Set C(ansible_python_interpreter), or
    C(ansible_facts_parallel: false)."
  - A C(gather_subset) of the play is for M(ansible.builtin.setup) only; ansible-core warns that it
    is not passed on.
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

- name: Gather these facts with all others
  hosts: sglang
  gather_facts: true
  vars:
    ansible_facts_modules: [ansible.builtin.setup, llmops.sglang.host_facts]
    ansible_facts_parallel: false
  module_defaults:
    llmops.sglang.host_facts:
      instance: "{{ sglang_instance }}"
      model_path: "{{ sglang_model_path }}"

- name: Ask the installed engine whether it knows these arguments
  llmops.sglang.host_facts:
    gather_subset: [engine]
    engine_path: /opt/sglang/current
    arguments: [--model-path, /srv/models/Kimi-K2.5, --hicache-ratio, "2.0"]

- name: Record the host for somebody else
  llmops.sglang.host_facts:
    instance: kimi
    bundle: /root/host.tar.gz

- name: Read a host that someone recorded
  llmops.sglang.host_facts:
    recording: /tmp/gpu-01.tar.gz
  delegate_to: localhost
"""

RETURN = r"""
bundle:
  description: The file with what the facts were made of.
  returned: when O(bundle) is given
  type: dict
  contains:
    path:
      description: Where it is on the host.
      type: str
      returned: success
    bytes:
      description: Its size, bytes. Null in check mode, in which it is not written.
      type: int
      returned: success
    files:
      description: How many files are in it.
      type: int
      returned: success
    removed:
      description:
        - How many C(secrets) and C(requests) were removed, and how many different C(hosts),
          C(addresses), C(gpus), C(interfaces) and C(users) got other names.
      type: dict
      returned: success
variables:
  description: Role variables of the instance in the recording, as YAML.
  returned: when O(recording) has them
  type: str
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
            common:
              description:
                - What more than half of the GPUs have in common; an entry of
                  RV(ansible_facts.sglang.gpu.devices) that says something else holds for itself.
                  Only these keys, out of the ones of a device, can stand here.
              type: dict
              returned: when O(detail=false) and there are two or more GPUs
              contains: &common
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
                  description:
                    - Memory of the GPU, bytes. Null for unified memory, of which some GPUs tell a
                      few GB that mean nothing.
                  type: int
                  returned: success
                mig:
                  description: Whether the GPU is split by MIG.
                  type: bool
                  returned: success
                recovery_action:
                  description: What the driver asks for, V(None) when the GPU is sound.
                  type: str
                  returned: success
                state:
                  description:
                    - How the GPU is. V(lost), no longer reachable. V(reset), waits for a reset or a
                      reboot. V(stuck), busy or holding memory without a process. V(failing), the
                      driver fails to read parts of it. V(repair), broken memory waits to be
                      replaced. V(unreadable), its driver refuses to tell of it. V(ok).
                  type: str
                  returned: success
                state_reason:
                  description: Why it is not V(ok).
                  type: str
                  returned: success
                processes:
                  description:
                    - Processes that use the GPU. In short, without those of the instance that tell
                      their memory.
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
            devices:
              description: One entry per GPU, in the driver's order.
              type: list
              elements: dict
              returned: success
              contains:
                <<: *common
                index:
                  description: Number of the GPU.
                  type: int
                  returned: success
                uuid:
                  description: Identity of the GPU.
                  type: str
                  returned: when O(detail=true) or the GPU is not sound
                bus_id:
                  description: PCI address.
                  type: str
                  returned: when O(detail=true) or the GPU is not sound
                xids:
                  description:
                    - Numbers of the errors that the driver logged for the GPU since the boot, null
                      when the kernel's log may not be read.
                  type: list
                  elements: int
                  returned: when O(detail=true) or the GPU is not sound
                instance_bytes:
                  description:
                    - Memory of the GPU that processes of the instance's unit hold, bytes. Null when
                      one of them does not tell.
                  type: int
                  returned: success
                memory_used_bytes:
                  description: Used memory, bytes.
                  type: int
                  returned: success
                memory_free_bytes:
                  description: Free memory, bytes. The driver keeps some of what is not used.
                  type: int
                  returned: when O(detail=true)
                ecc:
                  description: Whether ECC is on.
                  type: bool
                  returned: when O(detail=true)
                persistence:
                  description:
                    - Whether the driver stays loaded without a process. Without it every look at
                      the GPUs may take many seconds.
                  type: bool
                  returned: when O(detail=true)
                temperature_c:
                  description: Temperature, degrees Celsius.
                  type: int
                  returned: when O(detail=true)
                utilization_percent:
                  description: Share of the last moment in which the GPU computed, percent.
                  type: int
                  returned: when O(detail=true)
                power_limit_w:
                  description: Power limit, watts.
                  type: float
                  returned: when O(detail=true)
                vbios:
                  description: Version of the GPU's firmware.
                  type: str
                  returned: when O(detail=true)
                retired_pending:
                  description: Whether memory pages wait for a reboot to be retired.
                  type: bool
                  returned: when O(detail=true)
                remapped_pending:
                  description: Whether memory rows wait for a reset to be replaced.
                  type: bool
                  returned: when O(detail=true)
                remapped_failure:
                  description: Whether memory rows could not be replaced.
                  type: bool
                  returned: when O(detail=true)
                numa_node:
                  description:
                    - NUMA node the GPU hangs on, from sysfs. Where the firmware hides it, what the
                      driver tells.
                  type: int
                  returned: success
                mig_instances:
                  description: The parts of a GPU that MIG splits.
                  type: list
                  elements: dict
                  returned: when C(mig) is true
                  contains:
                    profile:
                      description: Kind of the part.
                      type: str
                      returned: success
                      sample: 3g.71gb
                    uuid:
                      description: Identity of the part.
                      type: str
                      returned: success
                    gpu_instance:
                      description: Number of the GPU instance. Only NVML tells it.
                      type: int
                      returned: success
                    compute_instance:
                      description: Number of the compute instance. Only NVML tells it.
                      type: int
                      returned: success
                    memory_total_bytes:
                      description: Memory of the part, bytes. Only NVML tells it.
                      type: int
                      returned: success
                    memory_used_bytes:
                      description: Used memory of the part, bytes. Only NVML tells it.
                      type: int
                      returned: success
                    memory_free_bytes:
                      description: Free memory of the part, bytes. Only NVML tells it.
                      type: int
                      returned: success
                    unknown:
                      description: Name of each value that could not be read, with the reason.
                      type: dict
                      returned: success
            fallen_off:
              description:
                - PCI addresses of GPUs that, by the kernel's log, fell off the bus and that the
                  driver does not list.
              type: list
              elements: str
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
            zram_bytes:
              description:
                - Swap on C(/dev/zram*), bytes, a part of C(SwapTotal). Compressed RAM, no room
                  beside it.
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
                reserved:
                  description: Unused pages that are promised to a mapping already.
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
                cpus:
                  description: CPUs of the node, empty for a node with memory alone.
                  type: str
                  returned: success
                  sample: 0-31,64-95
                hugepages:
                  description:
                    - Every page size of which the node has pages, with the keys of
                      RV(ansible_facts.sglang.memory.hugepages).
                  type: list
                  elements: dict
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
                    setting:
                      description: What sets the bound.
                      type: str
                      returned: success
                      sample: memory.high
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
            memlock_unit_bytes:
              description: Bytes the unit may lock from its next start on, null as above.
              type: int
              returned: success
            memlock_unit_reason:
              description: Why RV(ansible_facts.sglang.memory.memlock_unit_bytes) is null.
              type: str
              returned: success
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
                hugetlb_bytes:
                  description: Huge pages it holds, bytes.
                  type: int
                  returned: success
                measured_by:
                  description:
                    - Who told, V(cgroup) or V(processes). The processes are counted where the unit
                      has no memory group of its own; what several of them share counts once.
                  type: str
                  returned: success
            available_after_stop_bytes:
              description:
                - What is available once the instance has stopped, bytes. Predicted from what it
                  holds; huge pages go back to their own pool. Null when what it holds is not known.
              type: int
              returned: success
            neighbours:
              description:
                - Other instances with a host pool that run, or will at the next boot.
              type: list
              elements: dict
              returned: success
              contains:
                unit:
                  description: Its unit.
                  type: str
                  returned: success
                running:
                  description: Whether it runs.
                  type: bool
                  returned: success
                shmem_bytes:
                  description: Shared memory of its processes, bytes.
                  type: int
                  returned: success
                rss_bytes:
                  description: Private memory of its processes, bytes.
                  type: int
                  returned: success
                host_bytes:
                  description: Its host pools by the plan that was proven last, bytes.
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
            q_lora_rank:
              description: Rank of the compressed queries (MLA).
              type: int
              returned: success
            kv_lora_rank:
              description: Rank of the compressed keys and values (MLA).
              type: int
              returned: success
            qk_nope_head_dim:
              description: Elements per key head that are not rotary (MLA).
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
            index_layers:
              description: Layers that choose tokens with an indexer of their own.
              type: int
              returned: success
            kv_layers:
              description: Layers that keep keys and values of the whole context.
              type: int
              returned: success
            swa_layers:
              description: Layers that keep a sliding window only.
              type: int
              returned: success
            state_layers:
              description: Layers that keep a recurrent state.
              type: int
              returned: success
            layer_kinds:
              description:
                - One letter per layer, C(f) for the whole context, C(s) for a sliding window, C(r)
                  for a recurrent state, C(b) for context and state, C(-) for nothing. Null where
                  all layers keep the whole context, or where their kinds are not known.
              type: str
              returned: success
              sample: rrrfrrrf
            sliding_window:
              description: Tokens of the sliding window.
              type: int
              returned: success
            swa_kv_heads:
              description: Heads of keys and values in layers with a sliding window.
              type: int
              returned: success
            swa_head_dim:
              description: Elements per key head in layers with a sliding window.
              type: int
              returned: success
            swa_v_head_dim:
              description: Elements per value head in layers with a sliding window.
              type: int
              returned: success
            state_elements:
              description: Elements of one recurrent state in one layer, over all ranks.
              type: int
              returned: success
            state_conv_elements:
              description:
                - Elements of the convolution's window in one layer, over all ranks and without its
                  groups.
              type: int
              returned: success
            state_groups:
              description: Groups of that convolution.
              type: int
              returned: success
            state_group_elements:
              description: Elements of each of these groups.
              type: int
              returned: success
            state_dtype:
              description: Type of recurrent states that the model asks for.
              type: str
              returned: success
              sample: float32
            draft_layers:
              description: Layers with which the model can draft for itself.
              type: int
              returned: success
            kv_cache_quantization:
              description: V(fp8) where the checkpoint brings scales for its keys and values.
              type: str
              returned: success
            dtype:
              description: Type of the weights.
              type: str
              returned: success
              sample: bfloat16
            quantization:
              description:
                - Method of quantization, from C(config.json) or else from C(hf_quant_config.json).
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
              description: The first five shards that are shorter than their own header tells.
              type: list
              elements: str
              returned: success
            damaged_files:
              description:
                - The first five files that the engine will not load, each with the reason. Their
                  length is not the one that their header tells, or they are no such files at all.
              type: list
              elements: str
              returned: success
              sample: ["model-00003-of-00064.safetensors: cut short: 4096 of 8545508480 bytes"]
            damaged_count:
              description: How many files are damaged.
              type: int
              returned: success
            unfinished_files:
              description: The first five files that a download or a copy has not finished.
              type: list
              elements: str
              returned: success
            unfinished_count:
              description: How many there are.
              type: int
              returned: success
            storage:
              description: The file system that holds the folder, or will hold it.
              type: dict
              returned: success
              contains:
                real_path:
                  description: The folder, with every link followed.
                  type: str
                  returned: success
                mount:
                  description: Where the file system is mounted.
                  type: str
                  returned: success
                filesystem:
                  description: Type of the file system.
                  type: str
                  returned: success
                  sample: nfs4
                network:
                  description: Whether its data come from another host.
                  type: bool
                  returned: success
                free_bytes:
                  description: Free bytes for a user other than root.
                  type: int
                  returned: success
                total_bytes:
                  description: Size of the file system, bytes.
                  type: int
                  returned: success
            fingerprint:
              description:
                - Names what a server loads from the folder, by names, lengths, headers and samples
                  of the data. A copy has the same; a README or a time of change does not matter.
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
            kernel_package:
              description: Name of the package with its kernels.
              type: str
              returned: success
              sample: sglang-kernel
            python_version:
              description: Version of its interpreter.
              type: str
              returned: success
              sample: 3.12.3
            glibc:
              description: Version of the host's C library, null where it is another one.
              type: str
              returned: success
              sample: "2.36"
            glibc_needed:
              description: Oldest C library that its wheels say they run with.
              type: str
              returned: success
              sample: "2.34"
            glibc_needed_by:
              description: The package that needs it.
              type: str
              returned: success
              sample: sglang-kernel
            double:
              description: Whether it is a stand-in made for tests.
              type: bool
              returned: success
            arguments:
              description: What the engine said of O(arguments).
              type: dict
              returned: when O(arguments) was given
              contains:
                accepted:
                  description: Whether it accepts them, null when nobody could say.
                  type: bool
                  returned: success
                message:
                  description: Its message, or why nobody could say; secrets removed.
                  type: str
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
                phase:
                  description:
                    - What the server does, or did when it failed. V(arguments), V(parallel),
                      V(weights), V(device_pool), V(graphs), V(host_pool), V(warmup) or V(serving).
                  type: str
                  returned: success
                  sample: graphs
                cause:
                  description:
                    - Why it failed, one word of a fixed vocabulary. Where its own log does not
                      tell, the kernel's journal and then systemd are asked.
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
                swa_tokens:
                  description: Tokens the device pool of the sliding window layers holds.
                  type: int
                  returned: when the model has such layers
                swa_host_tokens:
                  description: Tokens the host pool of the sliding window layers holds.
                  type: int
                  returned: when the server has such a pool
                state_slots:
                  description: Slots the device pool of recurrent state holds.
                  type: int
                  returned: when the model has such state and the release prints them
                state_bytes_per_rank:
                  description: Size of the device pool of recurrent state on a rank, bytes.
                  type: int
                  returned: when the model has such state
                draft_tokens:
                  description: Tokens the draft's device pool holds.
                  type: int
                  returned: when the draft has a pool of its own
                indexer_bytes_per_rank:
                  description:
                    - Size of the indexer's host pool of a rank, bytes. Part of
                      C(host_bytes_per_rank).
                  type: int
                  returned: when the server has such a pool
                auto_ratio:
                  description: Ratio of host to device pool that the engine chose by itself.
                  type: float
                  returned: when the engine chose
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
                from_server:
                  description:
                    - Names of the values here that the journal no longer tells, and that were
                      taken from the running server.
                  type: list
                  elements: str
                  returned: when there are any
                limits:
                  description: Limits of the scheduler by the engine's own names (tokens, requests).
                  type: dict
                  returned: when O(detail=true)
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
            crashes:
              description:
                - How often the server ended by itself since the last change by a play, from the
                  diary of the instance. Null when it never did.
              type: dict
              returned: success
              contains:
                count:
                  description: How often.
                  type: int
                  returned: success
                since:
                  description: When the first of them was, UTC.
                  type: str
                  returned: success
                at:
                  description: When the last of them was, UTC.
                  type: str
                  returned: success
                result:
                  description: What systemd calls the end of the last one.
                  type: str
                  returned: success
                  sample: exit-code
                status:
                  description: Exit status or signal of the last one, as systemd has it.
                  type: str
                  returned: success
                  sample: "137"
                cause:
                  description:
                    - Why the last one ended, one word of the vocabulary of
                      RV(ansible_facts.sglang.server.startup.cause).
                  type: str
                  returned: success
                  sample: host_oom_kill
                cause_line:
                  description: The line that proves it, secrets removed.
                  type: str
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

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.llmops.sglang.plugins.module_utils._probe.snapshot import (
    PARTS,
    Request,
    completed,
    open_source,
    take_snapshot,
)
from ansible_collections.llmops.sglang.plugins.module_utils._probe.source import Source


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
            "arguments": {"type": "list", "elements": "str"},
            "recording": {"type": "path"},
            "bundle": {"type": "path"},
            "bundle_names": {"type": "list", "elements": "str", "default": []},
            "bundle_variables": {"type": "dict", "default": {}},
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
        arguments=None if given["arguments"] is None else tuple(given["arguments"]),
        detail=given["detail"],
        timeout_s=given["timeout_s"],
    )
    try:
        source = open_source(given["recording"])
    except ValueError as error:
        module.fail_json(msg=f"{error}; change the option recording")
    request = completed(request, source)
    result: dict[str, Any] = {"changed": False}
    variables = getattr(source, "variables", "")  # only a recording has some
    if variables:
        result["variables"] = variables
    if given["bundle"]:
        facts, bundle = _bundled(module, source, request)
        result.update(changed=True, bundle=bundle)
    else:
        facts = take_snapshot(source, request)
    module.exit_json(ansible_facts={"sglang": facts}, **result)


def _bundled(
    module: AnsibleModule, source: Source, request: Request
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The facts, and what there is to tell of the bundle; written, unless in check mode."""
    # Imported here, so that Python need not compile them when no bundle is asked for.
    from ansible_collections.llmops.sglang.plugins.module_utils._probe.archive import write_archive
    from ansible_collections.llmops.sglang.plugins.module_utils._probe.bundle import record

    path = module.params["bundle"]
    host = record(source, request, module.params["bundle_names"], module.params["bundle_variables"])
    written = None
    if not module.check_mode:
        try:
            written = write_archive(path, host.members)
        except OSError as error:
            module.fail_json(msg=f"{path}: {error.strerror}; change the option bundle")
    files = sum(data is not None for data in host.members.values())
    told = {"path": path, "bytes": written, "files": files, "removed": host.removed}
    return host.facts, told


if __name__ == "__main__":
    main()
