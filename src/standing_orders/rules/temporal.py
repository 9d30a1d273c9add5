"""Temporal rules for a defender: what must hold over time in an episode of CAGE-2.

A rule is asked at every step, so an `always` in front may be left out; it is broken where its
margin is below 0, and an obligation whose window the end of the episode cuts is not judged. Of
signals, the state is the true one before blue acts: for training and judging, never an input of a
policy. A rule about blue's own actions alone, that looks back only, is kept by construction
(`masks`); every other one has a price.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.actions import (
    ANALYSE,
    FIRST_DECOY,
    KIND_OF_ACTION,
    LAST_DECOY,
    MONITOR,
    REMOVE,
    RESTORE,
)
from standing_orders.cage2.scenario import HOSTS, UNIT_TYPE_HOSTS, UNIT_TYPES
from standing_orders.errors import ConfigError
from standing_orders.rules.stl import Formula, Monitor, history, horizon, parse, robustness
from standing_orders.rules.stl import signals as names_of
from standing_orders.rules.stl.obligation import at_every_step, judge
from standing_orders.stats import Ratio, pooled_ratio

Floats = NDArray[np.float64]
MAX_REACH = 1_000  # steps that a rule may look ahead or back
# What blue does, by the kind of its action; the place of each is its number in a mask.
GROUPS = ("idle", "analyse", "decoy", "remove", "restore")
IDLE, ANALYSES, DECOYS, REMOVES, RESTORES = range(len(GROUPS))
_COUNTED = {"restores": "restore", "removes": "remove", "fixes": "fix"}
_COUNT = re.compile(rf"({'|'.join(_COUNTED)})_([1-9]\d{{0,3}})")
_NAMED = re.compile(r"\s*([A-Za-z][\w-]{0,39})\s*[=:](?!=)(.*)", flags=re.DOTALL)


def _group_of(kind: int) -> int:
    if kind <= MONITOR:
        return IDLE
    if FIRST_DECOY <= kind <= LAST_DECOY:
        return DECOYS
    return {ANALYSE: ANALYSES, REMOVE: REMOVES, RESTORE: RESTORES}[kind]


GROUP_OF_ACTION = np.array([_group_of(int(kind)) for kind in KIND_OF_ACTION])


@dataclass(frozen=True)
class Trace:
    """What happened in some episodes, as rules see it."""

    held_hosts: NDArray[np.int16]  # (steps, num_episodes): mask of hosts held before the step
    actions: NDArray[np.int64]  # (steps, num_episodes)
    rewards: Floats  # (steps, num_episodes), in points


def join_traces(traces: Sequence[Trace]) -> Trace | None:
    """Episodes side by side; None without any."""
    if not traces:
        return None
    return Trace(
        *(np.concatenate(parts, axis=1) for parts in zip(*map(_arrays, traces), strict=True))
    )


def _arrays(trace: Trace) -> tuple[NDArray[Any], ...]:
    return trace.held_hosts, trace.actions, trace.rewards


def _own_signals(groups: NDArray[np.int64]) -> dict[str, Callable[[], NDArray[np.bool_]]]:
    """Signals of blue's own actions, from their groups."""
    found: dict[str, Callable[[], NDArray[np.bool_]]] = {
        name: partial(np.equal, groups, number) for number, name in enumerate(GROUPS)
    }
    return found | {"fix": lambda: (groups == REMOVES) | (groups == RESTORES)}


OWN = (*GROUPS, "fix")
SIGNALS = (*UNIT_TYPES, *HOSTS, *OWN, "reward")


def own_signals(
    groups: NDArray[np.int64],  # (..., steps): index into `GROUPS`
    names: frozenset[str],
) -> dict[str, Floats]:  # each (..., steps)
    """The signals of blue's own actions that are named, windows cut at the beginning.

    Example:
        >>> own_signals(np.array([4, 0, 4, 4]), frozenset({"restores_2"}))
        {'restores_2': array([1., 1., 1., 2.])}
    """
    plain = _own_signals(groups)
    found = {name: plain[name]().astype(np.float64) for name in names if name in plain}
    for name in names:
        if match := _COUNT.fullmatch(name):
            total = np.cumsum(plain[_COUNTED[match[1]]](), axis=-1, dtype=np.float64)
            found[name] = total.copy()
            found[name][..., int(match[2]) :] -= total[..., : -int(match[2])]
    return found


