"""What a training config asks for: network, game, and fresh episodes to measure it on."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.scenario import RED_AGENTS
from standing_orders.config import NO_ORDER, GameConfig, SimConfig, TrainConfig
from standing_orders.evaluate.measure import Measured, measure
from standing_orders.learn.inputs import InputLayout
from standing_orders.learn.networks import ActorCritic
from standing_orders.learn.policy import LearnedDefender
from standing_orders.rules.orders import Order
from standing_orders.seeding import child_seed


def layout_of(config: TrainConfig) -> InputLayout:
    """Inputs of the network that a config trains."""
    has_order = config.order != NO_ORDER
    return InputLayout(
        has_order=has_order,
        has_focus=config.ppo.focus and has_order,
        has_memory=config.ppo.memory,
        has_suspects=config.ppo.suspects,
        has_clock=config.ppo.clock,
    )


def make_network(config: TrainConfig) -> ActorCritic:
    """The untrained network of a config."""
    return ActorCritic(
        layout_of(config),
        hidden=config.ppo.hidden,
        activation=config.ppo.activation,
        seed=child_seed(config.seed, "network"),
    )


def make_batch(config: TrainConfig, num_envs: int) -> Cage2Batch:
    """Environments of a config; `mixed` gives each red agent its share in turn."""
    game = {name: getattr(config, name) for name in GameConfig.model_fields}
    if config.red == "mixed":
        reds = [RED_AGENTS[i % len(RED_AGENTS)] for i in range(num_envs)]
        return Cage2Batch(num_envs, SimConfig(**game), reds=reds)
    return Cage2Batch(num_envs, SimConfig(**game, red=config.red))


def measure_network(
    network: ActorCritic,
    config: TrainConfig,
    seeds: NDArray[np.uint64],  # (num_episodes,)
) -> Measured:
    """Return, compliance and the gate's judgement of a network told the order of its config.

    Args:
        network: sees observations and the order only; actions are drawn, nothing is masked.
        config: the order, the game and the gate.
        seeds: one fresh episode for each.
    """
    order = Order.parse(config.order).index
    policy = LearnedDefender(network, name=config.order, orders=[order], draws="shared")
    return measure(
        policy, partial(make_batch, config), seeds, order=order, gate=config.gate,
        count_foothold=config.alignment.count_foothold,
    )  # fmt: skip
