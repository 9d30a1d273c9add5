"""What a training config asks for: network, game, and fresh episodes to measure it on."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.reward import TENTHS_PER_POINT
from standing_orders.cage2.scenario import RED_AGENTS
from standing_orders.config import NO_ORDER, TrainConfig, game_of
from standing_orders.evaluate.measure import Measured, late_start, measure, play
from standing_orders.learn.inputs import InputLayout
from standing_orders.learn.networks import ActorCritic
from standing_orders.learn.policy import LearnedDefender
from standing_orders.rules.orders import Order
from standing_orders.seeding import child_seed
from standing_orders.stats import standard_error


def layout_of(config: TrainConfig) -> InputLayout:
    """Inputs of the network that a config trains."""
    has_order = config.order != NO_ORDER
    return InputLayout(
        has_order=has_order,
        has_belief=config.ppo.belief,
        has_memory=config.ppo.memory,
        has_clock=config.ppo.clock,
        certainty=None if config.certainty == "none" or not has_order else config.certainty,
        reds=RED_AGENTS if config.red == "mixed" or config.attackers == "all" else (config.red,),
    )


def make_network(config: TrainConfig) -> ActorCritic:
    """The untrained network of a config."""
    return ActorCritic(
        layout_of(config),
        hidden=config.ppo.hidden,
        activation=config.ppo.activation,
        seed=child_seed(config.seed, "network"),
    )


def make_batch(config: TrainConfig, num_envs: int, **changes: Any) -> Cage2Batch:
    """Environments of a config, with changes; `mixed` gives each red agent its share in turn."""
    if config.red == "mixed":
        reds = [RED_AGENTS[i % len(RED_AGENTS)] for i in range(num_envs)]
        return Cage2Batch(num_envs, game_of(config, **changes), reds=reds)
    return Cage2Batch(num_envs, game_of(config, red=config.red, **changes))


def measure_network(
    network: ActorCritic,
    config: TrainConfig,
    seeds: NDArray[np.uint64],  # (num_episodes,)
) -> Measured:
    """Return, compliance and the gate's judgement of a network told the order of its config.

    Args:
        network: sees observations and the order only; actions are drawn.
        config: the order, the game and the gate.
        seeds: one fresh episode for each.
    """
    order = Order.parse(config.order).index
    policy = LearnedDefender(network, name=config.order, orders=[order], draws="shared")
    late = late_start(config, config.gate)
    return measure(
        policy, partial(make_batch, config), seeds, order=order, gate=config.gate,
        late=partial(make_batch, config, head_start=late) if late else None,
        count_foothold=config.alignment.count_foothold,
    )  # fmt: skip


def ask_network(
    network: ActorCritic,
    config: TrainConfig,
    order: int,
    seeds: NDArray[np.uint64],  # (num_episodes,)
) -> tuple[float, float]:
    """Mean return of a network that is told an order, and its standard error."""
    policy = LearnedDefender(network, name="base", orders=[order], draws="shared")
    played = play(policy, partial(make_batch, config), seeds)
    returns = played.returns[:, -1] / TENTHS_PER_POINT
    error = standard_error(returns, played.reds)
    return float(returns.mean()), error or 0.0
