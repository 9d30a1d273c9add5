"""What comparisons report: tables for people, plain data for programs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from standing_orders.compare.aggregate import Estimate
from standing_orders.compare.published import claimed_beside_measured
from standing_orders.compare.summary import FIGURES, Summary, summarise
from standing_orders.tables import Cell, Column, Table

Record = dict[str, Any]


def _interval(one: Estimate | None) -> tuple[Cell, Cell, Cell]:
    return (None, None, None) if one is None else (one.value, one.low, one.high)


@dataclass(frozen=True)
class ComparisonResult:
    """Defenders side by side."""

    summary: Summary

    @classmethod
    def of(cls, records: Sequence[Record], *, seed: int) -> "ComparisonResult":
        """From the records of a comparison; the seed is that of the bootstrap."""
        return cls(summarise(records, seed=seed))

    def tables(self) -> Sequence[Table]:
        """For people; the first is the main one."""
        return [self._scores(), self._compliance()]

    def _scores(self) -> Table:
        rows = self.summary.rows
        reds = list(dict.fromkeys(red for row in rows for red in row.returns))
        columns = [Column("defender", is_text=True)]
        for red in reds:
            columns += [Column(red, ".2f"), Column(f"{red} low", ".2f", drop=3),
                        Column(f"{red} high", ".2f", drop=3)]  # fmt: skip
        columns += [Column("IQM", ".3f"), Column("low", ".3f"), Column("high", ".3f"),
                    Column("mean", ".3f", drop=2), Column("P(better)", ".2f"),
                    Column("P low", ".2f", drop=2), Column("P high", ".2f", drop=2)]  # fmt: skip
        cells = [
            (
                row.name,
                *(cell for red in reds for cell in _interval(row.returns.get(red))),
                *_interval(row.iqm),
                row.mean.value,
                *_interval(row.improvement),
            )
            for row in rows
        ]
        first = rows[0].name if rows else "-"
        note = (
            "IQM and mean of normalised scores (0: sleeps, 1: loses nothing), n = "
            f"{rows[0].num_runs if rows else 0} runs a task; P(better): chance to beat {first}; "
            "95 % intervals, stratified bootstrap"
        )
        notes = (note, *(f"{name} failed: {why}" for name, why in self.summary.failed.items()))
        return Table("mean return by red agent", tuple(columns), tuple(cells), notes=notes)

    def _compliance(self) -> Table:
        columns = (
            Column("defender", is_text=True),
            Column("judged by", is_text=True, drop=1),
            *(Column(name, ".3f") for name in FIGURES),
            Column("training episodes", ","),
            Column("seconds", ",.1f"),
        )
        rows = tuple(
            (row.name, row.judged_by.replace(">", ","), *(row.figures[name] for name in FIGURES),
             row.training_episodes, row.seconds)
            for row in self.summary.rows
        )  # fmt: skip
        return Table("compliance, pooled; episodes and seconds of all runs", columns, rows)

    def to_json(self) -> Any:
        """For programs."""
        return self.summary.to_json()


@dataclass(frozen=True)
class StrategyResult:
    """Ways to search side by side, or where policies begin."""

    rows: Mapping[Any, list[Record]]  # of ways, by red agent
    starts: Mapping[Any, list[Record]]  # of starts, by red agent

    def tables(self) -> Sequence[Table]:
        """For people; the first is the main one."""
        made = [_plain(f"regret against {red}", rows) for red, rows in self.rows.items()]
        return made + [
            _plain(f"where an order's policy begins, against {red}", rows)
            for red, rows in self.starts.items()
        ]

    def to_json(self) -> Any:
        """For programs."""
        return dict(self.rows) or {"starts": dict(self.starts)}


def _plain(title: str, rows: Sequence[Record]) -> Table:
    """A table of records: text, whole numbers, and numbers with two places."""
    columns = tuple(
        Column(name, "," if isinstance(value, int) else ".2f", is_text=isinstance(value, str))
        for name, value in rows[0].items()
    )
    return Table(title, columns, tuple(tuple(row.values()) for row in rows))


@dataclass(frozen=True)
class PublishedResult:
    """Claims beside what was measured."""

    records: list[Record]

    def tables(self) -> Sequence[Table]:
        """For people; the first is the main one."""
        rows = claimed_beside_measured(self.records)
        if not rows:
            return []
        whole = {"setting", "orders", "budget", "claimed episodes", "median episodes of those"}
        columns = tuple(
            Column(name, "" if name in whole else ".2f", is_text=name == "setting")
            for name in rows[0]
        )
        failed = tuple(
            f"{one['setting']}, {one['order']}: {one['error']}"
            for one in self.records
            if "error" in one
        )
        cells = tuple(tuple(row.values()) for row in rows)
        return [Table("published settings: claimed beside measured", columns, cells, notes=failed)]

    def to_json(self) -> Any:
        """For programs."""
        return {"rows": claimed_beside_measured(self.records), "records": self.records}
