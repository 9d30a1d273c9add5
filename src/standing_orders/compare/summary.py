"""What a comparison found: one row for each contestant, from its records alone."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from standing_orders.compare.aggregate import (
    Estimate,
    Scores,
    estimate,
    iqm,
    mean,
    probability_of_improvement,
    profile,
)
from standing_orders.rules.compliance import OrderCompliance
from standing_orders.stats import NORMAL_95

Record = dict[str, Any]
_NUM_THRESHOLDS = 61
FIGURES = ("compliance", "strict", "contested", "response", "aim")


@dataclass(frozen=True)
class Row:
    """One contestant over all its runs."""

    name: str
    num_runs: int  # of each task
    returns: dict[str, Estimate]  # mean return by red agent, with a 95 % interval
    mean: Estimate  # of normalised scores: 0 is a defender that sleeps, 1 one that loses nothing
    iqm: Estimate
    improvement: Estimate | None  # chance to beat the first contestant; None for the first
    profile: tuple[float, ...]  # share of normalised scores above each of the thresholds
    figures: dict[str, float | None]  # the five compliance figures, pooled
    judged_by: str
    training_episodes: int  # of all runs
    seconds: float  # of all runs, training and measuring


@dataclass(frozen=True)
class Summary:
    """All contestants, and those that failed."""

    rows: tuple[Row, ...]
    thresholds: tuple[float, ...]  # of the profiles, from the lowest score to the highest
    failed: dict[str, str]  # name -> why

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "thresholds": list(self.thresholds),
            "contestants": [asdict(row) for row in self.rows],
            "failed": self.failed,
        }


def summarise(records: Sequence[Record], *, seed: int = 0) -> Summary:
    """Put the runs of each contestant together.

    Args:
        records: of a comparison's journal.
        seed: of the bootstrap.
    """
    zero = {r["red"]: r["return"] for r in records if r["event"] == "reference"}
    failed = _failed(records)
    results: dict[str, list[Record]] = {}
    for record in records:
        if record["event"] == "result" and record["contestant"] not in failed:
            results.setdefault(record["contestant"], []).append(record)
    scores = {name: _scores(own, zero) for name, own in results.items()}
    first = next(iter(scores.values()), None)
    whole = np.concatenate([np.zeros(1), *(table.ravel() for table in scores.values())])
    low = whole[1:].min() if len(whole) > 1 else 0.0
    thresholds = np.linspace(low, whole.max(), _NUM_THRESHOLDS).round(4).tolist()
    rows = []
    for name, own in results.items():
        is_first = scores[name] is first
        rows.append(
            Row(
                name=name,
                num_runs=len(scores[name]),
                returns=_returns(own),
                mean=estimate(mean, scores[name], seed=seed),
                iqm=estimate(iqm, scores[name], seed=seed),
                improvement=None
                if is_first or first is None
                else estimate(probability_of_improvement, scores[name], first, seed=seed),
                profile=tuple(profile(scores[name], thresholds)),
                figures=_pooled(own),
                judged_by=own[0]["judged_by"],
                training_episodes=sum(record["training_episodes"] for record in own),
                seconds=sum(record["seconds"] for record in own),
            )
        )
    return Summary(tuple(rows), tuple(thresholds), failed)


def _failed(records: Sequence[Record]) -> dict[str, str]:
    """Why contestants failed, by name: those with a run that was never measured."""
    last = {(r["contestant"], r["red"], r["run"]): r for r in records if "run" in r}
    return {r["contestant"]: r["error"] for r in last.values() if r["event"] == "failed"}


def _scores(own: Sequence[Record], zero: dict[str, float]) -> Scores:
    """Normalised scores, (num_runs, num_tasks); runs that are not complete are left out."""
    tasks = list(zero)
    runs = sorted({record["run"] for record in own})
    found = {(record["run"], record["red"]): record["return"] for record in own}
    complete = [run for run in runs if all((run, red) in found for red in tasks)]
    table = [[1 - found[run, red] / min(zero[red], -1e-9) for red in tasks] for run in complete]
    return np.array(table, dtype=np.float64).reshape(-1, len(tasks))


def _returns(own: Sequence[Record]) -> dict[str, Estimate]:
    """Mean over runs; its error is the spread between runs, or within the only one."""
    found = {}
    for red in dict.fromkeys(record["red"] for record in own):
        values = [record["return"] for record in own if record["red"] == red]
        centre = float(np.mean(values))
        if len(values) > 1:
            error = float(np.std(values, ddof=1)) / len(values) ** 0.5
        else:
            error = next(record["std_error"] for record in own if record["red"] == red)
        found[red] = Estimate(centre, centre - NORMAL_95 * error, centre + NORMAL_95 * error)
    return found


def _pooled(own: Sequence[Record]) -> dict[str, float | None]:
    kept = sum(
        (OrderCompliance.from_json(record["compliance"]) for record in own), OrderCompliance()
    )
    figures = kept.to_json()
    return {name: figures[name] for name in FIGURES}
