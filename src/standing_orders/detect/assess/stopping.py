"""Baselines for sessions: a statistic of what was seen so far, and the first event it is too high.

| baseline | statistic |
|---|---|
| event boosting | P(threat) from the latest event alone |
| history boosting | P(attack has begun) from latest, mean and highest features, and their count |
| sequential test | Page's CUSUM of the log-odds of one of these two |
| fixed prefix | that of history boosting from exactly k events: 0 before, unchanged after them |
| logistic regression | that of history boosting, by a linear model |

All are tuned alike: the threshold, the action at it (alert, block or quarantine) and whatever else
a rule may choose are those with the lowest mean cost on the validation part, by the same prices
that judge everybody (`session_costs.stop_rewards`).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.actions import ALERT, ALLOW, BLOCK, QUARANTINE
from standing_orders.detect.assess.classifiers import (
    Fit,
    Probability,
    boosted_probability,
    fit_constant,
    logistic_probability,
)
from standing_orders.detect.data.events import Events, Sessions
from standing_orders.detect.session_costs import SessionCosts, session_context, stop_rewards
from standing_orders.errors import ConfigError

RESPONSES = (BLOCK, QUARANTINE, ALERT)
NUM_THRESHOLDS = 100  # tried on the highest statistic of each session, and as many on all events
DRIFT_QUANTILES = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98)  # of the log-odds on validation
LOG_ODDS_FLOOR = 1e-6  # probabilities are kept this far from 0 and 1
PREFIX_GROWTH = 1.5  # of the prefixes tried
SESSION_ROUNDS = 100  # trees at most


class Statistic(Protocol):
    """A number for each event that may depend on its session so far, and on nothing later."""

    def __call__(self, events: Events) -> NDArray[np.float64]:  # (num_events,)
        """Compute it."""


@dataclass(frozen=True)
class StoppingRule:
    """Takes one action at the first event of a session whose statistic reaches a threshold."""

    statistic: Statistic
    threshold: float  # infinity: never
    action: int
    validation_cost: float  # mean cost a session on the part it was tuned on

    def scores(self, events: Events) -> NDArray[np.float64]:  # (num_events,)
        """The statistic."""
        return self.statistic(events)

    def actions(self, events: Events) -> NDArray[np.int64]:  # (num_events,)
        """The action at the first crossing of each session, allow everywhere else."""
        crossings = first_crossings(self.scores(events), events.starts, self.threshold)
        actions = np.full(events.num_events, ALLOW)
        actions[crossings[crossings < events.num_events]] = self.action
        return actions


def first_crossings(
    statistic: NDArray[np.float64],  # (num_events,)
    starts: NDArray[np.int64],  # (num_sessions + 1,)
    threshold: float,
) -> NDArray[np.int64]:  # (num_sessions,)
    """First event of each session at which the statistic reaches the threshold.

    Returns:
        Its index in the whole array, or the number of all events if there is none.
    """
    num_events = len(statistic)
    events = np.where(statistic >= threshold, np.arange(num_events), num_events)
    first: NDArray[np.int64] = np.minimum.reduceat(events, starts[:-1])
    return first


def tune(
    statistic: Statistic,
    validation: Events,
    costs: SessionCosts,
    values: NDArray[np.float64] | None = None,  # (num_events,)
) -> StoppingRule:
    """Choose threshold and action for the lowest mean cost on validation.

    Of thresholds that cost the same the highest is taken, the one that acts least.

    Args:
        statistic: what the rule watches.
        validation: the part to tune on.
        costs: what decisions cost.
        values: the statistic of `validation`, if it is known already.
    """
    starts = validation.starts
    values = statistic(validation) if values is None else values
    table = stop_rewards(costs, session_context(validation.is_threat, starts))
    never = table[starts[:-1], ALLOW]
    best = StoppingRule(statistic, float("inf"), BLOCK, -float(never.mean()))
    for threshold in _candidates(values, starts):
        crossings = first_crossings(values, starts, threshold)
        is_stopped = crossings < len(values)
        for action in RESPONSES:
            totals = never.copy()
            totals[is_stopped] = table[crossings[is_stopped], action]
            cost = -float(totals.mean())
            if cost < best.validation_cost:
                best = StoppingRule(statistic, float(threshold), action, cost)
    return best


def _candidates(
    values: NDArray[np.float64], starts: NDArray[np.int64]
) -> NDArray[np.float64]:  # (n,), highest first
    shares = np.linspace(0, 1, NUM_THRESHOLDS)
    highest = np.maximum.reduceat(values, starts[:-1])
    levels = [np.quantile(part, shares, method="higher") for part in (highest, values)]
    return np.unique(np.concatenate(levels))[::-1]


@dataclass(frozen=True)
class EventProbability:
    """P(threat) of each event by itself."""

    probability: Probability

    def __call__(self, events: Events) -> NDArray[np.float64]:  # (num_events,)
        """Compute it."""
        return self.probability(events.features)


@dataclass(frozen=True)
class HistoryProbability:
    """P(an attack has begun) by all that the session has shown up to each event."""

    probability: Probability

    def __call__(self, events: Events) -> NDArray[np.float64]:  # (num_events,)
        """Compute it."""
        return self.probability(events.with_history())


@dataclass(frozen=True)
class Cusum:
    """Page's test: S_t = max(0, S_{t-1} + log-odds(p_t) - drift), a sequential test that restarts.

    It adds up small evidence, and forgets the quiet time before an onset.
    """

    probability: Statistic
    drift: float

    def __call__(self, events: Events) -> NDArray[np.float64]:  # (num_events,)
        """Compute it."""
        return cusum(log_odds(self.probability(events)) - self.drift, events.starts)


@dataclass(frozen=True)
class PrefixProbability:
    """P(an attack has begun) after exactly `num_events` events; 0 before, and unchanged after.

    A shorter session is never judged, for nobody can know that its latest event is its last. With
    `is_told_end` it is judged there all the same.
    """

    probability: Probability
    num_events: int
    is_told_end: bool = False

    def __call__(self, events: Events) -> NDArray[np.float64]:  # (num_events,)
        """Compute it."""
        rows = prefix_events(events, self.num_events, is_told_end=self.is_told_end)
        jumps = np.zeros(events.num_events)
        if len(rows):
            jumps[rows] = self.probability(events.with_history()[rows])
        return events.sessions.running(np.add, jumps)


def log_odds(probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """log(p / (1 - p)), with p kept away from 0 and 1."""
    kept = np.clip(probability, LOG_ODDS_FLOOR, 1 - LOG_ODDS_FLOOR)
    return np.log(kept) - np.log1p(-kept)


def cusum(
    increments: NDArray[np.float64],  # (num_events,)
    starts: NDArray[np.int64],  # (num_sessions + 1,)
) -> NDArray[np.float64]:  # (num_events,)
    """max(0, previous + increment) along each session, from 0."""
    sums = Sessions(starts).running(np.add, increments)
    lowest = np.minimum(Sessions(starts).running(np.minimum, sums), 0.0)
    return sums - lowest


def prefix_events(
    events: Events, num_events: int, *, is_told_end: bool
) -> NDArray[np.int64]:  # (n,), n = number of sessions that are judged
    """The event at which a rule of this prefix decides, of each session that it judges."""
    rows = events.starts[:-1] + np.minimum(num_events, events.lengths) - 1
    is_judged = (events.lengths >= num_events) | is_told_end
    judged: NDArray[np.int64] = rows[is_judged]
    return judged


_Labelled = tuple[NDArray[np.float32], NDArray[np.bool_]]  # (n, features) and (n,)


def _so_far(events: Events) -> _Labelled:
    """What each session has shown up to each event, and whether its attack has begun."""
    return events.with_history(), session_context(events.is_threat, events.starts).has_begun


@dataclass(frozen=True, eq=False)
class Models:
    """The classifiers behind the rules, each fitted when first asked for."""

    train: Events
    validation: Events
    seed: int

    @cached_property
    def event(self) -> EventProbability:
        """Gradient boosting on single events."""
        parts = (self.train, self.validation)
        return EventProbability(self._boost((part.features, part.is_threat) for part in parts))

    @cached_property
    def history(self) -> HistoryProbability:
        """Gradient boosting on what the session has shown so far."""
        return HistoryProbability(self._boost(map(_so_far, (self.train, self.validation))))

    @cached_property
    def logistic(self) -> HistoryProbability:
        """Logistic regression on what the session has shown so far."""
        return HistoryProbability(logistic_probability(*_so_far(self.train), self.seed))

    def _boost(self, parts: Iterable[_Labelled]) -> Probability:
        fitted_on, judged_on = parts
        return boosted_probability(
            *fitted_on, *judged_on, seed=self.seed, max_rounds=SESSION_ROUNDS
        )


MakeModels = Callable[[Events, Events, int], Models]


def fit_threshold(
    train: Events,
    validation: Events,
    seed: int,
    *,
    model: Literal["event", "history", "logistic"],
    costs: SessionCosts,
    make_models: MakeModels = Models,
) -> StoppingRule:
    """One of the classifiers, at its best threshold."""
    return tune(getattr(make_models(train, validation, seed), model), validation, costs)


fit_history_boosting = partial(fit_threshold, model="history")


def fit_sequential_test(
    train: Events,
    validation: Events,
    seed: int,
    *,
    costs: SessionCosts,
    make_models: MakeModels = Models,
) -> StoppingRule:
    """A CUSUM on the score of either classifier, with the drift that costs least on validation."""
    models, rules = make_models(train, validation, seed), []
    for model in (models.event, models.history):
        evidence = log_odds(model(validation))
        for drift in np.unique(np.quantile(evidence, DRIFT_QUANTILES)):
            values = cusum(evidence - drift, validation.starts)
            rules.append(tune(Cusum(model, float(drift)), validation, costs, values))
    return _cheapest(rules)


def fit_fixed_prefix(
    train: Events,
    validation: Events,
    seed: int,
    *,
    costs: SessionCosts,
    mean_events: float | None = None,
    is_told_end: bool = False,
) -> StoppingRule:
    """Look at exactly k events, then decide.

    Args:
        train: to fit a classifier for each k on.
        validation: to choose k, the threshold and the action on.
        seed: of the classifiers.
        costs: what decisions cost.
        mean_events: take the k whose mean number of events looked at, min(k, length), is nearest
            to this on validation, instead of the k that costs least.
        is_told_end: judge sessions of fewer events too, at their last one: an unfair advantage,
            for no other rule knows which event is the last.

    Returns:
        The rule; one that leaves every session alone or ends it at once if that is cheaper.

    Raises:
        ConfigError: `mean_events` is below 1.
    """
    if mean_events is None:
        prefixes = prefix_grid(validation.lengths)
    else:
        prefixes = (prefix_for(validation.lengths, mean_events),)
    parts = [(part, *_so_far(part)) for part in (train, validation)]
    rules = [tune(_nothing, validation, costs)]
    for prefix in prefixes:
        (features, has_begun), judged = (
            (history[rows], begun[rows])
            for part, history, begun in parts
            for rows in [prefix_events(part, prefix, is_told_end=is_told_end)]
        )
        if has_begun.all() or not has_begun.any():
            continue  # nothing to learn from so few events
        probability = boosted_probability(
            features, has_begun, *judged, seed=seed, max_rounds=SESSION_ROUNDS
        )
        statistic = PrefixProbability(probability, prefix, is_told_end)
        rules.append(tune(statistic, validation, costs))
    return _cheapest(rules)


def _nothing(events: Events) -> NDArray[np.float64]:  # (num_events,)
    return np.zeros(events.num_events)


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


def session_baselines(costs: SessionCosts) -> dict[str, Fit]:
    """The baselines of sessions by name, in the order of tables.

    Those fitted one after the other on the same events share their classifiers.
    """
    shared: dict[str, Any] = {"costs": costs, "make_models": lru_cache(maxsize=1)(Models)}
    return {
        "allow-all": partial(fit_constant, action=ALLOW),
        "block-all": partial(fit_constant, action=BLOCK),
        "logistic regression": partial(fit_threshold, model="logistic", **shared),
        "event boosting": partial(fit_threshold, model="event", **shared),
        "history boosting": partial(fit_threshold, model="history", **shared),
        "sequential test": partial(fit_sequential_test, **shared),
        "fixed prefix": partial(fit_fixed_prefix, costs=costs),
        "fixed prefix, told the end": partial(fit_fixed_prefix, costs=costs, is_told_end=True),
    }


def _cheapest(rules: Iterable[StoppingRule]) -> StoppingRule:
    return min(rules, key=lambda rule: rule.validation_cost)
