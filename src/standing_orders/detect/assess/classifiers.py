"""The baselines that anyone would try first on records, each fitted and judged like the team.

A baseline is a function `fit(train, validation, seed)`. What it returns gives each event a score,
larger for more of a threat, and an action. Baselines for sessions are in `stopping`.
"""

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import (  # type: ignore[import-untyped]
    HistGradientBoostingClassifier,
)
from sklearn.exceptions import ConvergenceWarning  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from standing_orders.detect.actions import ALLOW, BLOCK
from standing_orders.detect.costs import CostTable, best_flag, optimal_threshold
from standing_orders.detect.data.events import Events
from standing_orders.errors import DataError
from standing_orders.seeding import child_seed

MAX_ROUNDS = 200  # trees of gradient boosting, of which validation keeps the best number
LOGISTIC_ITERATIONS = 300


class Fitted(Protocol):
    """A baseline that has seen its training data."""

    def scores(self, events: Events) -> NDArray[np.float64]:  # (num_events,)
        """How much of a threat each event is, judged by what was seen up to it."""

    def actions(self, events: Events) -> NDArray[np.int64]:  # (num_events,)
        """What is done about each event."""


Fit = Callable[[Events, Events, int], Fitted]
Probability = Callable[[NDArray[np.float32]], NDArray[np.float64]]  # (n, features) -> (n,)


@dataclass(frozen=True)
class Constant:
    """Does the same about every event."""

    action: int

    def scores(self, events: Events) -> NDArray[np.float64]:  # (num_events,)
        """1 if it flags, 0 if it allows."""
        return np.full(events.num_events, float(self.action != ALLOW))

    def actions(self, events: Events) -> NDArray[np.int64]:  # (num_events,)
        """The one action."""
        return np.full(events.num_events, self.action)


@dataclass(frozen=True)
class RecordRule:
    """Flags events whose probability of being a threat reaches a threshold."""

    probability: Probability
    threshold: float
    action: int

    def scores(self, events: Events) -> NDArray[np.float64]:  # (num_events,)
        """P(threat) of each event."""
        return self.probability(events.features)

    def actions(self, events: Events) -> NDArray[np.int64]:  # (num_events,)
        """The flag or allow."""
        return np.where(self.scores(events) >= self.threshold, self.action, ALLOW)


def fit_constant(train: Events, validation: Events, seed: int, *, action: int) -> Constant:
    """Do the same about every event, whatever the data."""
    del train, validation, seed
    return Constant(action)


def fit_logistic(train: Events, validation: Events, seed: int, *, table: CostTable) -> RecordRule:
    """Logistic regression, flagging at the threshold that is optimal under the table."""
    del validation
    probability = logistic_probability(train.features, train.is_threat, seed)
    return _record_rule(probability, table)


def fit_boosting(train: Events, validation: Events, seed: int, *, table: CostTable) -> RecordRule:
    """Histogram gradient boosting, flagging at the threshold that is optimal under the table."""
    probability = boosted_probability(
        train.features, train.is_threat, validation.features, validation.is_threat, seed=seed
    )
    return _record_rule(probability, table)


def record_baselines(table: CostTable) -> dict[str, Fit]:
    """The baselines of records by name, in the order of tables."""
    return {
        "allow-all": partial(fit_constant, action=ALLOW),
        "block-all": partial(fit_constant, action=BLOCK),
        "logistic regression": partial(fit_logistic, table=table),
        "gradient boosting": partial(fit_boosting, table=table),
    }


def logistic_probability(
    features: NDArray[np.float32],  # (n, num_features)
    is_threat: NDArray[np.bool_],  # (n,)
    seed: int,
) -> Probability:
    """Fit a logistic regression and return its P(threat)."""
    require_both_classes(is_threat)
    model = LogisticRegression(max_iter=LOGISTIC_ITERATIONS, random_state=_random_state(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # near enough is good enough here
        model.fit(features.astype(np.float64), is_threat)
    return partial(_predict, model)


def boosted_probability(
    features: NDArray[np.float32],  # (n, num_features)
    is_threat: NDArray[np.bool_],  # (n,)
    validation_features: NDArray[np.float32],  # (m, num_features)
    validation_is_threat: NDArray[np.bool_],  # (m,)
    *,
    seed: int,
    max_rounds: int = MAX_ROUNDS,
) -> Probability:
    """Fit gradient boosting and return its P(threat).

    The number of trees is the one with the lowest log loss on validation: a model with too many is
    too sure of itself, and its probabilities then do not fit the optimal threshold.
    """
    require_both_classes(is_threat)
    with _one_thread():
        model = _boosting(max_rounds, seed).fit(features, is_threat)
        if not len(validation_is_threat):
            return partial(_predict, model)
        stages = model.staged_decision_function(validation_features)
        losses = [log_loss(stage.ravel(), validation_is_threat) for stage in stages]
        best = int(np.argmin(losses)) + 1
        if best < max_rounds:  # the first trees of the same model
            model = _boosting(best, seed).fit(features, is_threat)
    return partial(_predict, model)


def log_loss(
    log_odds: NDArray[np.float64],  # (n,)
    is_threat: NDArray[np.bool_],  # (n,)
) -> float:
    """Mean of -log of the probability given to what was true."""
    return float(np.mean(np.logaddexp(0.0, log_odds) - np.where(is_threat, log_odds, 0.0)))


def require_both_classes(is_threat: NDArray[np.bool_]) -> None:
    """Refuse training data without a threat or without anything benign."""
    if is_threat.all() or not is_threat.any():
        kind = "threats" if is_threat.any() else "benign events"
        raise DataError(f"the training part has nothing but {kind}: a classifier needs both")


def _record_rule(probability: Probability, table: CostTable) -> RecordRule:
    action = best_flag(table)
    return RecordRule(probability, optimal_threshold(table, action), action)


def _boosting(num_rounds: int, seed: int) -> Any:
    return HistGradientBoostingClassifier(
        max_iter=num_rounds, early_stopping=False, random_state=_random_state(seed)
    )


def _one_thread() -> AbstractContextManager[object]:
    """On a busy machine several OpenMP threads wait for each other fifty times as long."""
    limit: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="openmp")
    return limit


def _random_state(seed: int) -> int:
    return child_seed(seed, "detect", "classifier") % 2**32  # scikit-learn's range


def _predict(model: Any, features: NDArray[np.float32]) -> NDArray[np.float64]:
    with _one_thread():
        probability: NDArray[np.float64] = model.predict_proba(features)[:, 1].astype(np.float64)
    return probability
