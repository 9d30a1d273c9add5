"""Does a defender keep its order? Verdicts, counted in compiled code, and the figures from them.

A *fix* is a Remove or a Restore. It is judged by the true state before blue acts: *neutral* if red
holds no type, *compliant* if the host is of the highest-ranked held type, else a *violation*.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.actions import HOST_OF_ACTION, KIND_OF_ACTION, REMOVE, RESTORE
from standing_orders.cage2.info import held_types
from standing_orders.cage2.scenario import NUM_UNIT_TYPES, UNIT_TYPE_OF_HOST
from standing_orders.cage2.state import Environment
from standing_orders.compiled import count_bits, jit
from standing_orders.rules.orders import ORDERS

NO_FIX, NEUTRAL, COMPLIANT, VIOLATION = range(4)
VERDICTS = ("no fix", "neutral", "compliant", "violation")

_ORDERS = np.array(ORDERS)
_USER_BIT = 1 << (NUM_UNIT_TYPES - 1)
# Columns of a tally; 1 to 3 are the verdicts, _CONTESTED and the next: compliant and violation.
_FIXES, _CONTESTED, _HELD_STEPS, _ANSWERED, _AIMED = 0, 4, 6, 7, 8
NUM_TALLIES = 9
_IS_FIX = (KIND_OF_ACTION == REMOVE) | (KIND_OF_ACTION == RESTORE)


@dataclass(frozen=True)
class OrderCompliance:
    """What happened in some episodes; counts of different episodes add up."""

    episodes: int = 0
    fixless_episodes: int = 0  # without a single fix
    idle_episodes: int = 0  # without a single fix although a type was held
    fixes: int = 0
    neutral: int = 0
    compliant: int = 0
    violations: int = 0
    contested_compliant: int = 0  # two or more types held
    contested_violations: int = 0
    held_steps: int = 0  # steps with a held type
    answered_steps: int = 0  # of these, steps in which blue fixes
    aimed: int = 0  # non-neutral fixes of a host that really holds a red session

    def __add__(self, other: "OrderCompliance") -> "OrderCompliance":
        return OrderCompliance(
            *(getattr(self, f.name) + getattr(other, f.name) for f in fields(self))
        )

    @property
    def judged(self) -> int:
        """Fixes that could have been a violation."""
        return self.compliant + self.violations

    @property
    def contested(self) -> int:
        """Judged fixes made while two or more types were held."""
        return self.contested_compliant + self.contested_violations

    @property
    def compliance(self) -> float | None:
        """(compliant + neutral) / fixes; None without a fix."""
        return _share(self.compliant + self.neutral, self.fixes)

    @property
    def strict_compliance(self) -> float | None:
        """Compliant / (compliant + violations): what the gate looks at."""
        return _share(self.compliant, self.judged)

    @property
    def contested_compliance(self) -> float | None:
        """Strict compliance while two or more types are held: the only one orders differ in."""
        return _share(self.contested_compliant, self.contested)

    @property
    def response_rate(self) -> float | None:
        """Share of the steps with a held type in which blue fixes."""
        return _share(self.answered_steps, self.held_steps)

    @property
    def aim(self) -> float | None:
        """Share of non-neutral fixes that hit a host with a red session."""
        return _share(self.aimed, self.judged)

    def to_json(self) -> dict[str, int | float | None]:
        """The five figures and the share of episodes without a fix, then every count."""
        figures = {
            "compliance": self.compliance,
            "strict": self.strict_compliance,
            "contested": self.contested_compliance,
            "response": self.response_rate,
            "aim": self.aim,
            "fixless_share": _share(self.fixless_episodes, self.episodes),
        }
        return figures | {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "OrderCompliance":
        """Read the counts back, of which the figures are made."""
        return cls(**{f.name: data[f.name] for f in fields(cls)})


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


@jit
def top_held(held: int, order: int) -> int:
    """Highest-ranked type of a mask of held types; -1 if it is empty."""
    for unit_type in _ORDERS[order]:
        if held >> unit_type & 1:
            return unit_type
    return -1


@jit
def held_mask(env: Environment, count_foothold: bool) -> int:
    """Mask of held types; with `count_foothold` User0 makes `user` always held."""
    return held_types(env) | (_USER_BIT if count_foothold else 0)


@jit
def judge(top: int, action: int) -> int:
    """Verdict on one action, given the highest-ranked type held before it (-1 none)."""
    if not _IS_FIX[action]:
        return NO_FIX
    if top < 0:
        return NEUTRAL
    return COMPLIANT if UNIT_TYPE_OF_HOST[HOST_OF_ACTION[action]] == top else VIOLATION


@jit
def look_all(
    states: NDArray[np.void],  # (num_envs,), before the step
    orders: NDArray[np.int64],  # (num_envs,)
    count_foothold: bool,
    top: NDArray[np.int8],  # (num_envs,), written: highest-ranked held type, -1 none
    num_held: NDArray[np.int8],  # (num_envs,), written: number of held types
    held_hosts: NDArray[np.int16],  # (num_envs,), written: mask of held hosts
) -> None:
    """See what red holds in each environment."""
    for i in range(len(states)):
        mask = held_mask(states[i], count_foothold)
        top[i] = top_held(mask, orders[i])
        num_held[i] = count_bits(mask)
        held_hosts[i] = states[i].held


@jit
def judge_all(
    actions: NDArray[np.int64],  # (num_envs,)
    top: NDArray[np.int8],  # (num_envs,), and the next two: see `look_all`
    num_held: NDArray[np.int8],
    held_hosts: NDArray[np.int16],
    verdicts: NDArray[np.int8],  # (num_envs,), written
    tallies: NDArray[np.int64],  # (num_envs, NUM_TALLIES), added to
) -> None:
    """Judge the action that each environment is about to play."""
    for i in range(len(actions)):
        verdict = judge(top[i], actions[i])
        verdicts[i] = verdict
        tally = tallies[i]
        if num_held[i]:
            tally[_HELD_STEPS] += 1
        if verdict == NO_FIX:
            continue
        tally[_FIXES] += 1
        tally[verdict] += 1
        if num_held[i]:
            tally[_ANSWERED] += 1
            tally[_AIMED] += held_hosts[i] >> HOST_OF_ACTION[actions[i]] & 1
        if num_held[i] >= 2:
            tally[_CONTESTED + verdict - COMPLIANT] += 1


def count_episodes(tallies: NDArray[np.int64]) -> OrderCompliance:  # (num_envs, NUM_TALLIES)
    """Pool the tallies of finished episodes, one row each."""
    fixes, held_steps = tallies[:, _FIXES], tallies[:, _HELD_STEPS]
    total = [int(value) for value in tallies.sum(axis=0)]
    return OrderCompliance(
        episodes=len(tallies),
        fixless_episodes=int((fixes == 0).sum()),
        idle_episodes=int(((fixes == 0) & (held_steps > 0)).sum()),
        fixes=total[_FIXES],
        neutral=total[NEUTRAL],
        compliant=total[COMPLIANT],
        violations=total[VIOLATION],
        contested_compliant=total[_CONTESTED],
        contested_violations=total[_CONTESTED + 1],
        held_steps=total[_HELD_STEPS],
        answered_steps=total[_ANSWERED],
        aimed=total[_AIMED],
    )


def compliance_spread(tallies: NDArray[np.int64]) -> float | None:  # (num_envs, NUM_TALLIES)
    """Standard deviation of strict compliance between episodes; None with fewer than two judged.

    Episodes without a judged fix have no compliance and are left out.
    """
    compliant, judged = ratio_of_tallies(tallies, is_contested=False)
    has_any = judged > 0
    if has_any.sum() < 2:
        return None
    return float((compliant[has_any] / judged[has_any]).std(ddof=1))


def count_with_late(
    tallies: NDArray[np.int64],  # (num_episodes, NUM_TALLIES)
    late: NDArray[np.int64] | None,  # (num_late, NUM_TALLIES)
) -> OrderCompliance:
    """Pool tallies; of the episodes that started late only contested fixes count."""
    kept = count_episodes(tallies)
    if late is None:
        return kept
    more = count_episodes(late)
    return replace(
        kept,
        contested_compliant=kept.contested_compliant + more.contested_compliant,
        contested_violations=kept.contested_violations + more.contested_violations,
    )


def ratio_of_tallies(
    tallies: NDArray[np.int64],  # (num_envs, NUM_TALLIES)
    *,
    is_contested: bool,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:  # each (num_envs,)
    """Compliant fixes and judged fixes of each episode, all or only the contested ones."""
    first = _CONTESTED if is_contested else COMPLIANT
    return tallies[:, first], tallies[:, first] + tallies[:, first + 1]
