"""Whether a rule can fail at all, found by trying.

A rule that no stream can break says nothing, whatever its violation rate of 0 looks like; one that
every stream breaks says as little. Both are refused before anything is trained.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.actions import ALLOW, NUM_ACTIONS
from standing_orders.detect.rules.rule import Rule
from standing_orders.detect.rules.streams import Streams
from standing_orders.detect.rules.verdicts import Bench
from standing_orders.errors import ConfigError

_MIN_LENGTH, _MAX_LENGTH = 64, 25_000  # events of a trial stream
_NUM_RANDOM = 24
_SEED = 0x5717  # any: the same rule is always tried with the same streams


@dataclass(frozen=True)
class Trial:
    """What became of a rule in the streams it was tried on."""

    num_streams: int
    num_events: int  # of each stream
    num_broken: int  # streams in which it was broken
    num_kept: int  # streams in which it was not

    @property
    def can_fail(self) -> bool:
        """Some stream broke it."""
        return self.num_broken > 0

    @property
    def can_hold(self) -> bool:
        """Some stream kept it."""
        return self.num_kept > 0


def try_out(rule: Rule) -> Trial:
    """Judge constant, perfect, inverted, alternating, random and slowly changing streams.

    Example:
        >>> from standing_orders.detect.rules.rule import RuleConfig
        >>> trial = try_out(Rule(RuleConfig(name="empty", formula="blocked_share <= 1")))
        >>> trial.can_fail, trial.can_hold
        (False, True)
    """
    is_finite = rule.memory < float("inf")
    reach = int(rule.memory) if is_finite else rule.delay + rule.config.window
    num_events = min(max(2 * reach + 2, _MIN_LENGTH), _MAX_LENGTH)
    streams = _streams(num_events)
    verdicts = Bench(streams).judge(rule)
    num_broken = int(verdicts.is_violated.any(axis=0).sum())
    num_streams = streams.shape[1]
    return Trial(num_streams, num_events, num_broken, num_streams - num_broken)


def check_can_fail(rule: Rule) -> None:
    """Refuse a rule that is never broken, or never kept.

    Raises:
        ConfigError: with what was tried.
    """
    trial = try_out(rule)
    tried = f"{trial.num_streams} streams of {trial.num_events} events tried"
    if not trial.can_fail:
        raise ConfigError(f"rule `{rule.name}`: `{rule.config.formula}`: cannot fail: none of "
                          f"{tried} breaks it, so keeping it would mean nothing")  # fmt: skip
    if not trial.can_hold:
        raise ConfigError(f"rule `{rule.name}`: `{rule.config.formula}`: cannot be kept: each "
                          f"of {tried} breaks it")  # fmt: skip


def _streams(num_events: int) -> Streams:
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
