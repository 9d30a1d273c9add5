"""What came of training a defender: figures on fresh episodes, warnings, what to type next."""

import math
import shlex
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from standing_orders.api.policies import TrainedPolicy, load_policy
from standing_orders.api.starting import has_one_order
from standing_orders.api.training import Run
from standing_orders.config import NO_ORDER, TrainConfig
from standing_orders.tables import Cell, Column, Table

if TYPE_CHECKING:
    from standing_orders.evaluate.measure import Measured
    from standing_orders.evaluate.obedience import Obedience
    from standing_orders.evaluate.satisfaction import Satisfaction

NUM_ORDERS_TOLD = 12  # of a policy for any order: every tenth of the 120
LISTENS = 0.2  # order swap: contested compliance told minus told backwards
ENOUGH = 5_000  # training episodes, those of the policy it began with included
_SEED = 7_919  # of the fresh episodes, whatever the run's own
_FIGURES = ("compliance", "strict", "contested", "response", "aim")
_COLUMNS = (
    Column("figure", is_text=True),
    Column("last update", ".2f"),
    Column("fresh episodes", ".2f"),
    Column("std error", ".2f", drop=1),
)


@dataclass(frozen=True)
class Ending:
    """A training run with what its policy is worth on episodes that it was not trained on.

    Args:
        run: that has ended.
        red: who attacked.
        obeyed: of each order told, return and compliance; empty for a policy without orders.
        scored: return and its error of a policy without orders.
        ruled: how its temporal rules are kept; None without any.
    """

    run: Run
    red: str
    obeyed: "list[Obedience]"
    scored: "Measured"
    ruled: "Satisfaction | None" = None

    @cached_property
    def summary(self) -> dict[str, float]:
        """Figures over all orders told; nothing for a policy without orders."""
        from standing_orders.evaluate.obedience import summarise

        return summarise(self.obeyed) if self.obeyed else {}

    @property
    def warnings(self) -> list[str]:
        """What a user must not overlook."""
        found = []
        played = self.run.played + self._start_episodes
        if played < ENOUGH:
            usual = TrainConfig().episodes
            found.append(
                f"barely trained: {played:,} episodes; the defaults take {usual:,}: go on with "
                f"standing-orders train --resume --run {self._folder} --episodes {usual}"
            )
        if not self.obeyed:
            return found
        if self.summary["swap_gap"] < LISTENS:
            found.append(
                "it does not listen: judged by the order told backwards, contested compliance is "
                f"only {100 * self.summary['swap_gap']:.0f} points lower"
            )
        missed = [one for one in self.obeyed if not one.measured.gate.has_passed]
        if missed:
            worst = min(missed, key=lambda one: one.measured.contested.value or 0.0)
            which = "the order told does not pass the gate"
            if len(self.obeyed) > 1:
                which = (
                    f"{len(missed)} of the {len(self.obeyed)} orders told do not pass the gate, "
                    f"such as {worst.order.typed}"
                )
            found.append(f"{which}: {worst.measured.gate.reason}")
        return found

    @property
    def next_commands(self) -> list[str]:
        """What to type next."""
        config = self._config
        told = "" if config.order == NO_ORDER else " --order critical_first"
        if has_one_order(config.order):
            told = ""
        everything = " --order all" if config.order == "any" else ""
        return [
            f"standing-orders play --policy {self._folder}{told}",
            f"standing-orders evaluate --policy {self._folder} --red {self.red}{everything}",
        ]

    def tables(self) -> list[Table]:
        """Training figures beside measured ones, then warnings and what to type next."""
        last = self.run.records[-1] if self.run.records else {}
        before, now = last.get("compliance", {}), self._compliance
        rows: list[tuple[Cell, ...]] = [
            ("return", last.get("reward", {}).get("environment"), self._return, self._error)
        ]
        if self.obeyed:
            rows += [(f"{name}, %", _percent(before.get(name)), _percent(now[name]), None)
                     for name in _FIGURES]  # fmt: skip
        main = Table(self._title, _COLUMNS, tuple(rows), notes=tuple(self._notes()))
        return [main, *([] if self.ruled is None else self.ruled.tables())]

    def to_json(self) -> dict[str, Any]:
        """Plain data: the run's, and `measured`."""
        return self.run.to_json() | {
            "measured": {
                "red": self.red,
                "return": self._return,
                "std_error": self._error,
                "episodes": self._num_episodes,
                **self.summary,
            },
            "rules": None if self.ruled is None else self.ruled.to_json(),
            "warnings": self.warnings,
            "next": self.next_commands,
        }

    def _notes(self) -> list[str]:
        from standing_orders.evaluate.obedience import count_passed

        notes = [f"{self.run.stopped or 'not finished'} after {self.run.played:,} episodes"]
        if self.obeyed:
            count = f"{count_passed(self.summary, 'told ')}; "
            if len(self.obeyed) == 1 and not self.summary["passed"]:
                count = ""  # a warning says so
            notes.append(f"{count}order swap {100 * self.summary['swap_gap']:.0f} points")
        notes += [f"warning: {warning}" for warning in self.warnings]
        return [*notes, "next:", *(f"  {command}" for command in self.next_commands)]

    @property
    def _config(self) -> TrainConfig:
        assert isinstance(self.run.config, TrainConfig)
        return self.run.config

    @property
    def _folder(self) -> str:
        return shlex.quote(str(self.run.path))

    @property
    def _start_episodes(self) -> int:
        from standing_orders.runs.folder import RunFolder

        start = RunFolder.open(self.run.path).config.get("start") or {}
        return int(start.get("episodes", 0))

    @property
    def _title(self) -> str:
        told = f", {len(self.obeyed)} orders told" if len(self.obeyed) > 1 else ""
        late = sum(one.late_episodes for one in self.obeyed)
        return (
            f"{self.run.path}: against {self.red}, n = {self._num_episodes:,} fresh episodes{told}"
            + f" (and {late:,} begun late, for contested fixes)" * bool(late)
        )

    @property
    def _num_episodes(self) -> int:
        return sum(one.measured.kept.episodes for one in self.obeyed) or self.scored.kept.episodes

    @property
    def _return(self) -> float:
        return self.summary.get("mean_return", self.scored.mean_return)

    @property
    def _error(self) -> float | None:
        if not self.obeyed:
            return self.scored.std_error
        errors = [one.measured.std_error or 0.0 for one in self.obeyed]
        return math.hypot(*errors) / len(errors)

    @property
    def _compliance(self) -> dict[str, Any]:
        from standing_orders.rules.compliance import OrderCompliance

        return sum((one.measured.kept for one in self.obeyed), OrderCompliance()).to_json()


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def measure_run(run: Run) -> Ending:
    """Play fresh episodes with what a run has trained.

    Args:
        run: of `train` with a `TrainConfig`.

    Raises:
        CheckpointError: the run folder is damaged.
    """
    from standing_orders.cage2.batch import Cage2Batch
    from standing_orders.evaluate.measure import fresh_seeds, measure
    from standing_orders.evaluate.obedience import measure_obedience
    from standing_orders.evaluate.satisfaction import measure_rules
    from standing_orders.rules.temporal import read_rules

    assert isinstance(run.config, TrainConfig)
    policy = load_policy(run)
    assert isinstance(policy, TrainedPolicy)
    game, gate = policy.home(), run.config.gate
    orders = list(policy.orders)[:: max(len(policy.orders) // NUM_ORDERS_TOLD, 1)]
    obeyed = measure_obedience(
        policy, game, orders, num_episodes=gate.episodes, seed=_SEED, gate=gate
    )
    scored = obeyed[0].measured if obeyed else measure(
        policy, lambda count: Cage2Batch(count, game), fresh_seeds(_SEED, gate.episodes),
        order=0, gate=gate,
    )  # fmt: skip
    rules = read_rules(run.config.rule)
    ruled = None
    if rules:
        ruled = measure_rules(policy, game, rules, num_episodes=gate.episodes, seed=_SEED)
    return Ending(run, game.red, obeyed, scored, ruled)
