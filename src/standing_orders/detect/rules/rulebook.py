"""All rules of a team together: judge, learn the prices, keep them; and refuse empty ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.actions import ALLOW, NUM_ACTIONS
from standing_orders.detect.config import Mode
from standing_orders.detect.rules.judge import RuleJudge, Verdicts, action_worths
from standing_orders.detect.rules.rule import Rule
from standing_orders.detect.rules.streams import Streams
from standing_orders.errors import ConfigError
from standing_orders.rules.prices import Prices

CHARGED: tuple[Mode, ...] = ("fine", "lagrange")
# Trial streams: their lengths in events, how many are random, and any seed.
_MIN_LENGTH, _MAX_LENGTH, _NUM_RANDOM, _SEED = 64, 25_000, 24, 0x5717


@dataclass(frozen=True, eq=False)
class Judgement:
    """What all rules say about streams."""

    verdicts: Mapping[str, Verdicts]  # by rule
    metrics: Mapping[str, dict[str, float | None]]  # by rule: plain figures for the log


class RuleBook:
    """The rules of a team.

    Args:
        rules: with different names.
        check: refuse rules that no stream breaks, or that every stream breaks.

    Raises:
        ConfigError: a rule cannot fail or cannot be kept, or two rules have the same name.

    Example:
        >>> rule = Rule("answered", "threat -> eventually[0,1] flagged", mode="fine", price=2.0)
        >>> book = RuleBook([rule])
        >>> threat = np.array([[True], [False], [False]])
        >>> judgement = book.judge(Streams(np.zeros((3, 1), int), threat))
        >>> judgement.metrics["answered"]["violation_rate"]
        1.0
    """

    def __init__(self, rules: Sequence[Rule], *, check: bool = True) -> None:
        self.rules = tuple(rules)
        names = [rule.name for rule in self.rules]
        for name in names:
            if names.count(name) > 1:
                raise ConfigError(f"rule `{name}`: there are {names.count(name)} of this name")
        if check:
            for rule in self.rules:
                check_can_fail(rule)
        self.prices = Prices([*self.rules_of("lagrange")])  # learned

    def rules_of(self, *modes: Mode) -> tuple[Rule, ...]:
        """The rules with one of these modes."""
        return tuple(rule for rule in self.rules if rule.mode in modes)

    def price(self, rule: Rule) -> float:
        """Reward that a violation costs at present; 0 for a rule that is not charged."""
        if rule.name in self.prices:
            return self.prices[rule.name]
        return rule.price if rule.mode in CHARGED else 0.0

    def judge(self, streams: Streams) -> Judgement:
        """Judge streams by every rule."""
        judge = RuleJudge(streams)
        verdicts = {rule.name: judge.judge(rule) for rule in self.rules}
        metrics = {name: found.to_json() for name, found in verdicts.items()}
        for rule in self.rules_of(*CHARGED):
            metrics[rule.name]["price"] = self.price(rule)
        return Judgement(verdicts, metrics)

    def action_worths(
        self,
        streams: Streams,
        probs: NDArray[np.float64],  # (steps, num_streams, NUM_ACTIONS)
    ) -> NDArray[np.float64]:  # (steps, num_streams, NUM_ACTIONS)
        """What more of each action would save at the present prices; see `judge`."""
        worths = np.zeros(probs.shape)
        for rule in self.rules:
            if price := self.price(rule):
                worths += action_worths(rule, price, streams, probs)
        return worths

    def margin_targets(
        self, streams: Streams
    ) -> NDArray[np.float64]:  # (num_rules, steps, num_streams)
        """What a constraint head should predict, rule by rule; see `RuleJudge.margin_targets`."""
        judge = RuleJudge(streams)
        return np.stack([judge.margin_targets(rule) for rule in self.rules])

    def learn_prices(self, judgement: Judgement) -> list[dict[str, Any]]:
        """Update the learned prices, once per rollout.

        Returns:
            One plain record per learned price, with what it was paid at and what it becomes.
        """
        verdicts = judgement.verdicts.items()
        return self.prices.learn({name: found.violation_rate for name, found in verdicts})


def try_out(rule: Rule) -> tuple[int, int, int]:
    """Judge constant, perfect, inverted, alternating, random and slowly changing streams.

    Returns:
        Streams in which the rule was broken, streams in all, and events of each.

    Example:
        >>> try_out(Rule("empty", "blocked_share <= 1"))[0]
        0
    """
    reach = rule.memory if rule.memory < float("inf") else rule.delay + rule.window
    streams = _trial_streams(min(max(2 * int(reach) + 2, _MIN_LENGTH), _MAX_LENGTH))
    is_violated = RuleJudge(streams).judge(rule).is_violated
    return int(is_violated.any(axis=0).sum()), streams.shape[1], streams.shape[0]


def check_can_fail(rule: Rule) -> None:
    """Refuse a rule that is never broken, or never kept: it would say nothing.

    Raises:
        ConfigError: with what was tried.
    """
    num_broken, num_streams, num_events = try_out(rule)
    tried = f"{num_streams} streams of {num_events} events tried"
    if not num_broken:
        raise ConfigError(f"rule `{rule.name}`: `{rule.formula}`: cannot fail: none of "
                          f"{tried} breaks it, so keeping it would mean nothing")  # fmt: skip
    if num_broken == num_streams:
        raise ConfigError(f"rule `{rule.name}`: `{rule.formula}`: cannot be kept: each "
                          f"of {tried} breaks it")  # fmt: skip


def _trial_streams(num_events: int) -> Streams:
    """Trial streams, one a column."""
    rng = np.random.Generator(np.random.Philox(_SEED))
    actions: list[NDArray[np.int64]] = []
    threats: list[NDArray[np.bool_]] = []
    suspicions: list[NDArray[np.float64]] = []

    def add(action: NDArray[np.int64], threat: NDArray[np.bool_], doubt: bool = False) -> None:
        actions.append(action)
        threats.append(threat)
        suspicions.append(rng.random(num_events) if doubt else threat.astype(np.float64))

    steps = np.arange(num_events)
    sometimes = rng.random(num_events) < 0.1
    for threat in (steps < 0, steps >= 0, sometimes):
        for action in range(NUM_ACTIONS):
            add(np.full(num_events, action), threat)
            add(np.where(threat, action, ALLOW), threat)
            add(np.where(threat, ALLOW, action), threat)
            add(np.where(steps % 2 == 0, action, ALLOW), threat)
    for index in range(_NUM_RANDOM):
        threat = rng.random(num_events) < rng.random()
        mix = rng.dirichlet(np.full(NUM_ACTIONS, 0.3))
        decided = rng.choice(NUM_ACTIONS, size=num_events, p=mix)
        if index % 2:  # every other stream keeps a decision for a while
            decided = decided[np.cumsum(rng.random(num_events) < rng.random()) - 1]
        add(decided, threat, doubt=True)
    return Streams(
        np.stack(actions, axis=1),
        np.stack(threats, axis=1),
        suspicion=np.stack(suspicions, axis=1),
        is_over=False,  # a rule that fails only where a window is cut says nothing either
    )
