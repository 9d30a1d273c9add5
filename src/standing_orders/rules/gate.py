"""The gate: do fresh episodes show that an order is followed?

| kind | passes when |
|---|---|
| strict | strict compliance reaches the threshold over at least `min_judged` judged fixes |
| contested | and contested compliance does so too, by the lower end of its 90 % interval, over at \
least `min_contested` contested fixes |

With too few fixes to tell, an order is untested: neither passed nor failed.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from standing_orders.config import GateConfig
from standing_orders.rules.compliance import OrderCompliance, count_with_late, ratio_of_tallies
from standing_orders.stats import NORMAL_90, Ratio, pooled_ratio

Verdict = Literal["passed", "failed", "untested"]


@dataclass(frozen=True)
class GateResult:
    """What the gate says, and why."""

    verdict: Verdict
    reason: str

    @property
    def has_passed(self) -> bool:
        """Whether the order counts as followed."""
        return self.verdict == "passed"

    def to_json(self) -> dict[str, Any]:
        """Plain data for a journal."""
        return {"passed": self.has_passed, "verdict": self.verdict, "reason": self.reason}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "GateResult":
        """Read it back."""
        return cls(data["verdict"], data["reason"])


def judge_gate(
    tallies: NDArray[np.int64],  # (num_episodes, 9)
    gate: GateConfig,
    late: NDArray[np.int64] | None = None,  # (num_late, 9)
) -> GateResult:
    """Judge fresh episodes, never those of a training batch.

    Args:
        tallies: of the episodes, see `compliance.judge_all`.
        gate: what it takes.
        late: of episodes that count for contested compliance alone.
    """
    kept = count_with_late(tallies, late)
    if kept.judged < gate.min_judged:
        return _too_few(kept.judged, "judged", gate.min_judged)
    both = tallies if late is None else np.concatenate([tallies, late])
    contested = pooled_ratio(*ratio_of_tallies(both, is_contested=True), half_width=NORMAL_90)
    for problem in (_strict_problem(kept, gate), _contested_problem(kept, contested, gate)):
        if problem is not None:
            return problem
    return GateResult("passed", f"strict compliance {_percent(kept.strict_compliance)}")


def is_worth_checking(kept: OrderCompliance, gate: GateConfig) -> bool:
    """Whether the episodes of an update give reason to hope that fresh ones will pass."""
    if (kept.strict_compliance or 0.0) < gate.threshold:
        return False
    contested = kept.contested_compliance
    return gate.kind == "strict" or contested is None or contested >= gate.threshold


def _strict_problem(kept: OrderCompliance, gate: GateConfig) -> GateResult | None:
    figures = {
        "strict compliance": (kept.strict_compliance, gate.threshold),
        "contested compliance": (kept.contested_compliance, gate.contested_floor),
        "response rate": (kept.response_rate, gate.response_floor),
    }
    for name, (value, wanted) in figures.items():
        if (value or 0.0) < wanted:
            return GateResult("failed", f"{name} {_percent(value)}: below {_percent(wanted)}")
    return None


def _contested_problem(
    kept: OrderCompliance, contested: Ratio, gate: GateConfig
) -> GateResult | None:
    if gate.kind == "strict":
        return None
    if kept.contested < gate.min_contested:
        return _too_few(kept.contested, "contested", gate.min_contested)
    if contested.low is None or contested.low < gate.threshold:
        return GateResult(
            "failed",
            f"contested compliance {_percent(contested.value)}, at least {_percent(contested.low)} "
            f"by its 90 % interval: below {_percent(gate.threshold)}",
        )
    return None


def _too_few(count: int, kind: str, wanted: int) -> GateResult:
    return GateResult("untested", f"{count} {kind} fixes: fewer than {wanted}")


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{100 * share:.1f} %"
