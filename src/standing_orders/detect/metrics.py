"""How good decisions about events are: pure functions of whole arrays.

Every figure is over all events it is given, never over the last steps of a run; arrays of unequal
length are refused. A figure that the data cannot give (recall without threats) is NaN.

| symbol | meaning |
|---|---|
| score | larger = more of a threat; any scale |
| flagged | any action but allow |
| threshold | an event is flagged if its score is at least this |
| alarm | a flag while the session is open |
| detected | a session with an attack that has an alarm at its onset or later |
| delay | attack events that passed before that alarm; all of them without one |
| false alarm | an alarm although no attack has begun |
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from standing_orders.detect.actions import ACTION_NAMES, ALLOW
from standing_orders.detect.costs import Game, best_flag, play
from standing_orders.detect.data.events import Events
from standing_orders.errors import ConfigError, NumericsError

Figures = dict[str, Any]
MAX_FALSE_POSITIVE_RATE = 0.01  # of the figure "recall at 1 % false positives"
MIN_RECALL = 0.95  # of the figure "false positives at 95 % recall"
MAX_FALSE_ALARMS = 0.01  # share of benign sessions with an alarm at the operating point
CURVE_POINTS = 101
NUM_BINS = 10  # of the calibration error
COLLAPSED = 0.95  # share of one action
MIN_FOUND = 0.5  # share of threats flagged by a team that allows nearly everything and is right
EXPECTED = {  # ranges that the published system is expected to reach
    "accuracy": (0.85, 0.95), "precision": (0.70, 0.85), "recall": (0.80, 0.95), "f1": (0.75, 0.90),
}  # fmt: skip


@dataclass(frozen=True)
class Confusion:
    """Counts of decisions."""

    true_positives: int
    false_positives: int
    true_negatives: int
    false_negatives: int

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
        """Share of right decisions; read it against the share of benign events."""
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


def action_shares(actions: NDArray[np.int64]) -> dict[str, float]:  # (num_events,)
    """How often each action is taken, by name.

    Example:
        >>> action_shares(np.array([0, 0, 0, 2]))
        {'allow': 0.75, 'alert': 0.0, 'block': 0.25, 'quarantine': 0.0}
    """
    counts = np.bincount(actions, minlength=len(ACTION_NAMES)) / max(len(actions), 1)
    return dict(zip(ACTION_NAMES, counts.tolist(), strict=True))


def collapse_of(shares: Mapping[str, float], recall: float | None) -> str | None:
    """What to say about decisions that are nearly all the same; None where nothing is wrong.

    To allow nearly everything is right where threats are that rare, if most of them are found.

    Example:
        >>> collapse_of({"allow": 0.99, "alert": 0.01}, recall=0.9) is None
        True
    """
    name, share = max(shares.items(), key=lambda one: one[1])
    if share <= COLLAPSED or (name == ACTION_NAMES[ALLOW] and (recall or 0.0) >= MIN_FOUND):
        return None
    found = "" if recall is None else f", and {100 * recall:.0f} % of the threats are flagged"
    return f"the policy has collapsed: {100 * share:.1f} % of all decisions are {name}{found}"


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

    @property
    def pr_auc(self) -> float:
        """Area under the precision-recall curve as average precision; NaN without threats.

        Read it against the prevalence, which is what scores without information get.

        Example:
            >>> sweep([0.9, 0.8, 0.7, 0.1], [True, False, True, False]).pr_auc  # (1 + 2 / 3) / 2
            0.8333333333333333
        """
        flagged = (self.true_positives + self.false_positives)[1:]
        precision = self.true_positives[1:] / flagged
        return _ratio((np.diff(self.true_positives) * precision).sum(), self.num_threats)

    def curve(self, num_points: int = CURVE_POINTS) -> dict[str, list[float]]:
        """Recall and precision at thresholds that flag more and more; empty without threats."""
        flagged = (self.true_positives + self.false_positives)[1:]
        if not (len(flagged) and self.num_threats):
            return {"recall": [], "precision": []}
        recall = self.true_positives[1:] / self.num_threats
        wanted = np.linspace(recall[0], 1, num_points)
        chosen = np.unique(np.searchsorted(recall, wanted).clip(0, len(recall) - 1))
        precision = self.true_positives[1:][chosen] / flagged[chosen]
        return {"recall": recall[chosen].tolist(), "precision": precision.tolist()}

    def recall_at_fpr(self, max_fpr: float = MAX_FALSE_POSITIVE_RATE) -> float:
        """Highest recall of a threshold that flags at most this share of benign events."""
        if not self.num_benign:
            return float("nan")
        is_allowed = self.false_positives / self.num_benign <= max_fpr
        return _ratio(self.true_positives[is_allowed].max(), self.num_threats)

    def fpr_at_recall(self, min_recall: float = MIN_RECALL) -> float:
        """Lowest share of benign events flagged by a threshold that finds this share of threats."""
        if not self.num_threats:
            return float("nan")
        is_enough = self.true_positives / self.num_threats >= min_recall
        return _ratio(self.false_positives[is_enough].min(), self.num_benign)

    def best_f1_threshold(self) -> float:
        """Threshold with the highest F1, the highest of them if several tie.

        For validation data: a threshold chosen on the data it is judged on flatters.

        Raises:
            ConfigError: there are no threats to find.
        """
        if not self.num_threats:
            raise ConfigError("the F1 threshold needs threats in the validation part: none there")
        flagged = self.true_positives + self.false_positives
        f1 = 2 * self.true_positives / (flagged + self.num_threats)
        return float(self.thresholds[np.argmax(f1)])

    def best_cost(self, rewards: NDArray[np.float64]) -> float:  # (NUM_ACTIONS, 2)
        """Lowest mean cost of a threshold, in hindsight, flagging as the table pays most for."""
        flag = rewards[best_flag(rewards)] - rewards[ALLOW]
        allowed = rewards[ALLOW] @ [self.num_benign, self.num_threats]
        totals = allowed + flag[0] * self.false_positives + flag[1] * self.true_positives
        return _ratio(-float(totals.max()), self.num_benign + self.num_threats)


def sweep(scores: ArrayLike, is_threat: ArrayLike) -> Sweep:
    """Try all thresholds on scores, both (num_events,).

    Raises:
        NumericsError: a score is not finite.
    """
    scores, is_threat = _same_length("scores", scores, is_threat)
    scores = _check_finite(scores)
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


def calibration_figures(
    probability: NDArray[np.float64],  # (num_events,)
    is_threat: NDArray[np.bool_],  # (num_events,)
) -> Figures:
    """Brier score, and the mean distance of probabilities from what happens, in equal bins."""
    order = np.argsort(probability, kind="stable")
    bins = [part for part in np.array_split(order, NUM_BINS) if len(part)]
    gaps = [abs(probability[part].mean() - is_threat[part].mean()) * len(part) for part in bins]
    return {
        "brier": float(np.mean((probability - is_threat) ** 2)),
        "calibration_error": float(sum(gaps) / max(len(probability), 1)),
    }


def recall_by_attack(
    flagged: ArrayLike,  # (n,): of events or of sessions
    attacks: NDArray[np.int64],  # (n,): -1 = benign
    attack_names: Sequence[str],
    seen: Iterable[int],  # attacks that occur in training
) -> list[Figures]:
    """Count, recall and whether it is unseen in training of each attack, most frequent first."""
    flagged = _equal_length("flagged", flagged, attacks).astype(bool)
    is_threat = attacks >= 0
    known = set(map(int, seen))
    counts = np.bincount(attacks[is_threat], minlength=len(attack_names))
    found = np.bincount(attacks[is_threat & flagged], minlength=len(attack_names))
    return [
        {
            "attack": attack_names[index],
            "count": int(counts[index]),
            "recall": float(found[index] / counts[index]),
            "is_unseen": int(index) not in known,
        }
        for index in np.argsort(-counts, kind="stable")
        if counts[index]
    ]


def unseen_recall(attack_recalls: Iterable[Figures]) -> float:
    """Share of what is counted of attacks unseen in training that is flagged; NaN without any."""
    unseen = [one for one in attack_recalls if one["is_unseen"]]
    found = sum(one["count"] * one["recall"] for one in unseen)
    return _ratio(found, sum(one["count"] for one in unseen))


def record_figures(
    events: Events,
    scores: NDArray[np.float64],  # (num_events,)
    actions: NDArray[np.int64],  # (num_events,)
    game: Game,
    *,
    rewards: NDArray[np.float64],  # (NUM_ACTIONS, 2)
    f1_threshold: float,
    seen: Iterable[int],
) -> Figures:
    """All figures of decisions about records, by name."""
    is_threat, flagged = events.is_threat, actions != ALLOW
    points = sweep(scores, is_threat)
    decisions = count_decisions(flagged, is_threat)
    attacks = recall_by_attack(flagged, events.attacks, events.attack_names, seen)
    cost = -float(play(game, actions).rewards.mean())
    return {
        "f1": decisions.f1,
        "f1_at_threshold": count_decisions(scores >= f1_threshold, is_threat).f1,
        "f1_threshold": f1_threshold,
        "pr_auc": points.pr_auc,
        "prevalence": events.prevalence,
        "recall": decisions.recall,
        "precision": decisions.precision,
        "accuracy": decisions.accuracy,
        "recall_at_1_percent_fpr": points.recall_at_fpr(),
        "fpr_at_95_percent_recall": points.fpr_at_recall(),
        "alarms_per_1000_benign": decisions.alarms_per_1000_benign,
        "cost": cost,
        "cost_gap": cost - points.best_cost(rewards),
        "unseen_recall": unseen_recall(attacks),
        "attacks": attacks,
        "num_events": events.num_events,
        "confusion": asdict(decisions),
        "actions": action_shares(actions),
        "pr_curve": points.curve(),
    }


@dataclass(frozen=True)
class Alarms:
    """When each session raised an alarm that counts."""

    has_attack: NDArray[np.bool_]  # (num_sessions,)
    has_false_alarm: NDArray[np.bool_]  # (num_sessions,): an alarm although nothing had begun
    is_detected: NDArray[np.bool_]  # (num_sessions,): an alarm at the onset or later
    delays: NDArray[np.int64]  # (num_sessions,)

    @property
    def false_alarm_rate(self) -> float:
        """Share of benign sessions with an alarm."""
        return _mean(self.has_false_alarm[~self.has_attack])

    @property
    def detection_rate(self) -> float:
        """Share of attacks that raised an alarm."""
        return _mean(self.is_detected[self.has_attack])

    @property
    def mean_delay(self) -> float:
        """Attack events before the alarm, an attack without one counting with all its events."""
        return _mean(self.delays[self.has_attack])


def find_alarms(is_alarm: NDArray[np.bool_], game: Game) -> Alarms:
    """The alarms of each session, of those raised at some events."""
    sessions, has_begun = game.sessions, game.has_begun
    in_time = (is_alarm & has_begun).astype(np.int64)
    has_passed = has_begun & (sessions.running(np.add, in_time) == 0)
    return Alarms(
        has_attack=has_begun[sessions.starts[1:] - 1],
        has_false_alarm=sessions.fold(np.logical_or, is_alarm & ~has_begun),
        is_detected=sessions.fold(np.logical_or, is_alarm & has_begun),
        delays=sessions.fold(np.add, has_passed.astype(np.int64)),
    )


def delay_curve(
    scores: NDArray[np.float64],  # (num_events,)
    game: Game,
    num_points: int = CURVE_POINTS,
) -> list[tuple[float, Alarms]]:
    """Alarms at the first event with at least a score, for thresholds on it, strictest first.

    The thresholds are quantiles of the highest score of each session, so that each step changes
    the fate of about as many sessions; the first lets every session pass.

    Raises:
        ConfigError: there is not one score for each event.
        NumericsError: a score is not finite.
    """
    _check_finite(_equal_length("scores", scores, game.has_begun))
    highest = game.sessions.fold(np.maximum, scores)
    levels = np.quantile(highest, np.linspace(1, 0, num_points), method="higher")
    thresholds = [float("inf"), *np.unique(levels)[::-1].tolist()]
    return [(threshold, find_alarms(scores >= threshold, game)) for threshold in thresholds]


def at_false_alarms(
    curve: Sequence[tuple[float, Alarms]], max_rate: float = MAX_FALSE_ALARMS
) -> tuple[float, Alarms]:
    """The threshold with the shortest delay and no more false alarms than this."""
    allowed = [point for point in curve if point[1].false_alarm_rate <= max_rate]
    return min(allowed or curve[:1], key=lambda point: point[1].mean_delay)


def session_figures(
    events: Events,
    scores: NDArray[np.float64],  # (num_events,)
    actions: NDArray[np.int64],  # (num_events,)
    game: Game,
    *,
    seen: Iterable[int],
) -> Figures:
    """All figures of decisions about whole sessions, by name; for the arguments `record_figures`.

    The detection rate of an attack is that of the sessions in which it comes first, for detection
    is judged from the onset.
    """
    sessions, played = game.sessions, play(game, actions)
    alarms = find_alarms((actions != ALLOW) & played.is_open, game)
    has_attack, events_seen = alarms.has_attack, sessions.fold(np.add, played.is_open.astype(int))
    onset_seen = sessions.fold(np.logical_or, game.has_begun & played.is_open)
    onsets = sessions.starts[1:] - sessions.fold(np.add, game.has_begun.astype(np.int64))
    first = np.full(events.num_sessions, -1)
    first[has_attack] = events.attacks[onsets[has_attack]]
    attacks = recall_by_attack(alarms.is_detected, first, events.attack_names, seen)
    curve = delay_curve(scores, game)
    _, point = at_false_alarms(curve)
    return {
        "mean_cost": -float(sessions.fold(np.add, played.rewards).mean()),
        "mean_events_seen": float(events_seen.mean()),
        "mean_attack_events_seen": _mean(events_seen[has_attack]),
        "detection_rate": alarms.detection_rate,
        "mean_delay": alarms.mean_delay,
        "false_alarm_rate": alarms.false_alarm_rate,
        "early_stop_rate": _mean(~onset_seen[has_attack]),
        "false_alarms_per_1000": 1000 * _mean(actions[played.is_open & ~game.has_begun] != ALLOW),
        "prevalence": _mean(has_attack),
        "num_sessions": events.num_sessions,
        "pr_auc_event": sweep(scores, events.is_threat).pr_auc,
        "prevalence_event": events.prevalence,
        "delay_at_1_percent_false_alarms": point.mean_delay,
        "detection_at_1_percent_false_alarms": point.detection_rate,
        "unseen_detection": unseen_recall(attacks),
        "attacks": attacks,
        "actions": action_shares(actions[played.is_open]),
        "delay_curve": {
            name: [getattr(alarms, name) for _, alarms in curve]
            for name in ("false_alarm_rate", "detection_rate", "mean_delay")
        },
    }


def _mean(values: NDArray[np.generic]) -> float:
    return float(values.mean()) if len(values) else float("nan")


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


def _check_finite(scores: NDArray[np.generic]) -> NDArray[np.float64]:
    numbers = scores.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise NumericsError("scores: must be finite numbers")
    return numbers
