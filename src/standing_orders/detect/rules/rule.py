"""One rule that the team is held to: what it asks, and what happens when it is broken.

A rule is asked at every event of a trace, so an `always` in front may be left out: margins and
violations belong to the event at which the obligation arose. It is broken there if its margin is
below 0; the border counts as kept, for `<` as for `<=`. Of a rule `a -> b` only the events with
`a` are obligations; else the violation rate of a rule about rare threats could never be high. A
rule that looks h events ahead gets its verdict h events later, or at the end of the trace if that
comes first.
"""

import difflib
from dataclasses import dataclass
from functools import cached_property

from standing_orders.detect.config import MAX_REACH, Mode
from standing_orders.detect.data.events import Task
from standing_orders.detect.rules.signals import SIGNALS
from standing_orders.detect.rules.streams import Scope
from standing_orders.errors import ConfigError
from standing_orders.rules.stl import Formula, history, horizon, parse, syntax
from standing_orders.rules.stl import signals as names_of
from standing_orders.rules.stl.obligation import at_every_step
from standing_orders.rules.stl.parser import point_at


@dataclass(frozen=True)
class Rule:
    """A rule that has been read and checked; `config.RulesConfig` checks its numbers.

    Raises:
        ConfigError: the formula is wrong, names a signal there is not, looks ahead without bound
            or too far, has nothing to do with decisions, or the mode does not suit it.

    Example:
        >>> rule = Rule("answered", "always (threat -> eventually[0,5] flagged)")
        >>> str(rule.body), rule.delay
        ('threat -> eventually[0,5] flagged', 5)
    """

    name: str  # what logs and tables call it
    formula: str  # what must hold at every event
    mode: Mode = "watch"
    scope: Scope = "session"
    window: int = 200
    price: float = 1.0
    target: float = 0.95
    price_rate: float = 1.0
    max_price: float = 100.0

    def __post_init__(self) -> None:
        try:
            names = names_of(self.body)
        except ConfigError as err:
            raise ConfigError(f"rule `{self.name}`: {err}") from err
        for name in sorted(names - SIGNALS.keys(), key=self._position):
            raise ConfigError(self._unknown(name))
        self._check_reach()
        if not any(SIGNALS[name].is_decision for name in names):
            raise ConfigError(f"rule `{self.name}`: `{self.formula}`: names no signal that "
                              "depends on the team's decisions, so it cannot be kept or broken by "
                              "them")  # fmt: skip
        if self.mode == "shield":
            self._check_observable(names)
        if self.mode == "lagrange" and self.price > self.max_price:
            raise ConfigError(f"rule `{self.name}`: price = {self.price}: must be at most "
                              f"max_price = {self.max_price}")  # fmt: skip

    @cached_property
    def body(self) -> Formula:
        """What is asked at every event."""
        return at_every_step(parse(self.formula))

    @cached_property
    def names(self) -> frozenset[str]:
        """The signals it looks at."""
        return names_of(self.body)

    @cached_property
    def delay(self) -> int:
        """Events from an obligation to its verdict."""
        return int(horizon(self.body))

    @property
    def memory(self) -> float:
        """Events before one that a verdict given with it can depend on; inf if without bound."""
        return self.delay + history(self.body) + self.window

    def _check_reach(self) -> None:
        ahead, behind = horizon(self.body), history(self.body)
        if ahead == float("inf"):
            raise ConfigError(f"rule `{self.name}`: `{self.body}`: looks ahead without bound, so "
                              "no verdict would ever come; write eventually[0,5], not eventually"
                              )  # fmt: skip
        for reach in (ahead, behind):
            if MAX_REACH < reach < float("inf"):
                raise ConfigError(f"rule `{self.name}`: reaches {reach} events: must be at most "
                                  f"{MAX_REACH}")  # fmt: skip

    def _check_observable(self, names: frozenset[str]) -> None:
        hidden = sorted(name for name in names if not SIGNALS[name].is_observable)
        if hidden:
            usable = ", ".join(name for name, info in SIGNALS.items() if info.is_observable)
            raise ConfigError(
                f"rule `{self.name}`: cannot be a shield: it needs `{'`, `'.join(hidden)}`, and "
                "which events are threats is not known when the decision is made; use watch, fine "
                f"or lagrange, or only these signals: {usable}"
            )

    def _position(self, name: str) -> int:
        found = (match for match in syntax.NAME.finditer(self.formula) if match[0] == name)
        return next(match.start() for match in found)

    def _unknown(self, name: str) -> str:
        """That there is no such signal, the place with a caret, and the signals there are."""
        close = difflib.get_close_matches(name, SIGNALS, n=1)
        hint = f" (did you mean `{close[0]}`?)" if close else ""
        problem = f"no signal is called `{name}`{hint}"
        shown = point_at(self.formula, self._position(name), problem)
        return f"rule `{self.name}`: {shown}\nsignals: {', '.join(SIGNALS)}"


def default_rules(
    task: Task = "sessions", *, mode: Mode = "watch", window: int = 200
) -> tuple[Rule, ...]:
    """Threats answered in time, detection and false-alarm rates, blocks rationed, no flapping.

    An answer to one record says nothing about the next, so each must be answered at once; a stream
    of records changes its decision twice for each lone threat, while a session should settle. Fewer
    than ten threats, or benign events, cannot tell 0.95 from 0.85. A rule about the truth cannot be
    a shield, so those stay watched. The window is that of rates and shares.

    Example:
        >>> for rule in default_rules():
        ...     print(rule.name, "|", rule.formula)
        answered | always (threat -> eventually[0,5] flagged)
        detection | always (num_threats > 9 -> detection_rate >= 0.95)
        false_alarms | always (num_benign > 9 -> false_alarm_rate <= 0.05)
        blocking | always (blocked_share <= 0.2)
        steadiness | always (num_changes <= 4)
    """
    within, changes = (0, 10) if task == "records" else (5, 4)  # events; changes in 20 events
    about_truth: Mode = "watch" if mode == "shield" else mode
    rows: tuple[tuple[str, str, Mode, Scope, int], ...] = (
        ("answered", f"threat -> eventually[0,{within}] flagged", about_truth, "session", 200),
        ("detection", "num_threats > 9 -> detection_rate >= 0.95", about_truth, "stream", window),
        ("false_alarms", "num_benign > 9 -> false_alarm_rate <= 0.05", about_truth, "stream",
         window),
        ("blocking", "blocked_share <= 0.2", mode, "stream", window),
        ("steadiness", f"num_changes <= {changes}", mode, "session", 20),
    )  # fmt: skip
    return tuple(
        Rule(name=name, formula=f"always ({formula})", mode=mode, scope=scope, window=window)
        for name, formula, mode, scope, window in rows
    )
