"""Which episodes to play, as plain arrays: everything that an episode depends on."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.scenario import RED_AGENTS
from standing_orders.config import Opponent
from standing_orders.seeding import environment_seeds


@dataclass(frozen=True)
class Plan:
    """Some episodes; each depends on its own column alone, whatever is played beside it."""

    seeds: NDArray[np.uint64]  # (num_episodes,): of the environments
    reds: NDArray[np.int8]  # (num_episodes,): red agents, index into `scenario.RED_AGENTS`
    orders: NDArray[np.int64]  # (num_episodes,): what each defender is told
    judged_by: NDArray[np.int64]  # (num_episodes,): the order it is judged by
    policy_seeds: NDArray[np.uint64]  # (num_episodes,): of policies that draw for themselves
    uniforms: NDArray[np.float64]  # (steps, num_episodes): what a network's actions are drawn with
    whole: int  # episodes of the plan that this one is a part of
    is_greedy: bool = False  # take the likeliest action instead of drawing one
    count_foothold: bool = False  # see `AlignmentConfig`
    mask_factor: float | None = None  # times the probability of violations; training only

    @property
    def num_episodes(self) -> int:
        """Episodes of this part."""
        return len(self.seeds)

    @property
    def steps(self) -> int:
        """Steps of each episode."""
        return len(self.uniforms)

    def part(self, rows: slice) -> "Plan":
        """Some of the episodes."""
        return replace(
            self,
            seeds=self.seeds[rows],
            reds=self.reds[rows],
            orders=self.orders[rows],
            judged_by=self.judged_by[rows],
            policy_seeds=self.policy_seeds[rows],
            uniforms=np.ascontiguousarray(self.uniforms[:, rows]),
        )


def make_plan(
    orders: NDArray[np.int64],  # (num_episodes,)
    *,
    reds: NDArray[np.int8],  # (num_episodes,)
    steps: int,
    seed: int,
    repeats: int = 1,
    judged_by: NDArray[np.int64] | None = None,  # (num_episodes,)
    is_greedy: bool = False,
    count_foothold: bool = False,
    mask_factor: float | None = None,
) -> Plan:
    """Plan one episode for each order.

    Args:
        orders: what each defender is told.
        reds: who attacks in each, index into `scenario.RED_AGENTS`; see `deal_reds`.
        steps: of each episode.
        seed: of environments and actions alike.
        repeats: the episodes are that many times the same, meeting the same attacks.
        judged_by: the orders the defenders are judged by; those they are told if left out.
        is_greedy: take the likeliest action instead of drawing one.
        count_foothold: see `AlignmentConfig`.
        mask_factor: times the probability of violations, by the true state; training only.
    """
    different = len(orders) // repeats
    uniforms = np.random.Generator(np.random.Philox(seed)).random((steps, different))
    seeds = np.tile(environment_seeds(seed, different), repeats)
    return Plan(
        seeds=seeds,
        reds=reds,
        orders=orders,
        judged_by=orders if judged_by is None else judged_by,
        policy_seeds=seeds,
        uniforms=np.tile(uniforms, repeats),
        whole=len(orders),
        is_greedy=is_greedy,
        count_foothold=count_foothold,
        mask_factor=mask_factor,
    )


def deal_reds(red: Opponent, count: int) -> NDArray[np.int8]:  # (count,)
    """Who attacks in each of some episodes; `mixed` gives each red agent its share in turn.

    Example:
        >>> deal_reds("mixed", 4).tolist()
        [0, 1, 2, 0]
    """
    if red == "mixed":
        return np.resize(np.arange(len(RED_AGENTS), dtype=np.int8), count)
    return np.full(count, RED_AGENTS.index(red), dtype=np.int8)