def signals_of(trace: Trace, names: frozenset[str]) -> dict[str, Floats]:
    """The named signals of some episodes, each (num_episodes, steps)."""
    held = trace.held_hosts.T
    found = own_signals(GROUP_OF_ACTION[trace.actions.T], names)
    for name in names:
        if name in UNIT_TYPES:
            found[name] = (held & UNIT_TYPE_HOSTS[UNIT_TYPES.index(name)] != 0).astype(np.float64)
        elif name in HOSTS:
            found[name] = (held >> HOSTS.index(name) & 1).astype(np.float64)
        elif name == "reward":
            found[name] = np.asarray(trace.rewards.T, dtype=np.float64)
    return found


def _is_own(name: str) -> bool:
    return name in OWN or _COUNT.fullmatch(name) is not None


@dataclass(frozen=True)
class Judged:
    """What a rule says about some episodes."""

    margins: Floats  # (num_episodes, steps)
    is_obliged: NDArray[np.bool_]  # (num_episodes, steps): it asks something here, and is decided
    is_violated: NDArray[np.bool_]  # (num_episodes, steps): what it asks here is broken

    @property
    def is_broken(self) -> NDArray[np.bool_]:  # (num_episodes,)
        """In which episodes the rule is broken at all."""
        return np.asarray(self.is_violated.any(axis=1))

    @property
    def lowest(self) -> Floats:  # (num_episodes,)
        """Smallest margin of each episode, of what is decided; +inf where nothing is."""
        return np.asarray(np.where(self.is_obliged, self.margins, np.inf).min(axis=1))

    @property
    def broken(self) -> Ratio:
        """Share of the episodes in which it is broken, with its 95 % interval."""
        cases = self.is_broken.astype(np.int64)
        return pooled_ratio(cases, np.ones_like(cases))


@dataclass(frozen=True)
class TemporalRule:
    """A named formula over the signals of an episode.

    Args:
        name: what logs and tables call it.
        formula: in signal temporal logic; see `SIGNALS`, and `restores_W`, `removes_W`, `fixes_W`:
            how many in the last W steps, this one included.

    Raises:
        ConfigError: the formula is wrong, names a signal there is not, or reaches too far.

    Example:
        >>> rule = TemporalRule.read("calm = always (restore -> not once[1,1] restore)")
        >>> rule.name, rule.is_own, str(rule.body)
        ('calm', True, 'restore -> not once[1,1] restore')
    """

    name: str
    formula: str

    @classmethod
    def read(cls, text: str, number: int = 1) -> "TemporalRule":
        """A rule as it is typed: `name = formula`, or a formula alone, which gets a number."""
        if match := _NAMED.fullmatch(text):
            return cls(match[1], match[2].strip())
        return cls(f"rule{number}", text.strip())

    def __post_init__(self) -> None:
        try:
            names = names_of(self.body)
        except ConfigError as err:
            raise ConfigError(f"rule `{self.name}`: {err}") from err
        for name in sorted(names):
            if name not in SIGNALS and not _COUNT.fullmatch(name):
                raise ConfigError(
                    f"rule `{self.name}`: no signal is called `{name}`; there are "
                    f"{', '.join(SIGNALS)}, and restores_W, removes_W, fixes_W"
                )
        for reach in (horizon(self.body), history(self.body)):
            if reach > MAX_REACH:
                raise ConfigError(
                    f"rule `{self.name}`: `{self.formula}`: reaches {reach} steps: must be at most "
                    f"{MAX_REACH}; write eventually[0,5], not eventually"
                )

    @cached_property
    def body(self) -> Formula:
        """What is asked at every step."""
        return at_every_step(parse(self.formula))

    @cached_property
    def names(self) -> frozenset[str]:
        """The signals it looks at."""
        return names_of(self.body)

    @property
    def delay(self) -> int:
        """Steps from an obligation to its verdict."""
        return int(horizon(self.body))

    @property
    def is_own(self) -> bool:
        """Whether blue can keep it by itself: it is about its own actions, and looks back only."""
        return self.delay == 0 and all(map(_is_own, self.names))

    @property
    def memory(self) -> int:
        """Earlier steps that decide whether an action breaks it, if it is `is_own`."""
        counted = [int(match[2]) - 1 for name in self.names if (match := _COUNT.fullmatch(name))]
        return int(history(self.body)) + max(counted, default=0)

    def judge(self, trace: Trace) -> Judged:
        """Margins, obligations and violations of some episodes."""
        signals = signals_of(trace, self.names)
        steps, num_episodes = trace.actions.shape
        is_decided = np.tile(np.arange(steps) + self.delay < steps, (num_episodes, 1))

        def margins_of(formula: Formula) -> Floats:
            return robustness(formula, {name: signals[name] for name in names_of(formula)})

        return Judged(*judge(self.body, is_decided, margins_of))


