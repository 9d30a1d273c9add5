"""The one place where a return or a compliance is measured: fresh episodes, with their errors.

A score, the gate, a visit of the search and obedience are all made of it. The return is the
simulator's own reward, never a wrapped or shaped one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.policy import Policy, in_game
from standing_orders.cage2.reward import TENTHS_PER_POINT
from standing_orders.config import GameConfig, GateConfig
from standing_orders.memory import EPISODE_BYTES, require_memory
from standing_orders.rules.compliance import (
    NUM_TALLIES,
    OrderCompliance,
    compliance_spread,
    count_with_late,
    judge_all,
    look_all,
    ratio_of_tallies,
)
from standing_orders.rules.gate import GateResult, judge_gate
from standing_orders.rules.temporal import Trace, join_traces
from standing_orders.seeding import child_seed, environment_seeds
from standing_orders.stats import Ratio, pooled_ratio, standard_error

MAX_BATCH = 1_000  # episodes played at once
MakeBatch = Callable[[int], Cage2Batch]  # environments of the game, that many


@dataclass(frozen=True)
class Episodes:
    """What happened in some episodes."""

    returns: NDArray[np.int64]  # (num_episodes, num_horizons), tenths of a point
    tallies: NDArray[np.int64]  # (num_judges, num_episodes, NUM_TALLIES)
    reds: NDArray[Any]  # (num_episodes,): index of the red agent
    trace: Trace | None = None  # what temporal rules see, if they are watched


@dataclass(frozen=True)
class Measured:
    """Return and compliance of a policy that is told one order."""

    mean_return: float
    std_error: float | None  # None if it cannot be known
    kept: OrderCompliance
    strict: Ratio  # with 95 % intervals
    contested: Ratio
    gate: GateResult
    spread: float | None = None  # of strict compliance between episodes; see `compliance_spread`

    def compliance_json(self) -> dict[str, Any]:
        """The compliance figures as plain data."""
        return {
            "strict_interval95": [self.strict.low, self.strict.high],
            "contested_interval95": [self.contested.low, self.contested.high],
            "strict_spread": self.spread,
            **self.kept.to_json(),
        }

    def to_json(self) -> dict[str, Any]:
        """Plain data for a journal."""
        return {
            "return": self.mean_return,
            "std_error": self.std_error,
            **self.gate.to_json(),
            **self.compliance_json(),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Measured":
        """Read it back."""
        kept = OrderCompliance.from_json(data)
        return cls(
            data["return"],
            data["std_error"],
            kept,
            Ratio(kept.strict_compliance, *data["strict_interval95"]),
            Ratio(kept.contested_compliance, *data["contested_interval95"]),
            GateResult.from_json(data),
            data.get("strict_spread"),  # not in journals of before it was kept
        )


def measure(
    policy: Policy,
    make_batch: MakeBatch,
    seeds: NDArray[np.uint64],  # (num_episodes,)
    *,
    order: int,
    gate: GateConfig,
    late: MakeBatch | None = None,
    count_foothold: bool = False,
) -> Measured:
    """Return, compliance and the gate's judgement of one policy and one order.

    Args:
        policy: the defender.
        make_batch: the game.
        seeds: one fresh episode for each.
        order: what it is judged by.
        gate: what passing takes.
        late: the same game begun late: the second half of the episodes is played there and
            counts for contested compliance alone; see `late_start`.
        count_foothold: see `AlignmentConfig`.
    """
    how: dict[str, Any] = {"judged_by": [order], "count_foothold": count_foothold}
    if late is None or len(seeds) < 2:
        return summarise_episodes(play(policy, make_batch, seeds, **how), gate)
    first, second = halve(seeds)
    return summarise_episodes(
        play(policy, make_batch, first, **how), gate, play(policy, late, second, **how)
    )


def late_start(game: GameConfig, gate: GateConfig) -> int:
    """Head start of the episodes that show contested compliance; 0: the game itself does."""
    return 0 if gate.kind == "strict" or game.head_start else gate.contested_starts


def halve(
    seeds: NDArray[np.uint64],  # (num_episodes,)
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Seeds of the episodes of the game itself, and of those that start late."""
    half = (len(seeds) + 1) // 2
    return seeds[:half], seeds[half:]


def summarise_episodes(
    played: Episodes, gate: GateConfig, late: Episodes | None = None
) -> Measured:
    """The figures of episodes, by their first judge and up to their last horizon."""
    tallies = played.tallies[0]
    late_tallies = None if late is None else late.tallies[0]
    both = tallies if late_tallies is None else np.concatenate([tallies, late_tallies])
    returns = played.returns[:, -1] / TENTHS_PER_POINT
    return Measured(
        mean_return=float(returns.mean()),
        std_error=standard_error(returns, played.reds),
        kept=count_with_late(tallies, late_tallies),
        strict=pooled_ratio(*ratio_of_tallies(tallies, is_contested=False)),
        contested=pooled_ratio(*ratio_of_tallies(both, is_contested=True)),
        gate=judge_gate(tallies, gate, late_tallies),
        spread=compliance_spread(tallies),
    )


