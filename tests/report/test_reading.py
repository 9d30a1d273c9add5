"""Runs are read as they are, curves stay small, and settings are told apart from a preset."""

from pathlib import Path

import pytest

from standing_orders.errors import CheckpointError
from standing_orders.report.reading import (
    curve,
    kind_of,
    named_apart,
    read_run,
    repeat_command,
    settings_of,
)
from tests.report.conftest import made_up_update, make_run, train_config


def test_a_curve_of_many_points_keeps_means_and_extremes() -> None:
    records = [{"x": i, "y": {"z": i % 2}} for i in range(1_000)]
    line = curve(records, "x", "y.z", name="it", max_points=100)
    assert len(line["x"]) == 100
    assert line["x"][-1] == 999
    assert set(line["y"]) == {0.5}
    assert (set(line["low"]), set(line["high"])) == ({0}, {1})


def test_records_without_the_number_are_left_out() -> None:
    records = [{"x": 1, "y": None}, {"x": 2, "y": 3.0}, {"x": 3}, {"x": 4, "y": "text"}]
    assert curve(records, "x", "y", name="it") == {"name": "it", "x": [2.0], "y": [3.0]}


def test_settings_are_compared_with_the_nearest_preset(tmp_path: Path) -> None:
    run = read_run(make_run(tmp_path / "a", "train", train_config(seed=5, episodes=70), []))
    found = settings_of(run)
    assert found.changed["seed"] == (5, 0)
    assert found.changed["episodes"][0] == 70
    command = repeat_command(run, found)
    assert command.startswith("standing-orders train ")
    assert "--seed 5" in command
    assert "--episodes 70" in command


def test_nested_and_boolean_settings_become_flags(tmp_path: Path) -> None:
    config = train_config(ppo={"clock": True, "hidden": (8, 4), "memory": False})
    run = read_run(make_run(tmp_path / "a", "train", config, []))
    command = repeat_command(run, settings_of(run))
    assert "--ppo.clock" in command
    assert "--ppo.hidden 8 4" in command
    assert "--ppo.no-memory" in command


def test_a_half_written_last_line_is_a_problem_and_no_more(train_run: Path) -> None:
    with (train_run / "journal.jsonl").open("a") as file:
        file.write('{"update": 31')
    run = read_run(train_run)
    assert len(run.records) == 30
    assert "incomplete" in run.problems[0]


def test_runs_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    paths = [
        make_run(tmp_path / parent / "same", "train", train_config(), [made_up_update(1)])
        for parent in ("a", "b")
    ]
    names = [run.name for run in named_apart([read_run(path) for path in paths])]
    assert len(set(names)) == 2


@pytest.mark.parametrize("content", ["[]", "{", '{"kind": "dance", "format": 1}'])
def test_what_is_no_run_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(CheckpointError):
        kind_of(tmp_path)
