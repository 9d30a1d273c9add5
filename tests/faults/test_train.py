"""A training run survives what can happen to it, and ends in the same bits."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from standing_orders.config import AlignmentConfig, PpoConfig, TrainConfig
from standing_orders.errors import CheckpointError, NumericsError
from standing_orders.learn import run as runs
from standing_orders.learn.run import load_network, resume, train
from standing_orders.learn.trainer import Trainer
from standing_orders.runs.checkpoint import load_latest
from standing_orders.runs.folder import RunFolder
from tests.faults.processes import may_fork, train_in_child

CONFIG = TrainConfig(
    order="any",
    red="meander",
    episodes=70,
    update_episodes=6,
    checkpoint_every=3,
    alignment=AlignmentConfig(violation_cost=5.0),
    ppo=PpoConfig(hidden=(16,), epochs=2),
)


def quiet(_: str) -> None:
    """Tell nobody."""


def content(path: Path) -> dict[str, bytes]:
    """All that must be the same: journal, table, and the files of the last checkpoint."""
    checkpoint, _ = load_latest(path)
    assert checkpoint is not None
    files = [path / "journal.jsonl", path / "training_log.csv", *sorted(checkpoint.path.iterdir())]
    return {file.name: file.read_bytes() for file in files}


def read_journal(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (path / "journal.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that nothing happened to; the children are forked from what it has imported."""
    path = tmp_path_factory.mktemp("whole") / "run"
    train(CONFIG, path, report=quiet)
    return path


@may_fork
def test_a_killed_run_ends_in_the_same_bits(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    for last in (1, 5, 6, 11):
        assert train_in_child(runs, CONFIG, path, last) == -signal.SIGKILL
    resume(path, report=quiet)
    assert content(path) == content(whole)


def test_resuming_a_finished_run_changes_nothing(whole: Path) -> None:
    before = content(whole)
    trainer = resume(whole, report=quiet)
    assert trainer.progress.stopped == "budget used"
    assert content(whole) == before


def test_the_budget_is_used_exactly(whole: Path) -> None:
    records = read_journal(whole)
    assert sum(record["episodes"] for record in records) == CONFIG.episodes
    assert records[-1]["total_episodes"] == CONFIG.episodes


def test_the_three_rewards_are_kept_apart(whole: Path) -> None:
    for record in read_journal(whole):
        reward = record["reward"]
        assert reward["total"] == reward["environment"] + reward["alignment"]
        assert reward["environment"] < 0


def test_the_table_has_the_agreed_columns(whole: Path) -> None:
    header = (whole / "training_log.csv").read_text().splitlines()[0]
    assert header.startswith(
        "Workflow_ID,Workflow_Order,Update,Episodes,Total_Episodes_Sampled,Env_Reward,"
        "Alignment_Bonus,Total_Reward,Compliance,"
    )


def test_tensorboard_files_are_written(whole: Path) -> None:
    assert list((whole / "tensorboard").glob("events.out.tfevents.*"))


@may_fork
def test_a_damaged_checkpoint_is_refused_by_name_and_the_one_before_used(
    whole: Path, tmp_path: Path
) -> None:
    path = tmp_path / "run"
    assert train_in_child(runs, CONFIG, path, 10) == -signal.SIGKILL
    newest = path / "checkpoints" / f"{9:08d}"
    tensors = newest / "tensors.safetensors"
    tensors.write_bytes(tensors.read_bytes()[:-1] + b"\x07")
    messages: list[str] = []
    resume(path, report=messages.append)
    assert any(str(newest) in message and "refused" in message for message in messages)
    assert any(f"{6:08d}: used instead" in message for message in messages)
    assert content(path) == content(whole)


def test_two_processes_cannot_write_one_run(whole: Path) -> None:
    with RunFolder.open(whole, kind="train").lock(), pytest.raises(CheckpointError):
        resume(whole, report=quiet)


def test_a_folder_with_a_run_is_not_overwritten(whole: Path) -> None:
    before = content(whole)
    with pytest.raises(CheckpointError, match="--resume"):
        train(CONFIG, whole, report=quiet)
    assert content(whole) == before


def test_a_nan_stops_the_run_names_itself_and_leaves_the_last_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    learn = Trainer.learn

    def poisoned(self: Trainer, rollout: object, now: object) -> dict[str, object]:
        if self.progress.updates == 4:
            with torch.no_grad():
                self.network.critic[0].weight[0, 0] = float("nan")
        return learn(self, rollout, now)

    monkeypatch.setattr(Trainer, "learn", poisoned)
    with pytest.raises(NumericsError, match=r"update 5: .*(value|policy|gradient)"):
        train(CONFIG, path, report=quiet)
    checkpoint, messages = load_latest(path)
    assert checkpoint is not None
    assert (checkpoint.data["updates"], messages) == (3, [])
    monkeypatch.undo()
    assert resume(path, report=quiet).progress.stopped == "budget used"


def test_a_warm_start_begins_with_the_other_policy_and_counts_its_episodes(
    whole: Path, tmp_path: Path
) -> None:
    config = CONFIG.model_copy(update={"order": "reverse", "episodes": 20})
    path = tmp_path / "run"
    records: list[dict[str, object]] = []
    train(config, path, start=whole, on_update=records.append, report=quiet)
    assert json.loads((path / "config.json").read_text())["start"]["episodes"] == CONFIG.episodes
    scratch = tmp_path / "scratch"
    train(config, scratch, on_update=records.append, report=quiet)
    assert records[0]["reward"] != records[1]["reward"]


def test_the_network_of_a_run_can_be_loaded(whole: Path) -> None:
    network, config = load_network(whole)
    assert config == CONFIG
    assert network.layout.size == 52 + 25 + 5 + 13 + 13 + 1 + 39 + 41 + 39
    assert network.layout.certainty == CONFIG.certainty == 0.8
