"""What `equivalence` does: a policy by name, in our simulator and in the user's CybORG."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from standing_orders.cage2.cyborg.install import import_cyborg
from standing_orders.cage2.policy import Policy
from standing_orders.collect.choose import open_collector
from standing_orders.collect.crew import Report
from standing_orders.collect.games import GameSpec
from standing_orders.collect.policies import PolicyActor
from standing_orders.config import CollectConfig, GameConfig, RedAgent, SimulatorConfig
from standing_orders.evaluate.card import HORIZONS
from standing_orders.evaluate.elsewhere import Sample, play_sample
from standing_orders.evaluate.equivalence import (
    DEFAULT_MARGIN,
    Equivalence,
    compare_samples,
)
from standing_orders.evaluate.find import find_policy
from standing_orders.evaluate.obedience import OrderFollower

_PRELOAD = "standing_orders.learn.preloaded"


@dataclass(frozen=True)
class EquivalenceTask:
    """Everything that a comparison depends on."""

    policy: str
    game: GameConfig
    simulator: SimulatorConfig  # the other one
    collect: CollectConfig  # who plays there
    reds: tuple[RedAgent, ...]
    num_episodes: int  # there, for each red agent
    own_episodes: int  # here
    seed: int
    order: str | None = None
    is_greedy: bool = False
    margin: float = DEFAULT_MARGIN

    @property
    def total_episodes(self) -> int:
        """Episodes in both simulators."""
        return (self.num_episodes + self.own_episodes) * len(self.reds)


def make_policy(
    name: str, order: str | None, is_greedy: bool, cyborg_path: str | None = None
) -> Policy:
    """A policy by name, wherever it is needed; an agent written for CybORG imports that first."""
    if cyborg_path is not None:
        import_cyborg(cyborg_path)
    return find_policy(name, order=order, is_greedy=is_greedy)


def policy_actor(
    name: str,
    *,
    order: str | None = None,
    is_greedy: bool = False,
    cyborg_path: str | None = None,
) -> PolicyActor:
    """A policy by name, for collectors; see `make_policy`."""
    return PolicyActor(partial(make_policy, name, order, is_greedy, cyborg_path), _PRELOAD)


def compare_simulators(
    task: EquivalenceTask, *, advance: Callable[[int], None], report: Report
) -> Equivalence:
    """Play in both and compare.

    Args:
        task: what to compare.
        advance: called with the number of episodes just finished.
        report: told of workers that are lost.

    Raises:
        ConfigError: no such policy, or CybORG is missing or cannot play this game.
    """
    actor = policy_actor(
        task.policy, order=task.order, is_greedy=task.is_greedy,
        cyborg_path=task.simulator.cyborg_path,
    )  # fmt: skip
    orders = actor.policy.orders if isinstance(actor.policy, OrderFollower) else ()
    samples: dict[RedAgent, tuple[Sample, Sample]] = {}
    with ExitStack() as stack:
        own, other = (
            stack.enter_context(
                open_collector(GameSpec.of(task.game, simulator, "b_line"), collect, report)
            )
            for simulator, collect in (
                (SimulatorConfig(), CollectConfig()),
                (task.simulator, task.collect),
            )
        )
        mix = min(task.num_episodes, task.own_episodes)
        for red in task.reds:
            played = [
                play_sample(
                    collector, actor, red, horizons=HORIZONS, orders=orders, num_episodes=count,
                    seed=task.seed, mix=mix, advance=advance,
                )
                for collector, count in ((own, task.own_episodes), (other, task.num_episodes))
            ]  # fmt: skip
            samples[red] = (played[0], played[1])
    return compare_samples(
        actor.policy.name, samples, seed=task.seed, has_orders=bool(orders), margin=task.margin
    )
