"""`standing-orders train`: a defender that follows an order."""

from pathlib import Path

from pydantic import Field

from standing_orders.cli.command import Reporting, Resumable, WithPreset, resumable, tell
from standing_orders.config import ANY_ORDER, NO_ORDER, TrainConfig
from standing_orders.runs.folder import RunFolder, check_unused


class Train(Resumable, WithPreset, Reporting, TrainConfig):
    """Train a defender that follows an order, into a run folder that can be resumed.

    The folder holds the resolved config, journal.jsonl (the source of every table),
    training_log.csv, TensorBoard files and checkpoints.
    """

    KIND = "train"
    EXAMPLES = (
        "train --preset fast --run runs/any",
        "train --preset fast-order --order critical_first --start runs/any --run runs/one",
        "train --resume --run runs/any",
    )
    BASIC = (
        "preset", "order", "red", "episodes", "seed", "run_folder", "start", "resume",
        "json_output",
    )  # fmt: skip

    WITH_RESUME = ("--episodes",)

    start: Path | None = Field(None, description="Run whose policy to begin with.")

    def run(self) -> int:
        """Run the command."""
        from standing_orders.api.training import resume, train
        from standing_orders.cli.report import leave_report

        folder = self.run_folder or Path("runs") / self._default_name()
        self._look(folder)
        from standing_orders.cli.training_view import watch_training

        with resumable("train", folder), watch_training(folder) as on_update:
            if self.resume:
                budget = self.episodes if self.was_given("--episodes") else None
                run = resume(folder, budget=budget, on_update=on_update, report=tell)
            else:
                config = self.part(TrainConfig)
                run = train(config, folder, start=self.start, on_update=on_update, report=tell)
        self.report(run)
        leave_report(folder)
        return 0

    def _default_name(self) -> str:
        from standing_orders.rules.orders import Order

        has_one = self.order not in (ANY_ORDER, NO_ORDER)
        order = "-".join(Order.parse(self.order).ranking) if has_one else self.order
        return f"{order}-{self.red}-{self.seed}"

    def _look(self, folder: Path) -> None:
        """Refuse what can be refused before torch is imported."""
        if self.resume:
            RunFolder.open(folder, kind=self.KIND)
            return
        check_unused(folder)
        if self.start is not None:
            RunFolder.open(self.start, kind=self.KIND)
