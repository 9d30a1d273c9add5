"""A detection run in its folder: journal, mirrors, checkpoints, resume."""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from standing_orders.detect.actions import ACTION_NAMES
from standing_orders.detect.config import DetectConfig
from standing_orders.detect.data.events import DataSet, Events, Task
from standing_orders.detect.data.load import load
from standing_orders.detect.learn.trainer import Trainer
from standing_orders.detect.standard import Standard
from standing_orders.detect.team import Team, make_book, make_network, prepare
from standing_orders.errors import CheckpointError
from standing_orders.learn.ppo import use_one_thread
from standing_orders.learn.snapshot import restore_network
from standing_orders.runs.checkpoint import Checkpoint
from standing_orders.runs.folder import RunFolder
from standing_orders.runs.loop import Mirrors, OnUpdate, Report, RunKind, latest_of, of_checkpoint

KIND = "detect"
CSV_COLUMNS = {
    "Update": "update",
    "Events": "events",
    "Total_Events": "total_events",
    "Team_Reward": "team.reward",
    "Team_F1": "team.f1",
    "Recall": "team.recall",
    "False_Alarm_Rate": "team.false_alarm_rate",
    "No_Quorum": "team.no_quorum",
    "Events_Seen": "team.events_seen",
    "Agent_Rewards": "agents.reward",
    "Entropy": "loss.entropy",
    "KL": "loss.approx_kl",
    "Rules": "rules",
    "Prices": "prices",
    "Foresight": "foresight",
    "Accuracy": "team.accuracy",
    "TP": "decisions.true_positives",
    "FP": "decisions.false_positives",
    "TN": "decisions.true_negatives",
    "FN": "decisions.false_negatives",
    "Actions": "actions",
    "Values": "values",
}
_TEAM_FIGURES = ("recall", "accuracy", "false_alarm_rate", "no_quorum", "events_seen")
_DECISIONS = ("true_positives", "false_positives", "true_negatives", "false_negatives")
_LOSSES = ("policy_loss", "value_loss", "entropy", "approx_kl", "clipfrac", "explained_variance")
TENSORBOARD_TAGS = {
    "charts/team_reward": "team.reward",
    "charts/team_f1": "team.f1",
    **{f"charts/{name}": f"team.{name}" for name in _TEAM_FIGURES},
    **{f"charts/{name}": f"decisions.{name}" for name in _DECISIONS},
    **{f"actions/{name}": f"actions.{name}" for name in ACTION_NAMES},
    "values/low": "values.low",
    "values/high": "values.high",
    "charts/learning_rate": "settings.learning_rate",
    **{f"losses/{name}": f"loss.{name}" for name in _LOSSES},
}
_RULE_FIGURES = ("violation_rate", "margin_mean", "margin_min", "price")
_DIGEST = "data_sha256"
# Options that are gone, each with the value under which a run is what it would be without it.
_GONE: tuple[tuple[str, str, object], ...] = (
    ("", "numeric", []), ("", "categorical", []), ("", "missing", "indicator"),
    ("team", "ties", "alert"),
)  # fmt: skip


def digest_of(data: DataSet) -> str:
    """SHA-256 of all that a run learns from and is judged by."""
    digest = hashlib.sha256()
    for part in (data.train, data.validation, data.test):
        for array in (part.features, part.attacks, part.starts):
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def train(
    config: DetectConfig,
    path: Path,
    *,
    data: DataSet | None = None,
    on_update: OnUpdate = lambda _: None,
    report: Report = print,
) -> Trainer:
    """Begin a run in a new folder and train until it stops.

    Args:
        config: everything about the run.
        path: the run folder, new or empty.
        data: the events of the config, if they have been read already.
        on_update: called with the record of every update.
        report: told what a user should know.

    Raises:
        CheckpointError: the folder cannot be used.
        ConfigError, DataError: the events, the team or the rules are not acceptable.
        NumericsError: a number is not finite; the last checkpoint is good.
    """
    use_one_thread()
    paths = {  # whole ones, so that the run can be used from any folder
        name: tuple(path.absolute() for path in getattr(config, name))
        for name in ("data", "test_data")
    }
    config = config.model_copy(update=paths)
    data = load(config.data_config()) if data is None else data
    trainer = Trainer(config, data)
    settings = trainer.config.model_dump(mode="json") | {_DIGEST: digest_of(data)}
    return _RUN.begin(trainer, path, settings, on_update=on_update, report=report)


