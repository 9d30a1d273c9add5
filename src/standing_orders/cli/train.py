"""`standing-orders train`: a defender that follows an order."""

from pathlib import Path
from typing import Annotated

import tyro
from pydantic import Field

from standing_orders.cli.command import Reporting, WithPreset, resumable, tell
from standing_orders.config import TrainConfig


class Train(WithPreset, Reporting, TrainConfig):
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

    run_folder: Annotated[Path | None, tyro.conf.arg(name="run")] = Field(
        None, description="Run folder; runs/ORDER-RED-SEED if left out."
    )
    start: Path | None = Field(None, description="Run whose policy to begin with.")
    resume: bool = Field(
        False, description="Go on with the run in --run; its own config holds, flags do not."
    )

    def run(self) -> int:
        """Run the command."""
        from standing_orders.api.training import resume, train
        from standing_orders.cli.report import leave_report
        from standing_orders.cli.training_view import watch_training

        config = self.part(TrainConfig)
        name = f"{self.order.replace('>', '-')}-{self.red}-{self.seed}"
        folder = self.run_folder or Path("runs") / name
        with resumable("train", folder), watch_training(folder) as on_update:
            if self.resume:
                run = resume(folder, on_update=on_update, report=tell)
            else:
                run = train(config, folder, start=self.start, on_update=on_update, report=tell)
        self.report(run)
        leave_report(folder)
        return 0
