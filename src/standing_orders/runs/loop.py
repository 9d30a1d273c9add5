"""Training in a run folder: what learns in updates is kept, mirrored, killed and resumed alike."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from numpy.typing import NDArray

from standing_orders.errors import CheckpointError, ConfigError, DataError
from standing_orders.runs.checkpoint import (
    Checkpoint,
    Witness,
    load_latest,
    prune_checkpoints,
    save_checkpoint,
)
from standing_orders.runs.files import read_regular
from standing_orders.runs.folder import RunFolder
from standing_orders.runs.journal import Journal, Line
from standing_orders.runs.manifest import MANIFEST
from standing_orders.runs.sinks import CsvSink, TensorBoardSink
from standing_orders.runs.stopping import end_if_asked, is_asked, updating

CSV_NAME = "training_log.csv"
REPAIR_HINT = "`runs verify --repair` cuts the run back to its last good state"
Record = dict[str, Any]
Report = Callable[[str], None]
OnUpdate = Callable[[Record], None]


class Trainable(Protocol):
    """What learns in updates."""

    checkpoint_every: int  # updates between checkpoints

    @property
    def updates(self) -> int:
        """Updates so far; the journal has a record of each."""

    @property
    def is_done(self) -> bool:
        """Whether the run has ended."""

    def step(self) -> Record:
        """Do one update and give its record."""

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays of a checkpoint."""

    def to_json(self) -> Record:
        """Everything else of a checkpoint."""

    def restore(self, arrays: dict[str, NDArray[Any]], data: Record) -> None:
        """Go on from a checkpoint."""

    def go_beyond(self) -> bool:
        """Go on beyond a budget that was used up, if there is more now; whether that can be."""

    def close(self) -> None:
        """Let go of what it works with."""


@dataclass(frozen=True)
class Mirrors:
    """Which figures of the records go to training_log.csv and to TensorBoard."""

    columns: Mapping[str, str]  # name -> dotted key in a record
    tags: Mapping[str, str]  # the same
    step_key: str


Trainer = TypeVar("Trainer", bound=Trainable)


@dataclass(frozen=True)
class RunKind(Generic[Trainer]):
    """How runs of one kind are begun, resumed and mirrored."""

    name: str  # what the run folder says it is
    make: Callable[[RunFolder, Report], Trainer]  # the trainer of a run at its very beginning
    mirrors: Callable[[Trainer], Mirrors]
    may_begin: Callable[[RunFolder], bool] = lambda _: True  # again, without any checkpoint

    def begin(
        self,
        trainer: Trainer,
        path: Path,
        settings: Mapping[str, Any],
        *,
        on_update: OnUpdate,
        report: Report,
    ) -> Trainer:
        """Train in a new folder until the run has ended.

        Args:
            trainer: at the beginning.
            path: the run folder, new or empty.
            settings: all that `make` needs to make this trainer again, as plain data.
            on_update: called with the record of every update.
            report: told what a user should know.

        Raises:
            CheckpointError: the folder cannot be used.
            NumericsError: a number is not finite; the last checkpoint is good.
        """
        folder = RunFolder.create(path, settings, self.name)
        with folder.lock():
            return self._train(trainer, folder, [], on_update, report)

    def resume(
        self,
        path: Path,
        *,
        extension: Mapping[str, Any] | None = None,
        on_update: OnUpdate,
        report: Report,
    ) -> Trainer:
        """Go on with a run that was stopped or killed; it ends in the same bits as without that.

        Args:
            path: the run folder.
            extension: values of the config that give a finished run more to do.
            on_update: called with the record of every update.
            report: told what a user should know.

        Raises:
            CheckpointError: the folder holds no such run, or another process writes it.
            ConfigError: the extension would do nothing.
        """
        folder = RunFolder.open(path, kind=self.name)
        with folder.lock():
            wanted = replace(folder, config={**folder.config, **(extension or {})})
            trainer, records = self.reopen(wanted, report)
            if extension is not None:
                if not trainer.go_beyond():
                    trainer.close()
                    raise ConfigError(
                        f"{path}: a budget that is not larger than what the run has used, or a "
                        "run that ended for another reason, gives it nothing to do"
                    )
                folder.extend(**extension)
            elif folder.is_extended:
                trainer.go_beyond()
            return self._train(trainer, folder, records, on_update, report)

    def reopen(self, folder: RunFolder, report: Report) -> tuple[Trainer, list[Record]]:
        """The trainer at its last good checkpoint, and the journal cut back to there.

        Args:
            folder: of such a run; its lock must be held.
            report: told what a user should know.

        Raises:
            CheckpointError: there is nothing to go on from.
        """
        trainer = self.make(folder, report)
        return trainer, recover(trainer, folder, report, may_begin=self.may_begin(folder))

    def _train(
        self,
        trainer: Trainer,
        folder: RunFolder,
        records: list[Record],
        on_update: OnUpdate,
        report: Report,
    ) -> Trainer:
        mirrors = self.mirrors(trainer)
        with closing(trainer):
            train_to_end(
                trainer, folder, records, mirrors=mirrors, on_update=on_update, report=report
            )
        return trainer