def resume(
    path: Path,
    *,
    iterations: int | None = None,
    on_update: OnUpdate = lambda _: None,
    report: Report = print,
) -> Trainer:
    """Go on with a run that was stopped or killed; it ends in the same bits as without that.

    One that has used its budget of updates may be given a larger one; see `train` for the rest.

    Raises:
        CheckpointError: the folder holds no such run, another process writes it, or the events
            are no longer those that it began with.
        ConfigError: the larger budget would do nothing.
    """
    extension = None
    if iterations is not None:
        learn = RunFolder.open(path, kind=KIND).config["learn"]
        extension = {"learn": learn | {"iterations": iterations}}
    return _RUN.resume(path, extension=extension, on_update=on_update, report=report)


def _make(folder: RunFolder, _: Report) -> Trainer:
    use_one_thread()
    return Trainer(config_of(folder), data_of(folder))


def _mirrors(trainer: Trainer) -> Mirrors:
    """The curves of every team, and those of each rule."""
    rules = [rule.name for rule in trainer.book.rules]
    tags = {f"rules/{name}/{figure}": f"rules.{name}.{figure}" for name in rules
            for figure in _RULE_FIGURES}  # fmt: skip
    foresight = {f"rules/{name}/foresight": f"foresight.{name}" for name in rules}
    return Mirrors(CSV_COLUMNS, TENSORBOARD_TAGS | tags | foresight, step_key="total_events")


_RUN = RunKind(KIND, make=_make, mirrors=_mirrors)


def config_of(folder: RunFolder) -> DetectConfig:
    """The config of a run."""
    settings = dict(folder.config)
    for part, name, value in _GONE:
        place = settings
        if part:
            place = settings[part] = dict(settings[part])
        if place.get(name) == value:
            del place[name]
    return replace(folder, config=settings).parse_config(DetectConfig, without=_DIGEST)


def data_of(folder: RunFolder) -> DataSet:
    """The events of a run.

    Raises:
        CheckpointError: they are no longer those that it began with.
    """
    data = load(config_of(folder).data_config())
    if digest_of(data) != folder.config.get(_DIGEST):
        raise CheckpointError(
            f"{folder.path}: the events are not those that the run began with: restore the files "
            "or begin the run again"
        )
    return data


def load_team(path: Path) -> tuple[Team, DataSet]:
    """The team of a run at its last good checkpoint, under its shield, and the run's events.

    Raises:
        CheckpointError: the folder holds no such run.
    """
    use_one_thread()
    folder, checkpoint = latest_of(path, KIND)
    data = data_of(folder)
    prepared = prepare(data.train, config_of(folder))
    return _team_of(folder, checkpoint, prepared, data.task), data


def load_alone(path: Path) -> tuple[Team, Standard]:
    """The team of a run at its last good checkpoint, by its folder alone.

    Raises:
        CheckpointError: the folder holds no such run, or too little of it: one of traces, or one
            that was made before runs saved what a team needs in service.
    """
    use_one_thread()
    folder, checkpoint = latest_of(path, KIND)
    saved = checkpoint.data.get("standard")
    if saved is None:
        raise CheckpointError(
            f"{path}: the run says nothing about how its events are read, so nothing can be judged "
            "without its training files: it is of traces, or was made by an earlier version; train "
            "again"
        )
    standard = Standard.from_json(saved)
    team = _team_of(folder, checkpoint, standard.empty_events(), standard.schema.task)
    return team, standard


def _team_of(folder: RunFolder, checkpoint: Checkpoint, events: Events, task: Task) -> Team:
    """The team at a checkpoint; `events` are prepared ones."""
    config = config_of(folder)
    book = make_book(config.rules, task)
    network = make_network(config, events, book)
    with of_checkpoint(checkpoint):
        restore_network(network, checkpoint.tensors)
    return Team(network, config, task, book)
