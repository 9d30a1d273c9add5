"""`standing-orders bench`: speed on this machine."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import tyro
from pydantic import Field

from standing_orders.cli.command import Reporting, tell
from standing_orders.config import SimulatorConfig
from standing_orders.tables import Column, Table

if TYPE_CHECKING:
    from standing_orders.detect.bench import Cell as DetectCell
    from standing_orders.evaluate.bench import Speed, TrainingSpeed
    from standing_orders.evaluate.bench_collect import Cell
    from standing_orders.evaluate.claims import Claim

_SPEED_COLUMNS = (
    Column("system", is_text=True),
    Column("red", is_text=True),
    Column("envs"),
    Column("threads"),
    Column("steps/s", ",.0f"),
    Column("us/call", ".1f", drop=1),
)
_TRAINING_COLUMNS = (
    Column("red", is_text=True),
    Column("episodes"),
    Column("episodes/s", ".0f"),
    Column("s playing", ".1f"),
    Column("s learning", ".1f"),
    Column("last return", ".1f", drop=1),
)

_CELL_COLUMNS = (
    Column("simulator", is_text=True),
    Column("collector", is_text=True),
    Column("workers"),
    Column("episodes/s", ".2f"),
    Column("start s", ".1f", drop=3),
    Column("environment", ".0%", drop=2),
    Column("inference", ".0%", drop=2),
    Column("waiting", ".0%", drop=1),
    Column("transport", ".0%", drop=1),
    Column("MB", ".0f", drop=4),
    Column("note", is_text=True, drop=5),
)
_DETECT_COLUMNS = (
    Column("what", is_text=True),
    Column("size", ",d"),
    Column("events/s", ",.0f"),
    Column("p50 ms", ".2f"),
    Column("p99 ms", ".2f"),
    Column("s", ".1f"),
    Column("MB", ".0f"),
    Column("note", is_text=True, drop=1),
)
_CLAIM_COLUMNS = tuple(
    Column(name, is_text=True) for name in ("claim", "claimed", "measured here", "why")
)


class Bench(Reporting, SimulatorConfig):
    """Speed on this machine; CybORG and MiniCAGE beside ours if they can be imported."""

    EXAMPLES = (
        "bench sim",
        "bench sim --seconds 5 --out speed.csv",
        "bench collect",
        "bench detect",
    )

    what: tyro.conf.Positional[Literal["sim", "train", "collect", "detect"]] = Field(
        description="sim: the simulator. train: the learner, end to end. collect: every collector. "
        "detect: the detection team, judging and training."
    )
    seconds: float = Field(
        1.0, gt=0, description="sim, collect, detect: seconds for each measurement."
    )
    workers: tuple[int, ...] = Field(
        (1, 2, 4, 8, 25, 100), description="collect: numbers of workers."
    )
    limit: float = Field(
        120.0,
        gt=0,
        description="collect, detect: seconds after which a measurement is given up.",
    )
    episodes: int = Field(10_000, ge=1, strict=True, description="train: episodes played.")

    rows: tuple[int, ...] = Field(
        (10_000, 100_000, 1_000_000), min_length=1, description="detect: rows of training files."
    )

    def run(self) -> int:
        """Run the command."""
        if self.what == "detect":
            self.report(self._detection())
            return 0
        from standing_orders.evaluate.bench import (
            bytes_per_environment,
            measure_all,
            measure_training,
        )

        if self.what == "collect":
            self.report(self._collectors())
        elif self.what == "sim":
            speeds = tuple(_telling(measure_all(self.seconds)))
            self.report(SimSpeeds(speeds, bytes_per_environment()))
        else:
            reds: tuple[Literal["b_line", "meander"], ...] = ("b_line", "meander")
            self.report(TrainingSpeeds(tuple(measure_training(red, self.episodes) for red in reds)))
        return 0

    def _detection(self) -> "DetectSpeeds":
        from standing_orders.detect.bench import measure_detect

        cells = []
        for cell in measure_detect(seconds=self.seconds, rows=self.rows, limit=self.limit):
            rate = cell.note or (
                f"{cell.seconds:.1f} s" if cell.rate is None else f"{cell.rate:,.0f} events/s"
            )
            tell(f"{cell.what}, {cell.size}: {rate}")
            cells.append(cell)
        return DetectSpeeds(tuple(cells))

    def _collectors(self) -> "CollectorSpeeds":
        from standing_orders.evaluate.bench_collect import games, measure_cells, pipe_seconds
        from standing_orders.evaluate.claims import judge_claims
        from standing_orders.learn.ppo import use_one_thread

        use_one_thread()
        cells = []
        for spec in games(self.part(SimulatorConfig)):
            found = measure_cells(
                spec, workers=self.workers, seconds=self.seconds, limit=self.limit, announce=tell
            )
            for cell in found:
                rate = cell.note if cell.rate is None else f"{cell.rate:.2f} episodes/s"
                tell(f"{cell.title}: {rate}")
                cells.append(cell)
        claims = judge_claims(cells, os.cpu_count() or 1, pipe_seconds())
        return CollectorSpeeds(tuple(cells), tuple(claims))


def _telling(speeds: "Iterable[Speed]") -> "Iterable[Speed]":
    """Measurements take minutes: say each as it comes."""
    for speed in speeds:
        tell(
            f"{speed.system}, {speed.red}, {speed.num_envs}: {speed.steps_per_second:,.0f} steps/s"
        )
        yield speed


@dataclass(frozen=True)
class SimSpeeds:
    """Speeds of simulators."""

    speeds: "tuple[Speed, ...]"
    bytes_per_environment: int

    def tables(self) -> list[Table]:
        """Speeds, then what they are in multiples of the other simulators."""
        rows = tuple(
            (
                speed.system,
                speed.red,
                speed.num_envs,
                speed.num_threads,
                speed.steps_per_second,
                1e6 * speed.num_envs / speed.steps_per_second,
            )
            for speed in self.speeds
        )
        size = f"{self.bytes_per_environment} bytes an environment"
        title = f"{size}; random blue; best of several"
        return [Table(title, _SPEED_COLUMNS, rows, notes=tuple(self._ratios()))]

    def _ratios(self) -> list[str]:
        best: dict[tuple[str, str], float] = {}
        for speed in self.speeds:
            if speed.num_threads == 1:
                key = (speed.system, speed.red)
                best[key] = max(best.get(key, 0.0), speed.steps_per_second)
        return [
            f"one thread, best batch size, {red}: {best['standing-orders', red] / theirs:,.0f} "
            f"times {system}"
            for (system, red), theirs in best.items()
            if system in ("CybORG", "MiniCAGE")
        ]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "bytes_per_environment": self.bytes_per_environment,
            "speeds": [speed.to_json() for speed in self.speeds],
        }


@dataclass(frozen=True)
class TrainingSpeeds:
    """Speeds of the learner."""

    speeds: "tuple[TrainingSpeed, ...]"

    def tables(self) -> list[Table]:
        """Episodes per second of the learner, and where the time goes."""
        rows = tuple(
            (
                speed.red,
                speed.num_episodes,
                speed.episodes_per_second,
                speed.collect_seconds,
                speed.update_seconds,
                speed.last_return,
            )
            for speed in self.speeds
        )
        title = "one order from scratch, defaults but no planned opening, one thread"
        return [Table(title, _TRAINING_COLUMNS, rows)]

    def to_json(self) -> list[dict[str, Any]]:
        """Plain data."""
        return [speed.to_json() for speed in self.speeds]


@dataclass(frozen=True)
class CollectorSpeeds:
    """Speeds of collectors, and what published claims are worth here."""

    cells: "tuple[Cell, ...]"
    claims: "tuple[Claim, ...]"

    def tables(self) -> list[Table]:
        """Episodes per second and where the time goes; then claimed, measured, why."""
        cells = tuple(
            (
                cell.simulator, cell.collector, cell.workers, cell.rate, cell.start_seconds,
                cell.environment, cell.inference, cell.waiting, cell.transport, cell.memory_mb,
                cell.note,
            )
            for cell in self.cells
        )  # fmt: skip
        claims = tuple((one.what, one.claimed, one.measured, one.why) for one in self.claims)
        return [
            Table("collectors; shares of the time of all that play", _CELL_COLUMNS, cells),
            Table("what was claimed", _CLAIM_COLUMNS, claims),
        ]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "cells": [cell.to_json() for cell in self.cells],
            "claims": [claim.to_json() for claim in self.claims],
        }


@dataclass(frozen=True)
class DetectSpeeds:
    """Speeds of the detection team."""

    cells: "tuple[DetectCell, ...]"

    def tables(self) -> list[Table]:
        """Events per second and latency by batch size; then whole files."""
        rows = tuple(tuple(cell.to_json().values()) for cell in self.cells)
        title = (
            "detection, one thread, 36 columns; size: events at once, or rows of a file; a vote in "
            "one process: by its processor time"
        )
        return [Table(title, _DETECT_COLUMNS, rows)]

    def to_json(self) -> list[dict[str, Any]]:
        """Plain data."""
        return [cell.to_json() for cell in self.cells]
