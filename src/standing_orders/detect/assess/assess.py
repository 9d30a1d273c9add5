"""How good a team or a baseline is on the test part: every figure that tables and files show."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from standing_orders.detect.actions import ALLOW, NUM_ACTIONS
from standing_orders.detect.assess.classifiers import Fitted
from standing_orders.detect.assess.metrics import (
    RecordMetrics,
    best_f1_threshold,
    count_decisions,
    pr_auc,
    record_metrics,
    unseen_recall,
)
from standing_orders.detect.assess.session_metrics import (
    SessionMetrics,
    delay_curve,
    detection_by_attack,
    session_metrics,
)
from standing_orders.detect.assess.uncertainty import Interval, session_interval
from standing_orders.detect.config import DetectConfig
from standing_orders.detect.data.events import DataSet, Events
from standing_orders.detect.decisions import (
    Decisions,
    apply_shield,
    as_streams,
    cast_votes,
    decide_all,
    suspicion_of,
)
from standing_orders.detect.learn.foresight import Lesson, explained, make_lesson
from standing_orders.detect.learn.game import Game, make_game, play
from standing_orders.detect.learn.team import Judged, TeamNetwork
from standing_orders.detect.learn.trainer import prepare
from standing_orders.detect.rules import RuleBook
from standing_orders.detect.session_costs import session_context
from standing_orders.seeding import child_seed
from standing_orders.voting import LIARS, lie

MAX_SUBSETS = 20  # of agents that lie, tried for each number of liars
EVENTS_AT_ONCE = 50_000  # of whole sessions, through the network
Figures = dict[str, Any]
LOWER_IS_BETTER = (
    "cost", "mean_cost", "alarms_per_1000_benign", "false_alarm_rate", "no_quorum",
)  # fmt: skip


class Team:
    """A trained team that judges whole parts of the data.

    Args:
        network: trained.
        config: of its run.
        shields: rules of mode `shield`, which replace decisions; None: nothing is replaced.
    """

    def __init__(
        self, network: TeamNetwork, config: DetectConfig, shields: RuleBook | None = None
    ) -> None:
        self._network, self._config, self._shields = network, config, shields
        self.shielded: Figures | None = None  # what the shield did at the last decision
        self._known: list[tuple[Events, NDArray[np.float64]]] = []  # probabilities, latest last
        self._done: tuple[Events, NDArray[np.int64]] | None = None  # actions of the last events

    def deciding_by(self, config: DetectConfig) -> "Team":
        """The same agents with another way to decide, without a shield."""
        return Team(self._network, config)

    def probabilities(
        self, events: Events
    ) -> NDArray[np.float64]:  # (agents, num_events, NUM_ACTIONS)
        """What each agent thinks of each event."""
        for known, probs in self._known:
            if known is events:
                return probs
        parts = [np.exp(one.log_probs.numpy().astype(np.float64)) for one in self._judge(events)]
        self._known = [*self._known[-1:], (events, np.concatenate(parts, axis=1))]
        return self._known[-1][1]

    def _judge(self, events: Events) -> Iterator[Judged]:
        for sessions in _chunks(events):
            part = prepare(events.take_sessions(sessions), self._config)
            with torch.inference_mode():
                judged = self._network.judge(torch.from_numpy(part.features), part.starts)
            yield judged

    def foresee(self, events: Events, lesson: Lesson) -> Tensor:  # (n, num_rules)
        """Margins that the constraint heads foresee at the events of a lesson that happened."""
        hidden = torch.cat([judged.hidden for judged in self._judge(events)], dim=1)
        with torch.inference_mode():
            return self._network.heads.margins(lesson.inputs(hidden))

    def scores(self, events: Events) -> NDArray[np.float64]:  # (num_events,)
        """How likely the team is to flag each event."""
        return suspicion_of(self.probabilities(events))

    def actions(self, events: Events) -> NDArray[np.int64]:  # (num_events,)
        """What the team does about each event."""
        if self._done is None or self._done[0] is not events:
            probs = self.probabilities(events)
            outcomes, self.shielded = self.decide([cast_votes(probs)], probs, events)
            self._done = events, next(outcomes).actions
        return self._done[1]

    def decide(
        self, ballots: Iterable[NDArray[np.int8]], probs: NDArray[np.float64], events: Events
    ) -> tuple[Iterator[Decisions], Figures | None]:
        """Outcomes of votes on the same events, after the shield, and what the shield did."""
        outcomes = (decide_all(votes, probs, self._config.team) for votes in ballots)
        if self._shields is None or not self._shields.rules_of("shield"):
            return outcomes, None
        proposed = list(outcomes)
        is_records = events.num_sessions == events.num_events
        actions, counts = apply_shield(
            self._shields, np.stack([one.actions for one in proposed], axis=1),
            suspicion_of(probs), events.starts, "records" if is_records else "sessions",
        )  # fmt: skip
        pairs = zip(proposed, actions.T, strict=True)
        return (Decisions(column, one.has_quorum) for one, column in pairs), counts


def _chunks(events: Events) -> Iterable[NDArray[np.int64]]:
    """Numbers of the sessions that are judged together."""
    part = events.starts[1:] // EVENTS_AT_ONCE
    return np.split(np.arange(events.num_sessions), np.flatnonzero(np.diff(part)) + 1)


def record_figures(metrics: RecordMetrics) -> Figures:
    """Figures of decisions about records, by name."""
    decisions = metrics.decisions
    return {
        "f1": decisions.f1,
        "f1_at_threshold": metrics.f1,
        "f1_threshold": metrics.f1_threshold,
        "pr_auc": metrics.pr_auc,
        "prevalence": metrics.prevalence,
        "recall": decisions.recall,
        "precision": decisions.precision,
        "recall_at_1_percent_fpr": metrics.recall_at_fpr,
        "fpr_at_95_percent_recall": metrics.fpr_at_recall,
        "alarms_per_1000_benign": decisions.alarms_per_1000_benign,
        "cost": metrics.cost.cost,
        "cost_gap": metrics.cost.gap,
        "unseen_recall": metrics.unseen_recall,
        "attacks": [asdict(one) for one in metrics.attack_recalls],
        "num_events": metrics.num_events,
    }


def session_figures(metrics: SessionMetrics) -> Figures:
    """Figures of decisions about sessions, by name."""
    names = (
        "mean_cost", "mean_events_seen", "mean_attack_events_seen", "detection_rate", "mean_delay",
        "false_alarm_rate", "early_stop_rate", "false_alarms_per_1000", "prevalence",
        "num_sessions",
    )  # fmt: skip
    return {name: getattr(metrics, name) for name in names}


def assess(
    decider: Fitted, data: DataSet, config: DetectConfig, *, with_intervals: bool = False
) -> Figures:
    """All figures of a team or a baseline on the test part.

    Args:
        decider: what is judged.
        data: the events; thresholds are fixed on the validation part.
        config: costs, and the seed of the bootstrap.
        with_intervals: add 95 % intervals of the main figure over resampled sessions.
    """
    scores, actions = decider.scores(data.test), decider.actions(data.test)
    figures = {**_task_figures(decider, scores, actions, data, config)}
    if with_intervals:
        figures["interval"] = asdict(_interval(actions, data, config))
    return {name: _plain(value) for name, value in figures.items()}


def _task_figures(
    decider: Fitted,
    scores: NDArray[np.float64],
    actions: NDArray[np.int64],
    data: DataSet,
    config: DetectConfig,
) -> Figures:
    test, seen = data.test, np.unique(data.train.attacks[data.train.is_threat])
    if data.task == "records":
        threshold = best_f1_threshold(decider.scores(data.validation), data.validation.is_threat)
        metrics = record_metrics(
            test, scores, actions, table=config.costs.table(), f1_threshold=threshold, seen=seen
        )
        return record_figures(metrics)
    figures = session_figures(session_metrics(test, actions, config.session_costs))
    curve = delay_curve(scores, session_context(test.is_threat, test.starts))
    point = curve.at_false_alarms()
    figures["pr_auc_event"] = pr_auc(scores, test.is_threat)
    figures["prevalence_event"] = test.prevalence
    figures["delay_at_1_percent_false_alarms"] = point.mean_delay
    figures["detection_at_1_percent_false_alarms"] = point.detection_rate
    attacks = detection_by_attack(test, actions, seen)
    figures["unseen_detection"] = unseen_recall(attacks)
    figures["attacks"] = [asdict(one) for one in attacks]
    figures["delay_curve"] = {
        "false_alarm_rate": curve.false_alarm_rates.tolist(),
        "detection_rate": curve.detection_rates.tolist(),
        "mean_delay": curve.mean_delays.tolist(),
    }
    return figures


def main_figure(task: str) -> str:
    """The figure that teams are compared by."""
    return "f1" if task == "records" else "mean_cost"


def vote_figures(
    actions: NDArray[np.int64], events: Events, task: str, config: DetectConfig
) -> dict[str, float]:
    """What is said about every vote: the main figure, then threats found and false alarms."""
    if task == "records":
        counts = count_decisions(actions != ALLOW, events.is_threat)
        names = ("f1", "recall", "alarms_per_1000_benign")
        return {name: getattr(counts, name) for name in names}
    metrics = session_metrics(events, actions, config.session_costs)
    names = ("mean_cost", "detection_rate", "false_alarm_rate")
    return {name: getattr(metrics, name) for name in names}


def _interval(actions: NDArray[np.int64], data: DataSet, config: DetectConfig) -> Interval:
    test = data.test
    statistic: Callable[[NDArray[np.int64]], float]
    if data.task == "records":
        flagged = actions != ALLOW

        def statistic(sessions: NDArray[np.int64]) -> float:
            return count_decisions(flagged[sessions], test.is_threat[sessions]).f1
    else:
        costs = session_metrics(test, actions, config.session_costs).costs

        def statistic(sessions: NDArray[np.int64]) -> float:
            return float(costs[sessions].mean())

    return session_interval(statistic, test.num_sessions, config.seed)


@dataclass(frozen=True)
class Spread:
    """A figure over the choices of who lies."""

    mean: float
    worst: float


@dataclass(frozen=True)
class LiarFigures:
    """What a number of liars of one kind does to the team."""

    kind: str
    num_liars: int
    figures: dict[str, Spread]  # the main figure first, the share of events without a quorum last

    @property
    def mean(self) -> float:
        """Mean of the main figure."""
        return next(iter(self.figures.values())).mean

    @property
    def worst(self) -> float:
        """The main figure with the worst choice of who lies."""
        return next(iter(self.figures.values())).worst


def assess_liars(team: Team, data: DataSet, config: DetectConfig) -> list[LiarFigures]:
    """All that is said about a vote for each kind of liar and 0 to n liars."""
    test, agents = data.test, config.team.agents
    probs = team.probabilities(test)
    honest = cast_votes(probs)
    trials = [
        (kind, liars)
        for kind, count in itertools.product(LIARS, range(agents + 1))
        for liars in itertools.islice(itertools.combinations(range(agents), count), MAX_SUBSETS)
    ]
    ballots = (_ballots(kind, honest, liars, config.seed) for kind, liars in trials)
    outcomes, _ = team.decide(ballots, probs, test)
    found: dict[tuple[str, int], list[dict[str, float]]] = {}
    for (kind, liars), outcome in zip(trials, outcomes, strict=True):
        figures = vote_figures(outcome.actions, test, data.task, config)
        figures["no_quorum"] = outcome.num_fallbacks / test.num_events
        found.setdefault((kind, len(liars)), []).append(figures)
    return [
        LiarFigures(kind, count, {name: _spread(name, rows) for name in rows[0]})
        for (kind, count), rows in found.items()
    ]


def _ballots(
    kind: str, honest: NDArray[np.int8], liars: Sequence[int], seed: int
) -> NDArray[np.int8]:  # (num_events, agents)
    child = child_seed(seed, "detect", "liars", kind, *liars)
    rng = np.random.Generator(np.random.Philox(child))
    return lie(kind, honest, liars, rng, num_choices=NUM_ACTIONS)


def _spread(name: str, rows: Sequence[dict[str, float]]) -> Spread:
    values, worst = [row[name] for row in rows], max if name in LOWER_IS_BETTER else min
    return Spread(float(np.mean(values)), worst(values))


def assess_rules(
    actions: NDArray[np.int64], scores: NDArray[np.float64], data: DataSet, config: DetectConfig
) -> Figures:
    """Violation rates and margins of every rule on the test part."""
    book = RuleBook(config.rules.rules(data.task))
    game = game_of(data.test, data, config)
    suspicion = np.clip(scores, 0, 1)[:, None]
    judgement = book.judge(as_streams(game, data.task, actions[:, None], suspicion))
    # A price here would be the initial one, not the one that was learned.
    return {
        name: {key: value for key, value in metrics.items() if key != "price"}
        for name, metrics in judgement.metrics.items()
    }


def assess_foresight(team: Team, data: DataSet, config: DetectConfig) -> Figures:
    """How well the constraint heads foresee each rule's margin; see `explained`."""
    book = RuleBook(config.rules.rules(data.task))
    if not book.rules:
        return {}
    test, game = data.test, game_of(data.test, data, config)
    lesson = make_lesson(team.probabilities(test), team.actions(test), game, data.task, book)
    found = explained(team.foresee(test, lesson), lesson.margins)
    return dict(zip([rule.name for rule in book.rules], found, strict=True))


def game_of(events: Events, data: DataSet, config: DetectConfig) -> Game:
    """What actions earn at some of the events of a data set."""
    return make_game(events, data.task, config.costs.table(), config.session_costs)


def mean_reward(
    actions: NDArray[np.int64], events: Events, data: DataSet, config: DetectConfig
) -> float:
    """Mean reward a session, or a record, of decisions."""
    played = play(game_of(events, data, config), actions)
    return float(played.rewards.sum() / events.num_sessions)


def _plain(value: Any) -> Any:
    """Numbers that files can hold: one that is not finite becomes None."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
