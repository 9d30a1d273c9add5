"""What `evaluate` does: a score card for any policy, and obedience for a trained one."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from standing_orders.cage2.defenders import NAMES, ScriptedDefender
from standing_orders.cage2.policy import Policy
from standing_orders.config import (
    ANY_ORDER,
    NO_ORDER,
    GameConfig,
    RedAgent,
    SimConfig,
    TrainConfig,
)
from standing_orders.errors import ConfigError
from standing_orders.evaluate.card import ScoreCard, evaluate
from standing_orders.rules.orders import NUM_ORDERS, parse_order

if TYPE_CHECKING:  # torch takes a second: only trained policies need it
    from standing_orders.evaluate.obedience import Obedience
    from standing_orders.learn.networks import ActorCritic

ALL_ORDERS = "all"


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
    def total_episodes(self) -> int:
        """Episodes of the score card."""
        return self.num_episodes * len(self.reds)


@dataclass(frozen=True)
class Scoring:
    """The result."""

    card: ScoreCard
    obedience: dict[str, list["Obedience"]]  # by red agent

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        if not self.obedience:
            return self.card.to_json()
        from standing_orders.evaluate.obedience import summarise  # noqa: PLC0415

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
    policy, trained = find_policy(task.policy, order=task.order, is_greedy=task.is_greedy)
    card = evaluate(
        policy,
        task.game,
        reds=task.reds,
        num_episodes=task.num_episodes,
        seed=task.seed,
        num_threads=task.num_threads,
        advance=advance,
    )
    return Scoring(card, {} if trained is None else _obedience(task, trained))


@dataclass(frozen=True)
class Trained:
    """What is behind a trained policy."""

    network: "ActorCritic"
    orders: list[int]  # what it is told; empty for a policy that takes no order


def find_policy(
    name: str, *, order: str | None = None, is_greedy: bool = False
) -> tuple[Policy, Trained | None]:
    """A policy by name: a scripted defender, or the folder of a training run.

    Args:
        name: of the defender, or path of the folder.
        order: what a trained policy is told: an order or "all"; its own if left out.
        is_greedy: let a trained policy take the likeliest action.

    Raises:
        ConfigError: no such policy, or an order for a policy that takes none.
        CheckpointError: the run folder is damaged.
    """
    if name in NAMES:
        if order is not None:
            raise ConfigError(f"order = {order!r}: {name} takes no order")
        return ScriptedDefender(name), None
    if not Path(name).is_dir():
        raise ConfigError(f"policy {name!r}: must be one of {', '.join(NAMES)}, or a run folder")
    from standing_orders.learn.policy import LearnedDefender  # noqa: PLC0415
    from standing_orders.learn.run import load_network  # noqa: PLC0415

    network, config = load_network(Path(name))
    orders = _orders(order, config)
    shown = f"{Path(name).name} ({'greedy' if is_greedy else 'sampled'})"
    policy = LearnedDefender(network, name=shown, orders=orders or [0], is_greedy=is_greedy)
    return policy, Trained(network, orders)


def _orders(order: str | None, config: TrainConfig) -> list[int]:
    """What the policy is told; nothing for a policy that takes no order."""
    if config.order == NO_ORDER:
        if order is not None:
            raise ConfigError(f"order = {order!r}: this policy was trained without orders")
        return []
    wanted = order or (ALL_ORDERS if config.order == ANY_ORDER else config.order)
    return list(range(NUM_ORDERS)) if wanted == ALL_ORDERS else [parse_order(wanted)]


def _obedience(task: ScoringTask, trained: Trained) -> dict[str, list["Obedience"]]:
    if not trained.orders:
        return {}
    from standing_orders.evaluate.obedience import measure_obedience  # noqa: PLC0415

    return {
        red: measure_obedience(
            trained.network,
            SimConfig(**task.game.model_dump(), red=red),
            trained.orders,
            num_episodes=task.order_episodes,
            seed=task.seed,
            is_greedy=task.is_greedy,
        )
        for red in task.reds
        if red != "sleep"  # nobody takes a host there
    }
