# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds for every host: limits are computed here once more, by other means than the plan's.

A host has RAM, maybe a cgroup, NUMA nodes, huge pages, neighbours and a running instance; a wish
has any mode. Whatever the plan calls certain must keep every limit and start in every order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ansible_collections.llmops.sglang.plugins.module_utils._plan.capacity import plan_capacity
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.guard_simulator import (
    CGROUP_SINCE,
    SHARED_SINCE,
    STARTED,
    VERSIONS,
    booked,
    outcomes,
    release,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.plan_facts import (
    GIB,
    GROUPED_MODEL,
    LATENT_MODEL,
    SMALL_DRAFT,
    drafting,
    host,
    wishes,
)
from hypothesis import given, settings
from hypothesis import strategies as st

# Small enough for one GPU, so that a stopped server has a device tier to predict.
MODELS = [
    {**model, "weights_bytes": 16 * 10**9}
    for model in (LATENT_MODEL, GROUPED_MODEL, {**LATENT_MODEL, "index_head_dim": 128})
]
PROCESS = 4 * GIB
AUTO = {
    "sglang_hicache_mode": "auto",
    "sglang_hicache_ratio": None,
    "sglang_hicache_size_gb": None,
}


@dataclass(frozen=True)
class World:
    """A host and a wish, with what is needed to judge a plan without asking the plan."""

    version: str
    tokens: int
    model: dict[str, Any]
    drafts: bool
    running: bool
    available: int
    held: int
    cgroup: int | None
    nodes: tuple[int, int] | None
    huge_pages: int | None
    pending: int
    tp: int
    dp: int
    dp_attention: bool
    page: int
    reserve: int
    headroom: int
    budget: int | None
    mode: dict[str, Any]

    @property
    def ranks(self) -> int:
        return self.tp if self.dp_attention else self.tp * self.dp

    @property
    def facts(self) -> dict[str, Any]:
        nodes = [
            {"node": number, "available_bytes": size}
            for number, size in enumerate(self.nodes or ())
        ]
        neighbour = {"unit": "sglang-b.service", "running": False, "host_bytes": self.pending}
        memory = {
            "available_bytes": self.available,
            "instance": {"shmem_bytes": self.held, "rss_bytes": self.held},
            "cgroup": {"version": 2, "limits": [], "headroom_bytes": self.cgroup},
            "numa": nodes,
            "hugepages": [{"size_bytes": GIB, "total": 9_999, "free": self.huge_pages or 0}],
            "swap_free_bytes": 64 * GIB,
            "neighbours": [neighbour] if self.pending else [],
        }
        facts = host(
            self.version,
            tokens=self.tokens,
            model=self.model,
            draft=SMALL_DRAFT if self.drafts else None,
            gpus=self.ranks,
            memory=memory,
            running=self.running,
        )
        facts["server"]["startup"]["state"] = "ready"
        for index, device in enumerate(facts["gpu"]["devices"]):
            device["numa_node"] = 0 if index < self.ranks // 2 else 1
        return facts

    @property
    def wish(self) -> dict[str, Any]:
        make = drafting if self.drafts else wishes
        return make(
            tp_size=self.tp,
            dp_size=self.dp,
            enable_dp_attention=self.dp_attention,
            page_size=self.page,
            # A stopped server has no measured device tier, so it is declared.
            max_total_tokens=None if self.running else self.tokens,
            hicache_reserve_gib=self.reserve,
            hicache_headroom_gib=self.headroom,
            hicache_budget_gib=self.budget,
            hicache_ratio_max=None,
            environment={"SGLANG_HUGEPAGE_SIZE": "1GB"} if self.huge_pages is not None else {},
            **self.mode,
        )

    @property
    def uses_huge_pages(self) -> bool:
        return self.huge_pages is not None and release(self.version) >= (0, 5, 13)

    @property
    def is_bound(self) -> bool:
        return self.nodes is not None and release(self.version) >= (0, 5, 18)

    @property
    def gone(self) -> int:
        """Bytes that come back when the instance stops."""
        return self.held if self.running else 0

    @property
    def processes(self) -> int:
        return 0 if self.running else self.ranks * PROCESS

    @property
    def kept(self) -> int:
        return (max(self.reserve, 10) + self.headroom) * GIB + self.processes

    @property
    def machine(self) -> int:
        """Free RAM of the machine when the first rank of a new start asks."""
        return self.available + self.gone - self.processes

    @property
    def free(self) -> int:
        """What may really be taken then."""
        if self.cgroup is None:
            return self.machine
        return min(self.machine, self.cgroup + self.gone - self.processes)

    @property
    def seen(self) -> int:
        """What the engine's check starts from."""
        return self.free if release(self.version) >= CGROUP_SINCE else self.machine

    def ends(self, pools: tuple[int, ...], fraction: float | None) -> set[str]:
        """How a start may end, whether the neighbour has taken its pools by then or not."""
        share = self.tp if release(self.version) >= SHARED_SINCE else 1
        if fraction is not None:
            return {booked(self.seen, fraction, pools, self.ranks, share)}
        return {
            end
            for taken in (0, self.pending)
            for end in outcomes(
                self.free - taken,
                pools,
                self.ranks,
                share=share,
                seen=self.seen - taken,
                hugepages=self.uses_huge_pages,
            )
        }


modes = st.one_of(
    st.just({"hicache_mode": "auto"}),
    st.just({"hicache_mode": "auto"}),
    st.floats(1, 9).map(lambda ratio: {"hicache_mode": "ratio", "hicache_ratio": ratio}),
    st.integers(1, 700).map(lambda size: {"hicache_mode": "size", "hicache_size_gb": size}),
    st.just({"hicache_mode": "engine_auto"}),
    st.floats(0.1, 1).map(
        lambda share: {"hicache_mode": "engine_auto", "hicache_host_memory_fraction": share}
    ),
)


plain = st.builds(
    World,
    version=st.sampled_from(VERSIONS),
    tokens=st.integers(2_000, 400_000) | st.integers(2_000, 4_000_000),
    model=st.sampled_from(MODELS),
    drafts=st.booleans(),
    running=st.booleans(),
    available=st.integers(300 * GIB, 3_000 * GIB) | st.integers(0, 100 * GIB),
    held=st.integers(0, 500 * GIB),
    cgroup=st.none(),
    nodes=st.none(),
    huge_pages=st.none(),
    pending=st.just(0),
    tp=st.sampled_from([1, 2, 4, 8]),
    dp=st.sampled_from([1, 1, 2]),
    dp_attention=st.booleans(),
    page=st.sampled_from([1, 16, 64]),
    reserve=st.integers(0, 64),
    headroom=st.integers(0, 32),
    budget=st.none(),
    mode=modes,
)
size = st.integers(0, 600 * GIB)
# Bounds of all kinds at once would leave nothing: each host has one, few have two.
one_bound = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"cgroup": size}),
    st.fixed_dictionaries(
        {
            "nodes": st.tuples(size, size),
            "tokens": st.integers(2_000, 60_000),
            "version": st.sampled_from(["0.5.18", "0.5.23"]),
        }
    ),
    st.fixed_dictionaries(
        {
            "huge_pages": st.integers(0, 600),
            "available": st.just(3_000 * GIB),
            "version": st.sampled_from(["0.5.14", "0.5.20", "0.5.23"]),
        }
    ),
    st.fixed_dictionaries({"pending": size}),
    st.fixed_dictionaries({"budget": st.integers(1, 600)}),
    st.fixed_dictionaries(
        {
            "available": st.just(3_000 * GIB),
            "tokens": st.integers(2_000_000, 6_000_000),
            "tp": st.just(1),
            "version": st.just("0.5.18"),
        }
    ),
)
worlds = st.builds(
    lambda world, first, second: replace(world, **{**first, **second}),
    plain,
    one_bound,
    st.just({}) | st.just({}) | one_bound,
)


