"""`standing-orders search`: which of the 120 orders is best."""

from pathlib import Path
from typing import Annotated, Literal

import tyro
from pydantic import Field

from standing_orders.cli.command import Reporting, WithPreset, resumable, tell
from standing_orders.config import SearchConfig


class Search(WithPreset, Reporting, SearchConfig):
    """Find the best of the 120 repair orders, and the policy that follows it.

    Chooses an order by a Gaussian process and UCB, trains a policy until it passes the compliance
    gate (or its limit is reached), measures it on fresh episodes, and so on until the budget is
    used. The run folder holds journal.jsonl, gp_sampling_log.csv, leaderboard.csv,
    training_log.csv, TensorBoard files, a policy for each order visited, and the best one.
    """

    KIND = "search"
    EXAMPLES = (
        "search --run runs/search",
        "search --preset search-contested --red meander --seed 1 --run runs/late",
        "search --resume --run runs/search",
    )
    BASIC = (
        "preset", "red", "head_start", "budget", "order_episodes", "seed", "run_folder", "base_run",
        "resume", "engine", "parallel", "json_output", "out",
    )  # fmt: skip

    run_folder: Annotated[Path | None, tyro.conf.arg(name="run")] = Field(
        None, description="Run folder; runs/search-RED-SEED if left out."
    )
    base_run: Path | None = Field(
        None,
        description="Training run whose policy every order starts from, instead of training one; "
        "its episodes are not counted.",
    )
    resume: bool = Field(
        False, description="Go on with the search in --run; its own config holds, flags do not."
    )
    engine: Literal["local", "ray"] = Field(
        "local", description="Where orders are trained: in this process, or on a Ray cluster."
    )
    address: str | None = Field(
        None,
        description="Ray cluster to use, such as 127.0.0.1:6379; one on this machine if left out.",
    )

    def run(self) -> int:
        """Run the command."""
        from standing_orders.api.searching import resume_search, search
        from standing_orders.cli.report import leave_report
        from standing_orders.cli.search_view import watch_search

        folder = self.run_folder or Path("runs") / f"search-{self.red}-{self.seed}"
        with resumable("search", folder), watch_search(folder) as watch:
            if self.resume:
                result = resume_search(
                    folder, engine=self.engine, address=self.address, watch=watch, report=tell
                )
            else:
                result = search(
                    self.part(SearchConfig),
                    folder,
                    base=self.base_run,
                    engine=self.engine,
                    address=self.address,
                    watch=watch,
                    report=tell,
                )
        self.report(result)
        leave_report(folder)
        return 0