def save(trainer: Trainable, folder: RunFolder, journal: Journal) -> None:
    """Write a checkpoint; the run's lock must be held."""
    save_state(folder, journal, trainer.updates, trainer.to_arrays(), trainer.to_json())


def save_state(
    folder: RunFolder,
    journal: Journal,
    updates: int,
    arrays: dict[str, NDArray[Any]],
    data: Record,
) -> None:
    """Write a checkpoint of a trainer that is elsewhere; the run's lock must be held."""
    witness = None if folder.seal is None else Witness(folder.seal, *journal.head)
    save_checkpoint(folder.path, updates, arrays, data, witness=witness)


def latest_of(path: Path, kind: str) -> tuple[RunFolder, Checkpoint]:
    """A run and its newest checkpoint, after checking all that a reader relies on.

    Raises:
        CheckpointError: the folder holds no such run, no checkpoint, or something is damaged.
        DataError: the journal is damaged.
    """
    folder = RunFolder.open(path, kind=kind)
    lines = _good_lines(folder)
    checkpoint, messages = load_latest(folder.path, belongs_to(folder, lines))
    if checkpoint is None or messages or (messages := missing_end(checkpoint, lines)):
        faults = messages or [f"{path}: no checkpoint"]
        hint = "--resume goes back to the newest checkpoint that is in order"
        raise CheckpointError(f"{'; '.join(faults)}; {hint}")
    return folder, checkpoint


def best_of_search(path: Path) -> Path:
    """Folder of a search's best policy, after looking whether it is the one that its journal names.

    Raises:
        CheckpointError: the search has not ended, or another policy lies in that place.
        DataError: the journal is damaged.
    """
    folder = RunFolder.open(path, kind="search")
    journal = folder.journal(lambda _: None)
    journal.check_head()
    last = (journal.read() or [{}])[-1]
    if last.get("event") != "final":
        raise CheckpointError(f"{path}: the search has not ended: go on with --resume")
    found, checkpoint = latest_of(folder.resolve("best"), "train")
    own = folder.resolve(Path("policies") / str(last.get("policy")))
    is_same = found.config.get("order") == last.get("order")
    if own.exists():  # all of them may have been removed to save room
        original, trained = latest_of(own, "train")
        manifests = [read_regular(one.path / MANIFEST) for one in (checkpoint, trained)]
        is_same = is_same and found.seal == original.seal and manifests[0] == manifests[1]
    if not is_same:
        raise CheckpointError(f"{found.path}: not the policy that this search found best")
    return found.path


def missing_end(checkpoint: Checkpoint, lines: Sequence[Line]) -> list[str]:
    """What to say of a run that has ended, by its journal, behind its newest checkpoint."""
    witness = checkpoint.witness
    if witness is None or witness.num_records >= len(lines) or not has_ended(lines):
        return []
    message = (
        f"{checkpoint.path}: the newest checkpoint, of record {witness.num_records}, but the run "
        f"has ended with record {len(lines)}: its last checkpoint is missing"
    )
    return [message]


def has_ended(lines: Sequence[Line]) -> bool:
    """Whether the last record of a journal says that the run is over."""
    last = lines[-1].record if lines else {}
    return last.get("event") == "final" or bool(last.get("stopped"))


