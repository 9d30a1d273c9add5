"""The same policy in two simulators: are its returns and its compliance the same?"""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped]

from standing_orders.cage2.reward import TENTHS_PER_POINT
from standing_orders.config import RedAgent
from standing_orders.evaluate.card import HORIZONS
from standing_orders.evaluate.elsewhere import Sample
from standing_orders.rules.compliance import ratio_of_tallies
from standing_orders.stats import Ratio, pooled_ratio
from standing_orders.tables import Column, Table, to_text

DEFAULT_MARGIN = 0.25
_LEVEL = 0.05  # of each of the two one-sided tests, hence a 90 % interval
_CELL_COLUMNS = (
    Column("red", is_text=True),
    Column("steps"),
    Column("n ours", drop=5),
    Column("n CybORG", drop=5),
    Column("ours", ".2f"),
    Column("CybORG", ".2f"),
    Column("difference", "+.2f"),
    Column("low 90 %", "+.2f", drop=1),
    Column("high 90 %", "+.2f", drop=1),
    Column("z", "+.1f", drop=3),
    Column("margin", ".2f", drop=2),
    Column("TOST p", ".4f", drop=3),
    Column("verdict", is_text=True),
    Column("KS", ".3f", drop=4),
    Column("KS p", ".3f", drop=4),
)
_OBEYING_COLUMNS = (
    Column("red", is_text=True),
    Column("figure", is_text=True),
    Column("ours", ".1%"),
    Column("low 95 %", ".1%", drop=1),
    Column("high 95 %", ".1%", drop=1),
    Column("CybORG", ".1%"),
    Column("CybORG low", ".1%", drop=1),
    Column("CybORG high", ".1%", drop=1),
    Column("difference", "+.1%"),
)


@dataclass(frozen=True)
class Comparison:
    """Returns against one red agent up to one horizon, in both simulators."""

    red: str
    horizon: int
    own_episodes: int
    other_episodes: int
    own_mean: float
    other_mean: float
    difference: float  # other - own
    std_error: float  # of the difference
    low: float  # 90 % interval of the difference
    high: float
    margin: float  # in points
    p_value: float  # of the two one-sided tests together
    ks_distance: float  # Kolmogorov-Smirnov, between the distributions of returns
    ks_p_value: float

    @property
    def z(self) -> float | None:
        """The difference in standard errors; None if neither simulator varies."""
        return self.difference / self.std_error if self.std_error else None

    @property
    def verdict(self) -> str:
        """What the interval says: equivalent if it lies within the margin."""
        if -self.margin <= self.low and self.high <= self.margin:
            return "equivalent"
        if self.low > 0 or self.high < 0:
            return "different"
        return "undecided"

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        return {**asdict(self), "z": self.z, "verdict": self.verdict}


@dataclass(frozen=True)
class Obeying:
    """Compliance against one red agent in both simulators."""

    red: str
    figure: str  # "strict" or "contested"
    own: Ratio
    other: Ratio

    @property
    def difference(self) -> float | None:
        """Other minus own; None if one of them never judged a fix."""
        if self.own.value is None or self.other.value is None:
            return None
        return self.other.value - self.own.value

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        return {**asdict(self), "difference": self.difference}


