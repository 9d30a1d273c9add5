"""`parity`: recorded CybORG episodes replayed, and new ones recorded."""

import json
from pathlib import Path
from typing import Annotated, Literal

import tyro
from pydantic import Field

from standing_orders.cli.command import Command, Seed
from standing_orders.config import RuleSet, SimConfig, SimulatorConfig
from standing_orders.errors import ConfigError


class Parity(Command, SimulatorConfig):
    """Replay recorded CybORG episodes and count differences, field by field.

    Exit code 0 only if there is none. With --record new episodes of your CybORG are recorded
    first, with every random draw, and then replayed.
    """

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
    json_output: Annotated[bool, tyro.conf.arg(name="json")] = Field(
        False, description="Print JSON instead of tables."
    )

    def run(self) -> int:
        """Run the command."""
        from standing_orders.cage2.parity import compare_file
        from standing_orders.cage2.traces import find_recordings
        from standing_orders.cli.tables import print_parity

        if not self.paths and self.record is None:
            raise ConfigError("paths = (): give recordings, or --record FILE --sim cyborg")
        new = [self._record(self.record)] if self.record is not None else []
        reports = []
        for path in [*find_recordings(list(self.paths)), *new]:
            reports.append(compare_file(path, self.rules))
            if not self.json_output:
                print_parity(reports[-1])
        differences = sum(report.differences for report in reports)
        if self.json_output:
            print(json.dumps([report.to_json() for report in reports], indent=1))
        else:
            steps = sum(report.num_episodes * report.num_steps for report in reports)
            print(f"{differences} differences in {steps} steps of {len(reports)} files")
        return 0 if differences == 0 else 1

    def _record(self, path: Path) -> Path:
        from standing_orders.cage2.cyborg import CyborgSource
        from standing_orders.cage2.cyborg.record import record_episodes
        from standing_orders.cage2.traces import write_recording
        from standing_orders.cli.tables import show_progress
        from standing_orders.evaluate.find import find_policy

        if self.sim != "cyborg":
            raise ConfigError("record: give --sim cyborg: only CybORG is recorded")
        policy = find_policy(self.policy)
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
