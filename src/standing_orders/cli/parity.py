"""`standing-orders parity`: how far the simulator is from recorded CybORG episodes."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import tyro
from pydantic import Field

from standing_orders.cli.command import Reporting, Seed
from standing_orders.config import RuleSet, SimConfig, SimulatorConfig
from standing_orders.errors import ConfigError
from standing_orders.tables import Column, Table

if TYPE_CHECKING:
    from standing_orders.cage2.parity import ParityReport

_COLUMNS = (
    Column("field", is_text=True),
    Column("compared"),
    Column("differences"),
    Column("first difference", is_text=True),
)


class Parity(Reporting, SimulatorConfig):
    """Replay recorded CybORG episodes and count differences, field by field.

    Exit code 0 only if there is none. With --record new episodes of your CybORG are recorded
    first, with every random draw, and then replayed.
    """

    EXAMPLES = (
        "parity recordings/",
        "parity old.npz --rules leaderboard-2022",
        "parity --record new.npz --sim cyborg --episodes 50",
    )

    paths: tyro.conf.Positional[tuple[Path, ...]] = Field(
        (), description="Recordings (*.npz), or folders of them."
    )
    rules: RuleSet = Field("head", description="Rule set that the recordings were made with.")
    record: Path | None = Field(
        None, description="File (*.npz) to record new episodes of --sim cyborg into."
    )
    policy: str = Field("useful-random", description="record: defender, as in evaluate.")
    red: Literal["b_line", "meander", "sleep"] = Field("b_line", description="record: red agent.")
    episodes: int = Field(20, ge=1, strict=True, description="record: episodes.")
    seed: Seed = Field(0, description="record: seed of the first episode.")

    def run(self) -> int:
        """Run the command."""
        from standing_orders.cage2.traces import find_recordings

        if not self.paths and self.record is None:
            raise ConfigError("paths: give recordings, or --record FILE --sim cyborg")
        paths = find_recordings(list(self.paths))
        from standing_orders.cage2.parity import compare_file

        if self.record is not None:
            paths.append(self._record(self.record))
        found = ParityReports(tuple(compare_file(path, self.rules) for path in paths))
        self.report(found)
        return 0 if found.differences == 0 else 1

    def _record(self, path: Path) -> Path:
        from standing_orders.cage2.cyborg import CyborgSource
        from standing_orders.cage2.cyborg.record import record_episodes
        from standing_orders.cage2.traces import write_recording
        from standing_orders.cli.tables import show_progress
        from standing_orders.evaluate.both import make_policy

        if self.sim != "cyborg":
            raise ConfigError("record: give --sim cyborg: only CybORG is recorded")
        policy = make_policy(self.policy, None, False, self.cyborg_path)
        with show_progress("episodes", self.episodes) as advance:
            columns = record_episodes(
                policy,
                SimConfig(red=self.red, rules=self.rules),
                source=CyborgSource(self.cyborg_path, self.scenario, self.red_agent),
                num_episodes=self.episodes,
                seed=self.seed,
                advance=advance,
            )
        write_recording(path, columns)
        return path


@dataclass(frozen=True)
class ParityReports:
    """What came of all recordings."""

    reports: "tuple[ParityReport, ...]"

    @property
    def differences(self) -> int:
        """Differences in all fields of all recordings."""
        return sum(report.differences for report in self.reports)

    def tables(self) -> list[Table]:
        """Per recording and field: steps compared and differences."""
        tables = [_table(report) for report in self.reports]
        steps = sum(report.num_episodes * report.num_steps for report in self.reports)
        total = f"{self.differences} differences in {steps} steps of {len(self.reports)} files"
        return [*tables[:-1], replace(tables[-1], notes=(*tables[-1].notes, total))]

    def to_json(self) -> list[dict[str, Any]]:
        """Plain data."""
        return [report.to_json() for report in self.reports]


def _table(report: "ParityReport") -> Table:
    return Table(
        f"{report.path}: {report.num_episodes} episodes x {report.num_steps} steps, "
        f"rules {report.rules}, red {report.red}",
        _COLUMNS,
        tuple(
            (name, count.compared, count.differences, count.first)
            for name, count in report.fields.items()
        ),
        notes=tuple(
            f"process-id re-use (a draw of the recording, followed): {place}\n"
            for place in report.process_id_reuse
        ),
    )
