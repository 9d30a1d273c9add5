"""All rules of a team together: judge, charge, learn the prices, keep them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.config import Mode
from standing_orders.detect.rules.multiplier import Multiplier
from standing_orders.detect.rules.rule import Rule, RuleConfig
from standing_orders.detect.rules.soundness import check_can_fail
from standing_orders.detect.rules.streams import Streams
from standing_orders.detect.rules.verdicts import Bench, Verdicts
from standing_orders.detect.rules.worths import action_worths
from standing_orders.errors import CheckpointError, ConfigError

CHARGED: tuple[Mode, ...] = ("fine", "lagrange")


@dataclass(frozen=True, eq=False)
class Judgement:
    """What all rules say about streams."""

    verdicts: Mapping[str, Verdicts]  # by rule
    penalty: NDArray[np.float64]  # (steps, num_streams): to add to the reward, never above 0
    metrics: Mapping[str, dict[str, float | None]]  # by rule: plain figures for the log


class RuleBook:
    """The rules of a team.

    Args:
        rules: with different names.
        check: refuse rules that no stream breaks, or that every stream breaks.

    Raises:
        ConfigError: a rule is wrong (see `Rule`), cannot fail or cannot be kept, or two rules have
            the same name.

    Example:
        >>> book = RuleBook([RuleConfig(name="answered", mode="fine", price=2.0,
        ...                             formula="threat -> eventually[0,1] flagged")])
        >>> threat = np.array([[True], [False], [False]])
        >>> judgement = book.judge(Streams(np.zeros((3, 1), int), threat))
        >>> judgement.penalty[:, 0].tolist()  # certain with the event after the threat
        [0.0, -2.0, 0.0]
        >>> judgement.metrics["answered"]["violation_rate"]
        1.0
    """

    def __init__(self, rules: Sequence[RuleConfig], *, check: bool = True) -> None:
        self.rules = tuple(Rule(config) for config in rules)
        names = [rule.name for rule in self.rules]
        for name in names:
            if names.count(name) > 1:
                raise ConfigError(f"rule `{name}`: there are {names.count(name)} of this name")
        if check:
            for rule in self.rules:
                check_can_fail(rule)
        self._multipliers = {
            rule.name: Multiplier.begin(rule.config)
            for rule in self.rules
            if rule.config.mode == "lagrange"
        }

    def rules_of(self, *modes: Mode) -> tuple[Rule, ...]:
        """The rules with one of these modes."""
        return tuple(rule for rule in self.rules if rule.config.mode in modes)

    def price(self, rule: Rule) -> float:
        """Reward that a violation costs at present; 0 for a rule that is not charged."""
        if rule.name in self._multipliers:
            return self._multipliers[rule.name].price
        return rule.config.price if rule.config.mode in CHARGED else 0.0

    @property
    def memory(self) -> float:
        """Steps that a rollout must be given of the one before it, to be judged as its sequel.

        Put that many (or all, if there are fewer) in front, say so in `Streams.num_before`, and
        use only the steps after them of what `judge` returns. inf if a rule remembers for ever.
        """
        return max((rule.memory for rule in self.rules), default=0)

    def signals(
        self, streams: Streams
    ) -> dict[str, dict[str, NDArray[np.float64]]]:  # each (steps, num_streams)
        """By rule, the signals it looks at as it sees them; for pictures and tests."""
        bench = Bench(streams)
        named = {}
        for rule in self.rules:
            traces, signals = bench.signals(rule)
            named[rule.name] = {name: traces.put(signals[name]) for name in sorted(rule.names)}
        return named

    def judge(self, streams: Streams) -> Judgement:
        """Judge streams by every rule at the present prices.

        Every violation is charged once, at the event that makes it certain, so the penalties of a
        stream sum to -price * violations.

        Raises:
            ConfigError: a rule is about suspicion, and none is given.
        """
        bench = Bench(streams)
        verdicts = {rule.name: bench.judge(rule) for rule in self.rules}
        penalty = np.zeros(streams.shape)
        metrics = {}
        for rule in self.rules:
            found, price = verdicts[rule.name], self.price(rule)
            metrics[rule.name] = found.to_json()
            if rule.config.mode in CHARGED:
                penalty -= price * found.num_certain
                metrics[rule.name]["price"] = price
        return Judgement(verdicts, penalty, metrics)

    def action_worths(
        self,
        streams: Streams,
        probs: NDArray[np.float64],  # (steps, num_streams, NUM_ACTIONS)
    ) -> NDArray[np.float64]:  # (steps, num_streams, NUM_ACTIONS)
        """What more of each action would save at the present prices; see `worths`."""
        worths = np.zeros(probs.shape)
        for rule in self.rules:
            if price := self.price(rule):
                worths += action_worths(rule, price, streams, probs)
        return worths

    def margin_targets(
        self, streams: Streams, *, lookahead: int = 10
    ) -> NDArray[np.float64]:  # (num_rules, steps, num_streams)
        """What a constraint head should predict, rule by rule; see `Bench.margin_targets`."""
        bench = Bench(streams)
        targets = [bench.margin_targets(rule, lookahead=lookahead) for rule in self.rules]
        return np.stack(targets) if targets else np.zeros((0, *streams.shape))

    def learn_prices(self, judgement: Judgement) -> list[dict[str, Any]]:
        """Update the learned prices, once per rollout.

        Returns:
            One plain record per learned price, with what it was paid at and what it becomes.
        """
        records = []
        for name, multiplier in self._multipliers.items():
            violation_rate = judgement.verdicts[name].violation_rate
            after = multiplier.update(violation_rate)
            records.append({
                "rule": name,
                "update": after.num_updates,
                "violation_rate": violation_rate,
                "allowed": 1 - multiplier.config.target,
                "price": multiplier.price,
                "next_price": after.price,
            })  # fmt: skip
            self._multipliers[name] = after
        return records

    def to_json(self) -> dict[str, Any]:
        """Learned prices as plain data, for a checkpoint."""
        return {name: multiplier.to_json() for name, multiplier in self._multipliers.items()}

    def load_json(self, data: Any) -> None:
        """Go on with the prices of a checkpoint.

        Raises:
            CheckpointError: they are not those of these rules. Nothing changes.
        """
        if not isinstance(data, Mapping) or set(data) != set(self._multipliers):
            seen = ", ".join(map(str, data)) if isinstance(data, Mapping) else repr(data)
            wanted = ", ".join(self._multipliers) or "none"
            raise CheckpointError(f"prices of rules: {seen or 'none'}: must be of: {wanted}")
        self._multipliers = {
            name: Multiplier.from_json(old.config, data[name])
            for name, old in self._multipliers.items()
        }
