"""What a training config asks for: network, game, and fresh episodes to measure it on."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.actions import NUM_ACTIONS
from standing_orders.cage2.reward import TENTHS_PER_POINT
from standing_orders.cage2.scenario import RED_AGENTS
from standing_orders.collect.choose import open_collector
from standing_orders.collect.games import GameSpec
from standing_orders.collect.local import Collector
from standing_orders.collect.plan import deal_reds
from standing_orders.config import (
    NO_ORDER,
    CollectConfig,
    GameConfig,
    SimulatorConfig,
    TrainConfig,
)
from standing_orders.evaluate.measure import (
    MAX_BATCH,
    Episodes,
    Measured,
    halve,
    late_start,
    summarise_episodes,
)
from standing_orders.learn.inputs import InputLayout
from standing_orders.learn.networks import ActorCritic
from standing_orders.learn.rollout import collect
from standing_orders.memory import EPISODE_BYTES, require_memory
from standing_orders.rules.orders import Order
from standing_orders.rules.temporal import read_rules
from standing_orders.seeding import child_seed


def layout_of(config: TrainConfig) -> InputLayout:
    """Inputs of the network that a config trains."""
    has_order = config.order != NO_ORDER
    return InputLayout(
        has_order=has_order,
        has_belief=config.ppo.belief,
        has_full_belief=config.ppo.full_belief,
        has_foresight=config.ppo.foresight,
        has_memory=config.ppo.memory,
        has_clock=config.ppo.clock,
        is_useful=config.ppo.useful_actions,
        has_host_weights=config.ppo.lean is not None,
        rules=tuple(
            text
            for text, rule in zip(config.rule, read_rules(config.rule), strict=True)
            if rule.is_own
        ),
        certainty=None if config.certainty == "none" or not has_order else config.certainty,
        reds=RED_AGENTS if config.red == "mixed" or config.attackers == "all" else (config.red,),
    )


def check_memory(config: TrainConfig) -> None:
    """Refuse a config whose network, updates or gate do not fit into memory.

    Raises:
        ResourceError: see `require_memory`.
    """
    hidden = [float(size) for size in config.ppo.hidden]
    inputs = float(layout_of(config).size)
    sizes = [inputs, *hidden]
    weights = 2 * sum(a * b for a, b in pairwise(sizes)) + hidden[-1] * NUM_ACTIONS
    # Weights, gradients, Adam's two moments, and the copies that a checkpoint and a start make.
    require_memory(24 * weights, f"ppo.hidden = {config.ppo.hidden}")
    # Of a step: inputs and those of distinct rows, logits, mask and probabilities, and what the
    # layers keep for the gradient of a minibatch.
    kept = sum(hidden) / config.ppo.minibatches
    rows = float(config.update_episodes) * GameSpec.horizon
    require_memory(rows * 8 * (inputs + NUM_ACTIONS + kept), f"update_episodes = "
                   f"{config.update_episodes}")  # fmt: skip
    require_memory(EPISODE_BYTES * float(config.gate.episodes), f"gate.episodes = "
                   f"{config.gate.episodes}")  # fmt: skip


def make_network(config: TrainConfig, start: int = 0) -> ActorCritic:
    """The untrained network of a config, or that of a later start.

    Raises:
        ResourceError: it does not fit into memory.
    """
    check_memory(config)
    return ActorCritic(
        layout_of(config),
        hidden=config.ppo.hidden,
        activation=config.ppo.activation,
        lean=config.ppo.lean or 0.0,
        seed=child_seed(config.seed, "network", *([start] if start else [])),
    )


def game_of(config: TrainConfig) -> GameSpec:
    """The game of a config, for a collector."""
    return GameSpec.of(config.part(GameConfig), config.part(SimulatorConfig), config.red)


def measure_network(
    network: ActorCritic,
    config: TrainConfig,
    seeds: NDArray[np.uint64],  # (num_episodes,)
    collector: Collector | None = None,
) -> Measured:
    """Return, compliance and the gate's judgement of a network told the order of its config.

    Args:
        network: sees observations and the order only; actions are drawn.
        config: the order, the game and the gate.
        seeds: one fresh episode for each; where the gate says so, half of them start late.
        collector: who plays; one of the config's own if left out.
    """
    order = Order.parse(config.order).index
    late = late_start(config, config.gate)
    if not late or len(seeds) < 2:
        return summarise_episodes(_play(network, config, order, seeds, collector), config.gate)
    first, second = halve(seeds)
    begun_late = config.model_copy(update={"head_start": late})
    return summarise_episodes(
        _play(network, config, order, first, collector),
        config.gate,
        _play(network, begun_late, order, second, None),
    )


def ask_network(
    network: ActorCritic,
    config: TrainConfig,
    order: int,
    seeds: NDArray[np.uint64],  # (num_episodes,)
) -> tuple[float, float]:
    """Mean return of a network that is told an order, and its standard error."""
    measured = summarise_episodes(_play(network, config, order, seeds, None), config.gate)
    return measured.mean_return, measured.std_error or 0.0


def _play(
    network: ActorCritic,
    config: TrainConfig,
    order: int,
    seeds: NDArray[np.uint64],
    collector: Collector | None,
) -> Episodes:
    if collector is None:
        with open_collector(game_of(config), config.part(CollectConfig)) as opened:
            return _play(network, config, order, seeds, opened)
    rollouts = [
        collect(
            collector, network, np.full(len(part), order), seed=int(part[0]),
            count_foothold=config.alignment.count_foothold,
        )
        for part in _batches(seeds)
    ]  # fmt: skip
    returns = np.concatenate([rollout.rewards.sum(axis=0) for rollout in rollouts])
    return Episodes(
        returns=np.rint(returns * TENTHS_PER_POINT).astype(np.int64)[:, None],
        tallies=np.concatenate([rollout.tallies for rollout in rollouts])[None],
        reds=np.concatenate([deal_reds(config.red, len(r.tallies)) for r in rollouts]),
    )


def _batches(seeds: NDArray[np.uint64]) -> list[NDArray[np.uint64]]:
    """Parts that are played at once: consecutive seeds, as a plan has them."""
    parts = np.split(seeds, np.flatnonzero(np.diff(seeds) != 1) + 1)
    return [part[i : i + MAX_BATCH] for part in parts for i in range(0, len(part), MAX_BATCH)]