@contextmanager
def of_checkpoint(checkpoint: Checkpoint) -> Iterator[None]:
    """While a checkpoint is put to use: whatever does not fit is one error that names it.

    Raises:
        CheckpointError: something is missing in it, of another type, or not of this run.
    """
    try:
        yield
    except (CheckpointError, LookupError, TypeError, ValueError, AttributeError) as err:
        what = "" if isinstance(err, CheckpointError) else "not a checkpoint of such a run: "
        raise CheckpointError(f"{checkpoint.path}: {what}{err}") from err


def _good_lines(folder: RunFolder) -> list[Line]:
    """All lines of a journal.

    Raises:
        CheckpointError: one is broken, or it cannot be read.
    """
    try:
        return folder.journal(lambda _: None).lines()
    except DataError as err:
        raise CheckpointError(f"{err}; {REPAIR_HINT}") from err


def belongs_to(folder: RunFolder, lines: Sequence[Line]) -> Callable[[Checkpoint], None]:
    """What looks whether a checkpoint is one of this run and of its journal's lines."""

    def check(checkpoint: Checkpoint) -> None:
        witness = checkpoint.witness
        if folder.seal is None:
            return
        if witness is None or witness.run != folder.seal:
            raise CheckpointError(f"{checkpoint.path}: belongs to another run or another config")
        if witness.num_records > len(lines):
            raise CheckpointError(
                f"{checkpoint.path}: was written after {witness.num_records} records, but the "
                f"journal has {len(lines)}"
            )
        seal = lines[witness.num_records - 1].seal if witness.num_records else folder.seal
        if seal != witness.seal:
            raise CheckpointError(f"{checkpoint.path}: the journal is not the one it was made with")

    return check


def recover(
    trainer: Trainable, folder: RunFolder, report: Report, *, may_begin: bool = True
) -> list[Record]:
    """Put a trainer back to the last good checkpoint, and cut the journal back to there.

    Args:
        trainer: as it was at the very beginning.
        folder: its run; the lock must be held.
        report: told what a user should know.
        may_begin: without any checkpoint the run may begin from the beginning.

    Returns:
        The records up to there.

    Raises:
        CheckpointError: there is nothing to go on from.
    """
    checkpoint, messages = load_latest(folder.path, belongs_to(folder, _good_lines(folder)))
    for message in messages:
        report(message)
    if checkpoint is not None:
        with of_checkpoint(checkpoint):
            trainer.restore(checkpoint.tensors, checkpoint.data)
        prune_checkpoints(folder.path, checkpoint.index)
    with folder.journal(report) as journal:
        if checkpoint is None and (messages or not may_begin or journal.read()):
            raise CheckpointError(
                f"{folder.path}: no checkpoint to go on from: begin the run again in another folder"
            )
        journal.truncate_after(trainer.updates)
        return journal.read()


def train_to_end(
    trainer: Trainable,
    folder: RunFolder,
    records: list[Record],
    *,
    mirrors: Mirrors,
    on_update: OnUpdate,
    report: Report,
) -> None:
    """Update until the run has ended.

    Args:
        trainer: at the beginning, or recovered.
        folder: its run; the lock must be held.
        records: of the updates so far.
        mirrors: what to mirror.
        on_update: called with the record of every update.
        report: told what a user should know.
    """
    csv = CsvSink.rebuild(folder.resolve(CSV_NAME), mirrors.columns, records)
    board = TensorBoardSink.rebuild(
        folder.tensorboard_path, mirrors.tags, records, step_key=mirrors.step_key, report=report
    )
    with folder.journal(report) as journal, csv, board:
        if not records:
            save(trainer, folder, journal)

        def keep(record: Record) -> None:
            journal.append(record)
            csv.append(record)
            board.append(record)
            on_update(record)
            is_due = trainer.updates % trainer.checkpoint_every == 0
            if is_due or trainer.is_done or is_asked():
                save(trainer, folder, journal)

        run_updates(trainer, keep)


def run_updates(trainer: Trainable, keep: OnUpdate) -> None:
    """Update until the run has ended; each record is kept before the next update begins.

    Raises:
        Stopped: a signal asked for an end; the update that was running then is kept.
    """
    with updating():
        while not trainer.is_done:
            keep(trainer.step())
            end_if_asked()