def pools_of(capacity: dict[str, Any], slots: int) -> tuple[int, ...]:
    """Bytes of each pool of a rank, in the order in which the engine allocates them."""
    each = capacity["bytes_per_token"]
    indexer = each["indexer"] if release(capacity["engine_version"]) >= (0, 5, 11) else None
    draft = each["draft"] if capacity["host"]["draft_tokens"] else None
    return tuple(slots * size for size in (each["target"], indexer, draft) if size)


def keeps_bounds(world: World, pools: tuple[int, ...]) -> bool:
    """Every limit on the sum of all pools, from first principles."""
    rank, node = sum(pools), sum(pools) * world.ranks
    if world.budget is not None and node > world.budget * GIB:
        return False
    if release(world.version) < SHARED_SINCE and max(pools) >= 512 * GIB:
        return False
    if world.huge_pages is not None and world.uses_huge_pages:
        return sum(-(-pool // GIB) for pool in pools) * world.ranks <= world.huge_pages
    if node > world.free + world.processes - world.kept - world.pending:
        return False
    counts = (world.ranks // 2, world.ranks - world.ranks // 2)
    bound = zip(counts, world.nodes or ()) if world.is_bound else ()
    return all(
        count * rank <= size + world.gone * count // world.ranks - world.kept // 2 - world.pending
        for count, size in bound
        if count
    )


@settings(max_examples=300, deadline=None)
@given(world=worlds)
def test_what_is_certain_keeps_every_limit_and_starts_in_every_order(world: World) -> None:
    capacity = plan_capacity(world.facts, world.wish)

    tier = capacity["host"]
    assert capacity["ranks_per_node"] == world.ranks
    if tier["certainty"] != "certain":
        assert tier["mode"] != "auto"
        return
    pools = pools_of(capacity, tier["tokens"])
    assert tier["bytes_node"] == sum(pools) * world.ranks
    assert keeps_bounds(world, pools)
    fraction = tier["fraction"] if tier["mode"] == "engine_auto" else None
    assert world.ends(pools, fraction) == {STARTED}


@settings(max_examples=60, deadline=None)
@given(
    world=plain,
    nodes=st.tuples(st.integers(60 * GIB, 900 * GIB), st.integers(60 * GIB, 900 * GIB)),
    tokens=st.integers(2_000, 20_000),
    version=st.sampled_from(["0.5.18", "0.5.23"]),
)
def test_ranks_that_are_bound_to_two_nodes_keep_the_memory_of_each(
    world: World, nodes: tuple[int, int], tokens: int, version: str
) -> None:
    bound = replace(world, nodes=nodes, tokens=tokens, version=version, available=sum(nodes))
    capacity = plan_capacity(bound.facts, {**bound.wish, **AUTO})
    tier = capacity["host"]
    if tier["mode"] != "off":
        assert keeps_bounds(bound, pools_of(capacity, tier["tokens"]))


@settings(max_examples=100, deadline=None)
@given(world=worlds)
def test_what_is_refused_breaks_a_bound_or_ends_badly_in_some_order(world: World) -> None:
    capacity = plan_capacity(world.facts, world.wish)

    tier, device = capacity["host"], capacity["device"]
    if tier["certainty"] != "no" or not tier["tokens"] or device["error_percent"]:
        return
    pools = pools_of(capacity, tier["tokens"])
    fraction = tier["fraction"] if tier["mode"] == "engine_auto" else None
    if world.huge_pages is not None:
        # The plan gives up a page for each pool, whether its last page is full or not.
        world = replace(world, huge_pages=world.huge_pages - world.ranks * len(pools))
    too_small = release(world.version) < (0, 5, 15) and tier["tokens"] <= device["tokens"]
    assert too_small or not keeps_bounds(world, pools) or world.ends(pools, fraction) != {STARTED}


@settings(max_examples=100, deadline=None)
@given(world=worlds)
def test_auto_is_off_or_certain_and_every_certain_option_keeps_the_ram(world: World) -> None:
    capacity = plan_capacity(world.facts, {**world.wish, **AUTO})

    tier = capacity["host"]
    assert (tier["mode"], tier["certainty"]) == ("off", None) or tier["certainty"] == "certain"
    for option in capacity["options"]:
        assert option["ram_bytes_per_rank"] == option["ram_bytes"] // world.ranks
        assert option["tokens_in_reach"] >= option["device_tokens"]
        if option["certainty"] == "certain" and option["ram_bytes"]:
            assert option["ram_bytes"] <= (world.budget or 10**6) * GIB
            if not world.uses_huge_pages:
                assert option["ram_bytes"] <= world.free + world.processes - world.kept


@settings(max_examples=60, deadline=None)
@given(world=worlds, more=st.integers(0, 500 * GIB))
def test_more_ram_never_means_less_in_reach(world: World, more: int) -> None:
    wish = {**world.wish, **AUTO}
    richer = world.facts
    richer["memory"]["available_bytes"] += more

    poorer = plan_capacity(world.facts, wish)
    before = poorer["tokens"]["in_reach"]
    after = plan_capacity(richer, wish)["tokens"]["in_reach"]

    # But for rounding down: ratios have two decimals, fractions three, pools whole pages.
    slack = 0.01 * poorer["tokens"]["device"] + 0.0025 * before + 2 * world.page * world.dp + 2
    assert after >= before - slack
