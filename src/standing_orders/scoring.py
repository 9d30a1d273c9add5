"""What `evaluate` does: a score card for any policy, and obedience for a trained one."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from standing_orders.baselines.scripted import NAMES, ScriptedDefender
from standing_orders.config import GameConfig, RedAgent, SimConfig, TrainConfig
from standing_orders.errors import ConfigError
from standing_orders.evaluate import ScoreCard, evaluate
from standing_orders.learn.networks import ActorCritic
from standing_orders.learn.obedience import Obedience, measure_obedience, summarise
from standing_orders.learn.policy import LearnedDefender
from standing_orders.learn.run import load_network
from standing_orders.learn.trainer import ANY, NONE
from standing_orders.rules.orders import NUM_ORDERS, parse_order

ALL = "all"


@dataclass(frozen=True)
class ScoringTask:
    """Everything that a score depends on."""

    policy: str  # a scripted defender or a run folder
    game: GameConfig
    reds: tuple[RedAgent, ...]
    num_episodes: int
    seed: int
    num_threads: int
    order: str | None
    order_episodes: int
    is_greedy: bool

    @property
    def is_scripted(self) -> bool:
        """Whether the policy is one of the scripted defenders."""
        return self.policy in NAMES

    @property
    def total_episodes(self) -> int:
        """Episodes of the score card."""
        return self.num_episodes * len(self.reds)


@dataclass(frozen=True)
class Scoring:
    """The result."""

    card: ScoreCard
    obedience: dict[str, list[Obedience]]  # by red agent

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        if not self.obedience:
            return self.card.to_json()
        orders = {
            red: {
                "summary": summarise(measured),
                "orders": [one.to_json() for one in measured],
            }
            for red, measured in self.obedience.items()
        }
        return {**self.card.to_json(), "obedience": orders}


def score(task: ScoringTask, advance: Callable[[int], None]) -> Scoring:
    """Play and judge.

    Raises:
        ConfigError: no such policy, or an order for a policy that takes none.
        CheckpointError: the run folder is damaged.
    """
    if task.is_scripted:
        if task.order is not None:
            raise ConfigError(f"order = {task.order!r}: {task.policy} takes no order")
        return Scoring(_card(task, ScriptedDefender(task.policy), advance), {})
    if not Path(task.policy).is_dir():
        raise ConfigError(
            f"policy {task.policy!r}: must be one of {', '.join(NAMES)}, or a run folder"
        )
    network, config = load_network(Path(task.policy))
    orders = _orders(task, config)
    name = f"{Path(task.policy).name} ({'greedy' if task.is_greedy else 'sampled'})"
    defender = LearnedDefender(network, name=name, orders=orders or [0], is_greedy=task.is_greedy)
    return Scoring(_card(task, defender, advance), _obedience(task, network, orders))


def _orders(task: ScoringTask, config: TrainConfig) -> list[int]:
    """What the policy is told; nothing for a policy that takes no order."""
    if config.order == NONE:
        if task.order is not None:
            raise ConfigError(f"order = {task.order!r}: this policy was trained without orders")
        return []
    wanted = task.order or (ALL if config.order == ANY else config.order)
    return list(range(NUM_ORDERS)) if wanted == ALL else [parse_order(wanted)]


def _card(task: ScoringTask, policy: Any, advance: Callable[[int], None]) -> ScoreCard:
    return evaluate(
        policy, task.game, reds=task.reds, num_episodes=task.num_episodes, seed=task.seed,
        num_threads=task.num_threads, advance=advance,
    )  # fmt: skip


def _obedience(
    task: ScoringTask, network: ActorCritic, orders: list[int]
) -> dict[str, list[Obedience]]:
    if not orders:
        return {}
    return {
        red: measure_obedience(
            network, SimConfig(**task.game.model_dump(), red=red), orders,
            num_episodes=task.order_episodes, seed=task.seed, is_greedy=task.is_greedy,
        )
        for red in task.reds
        if red != "sleep"
    }  # fmt: skip
