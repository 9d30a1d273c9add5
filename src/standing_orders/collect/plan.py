"""Which episodes to play, as plain arrays: everything that an episode depends on."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.scenario import RED_AGENTS
from standing_orders.config import Opponent
from standing_orders.seeding import environment_seeds


@dataclass(frozen=True)
class Switches:
    """Orders that change within some episodes."""

    steps: NDArray[np.int64]  # (num_episodes,): the first step under the new order; 0 is the first
    orders: NDArray[np.int64]  # (num_episodes,): told, and judged by, from there on

    def part(self, rows: slice) -> "Switches":
        """Those of some of the episodes."""
        return Switches(self.steps[rows], self.orders[rows])

    def applied(self, orders: NDArray[np.int64], step: int) -> NDArray[np.int64]:
        """The orders of a step, of which these were the first.

        Example:
            >>> Switches(np.array([2, 9]), np.array([7, 7])).applied(np.array([3, 4]), 2).tolist()
            [7, 4]
        """
        return np.where(step < self.steps, orders, self.orders)


@dataclass(frozen=True)
class Trials:
    """Actions that a network tries, one in each of some episodes, instead of its own choice."""

    steps: NDArray[np.int64]  # (num_episodes,): when; 0 is the first step
    actions: NDArray[np.int64]  # (num_episodes,)

    def part(self, rows: slice) -> "Trials":
        """Those of some of the episodes."""
        return Trials(self.steps[rows], self.actions[rows])


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
    switches: Switches | None = None  # orders that change; None: each is told throughout
    opening: tuple[int, ...] = ()  # what a network plays first instead of its own choices
    trials: Trials | None = None  # what it tries

    def told_at(self, step: int) -> NDArray[np.int64]:  # (num_episodes,)
        """What each defender is told in a step."""
        return self.orders if self.switches is None else self.switches.applied(self.orders, step)

    def judged_at(self, step: int) -> NDArray[np.int64]:  # (num_episodes,)
        """The order by which each defender is judged in a step."""
        if self.switches is None:
            return self.judged_by
        return self.switches.applied(self.judged_by, step)

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
            switches=None if self.switches is None else self.switches.part(rows),
            trials=None if self.trials is None else self.trials.part(rows),
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
    switches: Switches | None = None,
    opening: tuple[int, ...] = (),
    trials: Trials | None = None,
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
        switches: orders that change within the episodes.
        opening: actions of the first steps, whatever a network would choose.
        trials: actions that a network tries.
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
        switches=switches,
        opening=opening,
        trials=trials,
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