class RuleWatch:
    """Watches one rule while an episode goes on.

    Args:
        rule: that is watched.
    """

    def __init__(self, rule: TemporalRule) -> None:
        self.rule = rule
        self.broken_at: list[int] = []  # steps whose obligation is broken, once that is certain
        self.margin: float | None = None  # at the last step that is decided
        self._monitor = Monitor(rule.body)
        self._seen = Trace(
            np.zeros((0, 1), dtype=np.int16), np.zeros((0, 1), dtype=np.int64), np.zeros((0, 1))
        )

    def see(self, held_hosts: int, action: int, reward: float) -> None:
        """Take in a step: what red held before it, what blue did, and what came of it."""
        now = Trace(
            np.array([[held_hosts]], dtype=np.int16), np.array([[action]]), np.array([[reward]])
        )
        both = zip(_arrays(self._seen), _arrays(now), strict=True)
        self._seen = Trace(*(np.concatenate(parts) for parts in both))
        signals = signals_of(self._seen, self.rule.names)
        margin = self._monitor.update({name: values[0, -1] for name, values in signals.items()})
        if margin is not None:
            self.margin = float(margin[0])
            if self.margin < 0:
                self.broken_at.append(self._monitor.num_steps - self._monitor.delay)

    def __str__(self) -> str:
        if not self.broken_at:
            return f"{self.rule.name}: kept so far"
        times = f"{len(self.broken_at)} time{'s' if len(self.broken_at) > 1 else ''}"
        return f"{self.rule.name}: BROKEN {times}, last at step {self.broken_at[-1]}"


@dataclass(frozen=True)
class PricedRule:
    """How the price of a rule is learned; see `prices.Priced`."""

    name: str
    price: float
    target: float
    price_rate: float
    max_price: float = 100.0


def read_rules(texts: Sequence[str]) -> tuple[TemporalRule, ...]:
    """Rules as they are typed.

    Raises:
        ConfigError: one is wrong, or two have the same name.
    """
    rules = tuple(TemporalRule.read(text, number) for number, text in enumerate(texts, start=1))
    for rule in rules:
        if sum(other.name == rule.name for other in rules) > 1:
            raise ConfigError(f"rule `{rule.name}`: two rules have this name")
    return rules


def rule_costs(
    judged: Mapping[str, Judged], rules: Sequence[TemporalRule], prices: Mapping[str, float]
) -> Floats:  # (steps, num_episodes)
    """What broken rules cost at each step, charged when the verdict falls.

    Every broken obligation costs the price divided by the steps of its window, so that breaking a
    rule for a shorter time costs less.
    """
    total: Floats = np.zeros(())
    for rule in rules:
        is_violated = judged[rule.name].is_violated
        cost = prices[rule.name] * is_violated / (rule.delay + 1)
        total = total + np.roll(cost, rule.delay, axis=1)
    return np.asarray(total.T)