@dataclass(frozen=True)
class Equivalence:
    """The whole comparison."""

    policy: str
    seed: int
    cells: tuple[Comparison, ...]
    obeying: tuple[Obeying, ...]

    @property
    def is_equivalent(self) -> bool:
        """Whether every cell is."""
        return all(cell.verdict == "equivalent" for cell in self.cells)

    def tables(self) -> list[Table]:
        """One row for each red agent and horizon, then compliance in both simulators."""
        verdicts = [cell.verdict for cell in self.cells]
        cells = Table(
            f"{self.policy}, seed {self.seed}: our simulator and CybORG",
            _CELL_COLUMNS,
            tuple(
                (
                    cell.red, cell.horizon, cell.own_episodes, cell.other_episodes, cell.own_mean,
                    cell.other_mean, cell.difference, cell.low, cell.high, cell.z, cell.margin,
                    cell.p_value, cell.verdict, cell.ks_distance, cell.ks_p_value,
                )
                for cell in self.cells
            ),
            notes=(f"{verdicts.count('equivalent')} of {len(verdicts)} cells equivalent",),
        )  # fmt: skip
        rows = tuple(
            (
                one.red, one.figure, one.own.value, one.own.low, one.own.high, one.other.value,
                one.other.low, one.other.high, one.difference,
            )
            for one in self.obeying
        )  # fmt: skip
        return [cells, *([Table("compliance", _OBEYING_COLUMNS, rows)] if rows else [])]

    def __str__(self) -> str:
        return to_text(self.tables())

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        return {
            "policy": self.policy,
            "seed": self.seed,
            "equivalent": self.is_equivalent,
            "cells": [cell.to_json() for cell in self.cells],
            "compliance": [one.to_json() for one in self.obeying],
        }


def compare_returns(
    red: str,
    horizon: int,
    own: NDArray[np.float64],  # (episodes,)
    other: NDArray[np.float64],  # (episodes,)
    *,
    margin: float = DEFAULT_MARGIN,
) -> Comparison:
    """Two one-sided tests (Schuirmann 1987) and the Kolmogorov-Smirnov distance.

    Args:
        red: who attacked.
        horizon: up to where the returns go.
        own: returns in our simulator.
        other: returns in the other one.
        margin: largest difference of means that counts as none, as a share of the standard
            deviation between episodes (pooled over both).
    """
    difference = float(other.mean() - own.mean())
    parts = [float(sample.var(ddof=1)) / len(sample) for sample in (own, other)]
    spread = math.sqrt((own.var(ddof=1) + other.var(ddof=1)) / 2)
    error = math.sqrt(sum(parts))
    half, p_value = 0.0, 0.0 if difference == 0 else 1.0
    if error > 0:  # Welch: the variances may differ
        freedom = sum(parts) ** 2 / sum(
            part**2 / (len(sample) - 1) for part, sample in zip(parts, (own, other), strict=True)
        )
        half = float(stats.t.ppf(1 - _LEVEL, freedom)) * error
        outside = (margin * spread - abs(difference)) / error
        p_value = float(stats.t.sf(outside, freedom))
    distance = stats.ks_2samp(own, other, method="asymp")
    return Comparison(
        red=red,
        horizon=horizon,
        own_episodes=len(own),
        other_episodes=len(other),
        own_mean=float(own.mean()),
        other_mean=float(other.mean()),
        difference=difference,
        std_error=error,
        low=difference - half,
        high=difference + half,
        margin=margin * spread,
        p_value=p_value,
        ks_distance=float(distance.statistic),
        ks_p_value=float(distance.pvalue),
    )


def compare_samples(
    policy: str,
    samples: dict[RedAgent, tuple[Sample, Sample]],  # own, other
    *,
    seed: int,
    has_orders: bool,
    margin: float = DEFAULT_MARGIN,
) -> Equivalence:
    """Compare all red agents and horizons, and compliance if the policy is told orders."""
    cells, obeying = [], []
    for red, (own, other) in samples.items():
        for column, horizon in enumerate(HORIZONS):
            columns = [one.returns[:, column] / TENTHS_PER_POINT for one in (own, other)]
            cells.append(compare_returns(red, horizon, *columns, margin=margin))
        if not has_orders:
            continue
        for figure in ("strict", "contested"):
            ratios = [
                pooled_ratio(*ratio_of_tallies(one.tallies, is_contested=figure == "contested"))
                for one in (own, other)
            ]
            obeying.append(Obeying(red, figure, *ratios))
    return Equivalence(policy, seed, tuple(cells), tuple(obeying))
