"""What a run saves beside its weights, so that its folder alone is enough to judge new events."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from standing_orders.detect.calibration import Calibration, fit_calibration
from standing_orders.detect.data.columns import NumericColumn
from standing_orders.detect.data.drift import Histogram, fit_histogram
from standing_orders.detect.data.events import DataSet, Events
from standing_orders.detect.data.schema import Schema
from standing_orders.detect.metrics import sweep
from standing_orders.detect.team import Team, prepare
from standing_orders.errors import CheckpointError


@dataclass(frozen=True, eq=False)
class Standard:
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
        return Events(
            features, self.columns, self.sources, none > 0, none, self.schema.attack_names, start
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data for a checkpoint."""
        plain = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in vars(self).items()
        }
        parts = ("schema", "scores", "calibration")
        return plain | {name: getattr(self, name).to_json() for name in parts}

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Read what `to_json` gave.

        Raises:
            CheckpointError: it is something else.
        """
        try:
            lists = {name: tuple(data[name]) for name in ("columns", "sources", "typical", "seen")}
            return cls(
                **lists,
                schema=Schema.from_json(data["schema"]),
                is_summarised=bool(data["is_summarised"]),
                f1_threshold=float(data["f1_threshold"]),
                scores=Histogram.from_json(data["scores"]),
                calibration=Calibration.from_json(data["calibration"]),
            )
        except (KeyError, TypeError, ValueError) as err:
            raise CheckpointError(f"standard of the team: {err}") from err


def fit_standard(team: Team, data: DataSet) -> Standard | None:
    """What is to be saved with a team at its present weights.

    Args:
        team: as it is.
        data: of the run.

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
