"""In how many fresh episodes a policy breaks temporal rules."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.policy import Policy
from standing_orders.cage2.reward import TENTHS_PER_POINT
from standing_orders.config import SimConfig
from standing_orders.evaluate.measure import play
from standing_orders.rules.temporal import Judged, TemporalRule
from standing_orders.seeding import child_seed, environment_seeds
from standing_orders.stats import standard_error
from standing_orders.tables import Column, Table

_COLUMNS = (
    Column("rule", is_text=True),
    Column("formula", is_text=True, drop=2),
    Column("broken in", ".1%"),
    Column("low 95 %", ".1%"),
    Column("high 95 %", ".1%"),
    Column("lowest margin", ".1f", drop=1),
)


@dataclass(frozen=True)
class Satisfaction:
    """What rules say about the episodes of a policy against one red agent."""

    red: str
    rules: tuple[TemporalRule, ...]
    judged: dict[str, Judged]  # by rule
    num_episodes: int
    mean_return: float
    std_error: float | None

    def tables(self) -> list[Table]:
        """A row for each rule."""
        rows = []
        for rule in self.rules:
            found = self.judged[rule.name]
            lowest = float(np.clip(found.lowest.min(), -1e6, 1e6))
            ratio = found.broken
            rows.append((rule.name, rule.formula, ratio.value, ratio.low, ratio.high, lowest))
        title = (
            f"rules, against {self.red}, n = {self.num_episodes}; return {self.mean_return:.2f} ± "
            f"{self.std_error or 0:.2f}"
        )
        return [Table(title, _COLUMNS, tuple(rows))]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "red": self.red,
            "episodes": self.num_episodes,
            "return": self.mean_return,
            "std_error": self.std_error,
            "rules": {
                rule.name: {
                    "formula": rule.formula,
                    "broken": self.judged[rule.name].broken.value,
                    "interval95": [
                        self.judged[rule.name].broken.low,
                        self.judged[rule.name].broken.high,
                    ],
                }
                for rule in self.rules
            },
        }


def measure_rules(
    policy: Policy,
    config: SimConfig,
    rules: Sequence[TemporalRule],
    *,
    num_episodes: int,
    seed: int,
    advance: Callable[[int], None] = lambda _: None,
) -> Satisfaction:
    """Judge fresh episodes of a policy by temporal rules.

    Args:
        policy: the defender, told what it is told.
        config: the game.
        rules: by which it is judged.
        num_episodes: fresh ones.
        seed: root seed.
        advance: called with the number of episodes just finished.
    """
    played = play(
        policy,
        partial(Cage2Batch, config=config),
        environment_seeds(child_seed(seed, "rules", config.red), num_episodes),
        is_watched=True,
        advance=advance,
    )
    assert played.trace is not None
    returns = played.returns[:, -1] / TENTHS_PER_POINT
    return Satisfaction(
        config.red,
        tuple(rules),
        {rule.name: rule.judge(played.trace) for rule in rules},
        num_episodes,
        float(returns.mean()),
        standard_error(returns),
    )
