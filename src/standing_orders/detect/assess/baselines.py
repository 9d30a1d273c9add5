"""The baselines that anyone would try first, each fitted and judged like the team.

All of them watch a statistic of what was seen so far, and act at the first event of a session at
which it reaches a threshold. A record is a session of one event, and its threshold is the one that
is optimal under the reward table.

| baseline | statistic |
|---|---|
| gradient boosting, event boosting | P(threat) from the latest event alone |
| history boosting | P(attack has begun) from latest, mean and highest features, and their count |
| sequential test | Page's CUSUM of the log-odds of one of these two |
| fixed prefix | that of history boosting from exactly k events: 0 before, unchanged after them |
| logistic regression | the same by a linear model |

Those of sessions are tuned alike: the threshold, the action at it (alert, block or quarantine) and
whatever else a rule may choose are those with the lowest mean cost on the validation part, by the
same prices that judge everybody.
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

from standing_orders.detect.actions import ALERT, ALLOW, BLOCK, QUARANTINE
from standing_orders.detect.config import DetectConfig
from standing_orders.detect.costs import Game, best_flag, optimal_threshold, stop_rewards
from standing_orders.detect.data.events import DataSet, Events, Sessions
from standing_orders.detect.data.labels import check_classes
from standing_orders.detect.team import Decisions
from standing_orders.detect.trees import (
    best_rounds,
    boost,
    one_thread,
    random_state,
)
from standing_orders.detect.views import is_for_trees
from standing_orders.errors import ConfigError

MAX_ROUNDS = {"records": 200, "sessions": 100}  # trees, of which validation keeps the best number
LOGISTIC_ITERATIONS = 300
RESPONSES = (BLOCK, QUARANTINE, ALERT)
NUM_THRESHOLDS = 100  # tried on the highest statistic of each session, and as many on all events
DRIFT_QUANTILES = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98)  # of the log-odds on validation
LOG_ODDS_FLOOR = 1e-6  # probabilities are kept this far from 0 and 1
PREFIX_GROWTH = 1.5  # of the prefixes tried

Values = NDArray[np.float64]  # (num_events,)
Probability = Callable[[NDArray[np.float32]], Values]  # (n, features) -> (n,)
Statistic = Callable[[Events], Values]  # may depend on a session so far, and on nothing later
Labelled = tuple[NDArray[np.float32], NDArray[np.bool_]]  # (n, features) and (n,)


class Decider(Protocol):
    """Whoever judges events: a team, or a baseline that has seen its training data."""

    def judge(self, events: Events) -> Decisions:
        """Say how much of a threat each event is, and what is done about it."""


@dataclass(frozen=True)
class StoppingRule:
    """Takes one action at the first event of a session whose statistic reaches a threshold."""

    statistic: Statistic
    threshold: float  # infinity: never
    action: int
    validation_cost: float = float("nan")  # mean cost a session on the part it was tuned on

    def judge(self, events: Events) -> Decisions:
        """The statistic; the action at its first crossing in each session, allow elsewhere."""
        scores = self.statistic(events)
        crossings = first_crossings(scores, events.sessions, self.threshold)
        actions = np.full(events.num_events, ALLOW)
        actions[crossings[crossings < events.num_events]] = self.action
        return Decisions(scores, actions)


def first_crossings(
    values: Values, sessions: Sessions, threshold: float
) -> NDArray[np.int64]:  # (num_sessions,)
    """First event of each session at which a statistic reaches a threshold.

    Returns:
        Its index in the whole array, or the number of all events if there is none.
    """
    every = np.arange(len(values))
    return sessions.fold(np.minimum, np.where(values >= threshold, every, len(values)))


def tune(statistic: Statistic, values: Values, game: Game) -> StoppingRule:
    """Choose threshold and action for the lowest mean cost.

    Of thresholds that cost the same the highest is taken, the one that acts least.
    """
    sessions, table = game.sessions, stop_rewards(game)
    never = table[sessions.starts[:-1], ALLOW]
    best = StoppingRule(statistic, float("inf"), BLOCK, -float(never.mean()))
    shares = np.linspace(0, 1, NUM_THRESHOLDS)
    highest = sessions.fold(np.maximum, values)
    levels = [np.quantile(part, shares, method="higher") for part in (highest, values)]
    for threshold in np.unique(np.concatenate(levels))[::-1]:
        crossings = first_crossings(values, sessions, threshold)
        is_stopped = crossings < len(values)
        for action in RESPONSES:
            totals = never.copy()
            totals[is_stopped] = table[crossings[is_stopped], action]
            cost = -float(totals.mean())
            if cost < best.validation_cost:
                best = StoppingRule(statistic, float(threshold), action, cost)
    return best


def _of_prefix(
    probability: Probability, num_events: int, is_told_end: bool, events: Events
) -> Values:
    """P(an attack has begun) after exactly `num_events` events; 0 before, and unchanged after.

    A shorter session is never judged, for nobody can know that its latest event is its last, unless
    the rule is told the end.
    """
    rows = prefix_events(events, num_events, is_told_end=is_told_end)
    jumps = np.zeros(events.num_events)
    if len(rows):
        jumps[rows] = probability(events.with_history()[rows])
    return events.sessions.running(np.add, jumps)


def _of_cusum(statistic: Statistic, drift: float, events: Events) -> Values:
    """Page's test on the log-odds of a probability, beyond a drift."""
    return cusum(log_odds(statistic(events)) - drift, events.sessions)


