"""`standing-orders report`: run folders as one HTML file."""

from pathlib import Path
from typing import ClassVar

import tyro
from pydantic import Field

from standing_orders.cli.command import Command, say, tell

EPISODES = 100  # fresh ones for score card and replay


def leave_report(folder: Path) -> None:
    """Write the report of a run that has just ended beside it; what fails is only said."""
    from standing_orders.errors import StandingOrdersError
    from standing_orders.report.build import REPORT_NAME, write_report

    try:
        write_report([folder], folder / REPORT_NAME, num_episodes=EPISODES)
    except StandingOrdersError as err:
        tell(f"no report: {err}")
    else:
        tell(f"report: {folder / REPORT_NAME}")


class Report(Command):
    """Write what came of one or more runs of one kind into one HTML file that loads nothing."""

    EXAMPLES: ClassVar[tuple[str, ...]] = (
        "report runs/search-b_line-0",
        "report runs/one runs/two --out both.html",
        "report runs/one --episodes 0",
    )

    runs: tyro.conf.Positional[tuple[Path, ...]] = Field(
        min_length=1, description="Run folders of train, search, detect or compare."
    )
    out: Path | None = Field(
        None,
        description="Where to write; report.html in the first run's folder if left out.",
    )
    episodes: int = Field(
        EPISODES,
        ge=0,
        strict=True,
        description="Fresh episodes for the score card and the replay, or 0: of `detect`, whether "
        "the test part is judged.",
    )

    def run(self) -> int:
        """Run the command."""
        from standing_orders.report.build import REPORT_NAME, write_report

        out = self.out or self.runs[0] / REPORT_NAME
        size = write_report(self.runs, out, num_episodes=self.episodes, tell=tell)
        say(f"{out} ({size / 1e6:.1f} MB)")
        return 0
