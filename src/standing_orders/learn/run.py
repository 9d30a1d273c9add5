"""A training run in its folder: journal, mirrors, checkpoints, resume."""

from pathlib import Path
from typing import Any

from standing_orders.config import TrainConfig
from standing_orders.learn.build import layout_of, make_network
from standing_orders.learn.learner import read_counters
from standing_orders.learn.networks import ActorCritic
from standing_orders.learn.ppo import use_one_thread
from standing_orders.learn.snapshot import restore_network, warm_start
from standing_orders.learn.trainer import Progress, Trainer
from standing_orders.runs.checkpoint import Checkpoint
from standing_orders.runs.folder import RunFolder
from standing_orders.runs.loop import Mirrors, OnUpdate, Report, RunKind, latest_of, of_checkpoint

KIND = "train"
CSV_COLUMNS = {
    "Workflow_ID": "order_id",
    "Workflow_Order": "order",
    "Update": "update",
    "Episodes": "episodes",
    "Total_Episodes_Sampled": "total_episodes",
    "Env_Reward": "reward.environment",
    "Alignment_Bonus": "reward.alignment",
    "Total_Reward": "reward.total",
    "Compliance": "compliance.compliance",
    "Strict_Compliance": "compliance.strict",
    "Contested_Compliance": "compliance.contested",
    "Response_Rate": "compliance.response",
    "Aim": "compliance.aim",
    "Fixless_Share": "compliance.fixless_share",
    "Gate_Passed": "gate.passed",
    "Gate_Episodes": "gate_episodes",
    "Strict_Compliance_Std": "compliance.strict_spread",
}
TENSORBOARD_TAGS = {
    "charts/env_reward": "reward.environment",
    "charts/alignment_bonus": "reward.alignment",
    "charts/total_reward": "reward.total",
    "charts/compliance": "compliance.compliance",
    "charts/strict_compliance": "compliance.strict",
    "charts/strict_compliance_std": "compliance.strict_spread",
    "charts/contested_compliance": "compliance.contested",
    "charts/response_rate": "compliance.response",
    "charts/aim": "compliance.aim",
    "charts/learning_rate": "settings.learning_rate",
    "losses/policy_loss": "loss.policy_loss",
    "losses/value_loss": "loss.value_loss",
    "losses/entropy": "loss.entropy",
    "losses/approx_kl": "loss.approx_kl",
    "losses/clipfrac": "loss.clipfrac",
    "losses/explained_variance": "loss.explained_variance",
    "losses/compliance": "loss.compliance_loss",
}


def train(
    config: TrainConfig,
    path: Path,
    *,
    start: Path | None = None,
    on_update: OnUpdate = lambda _: None,
    report: Report = print,
) -> Trainer:
    """Begin a run in a new folder and train until it stops.

    Args:
        config: everything about the run.
        path: the run folder, new or empty.
        start: another run whose network to begin with.
        on_update: called with the record of every update.
        report: told what a user should know.

    Raises:
        CheckpointError: the folder or the run to start from cannot be used.
        NumericsError: a number is not finite; the last checkpoint is good.
    """
    use_one_thread()
    trainer = Trainer(config, report)
    origin = start_from(trainer, start) if start is not None else None
    settings = config.model_dump(mode="json") | {"start": origin}
    return _RUN.begin(trainer, path, settings, on_update=on_update, report=report)


def resume(
    path: Path,
    *,
    episodes: int | None = None,
    on_update: OnUpdate = lambda _: None,
    report: Report = print,
) -> Trainer:
    """Go on with a run that was stopped or killed; it ends in the same bits as without that.

    Args:
        path: the run folder.
        episodes: a larger budget, for a run that has used its own. A learning rate that falls over
            the budget then falls over the larger one.
        on_update: called with the record of every update.
        report: told what a user should know.

    Raises:
        CheckpointError: the folder holds no such run, or another process writes it.
        ConfigError: the larger budget would do nothing.
    """
    extension = None if episodes is None else {"episodes": episodes}
    return _RUN.resume(path, extension=extension, on_update=on_update, report=report)


def reopen(folder: RunFolder, report: Report = print) -> tuple[Trainer, list[dict[str, Any]]]:
    """The trainer at its last good checkpoint, and the journal cut back to there.

    Args:
        folder: of a training run; its lock must be held.
        report: told what a user should know.

    Raises:
        CheckpointError: there is nothing to go on from.
    """
    return _RUN.reopen(folder, report)


def _make(folder: RunFolder, report: Report) -> Trainer:
    use_one_thread()
    return Trainer(config_of(folder), report)


_RUN = RunKind(
    KIND,
    make=_make,
    mirrors=lambda _: Mirrors(CSV_COLUMNS, TENSORBOARD_TAGS, step_key="total_episodes"),
    may_begin=lambda folder: folder.config["start"] is None,  # else the start is lost
)


def config_of(folder: RunFolder) -> TrainConfig:
    """The config of a run."""
    return folder.parse_config(TrainConfig, without="start")


def start_from(trainer: Trainer, path: Path) -> dict[str, Any]:
    """Warm start; says where from and what it had cost."""
    folder, checkpoint = latest_of(path, KIND)
    with of_checkpoint(checkpoint):
        warm_start(trainer.network, checkpoint.tensors, layout_of(config_of(folder)))
    return origin_of(path)


def origin_of(path: Path) -> dict[str, Any]:
    """Which run a policy is from and what it has cost.

    Raises:
        CheckpointError: the folder holds no such run, or no checkpoint.
    """
    folder, checkpoint = latest_of(path, KIND)
    done = counters_of(checkpoint)
    earlier = (folder.config.get("start") or {}).get("episodes", 0)
    return {
        "run": folder.path.name,
        "order": folder.config["order"],
        "episodes": done.episodes + done.opening_episodes + earlier,
        "updates": done.updates,
    }


def counters_of(checkpoint: Checkpoint) -> Progress:
    """How far a run is.

    Raises:
        CheckpointError: it is not a checkpoint of a training run.
    """
    with of_checkpoint(checkpoint):
        return read_counters(Progress, checkpoint.data)


def load_network(path: Path) -> tuple[ActorCritic, TrainConfig]:
    """The network of a run at its last good checkpoint, and the run's config.

    Raises:
        CheckpointError: the folder holds no such run.
    """
    use_one_thread()
    folder, checkpoint = latest_of(path, KIND)
    config = config_of(folder)
    network = make_network(config)
    with of_checkpoint(checkpoint):
        restore_network(network, checkpoint.tensors)
    return network, config
