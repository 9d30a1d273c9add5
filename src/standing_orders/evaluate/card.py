"""The one place where a score is computed: fresh seeds, the simulator's own reward."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.policy import Policy
from standing_orders.cage2.reward import TENTHS_PER_POINT
from standing_orders.config import GameConfig, RedAgent, SimConfig
from standing_orders.errors import ConfigError
from standing_orders.seeding import child_seed, environment_seeds
from standing_orders.stats import NORMAL_95
from standing_orders.version import VERSION

HORIZONS = (30, 50, 100)  # of the challenge; the shorter ones are prefixes of the longest
PERCENTILES = (0, 5, 10, 25, 50, 75, 90, 95, 100)
_BATCH_SIZE = 1_000


@dataclass(frozen=True)
class Score:
    """Return of a policy against one red agent (or the sum over several) up to one horizon."""

    red: str  # red agent, or "total"
    horizon: int | None  # None: sum over all horizons
    mean: float
    std_error: float
    percentiles: dict[int, float] | None  # None for sums over red agents

    @property
    def interval(self) -> tuple[float, float]:
        """95 % confidence interval of the mean."""
        half = NORMAL_95 * self.std_error
        return self.mean - half, self.mean + half


@dataclass(frozen=True)
class ScoreCard:
    """All scores of one policy, and what is needed to repeat them."""

    policy: str
    game: GameConfig
    num_episodes: int  # per red agent
    seed: int
    version: str
    scores: tuple[Score, ...]

    def score(self, red: str, horizon: int | None) -> Score:
        """Look one score up."""
        return next(s for s in self.scores if (s.red, s.horizon) == (red, horizon))

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        return {
            "policy": self.policy,
            **self.game.model_dump(),
            "episodes": self.num_episodes,
            "seed": self.seed,
            "version": self.version,
            "scores": [
                {
                    "red": score.red,
                    "horizon": score.horizon,
                    "n": self.num_episodes,
                    "mean": score.mean,
                    "std_error": score.std_error,
                    "interval95": list(score.interval),
                    "percentiles": score.percentiles,
                }
                for score in self.scores
            ],
        }


def _ignore(count: int) -> None:
    """Report progress to nobody."""


def play_returns(
    policy: Policy,
    config: SimConfig,
    *,
    horizons: tuple[int, ...],
    num_episodes: int,
    seed: int,
    num_threads: int = 1,
    advance: Callable[[int], None] = _ignore,
) -> NDArray[np.int64]:  # (num_episodes, len(horizons))
    """Play episodes and give the returns up to some steps, in tenths of a point.

    Episode e depends on `seed` and e alone, not on how many are played or by how many threads.

    Args:
        policy: the defender; it sees observations only.
        config: the game.
        horizons: steps after which to note the return, none beyond the game's own.
        num_episodes: how many, at least 1.
        seed: root seed; the policy's own random choices come from another child of it.
        num_threads: threads that play.
        advance: called with the number of episodes just finished.
    """
    seeds = environment_seeds(child_seed(seed, "evaluate", config.red), num_episodes)
    policy_seeds = environment_seeds(
        child_seed(seed, "evaluate", config.red, "policy"), num_episodes
    )
    returns = np.zeros((num_episodes, len(horizons)), dtype=np.int64)
    for start in range(0, num_episodes, _BATCH_SIZE):
        part = slice(start, min(start + _BATCH_SIZE, num_episodes))
        batch = Cage2Batch(len(seeds[part]), config, num_threads=num_threads)
        total = np.zeros(batch.num_envs, dtype=np.int64)
        policy.reset(policy_seeds[part])
        observations = batch.reset(seeds[part])
        for step in range(1, config.horizon + 1):
            observations, rewards = batch.step(policy.act(observations))
            total += rewards
            for column, horizon in enumerate(horizons):
                if step == horizon:
                    returns[part, column] = total
        batch.close()
        advance(batch.num_envs)
    return returns


def evaluate(
    policy: Policy,
    game: GameConfig,
    *,
    reds: tuple[RedAgent, ...],
    num_episodes: int,
    seed: int,
    num_threads: int = 1,
    advance: Callable[[int], None] = _ignore,
) -> ScoreCard:
    """Score card of a policy: every red agent at 30, 50 and 100 steps, and their sums.

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
            num_threads=num_threads, advance=advance,
        )  # fmt: skip
        for column, horizon in enumerate(HORIZONS):
            scores.append(_score(red, horizon, tenths[:, column]))
        scores.append(_score(red, None, tenths.sum(axis=1)))
    if len(reds) > 1:
        scores += [_total(scores, horizon) for horizon in (*HORIZONS, None)]
    return ScoreCard(policy.name, game, num_episodes, seed, VERSION, tuple(scores))


def _score(red: str, horizon: int | None, tenths: NDArray[np.int64]) -> Score:
    returns = tenths / TENTHS_PER_POINT
    values = np.percentile(returns, PERCENTILES)
    percentiles = {p: round(float(value), 3) for p, value in zip(PERCENTILES, values, strict=True)}
    std_error = float(returns.std(ddof=1)) / math.sqrt(len(returns))
    return Score(red, horizon, float(returns.mean()), std_error, percentiles)


def _total(scores: list[Score], horizon: int | None) -> Score:
    """Sum over red agents, which are played with independent seeds."""
    parts = [score for score in scores if score.horizon == horizon]
    std_error = math.sqrt(sum(score.std_error**2 for score in parts))
    return Score("total", horizon, sum(score.mean for score in parts), std_error, None)
