"""Training runs: begin, go on, look at."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from standing_orders.api.searching import SearchResult, load_search
from standing_orders.config import TrainConfig
from standing_orders.detect.config import DetectConfig
from standing_orders.errors import CheckpointError, ConfigError
from standing_orders.runs.folder import RunFolder
from standing_orders.tables import Column, Table, to_text

if TYPE_CHECKING:
    from standing_orders.detect.data.events import DataSet

_SHOWN_PARTS = ("reward", "compliance", "team")  # of the record of an update


@dataclass(frozen=True)
class Run:
    """A run folder of `train`, as far as the run has come.

    Args:
        path: the folder.
        config: all settings.
        updates: done so far.
        played: training episodes so far; of a detection team, events.
        stopped: why it has ended; None if it has not.
    """

    path: Path
    config: TrainConfig | DetectConfig
    updates: int
    played: int
    stopped: str | None

    @property
    def is_finished(self) -> bool:
        """Whether the run has ended."""
        return self.stopped is not None

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """The journal: plain data about every update, the source of all tables."""

        return RunFolder.open(self.path).journal().read()

    def tables(self) -> list[Table]:
        """What came of it: counters, and the figures of the last update."""
        config = self.config
        is_team = isinstance(config, DetectConfig)
        unit = "events" if is_team else "episodes"
        rows: list[tuple[str, Any]] = [("updates", self.updates), (unit, self.played)]
        if isinstance(config, TrainConfig):
            rows = [("order", config.order), ("red", config.red), *rows]
        rows.append(("seed", config.seed))
        last = self.records[-1] if self.records else {}
        for part in _SHOWN_PARTS:
            rows += [
                (f"{part}: {name}", round(value, 4))
                for name, value in last.get(part, {}).items()
                if isinstance(value, float)
            ]
        title = f"{self.path}; figures of the last update, which are no score"
        done = f"{self.updates} updates" if is_team else f"{self.played} {unit}"
        ended = f"{self.stopped or 'not finished'} after {done}: {self.path}"
        columns = (Column("what", is_text=True), Column("value"))
        return [Table(title, columns, tuple(rows), notes=(ended,))]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "path": str(self.path),
            "updates": self.updates,
            "played": self.played,
            "stopped": self.stopped,
            "config": self.config.model_dump(mode="json"),
            "last_update": self.records[-1] if self.records else None,
        }

    def __str__(self) -> str:
        return to_text(self.tables())


def train(
    config: TrainConfig | DetectConfig,
    run: str | Path,
    *,
    start: str | Path | None = None,
    data: "DataSet | None" = None,
    on_update: Callable[[dict[str, Any]], None] = lambda _: None,
    report: Callable[[str], None] = print,
) -> Run:
    """Train a defender, or a detection team, into a new run folder.

    Args:
        config: everything about the run.
        run: the folder, new or empty.
        start: another run whose policy to begin with; for a defender only.
        data: the events of a detection team, if they have been read already.
        on_update: called with the record of every update.
        report: told what a user should know.

    Raises:
        ConfigError: a value is not acceptable.
        CheckpointError: the folder or the run to start from cannot be used.
        NumericsError: a number is not finite; the last checkpoint is good.
    """
    path = Path(run)
    if isinstance(config, DetectConfig):
        from standing_orders.detect.learn.run import train as train_team

        if start is not None:
            raise ConfigError("start: a detection team begins from nothing")
        train_team(config, path, data=data, on_update=on_update, report=report)
        return _load_training(path)
    from standing_orders.learn.run import train as train_policy

    begin = None if start is None else Path(start)
    train_policy(config, path, start=begin, on_update=on_update, report=report)
    return _load_training(path)


def resume(
    run: str | Path,
    *,
    budget: int | None = None,
    on_update: Callable[[dict[str, Any]], None] = lambda _: None,
    report: Callable[[str], None] = print,
) -> Run:
    """Go on with a run of `train` that was stopped or killed; it ends in the same bits.

    Args:
        run: the folder.
        budget: a larger one, also for a run that has ended: training episodes, or updates of a
            detection team.
        on_update: called with the record of every update.
        report: told what a user should know.

    Raises:
        CheckpointError: the folder holds no such run, or another process writes it.
        ConfigError: the larger budget would do nothing.
    """
    path = Path(run)
    if RunFolder.open(path).kind == "detect":
        from standing_orders.detect.learn.run import resume as resume_team

        resume_team(path, iterations=budget, on_update=on_update, report=report)
    else:
        from standing_orders.learn.run import resume as resume_policy

        resume_policy(path, episodes=budget, on_update=on_update, report=report)
    return _load_training(path)


def load_run(path: str | Path) -> Run | SearchResult:
    """What is in a run folder.

    Raises:
        CheckpointError: the folder holds no run, or a damaged one.
    """
    folder = RunFolder.open(Path(path))
    if folder.kind == "search":
        return load_search(Path(path))
    return _load_training(Path(path))


def _load_training(path: Path) -> Run:
    from standing_orders.runs.loop import latest_of

    kind = RunFolder.open(path).kind
    if kind not in ("train", "detect"):
        raise CheckpointError(f"{path}: a run of kind {kind!r}: must be 'train' or 'detect'")
    folder, checkpoint = latest_of(path, kind)
    done = checkpoint.data.get("progress", checkpoint.data)
    if kind == "detect":
        team = folder.parse_config(DetectConfig, without="data_sha256")
        return Run(path, team, done["updates"], done["events"], done["stopped"])
    config = folder.parse_config(TrainConfig, without="start")
    return Run(path, config, done["updates"], done["episodes"], done["stopped"])
