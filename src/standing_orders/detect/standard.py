"""What a run saves beside its weights, so that its folder alone is enough to judge new events."""

import math
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.data.columns import NumericColumn
from standing_orders.detect.data.drift import Histogram, fit_histogram
from standing_orders.detect.data.events import DataSet, Events
from standing_orders.detect.data.saved import Saved
from standing_orders.detect.data.schema import Schema
from standing_orders.detect.metrics import sweep
from standing_orders.detect.team import Team, prepare
from standing_orders.errors import CheckpointError


@dataclass(frozen=True)
class Calibration(Saved):
    """P(threat) by score, linear between points and level beyond them.

    Isotonic regression is such a line by nature; a logistic curve (Platt) is one by enough points.

    Raises:
        CheckpointError: the points are no such line.

    Example:
        >>> Calibration((0.2, 0.8), (0.1, 0.5)).of(np.array([0.0, 0.5, 1.0])).tolist()
        [0.1, 0.3, 0.5]
    """

    scores: tuple[float, ...]
    probabilities: tuple[float, ...]

    def __post_init__(self) -> None:
        xs, ys = self.scores, self.probabilities
        if not (
            len(xs) == len(ys) > 0
            and all(map(math.isfinite, (*xs, *ys)))
            and all(a < b for a, b in pairwise(xs))
            and all(a <= b for a, b in pairwise(ys))
            and 0 <= ys[0] <= ys[-1] <= 1
        ):
            raise CheckpointError(
                "calibration: scores must grow and probabilities rise from 0 to 1, as many of each"
            )

    def of(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:  # both (num_events,)
        """Probability of a threat by score."""
        return np.interp(scores, self.scores, self.probabilities)


def fit_calibration(
    scores: NDArray[np.float64],  # (num_events,)
    is_threat: NDArray[np.bool_],  # (num_events,)
) -> Calibration:
    """Isotonic regression, on events that the score was not learned from."""
    from sklearn.isotonic import IsotonicRegression  # type: ignore[import-untyped]  # noqa: PLC0415

    model = IsotonicRegression(y_min=0.0, y_max=1.0).fit(scores, is_threat)
    return Calibration(tuple(model.X_thresholds_.tolist()), tuple(model.y_thresholds_.tolist()))


@dataclass(frozen=True, eq=False)
class Standard(Saved):
    """How events become inputs, and what the team is held against."""

    schema: Schema
    columns: tuple[str, ...]  # of the inputs of the networks
    sources: tuple[str, ...]  # the table's column that each of them comes from
    is_summarised: bool  # sessions: inputs tell of the session so far
    typical: tuple[float, ...]  # mean of each input over benign training events
    seen: tuple[str, ...]  # attacks that training showed
    f1_threshold: float  # of the score, best on the validation part
    scores: Histogram  # of the validation part
    calibration: Calibration

    def empty_events(self) -> Events:
        """No events with these inputs, from which a network is made."""
        none = np.zeros(0, dtype=np.int64)
        features = np.zeros((0, len(self.columns)), dtype=np.float32)
        start = np.zeros(1, dtype=np.int64)
        return Events(features, self.columns, self.sources, none, self.schema.attack_names, start)


def fit_standard(team: Team, data: DataSet) -> Standard | None:
    """What is to be saved with a team at its present weights.

    Returns:
        None if the events cannot be read without the training files.
    """
    if data.schema is None:
        return None
    train, validation = prepare(data.train, team.config), data.validation
    scores = team.judge(validation).scores
    seen = np.unique(data.train.attacks[data.train.is_threat])
    threshold = sweep(scores, validation.is_threat).best_f1_threshold()
    benign = train.features[~train.is_threat]
    return Standard(
        schema=replace(data.schema, attack_names=data.train.attack_names),
        columns=train.columns,
        sources=train.sources,
        is_summarised=train.num_features > data.train.num_features + (train.is_end is not None),
        typical=tuple(map(float, benign.mean(axis=0, dtype=np.float64))),
        seen=tuple(data.train.attack_names[number] for number in seen),
        f1_threshold=float(np.clip(threshold, 0.0, 1.0)),
        scores=fit_histogram(NumericColumn("score", scores)),
        calibration=fit_calibration(scores, validation.is_threat),
    )
