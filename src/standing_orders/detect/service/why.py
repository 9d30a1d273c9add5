"""Which columns spoke most for a verdict: what the score loses when a column looks ordinary."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from standing_orders.detect.engine import Batch, agents_of, ask, opinion_of, suspicion_of
from standing_orders.detect.network import TeamNetwork
from standing_orders.detect.standard import Standard
from standing_orders.detect.views import EVERYBODY

_ROWS_AT_ONCE = 20_000


@dataclass(frozen=True)
class Reason:
    """One column, and how much of the score is owed to it."""

    column: str
    effect: float  # score minus the score with the column as in the mean benign training event


class Explainer:
    """Ablation, column by column, exactly, for agents without memory: no gradient stands for it."""

    def __init__(self, network: TeamNetwork, standard: Standard) -> None:
        self._agents, self._lean = agents_of(network), float(network.lean)
        self._typical = np.array(standard.typical, dtype=np.float32)
        sources = np.array(standard.sources)
        self.columns = [name for name in dict.fromkeys(standard.sources) if name != EVERYBODY]
        self._features = [np.flatnonzero(sources == name) for name in self.columns]

    def effects(
        self,
        features: NDArray[np.float32],  # (num_events, num_features)
        scores: NDArray[np.float64],  # (num_events,)
    ) -> NDArray[np.float64]:  # (num_events, num_columns)
        """What each column adds to the score of each event."""
        effects = np.empty((len(features), len(self.columns)))
        step = max(1, _ROWS_AT_ONCE // max(len(self.columns), 1))
        for first in range(0, len(features), step):
            part = features[first : first + step]
            tried = np.repeat(part[None], len(self.columns), axis=0)
            for one, columns in zip(tried, self._features, strict=True):
                one[:, columns] = self._typical[columns]
            found = self._scores(tried.reshape(-1, features.shape[1]))
            without = found.reshape(len(self.columns), -1).T
            effects[first : first + step] = scores[first : first + step, None] - without
        return effects

    def _scores(self, features: NDArray[np.float32]) -> NDArray[np.float64]:  # (num_rows,)
        num_rows = len(features)
        batch = Batch(features, np.arange(num_rows), np.ones(num_rows, dtype=np.bool_))
        told = zip(*ask(self._agents, batch), strict=True)
        log_probs, _, doubts = (torch.stack(one) for one in told)
        return suspicion_of(opinion_of(log_probs)[0], doubts.numpy(), self._lean)

    def reasons(
        self,
        features: NDArray[np.float32],  # (num_events, num_features)
        scores: NDArray[np.float64],  # (num_events,)
        limit: int,
    ) -> list[list[Reason]]:
        """The columns that add most to the score of each event, the strongest first."""
        effects = self.effects(features, scores)
        chosen = np.argsort(-effects, axis=1, kind="stable")[:, :limit]
        return [
            [Reason(self.columns[c], float(row[c])) for c in of if row[c] > 0]
            for row, of in zip(effects, chosen, strict=True)
        ]
