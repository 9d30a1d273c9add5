"""`standing-orders search`: which of the 120 orders is best."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from standing_orders.cli.command import Reporting, Resumable, WithPreset, resumable, tell
from standing_orders.config import SearchConfig
from standing_orders.runs.folder import RunFolder, check_unused


class Search(Resumable, WithPreset, Reporting, SearchConfig):
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
        "resume", "engine", "parallel", "max_orders", "json_output", "out",
    )  # fmt: skip

    WITH_RESUME = ("--budget", "--max-orders", "--engine", "--address")

    base_run: Path | None = Field(
        None,
        description="Training run whose policy every order starts from, instead of training one; "
        "its episodes are not counted.",
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
        folder = self.run_folder or Path("runs") / f"search-{self.red}-{self.seed}"
        self._look(folder)
        about = f"red {self.red}, budget {self.budget:,} episodes, seed {self.seed}"
        tell(f"{folder}: {'going on' if self.resume else about}")
        from standing_orders.api.searching import resume_search, search
        from standing_orders.cli.report import leave_report
        from standing_orders.cli.search_view import watch_search

        with resumable("search", folder), watch_search(folder) as watch:
            if self.resume:
                result = resume_search(
                    folder,
                    budget=self.budget if self.was_given("--budget") else None,
                    max_orders=self.max_orders,
                    engine=self.engine,
                    address=self.address,
                    watch=watch,
                    report=tell,
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

    def _look(self, folder: Path) -> None:
        """Refuse what can be refused before torch is imported."""
        from standing_orders.search.budget import for_orders

        if self.resume:
            RunFolder.open(folder, kind=self.KIND)
            return
        check_unused(folder)
        for_orders(self.part(SearchConfig), is_base_given=self.base_run is not None)
        if self.base_run is not None and self.start == "base":
            RunFolder.open(self.base_run, kind="train")
