"""Can the label be learned from these inputs at all? A classifier says so before any training."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier  # type: ignore[import-untyped]
from sklearn.model_selection import StratifiedKFold  # type: ignore[import-untyped]

from standing_orders.detect.data.events import DataSet, Events, Task
from standing_orders.detect.metrics import sweep
from standing_orders.detect.trees import one_thread
from standing_orders.detect.views import is_for_trees
from standing_orders.seeding import child_seed

MAX_TRAINING_EVENTS = 40_000
MIN_CLASS_SESSIONS = 5  # of each class, in training and validation together
MIN_VALIDATION_THREATS = 30  # with fewer threat sessions, cross-validate on both parts instead
MAX_P_VALUE = 0.01
MIN_LIFT = 0.02  # share of the way from prevalence to 1 that PR-AUC must cover
NUM_PERMUTATIONS = 499
NUM_FOLDS = 5


@dataclass(frozen=True)
class Probe:
    """How well gradient boosting predicts the label on events it has not seen."""

    pr_auc: float  # area under precision and recall, by event; NaN if there are too few events
    prevalence: float  # what `pr_auc` would be without any knowledge
    pr_auc_event: float  # of a classifier that sees single events only; the same for records
    p_value: float  # chance that sessions with shuffled labels look as good
    num_events: int  # events it was judged on
    num_threats: int  # threat sessions among them
    num_benign: int  # benign sessions among them
    is_cross_validated: bool  # judged on training and validation part, by folds

    @property
    def lift(self) -> float:
        """Share of the way from no knowledge (0) to perfect (1)."""
        return (self.pr_auc - self.prevalence) / (1 - self.prevalence)

    @property
    def is_learnable(self) -> bool:
        """Whether the inputs clearly say something about the label."""
        return bool(self.p_value <= MAX_P_VALUE and self.lift >= MIN_LIFT)

    def explain(self) -> str:
        """Say it in one paragraph."""
        if np.isnan(self.pr_auc):
            return (
                f"Too few sessions to tell whether the label can be learned: {self.num_threats} "
                f"with a threat and {self.num_benign} benign ones outside the test part; it takes "
                f"{MIN_CLASS_SESSIONS} of each at least."
            )
        figures = (
            f"gradient boosting reaches PR-AUC {self.pr_auc:.3f} where no knowledge gives "
            f"{self.prevalence:.3f} (p = {self.p_value:.2g}, {self.num_events} events, "
            f"{self.num_threats} sessions with a threat)"
        )
        if not self.is_learnable:
            return (
                f"The label cannot be learned from these inputs: {figures}. Check that the label "
                "depends on columns that are inputs, and that rows and labels belong together."
            )
        history = ""
        if self.pr_auc_event < self.pr_auc - 0.01:
            history = f"; from single events alone only {self.pr_auc_event:.3f}"
        return f"The label can be learned: {figures}{history}."


def probe(dataset: DataSet, seed: int = 0) -> Probe:
    """Measure how well the label can be learned, without looking at the test part.

    Records are judged one by one, sessions by what they have shown so far. The p-value shuffles
    the labels of whole sessions, since the events of one session are not independent.
    """
    rng = np.random.Generator(np.random.Philox(child_seed(seed, "probe")))
    train, validation = _without_pieces(dataset.train), _without_pieces(dataset.validation)
    is_small = int(validation.session_is_threat.sum()) < MIN_VALIDATION_THREATS
    judged = train.followed_by(validation) if is_small else validation
    num_threats = int(judged.session_is_threat.sum())
    num_benign = judged.num_sessions - num_threats
    pr_auc = pr_auc_event = float("nan")
    p_value = 1.0
    if min(num_threats, num_benign) >= MIN_CLASS_SESSIONS:
        scores = _scores(train, judged, dataset.task, is_small, rng)
        pr_auc = pr_auc_event = sweep(scores, judged.is_threat).pr_auc
        p_value = _p_value(judged, scores, rng)
        if dataset.task == "sessions":
            scores = _scores(train, judged, "records", is_small, rng)
            pr_auc_event = sweep(scores, judged.is_threat).pr_auc
    return Probe(
        pr_auc=pr_auc,
        prevalence=judged.prevalence,
        pr_auc_event=pr_auc_event,
        p_value=p_value,
        num_events=judged.num_events,
        num_threats=num_threats,
        num_benign=num_benign,
        is_cross_validated=is_small,
    )


def _scores(
    train: Events, judged: Events, task: Task, is_small: bool, rng: np.random.Generator
) -> NDArray[np.float64]:
    """P(threat) of the judged events; for sessions from all that they have shown so far."""
    if is_small:
        return _cross_validate(_describe(judged, task), judged, rng)
    some = _some_sessions(train, rng)
    return _fit_predict(_describe(some, task), some.is_threat, _describe(judged, task), rng)


def _describe(events: Events, task: Task) -> NDArray[np.float32]:
    return events.with_history() if task == "sessions" else events.features


def _without_pieces(events: Events) -> Events:
    """Trees find thresholds themselves, several times as fast with fewer columns."""
    kept = np.flatnonzero(is_for_trees(events))
    return replace(
        events,
        features=events.features[:, kept],
        columns=tuple(events.columns[index] for index in kept),
        sources=tuple(events.sources[index] for index in kept),
    )


def _some_sessions(events: Events, rng: np.random.Generator) -> Events:
    """At most about `MAX_TRAINING_EVENTS` events, in whole sessions."""
    share = MAX_TRAINING_EVENTS / max(events.num_events, 1)
    if share >= 1:
        return events
    chosen = rng.permutation(events.num_sessions)[: max(1, int(share * events.num_sessions))]
    return events.take_sessions(np.sort(chosen))


def _fit_predict(
    features: NDArray[np.float32],
    is_threat: NDArray[np.bool_],
    wanted: NDArray[np.float32],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """P(threat) of the wanted events."""
    model = HistGradientBoostingClassifier(
        max_iter=100,
        min_samples_leaf=min(20, max(2, len(is_threat) // 20)),
        early_stopping=False,
        random_state=int(rng.integers(2**31)),
    )
    with one_thread():
        model.fit(features, is_threat)
        probs: NDArray[np.float64] = model.predict_proba(wanted)[:, 1]
    return probs


def _cross_validate(
    features: NDArray[np.float32], events: Events, rng: np.random.Generator
) -> NDArray[np.float64]:
    """P(threat) of every event by a classifier that has not seen its session."""
    folds = StratifiedKFold(NUM_FOLDS, shuffle=True, random_state=int(rng.integers(2**31)))
    scores = np.zeros(events.num_events)
    sessions = np.arange(events.num_sessions)
    for _, held_out in folds.split(sessions, events.session_is_threat):
        is_held = np.isin(events.sessions.index, held_out)
        scores[is_held] = _fit_predict(
            features[~is_held], events.is_threat[~is_held], features[is_held], rng
        )
    return scores


def _p_value(events: Events, scores: NDArray[np.float64], rng: np.random.Generator) -> float:
    """Share of shufflings of session labels that the scores fit as well as the true ones."""
    is_threat = events.session_is_threat
    values = np.maximum.reduceat(scores, events.starts[:-1])
    if is_threat.all():  # only the onset can be learned: shuffle events instead
        is_threat, values = events.is_threat, scores
    order = np.argsort(-values, kind="stable")
    # Equal scores share a rank: the last place of their block.
    ends = np.searchsorted(-values[order], -values[order], side="right")
    true = _average_precision(is_threat[order], ends)
    as_good = sum(
        _average_precision(rng.permutation(is_threat), ends) >= true
        for _ in range(NUM_PERMUTATIONS)
    )
    return (1 + as_good) / (1 + NUM_PERMUTATIONS)


def _average_precision(
    is_threat: NDArray[np.bool_],  # in the order of falling scores
    ends: NDArray[np.int64],  # how many scores are as high or higher
) -> float:
    """Mean, over threats, of the precision at their score."""
    found = np.cumsum(is_threat)[ends - 1]
    return float((found / ends)[is_threat].mean())
