"""Complete episodes of a network, from any collector."""

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.collect.local import Collector
from standing_orders.collect.loop import Timing, play_episodes
from standing_orders.collect.plan import Switches, Trials, deal_reds, make_plan
from standing_orders.collect.rollout import Rollout
from standing_orders.learn.actor import NetworkActor
from standing_orders.learn.networks import ActorCritic

__all__ = ["Rollout", "collect"]


def collect(
    source: Collector | Cage2Batch,
    network: ActorCritic,
    orders: NDArray[np.int64],  # (num_envs,)
    *,
    seed: int,
    repeats: int = 1,
    judged_by: NDArray[np.int64] | None = None,  # (num_envs,)
    is_greedy: bool = False,
    count_foothold: bool = False,
    mask_factor: float | None = None,
    switches: Switches | None = None,
    opening: tuple[int, ...] = (),
    trials: Trials | None = None,
) -> Rollout:
    """Play one episode for each order.

    Args:
        source: a collector; or a batch, of which every environment plays one episode.
        network: whose actor plays.
        orders: what each episode's defender is told.
        judged_by: the orders it is judged by; those it is told if left out.
        seed: of environments and actions alike.
        repeats: the episodes are that many times the same, meeting the same attacks.
        is_greedy: take the likeliest action instead of drawing one.
        count_foothold: see `AlignmentConfig`.
        mask_factor: times the probability of violations, by the true state; training only.
        switches: orders that change within the episodes.
        opening: actions of the first steps, whatever the network would choose.
        trials: actions that it tries; training only.
    """
    if isinstance(source, Cage2Batch):
        reds, steps = source.states["red"], source.config.horizon
    else:
        reds, steps = deal_reds(source.spec.red, len(orders)), source.spec.horizon
    plan = make_plan(
        orders,
        reds=reds,
        steps=steps,
        seed=seed,
        repeats=repeats,
        judged_by=judged_by,
        is_greedy=is_greedy,
        count_foothold=count_foothold,
        mask_factor=mask_factor,
        switches=switches,
        opening=opening,
        trials=trials,
    )
    actor = NetworkActor(network)
    if isinstance(source, Cage2Batch):
        return play_episodes(source, actor, plan, Timing())
    return source.play(actor, plan)
