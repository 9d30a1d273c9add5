"""`standing-orders compare`: defenders, the published grid, or ways to search, side by side."""

from pathlib import Path
from typing import Annotated, Any, ClassVar

import tyro
from pydantic import Field

from standing_orders.cli.command import Reporting, flag_of, resumable, tell
from standing_orders.compare.config import CompareConfig
from standing_orders.config import SimConfig, Start
from standing_orders.errors import ConfigError, StandingOrdersError
from standing_orders.runs.folder import RunFolder, is_run


class Compare(Reporting, CompareConfig):
    """Measure defenders on the same attacks with the same budget, into a folder that can go on.

    Scores are normalised: 0 is a defender that sleeps, 1 one that loses nothing. With --published
    the published settings are trained again and stand beside their claims; with --search ways to
    search are tried on orders whose true value is known.
    """

    EXAMPLES: ClassVar[tuple[str, ...]] = (
        "compare",
        "compare --contestants heuristic fast@critical_first runs/one --seeds 5",
        "compare --published --train-episodes 3000",
        "compare --search --head-start 20",
        "compare --search --starts scratch previous base --train-episodes 500 --head-start 20",
    )
    BASIC: ClassVar[tuple[str, ...]] = (
        "contestants", "reds", "seeds", "episodes", "train_episodes", "judged_by", "orders",
        "seed", "run_folder", "published", "search", "starts", "head_start", "json_output", "out",
    )  # fmt: skip

    run_folder: Annotated[Path | None, tyro.conf.arg(name="run")] = Field(
        None,
        description="Run folder; runs/compare-SEED if left out. One that is there goes on.",
    )
    published: bool = Field(
        False, description="Train the published grid again, for six orders, beside its claims."
    )
    search: bool = Field(
        False, description="Compare ways to search instead, on the restore oracle's values."
    )
    starts: tuple[Start, ...] = Field(
        (),
        description="With --search: compare where an order's policy begins instead, by training, "
        "--train-episodes for each of eight orders; the searches are in --run.",
    )

    def run(self) -> int:
        """Run the command."""
        if self.search:
            return self._search()
        if self.published:
            return self._published()
        from standing_orders.cli.report import leave_report
        from standing_orders.compare.run import compare
        from standing_orders.compare.tables import ComparisonResult

        folder = self.run_folder or Path("runs") / f"compare-{self.seed}"
        self._check_folder(folder)
        with resumable("compare", folder, flag=""):
            records = compare(self.part(CompareConfig), folder, report=tell)
        found = ComparisonResult.of(records, seed=self.seed)
        self.report(found)
        leave_report(folder)
        return 0 if found.summary.rows else StandingOrdersError.exit_code

    def _check_folder(self, folder: Path) -> None:
        """Refuse flags that the comparison in a folder, which goes on as it began, would ignore."""
        if not is_run(folder):
            return
        stored, wanted = RunFolder.open(folder).config, self.part(CompareConfig)
        idle = [
            flag_of(name)
            for name, value in wanted.model_dump(mode="json").items()
            if self.was_given(flag_of(name)) and value != stored.get(name, value)
        ]
        if idle:
            raise ConfigError(
                f"{', '.join(idle)}: of no effect: {folder} is there with other settings and goes "
                "on with its own; leave them out, or name another folder with --run"
            )

    def _search(self) -> int:
        from standing_orders.compare.starts import compare_starts
        from standing_orders.compare.tables import StrategyResult
        from standing_orders.compare.trials import compare_strategies

        values = self.model_dump(include={"rules", "observation", "head_start", "red_tempo"})
        games = {red: SimConfig(**values, red=red) for red in self.reds}
        folder = self.run_folder or Path("runs") / f"starts-{self.seed}"
        rows: dict[str, list[dict[str, Any]]] = {}
        starts: dict[str, list[dict[str, Any]]] = {}
        for red, game in games.items():
            if self.starts:
                starts[red] = compare_starts(
                    game, folder, starts=self.starts, order_episodes=self.train_episodes,
                    num_seeds=self.seeds, seed=self.seed, report=tell,
                )  # fmt: skip
            else:
                rows[red] = compare_strategies(
                    game, num_seeds=self.seeds, num_episodes=self.episodes, seed=self.seed,
                    report=tell,
                )  # fmt: skip
        self.report(StrategyResult(rows, starts))
        return 0

    def _published(self) -> int:
        from standing_orders.cli.report import leave_report
        from standing_orders.compare.published import published
        from standing_orders.compare.tables import PublishedResult

        folder = self.run_folder or Path("runs") / f"published-{self.seed}"
        self._check_folder(folder)
        with resumable("compare --published", folder, flag=""):
            records = published(self.part(CompareConfig), folder, report=tell)
        self.report(PublishedResult(records))
        leave_report(folder)
        return 0
