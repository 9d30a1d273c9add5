"""How good decisions about events are: pure functions of whole arrays.

Every figure is over all events it is given, never over the last steps of a run; arrays of unequal
length are refused. A figure that the data cannot give (recall without threats) is NaN.

| symbol | meaning |
|---|---|
| score | larger = more of a threat; any scale |
| flagged | any action but allow |
| threshold | an event is flagged if its score is at least this |
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from standing_orders.detect.actions import ALLOW
from standing_orders.detect.costs import CostTable, best_flag, record_rewards
from standing_orders.detect.data.events import Events
from standing_orders.errors import ConfigError, NumericsError

MAX_FALSE_POSITIVE_RATE = 0.01  # of the figure "recall at 1 % false positives"
MIN_RECALL = 0.95  # of the figure "false positives at 95 % recall"


@dataclass(frozen=True)
class Confusion:
    """Counts of decisions; add those of batches to get those of the whole."""

    true_positives: int = 0
    false_positives: int = 0
    true_negatives: int = 0
    false_negatives: int = 0

    def __add__(self, other: "Confusion") -> "Confusion":
        return Confusion(
            self.true_positives + other.true_positives,
            self.false_positives + other.false_positives,
            self.true_negatives + other.true_negatives,
            self.false_negatives + other.false_negatives,
        )

    @property
    def recall(self) -> float:
        """Share of threats that are flagged."""
        return _ratio(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def precision(self) -> float:
        """Share of flags that are threats."""
        return _ratio(self.true_positives, self.true_positives + self.false_positives)

    @property
    def false_positive_rate(self) -> float:
        """Share of benign events that are flagged."""
        return _ratio(self.false_positives, self.false_positives + self.true_negatives)

    @property
    def f1(self) -> float:
        """2 TP / (2 TP + FP + FN); 0 if nothing is flagged, NaN without threats or flags."""
        wrong = self.false_positives + self.false_negatives
        return _ratio(2 * self.true_positives, 2 * self.true_positives + wrong)

    @property
    def accuracy(self) -> float:
        """Share of events judged right."""
        right = self.true_positives + self.true_negatives
        return _ratio(right, right + self.false_positives + self.false_negatives)

    @property
    def alarms_per_1000_benign(self) -> float:
        """Flags on benign events for each 1,000 of them."""
        return 1000 * self.false_positive_rate


def count_decisions(flagged: ArrayLike, is_threat: ArrayLike) -> Confusion:
    """Count decisions about events, both (num_events,)."""
    flagged, is_threat = _same_length("flagged", flagged, is_threat)
    flagged = flagged.astype(bool)
    return Confusion(
        true_positives=int((flagged & is_threat).sum()),
        false_positives=int((flagged & ~is_threat).sum()),
        true_negatives=int((~flagged & ~is_threat).sum()),
        false_negatives=int((~flagged & is_threat).sum()),
    )


@dataclass(frozen=True)
class Sweep:
    """Counts at every threshold that makes a difference, highest first; equal scores go together.

    The first entry is the threshold infinity, which flags nothing.
    """

    thresholds: NDArray[np.float64]  # (n,)
    true_positives: NDArray[np.int64]  # (n,)
    false_positives: NDArray[np.int64]  # (n,)
    num_threats: int
    num_benign: int


def sweep(scores: ArrayLike, is_threat: ArrayLike) -> Sweep:
    """Try all thresholds on scores, both (num_events,).

    Raises:
        NumericsError: a score is not finite.
    """
    scores, is_threat = _same_length("scores", scores, is_threat)
    scores = scores.astype(np.float64)
    if not np.isfinite(scores).all():
        raise NumericsError("scores: must be finite numbers")
    order = np.argsort(-scores, kind="stable")
    ordered, found = scores[order], np.cumsum(is_threat[order])
    ends = np.flatnonzero(np.append(np.diff(ordered) != 0, True)) if len(ordered) else order
    true_positives = np.concatenate([[0], found[ends]]).astype(np.int64)
    flagged = np.concatenate([[0], ends + 1])
    return Sweep(
        thresholds=np.concatenate([[np.inf], ordered[ends]]),
        true_positives=true_positives,
        false_positives=flagged - true_positives,
        num_threats=int(is_threat.sum()),
        num_benign=int((~is_threat).sum()),
    )


def pr_auc(scores: ArrayLike, is_threat: ArrayLike) -> float:
    """Area under the precision-recall curve as average precision; NaN without threats.

    Read it against the prevalence, which is what scores without information get.

    Example:
        >>> pr_auc([0.9, 0.8, 0.7, 0.1], [True, False, True, False])  # (1 + 2 / 3) / 2
        0.8333333333333333
    """
    points = sweep(scores, is_threat)
    if not points.num_threats:
        return float("nan")
    found = np.diff(points.true_positives)
    flagged = (points.true_positives + points.false_positives)[1:]
    precision = points.true_positives[1:] / flagged
    return float((found * precision).sum() / points.num_threats)


def recall_at_fpr(
    scores: ArrayLike, is_threat: ArrayLike, max_fpr: float = MAX_FALSE_POSITIVE_RATE
) -> float:
    """Highest recall of a threshold that flags at most this share of benign events."""
    points = sweep(scores, is_threat)
    if not (points.num_threats and points.num_benign):
        return float("nan")
    is_allowed = points.false_positives / points.num_benign <= max_fpr
    return float(points.true_positives[is_allowed].max() / points.num_threats)


def fpr_at_recall(scores: ArrayLike, is_threat: ArrayLike, min_recall: float = MIN_RECALL) -> float:
    """Lowest share of benign events flagged by a threshold that finds this share of threats."""
    points = sweep(scores, is_threat)
    if not (points.num_threats and points.num_benign):
        return float("nan")
    is_enough = points.true_positives / points.num_threats >= min_recall
    return float(points.false_positives[is_enough].min() / points.num_benign)


def best_f1_threshold(scores: ArrayLike, is_threat: ArrayLike) -> float:
    """Threshold with the highest F1, the highest of them if several tie.

    For validation data: a threshold chosen on the data it is judged on flatters.

    Raises:
        ConfigError: there are no threats to find.
    """
    points = sweep(scores, is_threat)
    if not points.num_threats:
        raise ConfigError("the F1 threshold needs threats in the validation part: there are none")
    flagged = points.true_positives + points.false_positives
    f1 = 2 * points.true_positives / (flagged + points.num_threats)
    return float(points.thresholds[np.argmax(f1)])


@dataclass(frozen=True)
class CostGap:
    """What decisions cost an event, and what the best threshold on the same scores would."""

    cost: float
    best_cost: float
    best_threshold: float  # in the units of the scores; infinity = flag nothing

    @property
    def gap(self) -> float:
        """How much the best threshold would save an event; negative if decisions beat it."""
        return self.cost - self.best_cost


def cost_gap(
    table: CostTable,
    actions: ArrayLike,  # (num_events,)
    scores: ArrayLike,  # (num_events,)
    is_threat: ArrayLike,  # (num_events,)
) -> CostGap:
    """Mean cost of decisions (minus their reward), and of the best threshold in hindsight.

    The best threshold flags with the action that the table pays most for.
    """
    actions, is_threat = _same_length("actions", actions, is_threat)
    points = sweep(scores, is_threat)
    if not len(is_threat):
        return CostGap(float("nan"), float("nan"), float("nan"))
    rewards = table.rewards()
    flag = rewards[best_flag(table)] - rewards[ALLOW]
    allowed = rewards[ALLOW] @ [points.num_benign, points.num_threats]
    totals = allowed + flag[0] * points.false_positives + flag[1] * points.true_positives
    best = int(np.argmax(totals))
    return CostGap(
        cost=-float(record_rewards(table, actions, is_threat).mean()),
        best_cost=-float(totals[best]) / len(is_threat),
        best_threshold=float(points.thresholds[best]),
    )


@dataclass(frozen=True)
class AttackRecall:
    """How much of one attack is flagged."""

    attack: str
    count: int  # of its events, or of the sessions with it
    recall: float
    is_unseen: bool  # it does not occur in training


def recall_by_attack(
    flagged: ArrayLike,  # (n,): of events or of sessions
    attacks: NDArray[np.int64],  # (n,): -1 = benign
    attack_names: Sequence[str],
    seen: Iterable[int],  # attacks that occur in training
) -> tuple[AttackRecall, ...]:
    """Recall of each attack that occurs, most frequent first."""
    flagged = _equal_length("flagged", flagged, attacks).astype(bool)
    is_threat = attacks >= 0
    known = set(map(int, seen))
    counts = np.bincount(attacks[is_threat], minlength=len(attack_names))
    found = np.bincount(attacks[is_threat & flagged], minlength=len(attack_names))
    return tuple(
        AttackRecall(
            attack=attack_names[index],
            count=int(counts[index]),
            recall=float(found[index] / counts[index]),
            is_unseen=int(index) not in known,
        )
        for index in np.argsort(-counts, kind="stable")
        if counts[index]
    )


def unseen_recall(attack_recalls: Iterable[AttackRecall]) -> float:
    """Share of what is counted of attacks unseen in training that is flagged; NaN without any."""
    unseen = [one for one in attack_recalls if one.is_unseen]
    found = sum(one.count * one.recall for one in unseen)
    return _ratio(found, sum(one.count for one in unseen))


@dataclass(frozen=True)
class RecordMetrics:
    """Everything that is said about decisions on single events."""

    num_events: int
    prevalence: float
    pr_auc: float
    f1_threshold: float  # fixed on validation
    f1: float  # of the scores at that threshold
    decisions: Confusion  # of the actions themselves
    recall_at_fpr: float  # at 1 % false positives
    fpr_at_recall: float  # at 95 % recall
    cost: CostGap
    attack_recalls: tuple[AttackRecall, ...]
    unseen_recall: float


def record_metrics(
    events: Events,
    scores: ArrayLike,  # (num_events,)
    actions: ArrayLike,  # (num_events,)
    *,
    table: CostTable,
    f1_threshold: float,
    seen: Iterable[int],
) -> RecordMetrics:
    """All figures of decisions about `events`.

    Args:
        events: what was judged, with the truth.
        scores: how much of a threat each event seemed.
        actions: what was done about it.
        table: what decisions earn.
        f1_threshold: `best_f1_threshold` on the validation part.
        seen: the attacks that occur in training, by index.
    """
    is_threat, flagged = events.is_threat, np.asarray(actions) != ALLOW
    attack_recalls = recall_by_attack(flagged, events.attacks, events.attack_names, seen)
    scores = np.asarray(scores, dtype=np.float64)
    return RecordMetrics(
        num_events=events.num_events,
        prevalence=events.prevalence,
        pr_auc=pr_auc(scores, is_threat),
        f1_threshold=f1_threshold,
        f1=count_decisions(scores >= f1_threshold, is_threat).f1,
        decisions=count_decisions(flagged, is_threat),
        recall_at_fpr=recall_at_fpr(scores, is_threat),
        fpr_at_recall=fpr_at_recall(scores, is_threat),
        cost=cost_gap(table, actions, scores, is_threat),
        attack_recalls=attack_recalls,
        unseen_recall=unseen_recall(attack_recalls),
    )


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else float("nan")


def _equal_length(name: str, values: ArrayLike, others: NDArray[np.generic]) -> NDArray[np.generic]:
    array: NDArray[np.generic] = np.asarray(values)
    if array.shape != others.shape or array.ndim != 1:
        raise ConfigError(
            f"{name}: shape {array.shape} does not fit {others.shape}: metrics are over all events"
        )
    return array


def _same_length(
    name: str, values: ArrayLike, is_threat: ArrayLike
) -> tuple[NDArray[np.generic], NDArray[np.bool_]]:
    truth: NDArray[np.bool_] = np.asarray(is_threat, dtype=bool)
    return _equal_length(name, values, truth), truth
