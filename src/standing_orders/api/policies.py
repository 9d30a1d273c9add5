"""Policies: find one, and score it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from standing_orders.api.searching import SearchResult
from standing_orders.api.training import Run, load_run
from standing_orders.config import GameConfig, RedAgent, SimConfig, TrainConfig
from standing_orders.errors import ConfigError
from standing_orders.rules.orders import Order
from standing_orders.runs.folder import is_run

if TYPE_CHECKING:  # Numba and torch take seconds
    import numpy as np
    from numpy.typing import NDArray

    from standing_orders.cage2.policy import Policy
    from standing_orders.evaluate.card import ScoreCard
    from standing_orders.evaluate.elsewhere import Elsewhere
    from standing_orders.learn.policy import LearnedDefender
    from standing_orders.rules.lawful import LawfulPolicy


@dataclass(frozen=True)
class TrainedPolicy:
    """The policy of a run, told an order; a `Policy` like the scripted ones.

    Args:
        run: where it is from.
        defender: plays.
    """

    run: Run
    defender: "LearnedDefender | LawfulPolicy"

    @property
    def name(self) -> str:
        """Name for tables and logs."""
        return self.defender.name

    @property
    def game(self) -> GameConfig:
        """The game that it was trained in."""
        return self.run.config.part(GameConfig)

    def home(self) -> SimConfig:
        """That game with a red agent that it was trained against."""
        red = getattr(self.run.config, "red", "b_line")
        return SimConfig(**self.game.model_dump(), red="b_line" if red == "mixed" else red)

    def describe(self) -> str:
        """Which policy this is: where from, how far trained, and what it is told."""
        config = self.run.config
        assert isinstance(config, TrainConfig)
        ended = f"ended: {self.run.stopped}" if self.run.stopped else "not finished"
        told = "no order"
        if len(self.orders) == 1:
            told = Order(self.orders[0]).typed
        elif self.orders:
            told = f"each of {len(self.orders)} orders in turn"
        return (
            f"{self.run.path}: {self.run.played:,} of {config.episodes:,} episodes of training "
            f"against {config.red} ({ended}), told {told}"
        )

    @property
    def orders(self) -> Sequence[int]:
        """What it is told; empty for a policy that takes no order."""
        return self.defender.orders

    def told(self, order: int) -> "LearnedDefender | LawfulPolicy":
        """The same policy, told this order in every episode."""
        return self.defender.told(order)

    @property
    def switch(self) -> tuple[int, int] | None:
        """The step from which it is told another order, and that order."""
        return self.defender.switch

    def switched(self, step: int, order: int) -> "TrainedPolicy":
        """The same policy, told another order from a step on; the first step is 0."""
        return replace(self, defender=self.defender.switched(step, order))

    def in_game(self, config: SimConfig) -> "Policy":
        """The same policy in that game."""
        return self.defender.in_game(config)

    def reset(self, seeds: "NDArray[np.uint64]") -> None:
        """Begin one episode in each of `len(seeds)` environments."""
        self.defender.reset(seeds)

    def act(
        self,
        observations: "NDArray[np.int8]",  # (num_envs, 52)
    ) -> "NDArray[np.int64]":  # (num_envs,)
        """Choose one action for each environment; the next call overwrites the result."""
        return self.defender.act(observations)


def load_policy(
    source: str | Path | Run | SearchResult, *, order: str | None = None, greedy: bool = False
) -> "Policy":
    """A defender by name, or the policy of a run.

    Args:
        source: a scripted defender such as "heuristic", a policy of the zoo such as
            "zoo/any-b_line", or a run (its folder, or what `train` and `search` give); of a
            search, its best policy.
        order: what a trained policy is told: an order, or "all"; its own if left out. A defender
            that takes no order is held to it: fixes that probably break it are replaced.
        greedy: take the likeliest action instead of drawing one.

    Raises:
        ConfigError: no such policy or order.
        CheckpointError: the run folder is damaged.

    Example:
        >>> load_policy("heuristic").name
        'heuristic'
    """
    from standing_orders.evaluate.find import find_policy

    name = str(source.path if isinstance(source, Run | SearchResult) else source)
    policy = find_policy(name, order=order, is_greedy=greedy)
    if not (is_run(Path(name)) or Path(name).is_dir()):
        return policy
    from standing_orders.learn.policy import LearnedDefender
    from standing_orders.rules.lawful import LawfulPolicy

    run = load_run(name)
    if isinstance(run, SearchResult):
        run = load_run(run.best_path)
    assert isinstance(run, Run)
    assert isinstance(policy, LearnedDefender | LawfulPolicy)
    return TrainedPolicy(run, policy)


def keep_rules(policy: "Policy", rules: Sequence[str]) -> "TrainedPolicy":
    """The same policy, which keeps rules about blue's own actions by construction.

    Args:
        policy: a trained one.
        rules: as typed, see `rules.temporal`.

    Raises:
        ConfigError: the policy is not a trained one, or a rule is about something else.
    """
    from standing_orders.learn.policy import LearnedDefender
    from standing_orders.rules.masks import RuleMask
    from standing_orders.rules.temporal import read_rules

    RuleMask(read_rules(rules), 0)  # says which rule cannot be kept so
    if not (isinstance(policy, TrainedPolicy) and isinstance(policy.defender, LearnedDefender)):
        raise ConfigError("keep: needs a trained policy, which can be kept from an action")
    return replace(policy, defender=policy.defender.keeping(rules))


def plan_opening(
    policy: "Policy",
    steps: int,
    *,
    game: GameConfig | None = None,
    red: RedAgent | Literal["all"] = "all",
    seed: int = 0,
    report: Callable[[str], None] = lambda _: None,
) -> "TrainedPolicy":
    """The same policy, whose first steps are decoys where look-ahead shows that to be better.

    Args:
        policy: a trained one that keeps no rules by construction.
        steps: that are planned at most.
        game: the rules; the game that it was trained in if left out.
        red: red agent that may attack, or "all" of them.
        seed: of the episodes that are played ahead.
        report: told of each step.

    Raises:
        ConfigError: the policy is another.
    """
    from standing_orders.cage2.scenario import RED_AGENTS
    from standing_orders.evaluate import opening
    from standing_orders.learn.policy import LearnedDefender

    if not (isinstance(policy, TrainedPolicy) and isinstance(policy.defender, LearnedDefender)):
        raise ConfigError("plan: needs a trained policy, which goes on from what was played")
    if policy.defender.has_rules:
        raise ConfigError("plan: the policy keeps rules, which a planned action could break")
    planned = opening.plan_opening(
        policy.defender,
        rules_of(game or policy.game),
        reds=RED_AGENTS if red == "all" else (red,),
        num_steps=steps,
        seed=seed,
        report=report,
    )
    return replace(policy, defender=planned)


def switch_order(policy: "Policy", step: int, order: str | None = None) -> Any:
    """The same policy, told another order from a step on.

    Args:
        policy: one that is told one order.
        step: from which on; the first one is 0.
        order: that it is told then; the one before, backwards, if left out.

    Raises:
        ConfigError: it follows no order, or several.
    """
    orders: Sequence[int] = getattr(policy, "orders", ())
    if len(orders) != 1 or not hasattr(policy, "switched"):
        raise ConfigError("order-switch: needs a policy that is told one order (--order)")
    after = Order(orders[0]).backwards() if order is None else Order.parse(order)
    return policy.switched(step, after.index)


def rules_of(config: GameConfig) -> GameConfig:
    """The game of a config that may say more than that."""
    return GameConfig(**{name: getattr(config, name) for name in GameConfig.model_fields})


def evaluate(
    policy: "str | Path | Run | SearchResult | Policy",
    *,
    game: GameConfig | None = None,
    red: RedAgent | Literal["all"] = "all",
    episodes: int = 1_000,
    seed: int = 0,
    threads: int = 1,
    order_episodes: int = 200,
    elsewhere: "Elsewhere | None" = None,
    advance: Callable[[int], None] = lambda _: None,
) -> "ScoreCard":
    """Score a policy on fresh episodes; of a trained one, also how it follows its orders.

    Args:
        policy: anything that `load_policy` takes or gives, or a `Policy` of your own.
        game: the rules, or a config that has them; if left out, the game that a trained policy
            was trained in, and the standard one for others.
        red: red agent, or "all" of them in turn.
        episodes: for each red agent.
        seed: root seed; the same seed gives the same score to the last digit.
        threads: that play; the score is the same.
        order_episodes: for each order and red agent, of a trained policy.
        elsewhere: who plays instead of this process, such as your CybORG.
        advance: called with the number of episodes just finished.

    Raises:
        ConfigError: no such policy, or fewer than two episodes.
        CheckpointError: a run folder is damaged.

    Example:
        >>> card = evaluate("sleep", red="b_line", episodes=2)
        >>> card.score("b_line", 30).mean
        -223.8
    """
    from standing_orders.cage2.scenario import RED_AGENTS
    from standing_orders.evaluate import card

    if isinstance(policy, str | Path | Run | SearchResult):
        policy = load_policy(policy)
    if game is None:
        game = policy.game if isinstance(policy, TrainedPolicy) else GameConfig()
    return card.evaluate(
        policy,
        rules_of(game),
        reds=RED_AGENTS if red == "all" else (red,),
        num_episodes=episodes,
        seed=seed,
        num_threads=threads,
        order_episodes=order_episodes,
        elsewhere=elsewhere,
        advance=advance,
    )
