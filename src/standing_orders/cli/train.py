"""`standing-orders train`: a defender that follows an order."""

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from standing_orders.cli.command import Reporting, Resumable, WithPreset, resumable, tell
from standing_orders.config import ANY_ORDER, NO_ORDER, TrainConfig
from standing_orders.runs.folder import RunFolder, check_unused, is_run

if TYPE_CHECKING:
    from standing_orders.api.training import Run

ONE_ORDER_PRESET = "fast-order"
SCRATCH = "none"  # what --start may say


class Train(Resumable, WithPreset, Reporting, TrainConfig):
    """Train a defender that follows an order, into a run folder that can be resumed.

    Without options: one policy that keeps whichever order it is told, by the best settings known.
    With --order, that order alone: small steps from a policy that follows any order in the same
    game, which is found in the zoo or trained first. It ends with figures on fresh episodes.
    The folder holds the resolved config, journal.jsonl (the source of every table),
    training_log.csv, TensorBoard files and checkpoints.
    """

    KIND = "train"
    DECIDES = "order"
    EXAMPLES = (
        "train --run runs/any",
        "train --order critical_first --red meander --run runs/one",
        "train --resume --run runs/any",
    )
    BASIC = (
        "preset", "order", "red", "episodes", "seed", "run_folder", "start", "resume",
        "json_output", "out",
    )  # fmt: skip

    WITH_RESUME = ("--episodes",)

    start: str | None = Field(
        None,
        description="Policy to begin with: a run folder, zoo/NAME, or none. Left out, one order "
        "begins with a policy that follows any order in the same game, trained first if there is "
        "none in the zoo.",
    )

    @classmethod
    def preset_for(cls, value: str | None) -> str | None:
        """One order is trained by other settings than all of them."""
        return None if value in (None, ANY_ORDER, NO_ORDER) else ONE_ORDER_PRESET

    def run(self) -> int:
        """Run the command."""
        folder = self.run_folder or Path("runs") / self._default_name()
        self._look(folder)
        tell(f"{folder}: {self._describe()}")
        from standing_orders.api.ending import measure_run
        from standing_orders.api.training import resume
        from standing_orders.cli.report import leave_report
        from standing_orders.cli.training_view import watch_training

        if self.resume:
            budget = self.episodes if self.was_given("--episodes") else None
            stored = RunFolder.open(folder).parse_config(TrainConfig, without="start")
            total = budget or stored.episodes
            with resumable("train", folder), watch_training(total) as on_update:
                run = resume(folder, budget=budget, on_update=on_update, report=tell)
        else:
            start = self._find_start(folder)
            run = _train(self.part(TrainConfig), folder, start)
        tell("measuring on fresh episodes")
        self.report(measure_run(run))
        leave_report(folder)
        return 0

    def _describe(self) -> str:
        if self.resume:
            return "going on"
        return f"order {self.order}, red {self.red}, {self.episodes:,} episodes, seed {self.seed}"

    def _default_name(self) -> str:
        from standing_orders.api.starting import game_name, has_one_order
        from standing_orders.rules.orders import Order

        is_one = has_one_order(self.order)
        order = "-".join(Order.parse(self.order).ranking) if is_one else self.order
        return f"{order}-{game_name(self)}-{self.seed}"

    def _look(self, folder: Path) -> None:
        """Refuse what can be refused before torch is imported."""
        if self.resume:
            RunFolder.open(folder, kind=self.KIND)
            return
        check_unused(folder)
        if self.start not in (None, SCRATCH):
            RunFolder.open(Path(self.start), kind=self.KIND)

    def _find_start(self, folder: Path) -> Path | None:
        """What to begin with; trains it first if one order has nothing to begin with."""
        from standing_orders.api.starting import base_of, find_start, game_name, has_one_order

        if self.start is not None:
            return None if self.start == SCRATCH else Path(self.start)
        if self.preset != ONE_ORDER_PRESET or not has_one_order(self.order):
            return None
        config = self.part(TrainConfig)
        base = folder.parent / f"{ANY_ORDER}-{game_name(config)}-{config.seed}"
        found = find_start(config, base)
        if found is not None:
            tell(f"begins with {found}, a policy for any order in this game (--start none: afresh)")
            return found
        tell(f"no policy for any order in this game yet: training one first, into {base}")
        _train(base_of(config), base, None)
        return base


def _train(config: TrainConfig, folder: Path, start: Path | None) -> "Run":
    """Train into a folder, or go on there, with a live view."""
    from standing_orders.api.training import resume, train
    from standing_orders.cli.training_view import watch_training

    with resumable("train", folder), watch_training(config.episodes) as on_update:
        if is_run(folder):
            return resume(folder, on_update=on_update, report=tell)
        return train(config, folder, start=start, on_update=on_update, report=tell)
