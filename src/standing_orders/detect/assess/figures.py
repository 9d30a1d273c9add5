"""How good a team or a baseline is on the test part."""

import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.actions import ALLOW
from standing_orders.detect.assess.baselines import Decider
from standing_orders.detect.config import DetectConfig
from standing_orders.detect.costs import Game, play
from standing_orders.detect.data.events import DataSet, Task
from standing_orders.detect.metrics import (
    Figures,
    calibration_figures,
    count_decisions,
    find_alarms,
    record_figures,
    session_figures,
    sweep,
)
from standing_orders.detect.standard import Standard, fit_calibration
from standing_orders.detect.team import Decisions
from standing_orders.seeding import child_seed
from standing_orders.stats import Interval, bootstrap_interval

LOWER_IS_BETTER = (
    "cost", "mean_cost", "alarms_per_1000_benign", "false_alarm_rate", "no_quorum",
)  # fmt: skip


def main_figure(task: str) -> str:
    """The figure that teams are compared by."""
    return "f1" if task == "records" else "mean_cost"


def assess(
    decider: Decider,
    data: DataSet,
    config: DetectConfig,
    *,
    judged: Decisions | None = None,
    standard: Standard | None = None,
    with_intervals: bool = False,
) -> Figures:
    """All figures of a team or a baseline on the test part.

    Thresholds are fixed on the validation part; where that is not there, a run's standard has them.

    Args:
        judged: what it decides about the test part, if that is known already.
        standard: what a run says of its training and validation parts.
        with_intervals: add 95 % intervals of the main figure over resampled sessions.
    """
    test = data.test
    if standard is None:
        seen = np.unique(data.train.attacks[data.train.is_threat])
    else:
        seen = np.flatnonzero(np.isin(test.attack_names, standard.seen))
    found = judged or decider.judge(test)
    game = config.game_of(test, data.task)
    if data.task == "records":
        if standard is None:
            scores, truth = decider.judge(data.validation).scores, data.validation.is_threat
            threshold = sweep(scores, truth).best_f1_threshold()
            calibration = fit_calibration(scores, truth)
        else:
            threshold, calibration = standard.f1_threshold, standard.calibration
        figures = record_figures(
            test, found.scores, found.actions, game,
            rewards=config.costs.rewards(), f1_threshold=threshold, seen=seen,
        )  # fmt: skip
        figures |= calibration_figures(calibration.of(found.scores), test.is_threat)
    else:
        figures = session_figures(test, found.scores, found.actions, game, seen=seen)
    if with_intervals:
        figures["interval"] = asdict(_interval(found.actions, game, data.task, config.seed))
    return {name: _plain(value) for name, value in figures.items()}


def _interval(actions: NDArray[np.int64], game: Game, task: Task, seed: int) -> Interval:
    """Of the main figure, over resampled sessions."""
    statistic: Callable[[NDArray[np.int64]], float]
    if task == "records":
        flagged = actions != ALLOW

        def statistic(sessions: NDArray[np.int64]) -> float:
            return count_decisions(flagged[sessions], game.is_threat[sessions]).f1
    else:
        costs = -game.sessions.fold(np.add, play(game, actions).rewards)

        def statistic(sessions: NDArray[np.int64]) -> float:
            return float(costs[sessions].mean())

    rng = np.random.Generator(np.random.Philox(child_seed(seed, "detect", "bootstrap")))
    return bootstrap_interval(statistic, game.sessions.num_sessions, rng)


def _plain(value: Any) -> Any:
    """Numbers that files can hold: one that is not finite becomes None."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def vote_figures(actions: NDArray[np.int64], game: Game, task: Task) -> dict[str, float]:
    """What is said about every vote: the main figure, then threats found and false alarms."""
    if task == "records":
        counts = count_decisions(actions != ALLOW, game.is_threat)
        names = ("f1", "recall", "alarms_per_1000_benign")
        return {name: getattr(counts, name) for name in names}
    played = play(game, actions)
    alarms = find_alarms((actions != ALLOW) & played.is_open, game)
    return {
        "mean_cost": -float(game.sessions.fold(np.add, played.rewards).mean()),
        "detection_rate": alarms.detection_rate,
        "false_alarm_rate": alarms.false_alarm_rate,
    }
