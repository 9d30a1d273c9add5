"""`standing-orders bench`: speed on this machine."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import tyro
from pydantic import Field

from standing_orders.cli.command import Reporting, tell
from standing_orders.tables import Column, Table

if TYPE_CHECKING:
    from standing_orders.evaluate.bench import Speed, TrainingSpeed

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


class Bench(Reporting):
    """Speed on this machine; CybORG and MiniCAGE beside ours if they can be imported."""

    EXAMPLES = ("bench sim", "bench sim --seconds 5 --out speed.csv", "bench train")

    what: tyro.conf.Positional[Literal["sim", "train"]] = Field(
        description="sim: the simulator. train: the learner, end to end."
    )
    seconds: float = Field(1.0, gt=0, description="sim: seconds for each measurement.")
    episodes: int = Field(10_000, ge=1, strict=True, description="train: episodes played.")

    def run(self) -> int:
        """Run the command."""
        from standing_orders.evaluate.bench import (
            bytes_per_environment,
            measure_all,
            measure_training,
        )

        if self.what == "sim":
            speeds = tuple(_telling(measure_all(self.seconds)))
            self.report(SimSpeeds(speeds, bytes_per_environment()))
        else:
            reds: tuple[Literal["b_line", "meander"], ...] = ("b_line", "meander")
            self.report(TrainingSpeeds(tuple(measure_training(red, self.episodes) for red in reds)))
        return 0


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
        title = "one order from scratch, 77 inputs, 6 epochs, 100 episodes an update, one thread"
        return [Table(title, _TRAINING_COLUMNS, rows)]

    def to_json(self) -> list[dict[str, Any]]:
        """Plain data."""
        return [speed.to_json() for speed in self.speeds]
