"""Score cards: a policy against each red agent at every horizon, and what repeats the figures."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.policy import Policy
from standing_orders.cage2.reward import TENTHS_PER_POINT
from standing_orders.config import GameConfig, RedAgent, SimConfig
from standing_orders.errors import ConfigError
from standing_orders.evaluate.elsewhere import Elsewhere, play_sample
from standing_orders.evaluate.measure import play
from standing_orders.evaluate.obedience import (
    Obedience,
    OrderFollower,
    measure_obedience,
    obedience_table,
    summarise,
)
from standing_orders.seeding import child_seed, environment_seeds
from standing_orders.stats import normal_interval, standard_error
from standing_orders.tables import Cell, Column, Table, to_text
from standing_orders.version import VERSION

HORIZONS = (30, 50, 100)  # of the challenge; the shorter ones are prefixes of the longest
PERCENTILES = (0, 5, 10, 25, 50, 75, 90, 95, 100)
_SHOWN_PERCENTILES = (5, 25, 50, 75, 95)
_COLUMNS = (
    Column("red", is_text=True),
    Column("steps"),
    Column("mean return", ".2f"),
    Column("std error", ".2f"),
    Column("low 95 %", ".2f", drop=2),
    Column("high 95 %", ".2f", drop=2),
    *(Column(f"p{percentile}", ".1f", drop=3) for percentile in _SHOWN_PERCENTILES),
)


@dataclass(frozen=True)
class Score:
    """Return of a policy against one red agent (or the sum over several) up to one horizon."""

    red: str  # red agent, module:attribute of one of the user's own, or "total"
    horizon: int | None  # None: sum over all horizons
    mean: float
    std_error: float
    percentiles: dict[int, float] | None  # None for sums over red agents

    @property
    def interval(self) -> tuple[float, float]:
        """95 % confidence interval of the mean."""
        return normal_interval(self.mean, self.std_error)

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        return {
            "red": self.red,
            "horizon": self.horizon,
            "mean": self.mean,
            "std_error": self.std_error,
            "interval95": list(self.interval),
            "percentiles": self.percentiles,
        }


@dataclass(frozen=True)
class ScoreCard:
    """All scores of one policy, and what is needed to repeat them."""

    policy: str
    game: GameConfig
    num_episodes: int  # per red agent
    seed: int
    version: str
    scores: tuple[Score, ...]
    obedience: dict[str, list[Obedience]] = field(default_factory=dict)  # by red agent
    simulator: str = "own"  # or "cyborg"
    num_orders: int = 0  # that are told in turn, from one episode to the next

    def score(self, red: str, horizon: int | None) -> Score:
        """Look one score up."""
        return next(s for s in self.scores if (s.red, s.horizon) == (red, horizon))

    def tables(self) -> list[Table]:
        """Returns for each red agent and horizon; then, for each red agent, orders followed."""
        rows: list[tuple[Cell, ...]] = []
        for score in self.scores:
            shown = score.percentiles or dict.fromkeys(PERCENTILES)
            steps = "all" if score.horizon is None else score.horizon
            cells = (shown[percentile] for percentile in _SHOWN_PERCENTILES)
            rows.append((score.red, steps, score.mean, score.std_error, *score.interval, *cells))
        game = self.game
        where = "" if self.simulator == "own" else f"simulator {self.simulator}, "
        returns = Table(
            f"{self.policy}: {where}rules {game.rules}, observation {game.observation}, "
            f"head start {game.head_start}, red tempo {game.red_tempo}, n = {self.num_episodes} "
            f"episodes for each red agent, seed {self.seed}, version {self.version}",
            _COLUMNS,
            tuple(rows),
            notes=self._mix(),
            ruled=frozenset(i for i, score in enumerate(self.scores) if score.horizon is None),
        )
        orders = [obedience_table(red, measured) for red, measured in self.obedience.items()]
        return [returns, *orders]

    def _mix(self) -> tuple[str, ...]:
        """Which orders the returns above are of, where there are several."""
        if self.num_orders < 2:
            return ()
        turns, more = divmod(self.num_episodes, self.num_orders)
        if not more:
            return (f"told {self.num_orders} orders in turn, each {turns} times",)
        told = f"told {self.num_orders} orders in turn, {more} of them {turns + 1} times and the "
        told += f"others {turns} times" if turns else "others never"
        return (f"{told}: with a multiple of {self.num_orders} episodes each counts alike",)

    def __str__(self) -> str:
        return to_text(self.tables())

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        card = {
            "policy": self.policy,
            **self.game.model_dump(),
            "episodes": self.num_episodes,
            "seed": self.seed,
            "version": self.version,
            "simulator": self.simulator,
            "scores": [{"n": self.num_episodes, **score.to_json()} for score in self.scores],
        }
        if self.obedience:
            card["obedience"] = {
                red: {"summary": summarise(measured), "orders": [one.to_json() for one in measured]}
                for red, measured in self.obedience.items()
            }
        return card


def _ignore(count: int) -> None:
    """Report progress to nobody."""


def evaluate(
    policy: Policy,
    game: GameConfig,
    *,
    reds: tuple[RedAgent, ...],
    num_episodes: int,
    seed: int,
    num_threads: int = 1,
    order_episodes: int = 0,
    elsewhere: Elsewhere | None = None,
    advance: Callable[[int], None] = _ignore,
) -> ScoreCard:
    """Score card of a policy: every red agent at 30, 50 and 100 steps, and their sums.

    Args:
        policy: the defender.
        game: the rules.
        reds: red agents.
        num_episodes: for each of them, at least 2.
        seed: root seed; same seed, same score to the last digit.
        num_threads: threads that play; the score is the same.
        order_episodes: of a policy that follows orders, further episodes for each order and red
            agent in which obedience is measured; 0: it is not.
        elsewhere: who plays instead of this process, in whatever simulator.
        advance: called with the number of episodes just finished.

    Raises:
        ConfigError: fewer than two episodes, which have no standard error.
    """
    if num_episodes < 2:
        raise ConfigError(f"episodes = {num_episodes}: must be at least 2 for a standard error")
    scores: list[Score] = []
    for red in reds:
        config = SimConfig(**game.model_dump(), red=red, horizon=max(HORIZONS))
        tenths = play_returns(
            policy, config, horizons=HORIZONS, num_episodes=num_episodes, seed=seed,
            num_threads=num_threads, elsewhere=elsewhere, advance=advance,
        )  # fmt: skip
        attacker = (elsewhere and elsewhere.red_agent) or red
        for column, horizon in enumerate(HORIZONS):
            scores.append(_score(attacker, horizon, tenths[:, column]))
        scores.append(_score(attacker, None, tenths.sum(axis=1)))
    if len(reds) > 1:
        scores += [_total(scores, horizon) for horizon in (*HORIZONS, None)]
    obedience = _obedience(
        policy, game, reds, num_episodes=order_episodes, seed=seed, advance=advance
    )
    simulator = "own" if elsewhere is None else elsewhere.simulator
    num_orders = len(policy.orders) if isinstance(policy, OrderFollower) else 0
    return ScoreCard(
        policy.name, game, num_episodes, seed, VERSION, tuple(scores), obedience, simulator,
        num_orders,
    )  # fmt: skip


def _obedience(
    policy: Policy,
    game: GameConfig,
    reds: tuple[RedAgent, ...],
    *,
    num_episodes: int,
    seed: int,
    advance: Callable[[int], None],
) -> dict[str, list[Obedience]]:
    """How a policy follows what it is told; nothing of one that takes no order."""
    if not (num_episodes and isinstance(policy, OrderFollower) and policy.orders):
        return {}
    return {
        red: measure_obedience(
            policy, SimConfig(**game.model_dump(), red=red), policy.orders,
            num_episodes=num_episodes, seed=seed, advance=advance,
        )
        for red in reds
        if red != "sleep"  # nobody takes a host there
    }  # fmt: skip


def play_returns(
    policy: Policy,
    config: SimConfig,
    *,
    horizons: tuple[int, ...],
    num_episodes: int,
    seed: int,
    num_threads: int = 1,
    elsewhere: Elsewhere | None = None,
    advance: Callable[[int], None] = _ignore,
) -> NDArray[np.int64]:  # (num_episodes, len(horizons))
    """Returns of a score's episodes up to some steps, in tenths of a point.

    Attacks and the policy's own random choices come from different children of the seed; see
    `measure.play` for the rest.
    """
    if elsewhere is not None:
        return play_sample(
            elsewhere.collector, elsewhere.actor, config.red, horizons=horizons, orders=(),
            num_episodes=num_episodes, seed=seed, advance=advance,
        ).returns  # fmt: skip
    root = ("evaluate", config.red)
    return play(
        policy,
        lambda count: Cage2Batch(count, config, num_threads=num_threads),
        environment_seeds(child_seed(seed, *root), num_episodes),
        policy_seeds=environment_seeds(child_seed(seed, *root, "policy"), num_episodes),
        horizons=horizons,
        advance=advance,
    ).returns


def _score(red: str, horizon: int | None, tenths: NDArray[np.int64]) -> Score:
    returns = tenths / TENTHS_PER_POINT
    values = np.percentile(returns, PERCENTILES)
    percentiles = {p: round(float(value), 3) for p, value in zip(PERCENTILES, values, strict=True)}
    error = standard_error(returns)
    assert error is not None  # there are two episodes or more
    return Score(red, horizon, float(returns.mean()), error, percentiles)


def _total(scores: list[Score], horizon: int | None) -> Score:
    """Sum over red agents, which are played with independent seeds."""
    parts = [score for score in scores if score.horizon == horizon]
    std_error = math.sqrt(sum(score.std_error**2 for score in parts))
    return Score("total", horizon, sum(score.mean for score in parts), std_error, None)
