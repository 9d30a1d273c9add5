"""What a contest comes to: is the team better than the best of the baselines?"""

from dataclasses import dataclass
from typing import Any, Literal

from standing_orders.detect.assess.assess import LOWER_IS_BETTER
from standing_orders.detect.assess.contest import TEAM, Contest
from standing_orders.detect.assess.uncertainty import Interval

Outcome = Literal["better", "worse", "no difference", "one seed"]
JUDGED_BY = {"records": ("f1", "cost"), "sessions": ("mean_cost",)}


@dataclass(frozen=True)
class Verdict:
    """The team beside one baseline."""

    figure: str
    baseline: str
    mean: float  # of the baseline
    difference: Interval  # team minus baseline, seed by seed

    @property
    def outcome(self) -> Outcome:
        """What the seeds show about the team."""
        gap = self.difference
        if gap.num == 1:
            return "one seed"
        if gap.low <= 0 <= gap.high:
            return "no difference"
        return "better" if (gap.mean < 0) == (self.figure in LOWER_IS_BETTER) else "worse"


def verdicts(contest: Contest, figure: str) -> list[Verdict]:
    """The team beside each baseline that has this figure, the best baseline first.

    Which one is best is known from the same test parts, so the first verdict rather favours the
    baselines.
    """
    found = []
    for name in contest.baselines:
        mean, gap = contest.interval(name, figure), contest.difference(TEAM, name, figure)
        if mean is not None and gap is not None:
            found.append(Verdict(figure, name, mean.mean, gap))
    return sorted(found, key=lambda one: one.mean, reverse=figure not in LOWER_IS_BETTER)


def contest_json(contest: Contest) -> dict[str, Any]:
    """A contest and what it comes to, as plain data; the interval of one seed is left out."""
    found = [one for figure in JUDGED_BY[contest.task] for one in verdicts(contest, figure)]
    return {
        "task": contest.task,
        "updates": contest.updates,
        "is_trial": contest.is_trial,
        "contestants": contest.figures,
        "rules": contest.rules,
        "verdicts": [
            {
                "figure": one.figure,
                "baseline": one.baseline,
                "difference": one.difference.mean,
                "interval": None
                if one.outcome == "one seed"
                else [one.difference.low, one.difference.high],
                "team": one.outcome,
            }
            for one in found
        ],
    }
