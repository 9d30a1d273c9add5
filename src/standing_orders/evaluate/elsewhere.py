"""A policy played by a collector: in another simulator, in other processes, or both."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.reward import TENTHS_PER_POINT
from standing_orders.cage2.scenario import RED_AGENTS
from standing_orders.collect.local import Collector
from standing_orders.collect.loop import Actor
from standing_orders.collect.plan import Plan
from standing_orders.config import RedAgent
from standing_orders.seeding import child_seed, environment_seeds

_CHUNK = 50  # episodes between two signs of life


@dataclass(frozen=True)
class Elsewhere:
    """Who plays, and with what."""

    collector: Collector
    actor: Actor

    @property
    def simulator(self) -> str:
        """What a score must say of where it comes from."""
        return "own" if self.collector.spec.cyborg is None else "cyborg"

    @property
    def red_agent(self) -> str | None:
        """A red agent of the user's own that attacks instead of those known."""
        spec = self.collector.spec
        return spec.red_agent if spec.cyborg is None else spec.cyborg.red


@dataclass(frozen=True)
class Sample:
    """Episodes of a policy in one simulator."""

    returns: NDArray[np.int64]  # (episodes, num_horizons), tenths of a point
    tallies: NDArray[np.int64]  # (episodes, NUM_TALLIES)


def play_sample(
    collector: Collector,
    actor: Actor,
    red: RedAgent,
    *,
    horizons: Sequence[int],
    orders: Sequence[int],
    num_episodes: int,
    seed: int,
    mix: int | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> Sample:
    """Play episodes of a policy against one red agent.

    Args:
        collector: in which simulator, and by whom.
        actor: the policy.
        red: who attacks.
        horizons: steps after which to note the return.
        orders: what the policy is told, by turns of its seed; none for a policy without orders.
        num_episodes: how many; they do not depend on how many others there are.
        seed: root seed.
        mix: episodes after which the orders told begin anew, so that samples of other sizes, but
            the same mix, are told the same orders equally often; never if left out.
        advance: called with the number of episodes just finished.
    """
    seeds = environment_seeds(child_seed(seed, "evaluate", red), num_episodes)
    block, place = np.divmod(np.arange(num_episodes), mix or num_episodes)
    turns = block * _whole_turns(mix or num_episodes, max(len(orders), 1)) + place
    policy_seeds = environment_seeds(
        child_seed(seed, "evaluate", red, "policy"), int(turns.max()) + 1
    )[turns]
    told = np.array(orders or [0])[(policy_seeds % np.uint64(max(len(orders), 1))).astype(int)]
    steps = max(horizons)
    plan = Plan(
        seeds=seeds,
        reds=np.full(num_episodes, RED_AGENTS.index(red), dtype=np.int8),
        orders=told,
        judged_by=told,
        policy_seeds=policy_seeds,
        uniforms=np.zeros((steps, num_episodes)),
        whole=num_episodes,
    )
    returns, tallies = [], []
    for start in range(0, num_episodes, _CHUNK):
        rows = slice(start, min(start + _CHUNK, num_episodes))
        rollout = collector.play(actor, plan.part(rows))
        tenths = np.rint(rollout.rewards * TENTHS_PER_POINT).astype(np.int64).cumsum(axis=0)
        returns.append(tenths[np.array(horizons) - 1].T)
        tallies.append(rollout.tallies)
        advance(rows.stop - rows.start)
    return Sample(np.concatenate(returns), np.concatenate(tallies))


def _whole_turns(count: int, num_orders: int) -> int:
    """The next multiple of the number of orders: a shift that tells the same ones again."""
    return -(-count // num_orders) * num_orders
