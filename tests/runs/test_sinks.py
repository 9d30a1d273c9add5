import csv
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from standing_orders.errors import CheckpointError
from standing_orders.runs.sinks import CsvSink, TensorBoardSink, write_csv

COLUMNS = {"Episode": "episode", "Env_Reward": "reward.environment", "Note": "note"}
TAGS = {"charts/env_reward": "reward.environment", "losses/policy": "loss"}
RECORDS: list[dict[str, Any]] = [
    {"episode": 1, "reward": {"environment": -0.1}, "note": 'commas, "quotes"\nand lines'},
    {"episode": 2, "loss": 0.25},
    {"episode": 3, "reward": {"environment": 1e-17}, "note": [1, 2.5], "loss": "none"},
]


def test_cells_are_the_values_and_missing_ones_are_empty(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    write_csv(path, RECORDS, COLUMNS)
    with path.open(newline="") as file:
        assert list(csv.reader(file)) == [
            ["Episode", "Env_Reward", "Note"],
            ["1", "-0.1", 'commas, "quotes"\nand lines'],
            ["2", "", ""],
            ["3", "1e-17", "[1,2.5]"],
        ]


def test_appending_writes_the_same_bytes_with_one_header(tmp_path: Path) -> None:
    write_csv(tmp_path / "a.csv", RECORDS, COLUMNS)
    for part in (RECORDS[:1], RECORDS[1:]):
        with CsvSink(tmp_path / "b.csv", COLUMNS) as sink:
            for record in part:
                sink.append(record)
    assert (tmp_path / "b.csv").read_bytes() == (tmp_path / "a.csv").read_bytes()


def test_a_row_can_be_read_at_once(tmp_path: Path) -> None:
    with CsvSink(tmp_path / "a.csv", COLUMNS) as sink:
        sink.append(RECORDS[1])
        assert (tmp_path / "a.csv").read_text().endswith("\n2,,\n")


def test_rebuilding_forgets_what_the_journal_no_longer_has(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("Episode,Env_Reward,Note\n1,-0.1\n9,9,9\n10,to")
    with CsvSink.rebuild(path, COLUMNS, RECORDS[:2]) as sink:
        sink.append(RECORDS[2])
    write_csv(tmp_path / "b.csv", RECORDS, COLUMNS)
    assert path.read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_a_table_with_other_columns_is_not_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    write_csv(path, RECORDS, {"Other": "episode"})
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=r"a\.csv: has other columns"):
        CsvSink(path, COLUMNS)
    assert path.read_bytes() == before


def scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """What TensorBoard itself reads from the folder."""
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = accumulator.EventAccumulator(str(folder)).Reload()
    return {
        tag: [(event.step, event.value) for event in events.Scalars(tag)]
        for tag in events.Tags()["scalars"]
    }


def test_tensorboard_reads_numbers_under_their_tags_and_steps(tmp_path: Path) -> None:
    with TensorBoardSink(tmp_path, TAGS, step_key="episode") as sink:
        for record in [*RECORDS, {"loss": 1.0}]:
            sink.append(record)
    assert scalars(tmp_path) == {
        "charts/env_reward": [(1, pytest.approx(-0.1)), (3, pytest.approx(1e-17))],
        "losses/policy": [(2, 0.25)],
    }


def test_rebuilding_tensorboard_leaves_each_step_once(tmp_path: Path) -> None:
    with TensorBoardSink(tmp_path, TAGS, step_key="episode") as sink:
        for record in [*RECORDS, {"episode": 9, "loss": 9.0}]:
            sink.append(record)
    (tmp_path / "notes.txt").touch()
    sink = TensorBoardSink.rebuild(tmp_path, TAGS, RECORDS[:2], step_key="episode")
    sink.append({"episode": 3, "loss": 0.5})
    sink.close()
    sink.close()
    assert scalars(tmp_path)["losses/policy"] == [(2, 0.25), (3, 0.5)]
    assert (tmp_path / "notes.txt").exists()
    assert len(list(tmp_path.iterdir())) == 2


def test_without_tensorboard_it_says_so_once_and_does_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    messages: list[str] = []
    with TensorBoardSink.rebuild(tmp_path, TAGS, RECORDS, report=messages.append) as sink:
        sink.append({"step": 1, "loss": 0.5})
    assert len(messages) == 1
    assert "TensorBoard is not installed" in messages[0]
    assert list(tmp_path.iterdir()) == []


def test_importing_runs_loads_nothing_heavy() -> None:
    code = (
        "import sys, standing_orders.runs.sinks, standing_orders.runs.folder; "
        "assert not {'torch', 'tensorboard', 'numba', 'pydantic'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