def _constant(value: float, events: Events) -> Values:
    return np.full(events.num_events, value)


def log_odds(probability: Values) -> Values:
    """log(p / (1 - p)), with p kept away from 0 and 1."""
    kept = np.clip(probability, LOG_ODDS_FLOOR, 1 - LOG_ODDS_FLOOR)
    return np.log(kept) - np.log1p(-kept)


def cusum(increments: Values, sessions: Sessions) -> Values:
    """S_t = max(0, S_{t-1} + increment) along each session: a sequential test that restarts.

    It adds up small evidence, and forgets the quiet time before an onset.
    """
    sums = sessions.running(np.add, increments)
    return sums - np.minimum(sessions.running(np.minimum, sums), 0.0)


def prefix_events(
    events: Events, num_events: int, *, is_told_end: bool
) -> NDArray[np.int64]:  # (n,), n = number of sessions that are judged
    """The event at which a rule of this prefix decides, of each session that it judges."""
    lengths = events.sessions.lengths
    rows = events.starts[:-1] + np.minimum(num_events, lengths) - 1
    judged: NDArray[np.int64] = rows[(lengths >= num_events) | is_told_end]
    return judged


@dataclass(frozen=True, eq=False)
class Baselines:
    """The baselines of a data set, by the costs of a config; classifiers are fitted once."""

    data: DataSet
    config: DetectConfig

    @cached_property
    def _fits(self) -> dict[str, Callable[[], StoppingRule]]:
        """How each of them is fitted, in the order of tables."""
        both: dict[str, Callable[[], StoppingRule]] = {
            "allow-all": lambda: StoppingRule(partial(_constant, 0.0), float("inf"), ALLOW),
            "block-all": lambda: StoppingRule(partial(_constant, 1.0), 0.0, BLOCK),
            "logistic regression": lambda: self._rule(self._logistic),
        }
        if self.data.task == "records":
            return both | {"gradient boosting": lambda: self._rule(self._event)}
        return both | {
            "event boosting": lambda: self._rule(self._event),
            "history boosting": lambda: self._rule(self._history),
            "sequential test": self._sequential_test,
            "fixed prefix": self.fixed_prefix,
            "fixed prefix, told the end": lambda: self.fixed_prefix(is_told_end=True),
        }

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(self._fits)

    def fit(self, name: str) -> StoppingRule:
        """Fit one of them.

        Raises:
            DataError: the training part has only one class.
        """
        return self._fits[name]()

    def _rule(self, statistic: Statistic) -> StoppingRule:
        """A classifier at its best threshold: that of the table, or tuned on validation."""
        if self.data.task == "sessions":
            return tune(statistic, statistic(self.data.validation), self._validation)
        rewards = self.config.costs.rewards()
        action = best_flag(rewards)
        return StoppingRule(statistic, optimal_threshold(rewards, action), action)

    def _sequential_test(self) -> StoppingRule:
        """A CUSUM on either classifier, with the drift that costs least on validation."""
        rules, part = [], self.data.validation
        for model in (self._event, self._history):
            evidence = log_odds(model(part))
            for drift in np.unique(np.quantile(evidence, DRIFT_QUANTILES)):
                values = cusum(evidence - drift, part.sessions)
                rules.append(tune(partial(_of_cusum, model, drift), values, self._validation))
        return _cheapest(rules)

    def fixed_prefix(
        self, *, mean_events: float | None = None, is_told_end: bool = False
    ) -> StoppingRule:
        """Look at exactly k events, then decide.

        Args:
            mean_events: take the k whose mean number of events looked at, min(k, length), is
                nearest to this on validation, instead of the k that costs least.
            is_told_end: judge sessions of fewer events too, at their last one: an unfair advantage,
                for no other rule knows which event is the last.

        Returns:
            The rule; one that leaves every session alone or ends it at once if that is cheaper.

        Raises:
            ConfigError: `mean_events` is below 1.
        """
        train, validation = self.data.train, self.data.validation
        prefixes: Sequence[int] = prefix_grid(validation.sessions.lengths)
        if mean_events is not None:
            prefixes = (prefix_for(validation.sessions.lengths, mean_events),)
        nothing = partial(_constant, 0.0)
        rules = [tune(nothing, nothing(validation), self._validation)]
        for prefix in prefixes:
            (features, has_begun), judged = (
                (history[rows], begun[rows])
                for part, (history, begun) in zip((train, validation), self._so_far, strict=True)
                for rows in [prefix_events(part, prefix, is_told_end=is_told_end)]
            )
            if has_begun.all() or not has_begun.any():
                continue  # nothing to learn from so few events
            probability = self._boost((features, has_begun), judged)
            statistic = partial(_of_prefix, probability, prefix, is_told_end)
            rules.append(tune(statistic, statistic(validation), self._validation))
        return _cheapest(rules)

    @cached_property
    def _validation(self) -> Game:
        return self.config.game_of(self.data.validation, self.data.task)

    @cached_property
    def _so_far(self) -> tuple[Labelled, Labelled]:
        """What sessions have shown up to each event, and whether their attack has begun."""
        train = self.config.game_of(self.data.train, self.data.task)
        return (
            (self.data.train.with_history(), train.has_begun),
            (self.data.validation.with_history(), self._validation.has_begun),
        )

    @cached_property
    def _event(self) -> Statistic:
        """P(threat) of each event by itself."""
        parts = (self.data.train, self.data.validation)
        probability = self._boost(*((part.features, part.is_threat) for part in parts))
        return lambda events: probability(events.features)

    @cached_property
    def _history(self) -> Statistic:
        """P(an attack has begun) by all that the session has shown up to each event."""
        probability = self._boost(*self._so_far)
        return lambda events: probability(events.with_history())

    @cached_property
    def _logistic(self) -> Statistic:
        if self.data.task == "records":
            train = (self.data.train.features, self.data.train.is_threat)
            of_event = logistic_probability(*train, self.config.seed)
            return lambda events: of_event(events.features)
        of_history = logistic_probability(*self._so_far[0], self.config.seed)
        return lambda events: of_history(events.with_history())

    def _boost(self, train: Labelled, validation: Labelled) -> Probability:
        """Boosting on features of events, or of sessions so far, but for numbers in pieces."""
        is_kept, size = is_for_trees(self.data.train), train[0].shape[1]
        kept = np.flatnonzero(np.append(np.tile(is_kept, size // len(is_kept)), [True])[:size])
        (features, is_threat), (judged, truth) = train, validation
        probability = boosted_probability(
            features[:, kept], is_threat, judged[:, kept], truth,
            seed=self.config.seed, max_rounds=MAX_ROUNDS[self.data.task],
        )  # fmt: skip
        return lambda features: probability(features[:, kept])


def prefix_grid(lengths: NDArray[np.int64]) -> tuple[int, ...]:
    """Prefixes worth a try: 1, 2, 3, 4, 6, 9 and so on, up to the longest session."""
    longest, grid = int(lengths.max()), [1]
    while grid[-1] < longest:
        grid.append(min(longest, max(grid[-1] + 1, int(grid[-1] * PREFIX_GROWTH))))
    return tuple(grid)


def prefix_for(lengths: NDArray[np.int64], mean_events: float) -> int:
    """The prefix whose mean number of events looked at, min(k, length), is nearest to this."""
    if not mean_events >= 1:
        raise ConfigError(f"mean_events = {mean_events:g}: must be at least 1")
    # mean of min(k, length) = sum over j < k of the share of sessions longer than j
    means = np.cumsum([(lengths > seen).mean() for seen in range(int(lengths.max()))])
    return int(np.argmin(np.abs(means - mean_events))) + 1


def _cheapest(rules: Iterable[StoppingRule]) -> StoppingRule:
    return min(rules, key=lambda rule: rule.validation_cost)


def logistic_probability(
    features: NDArray[np.float32],  # (n, num_features)
    is_threat: NDArray[np.bool_],  # (n,)
    seed: int,
) -> Probability:
    """Fit a logistic regression and return its P(threat)."""
    check_classes(is_threat, "the training part")
    model = LogisticRegression(max_iter=LOGISTIC_ITERATIONS, random_state=random_state(seed))
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
    max_rounds: int,
) -> Probability:
    """Fit gradient boosting and return its P(threat).

    The number of trees is the one with the lowest log loss on validation: a model with too many is
    too sure of itself, and its probabilities then do not fit the optimal threshold.
    """
    model = boost(features, is_threat, rounds=max_rounds, seed=seed)
    if len(validation_is_threat):
        best, _ = best_rounds(model, validation_features, validation_is_threat)
        if best < max_rounds:  # the first trees of the same model
            model = boost(features, is_threat, rounds=best, seed=seed)
    return partial(_predict, model)


def _predict(model: Any, features: NDArray[np.float32]) -> NDArray[np.float64]:
    with one_thread():
        probability: NDArray[np.float64] = model.predict_proba(features)[:, 1].astype(np.float64)
    return probability