def play(
    policy: Policy,
    make_batch: MakeBatch,
    seeds: NDArray[np.uint64],  # (num_episodes,)
    *,
    policy_seeds: NDArray[np.uint64] | None = None,  # (num_episodes,)
    horizons: Sequence[int] | None = None,
    judged_by: Sequence[int] = (),
    count_foothold: bool = False,
    judged_from: int = 0,
    is_watched: bool = False,
    advance: Callable[[int], None] = lambda _: None,
) -> Episodes:
    """Play episodes; their attacks depend on their own seed alone, not on how many are played.

    Args:
        policy: the defender; it sees observations only.
        make_batch: the game; no more than `MAX_BATCH` environments are asked for at once.
        seeds: of the environments.
        policy_seeds: of the policy's own random choices; `seeds` if left out.
        horizons: steps after which to note the return; the last one if left out.
        judged_by: orders by which each episode is judged, each time anew.
        count_foothold: see `AlignmentConfig`.
        judged_from: steps that are not judged yet, such as those before another order is told.
        is_watched: also note what temporal rules see.
        advance: called with the number of episodes just finished.
    """
    policy_seeds = seeds if policy_seeds is None else policy_seeds
    parts = []
    for start in range(0, len(seeds), MAX_BATCH):
        part = slice(start, start + MAX_BATCH)
        batch = make_batch(len(seeds[part]))
        policy = in_game(policy, batch.config)
        policy.reset(policy_seeds[part])
        batch.reset(seeds[part])
        noted = (batch.config.horizon,) if horizons is None else horizons
        judges = _Judges(judged_by, batch.num_envs, count_foothold, judged_from)
        parts.append(_play_batch(policy, batch, noted, judges, is_watched))
        batch.close()
        advance(batch.num_envs)
    return Episodes(
        np.concatenate([part.returns for part in parts]),
        np.concatenate([part.tallies for part in parts], axis=1),
        np.concatenate([part.reds for part in parts]),
        join_traces([part.trace for part in parts if part.trace is not None]),
    )


class _Judges:
    """Judges the actions of a batch by several orders."""

    def __init__(
        self, judged_by: Sequence[int], num_envs: int, count_foothold: bool, judged_from: int
    ) -> None:
        self.tallies = np.zeros((len(judged_by), num_envs, NUM_TALLIES), dtype=np.int64)
        self._orders = [np.full(num_envs, judge) for judge in judged_by]
        self._count_foothold, self._judged_from = count_foothold, judged_from
        self._top, self._num_held, self._verdicts = (
            np.zeros(num_envs, dtype=np.int8) for _ in range(3)
        )
        self._held_hosts = np.zeros(num_envs, dtype=np.int16)

    def judge(self, step: int, states: NDArray[np.void], actions: NDArray[np.int64]) -> None:
        """Judge the actions that are about to be played in a step."""
        if step < self._judged_from:
            return
        now = (self._top, self._num_held, self._held_hosts)
        for orders, tally in zip(self._orders, self.tallies, strict=True):
            look_all(states, orders, self._count_foothold, *now)
            judge_all(actions, *now, self._verdicts, tally)


def _play_batch(
    policy: Policy,
    batch: Cage2Batch,
    horizons: Sequence[int],
    judges: _Judges,
    is_watched: bool,
) -> Episodes:
    num_envs = batch.num_envs
    total = np.zeros(num_envs, dtype=np.int64)
    returns = np.zeros((num_envs, len(horizons)), dtype=np.int64)
    watched: list[tuple[NDArray[Any], ...]] = []
    for step in range(batch.config.horizon):
        actions = policy.act(batch.observations)
        judges.judge(step, batch.states, actions)
        held = batch.states["held"].copy() if is_watched else None
        _, rewards = batch.step(actions)
        total += rewards
        if held is not None:
            watched.append((held, actions.copy(), rewards / TENTHS_PER_POINT))
        for column, horizon in enumerate(horizons):
            if step + 1 == horizon:
                returns[:, column] = total
    trace = Trace(*map(np.stack, zip(*watched, strict=True))) if watched else None
    return Episodes(returns, judges.tallies, batch.states["red"].copy(), trace)


def fresh_seeds(seed: int, num_episodes: int) -> NDArray[np.uint64]:  # (num_episodes,)
    """Seeds of fresh episodes; every batch of them has a child seed of its own.

    Raises:
        ResourceError: there are more than memory could hold the results of.
    """
    require_memory(EPISODE_BYTES * float(num_episodes), f"{num_episodes} episodes")
    return np.concatenate(
        [
            environment_seeds(
                child_seed(seed, "measure", start), min(MAX_BATCH, num_episodes - start)
            )
            for start in range(0, num_episodes, MAX_BATCH)
        ]
    )
