"""A list of run folders says which are finished, running, resumable or damaged."""

import os
from pathlib import Path

import numpy as np
import pytest

from standing_orders.errors import CheckpointError
from standing_orders.runs.folder import RunFolder
from standing_orders.runs.listing import find_runs, is_in_use, look_at
from standing_orders.runs.loop import latest_of, save_state


def make(path: Path, kind: str = "train", *, stopped: str | None = None) -> RunFolder:
    folder = RunFolder.create(path, {"seed": 4, "order": "any", "red": "b_line"}, kind)
    with folder.lock(), folder.journal() as journal:
        journal.append({"update": 1, "total_episodes": 100, "stopped": stopped})
        save_state(folder, journal, 1, {"weights": np.zeros(3)}, {"updates": 1})
    return folder


def test_a_run_that_stopped_by_itself_is_finished(tmp_path: Path) -> None:
    make(tmp_path / "a", stopped="budget used")
    info = look_at(tmp_path / "a")
    assert (info.state, info.problem, info.done, info.seed) == ("finished", "", 100, 4)
    assert info.bytes > 500


def test_a_run_that_was_killed_is_resumable(tmp_path: Path) -> None:
    make(tmp_path / "a")
    assert look_at(tmp_path / "a").state == "resumable"


def test_a_search_is_finished_by_its_final_record(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "s", {"seed": 0}, "search")
    assert look_at(folder.path).state == "resumable"
    with folder.lock(), folder.journal() as journal:
        journal.append({"event": "final", "total_episodes": 7})
    assert look_at(folder.path).state == "finished"


def test_a_run_that_is_being_written_is_running(tmp_path: Path) -> None:
    folder = make(tmp_path / "a")
    assert not is_in_use(folder.path)
    with folder.lock():
        assert look_at(folder.path).state == "running"
    assert not is_in_use(folder.path)


@pytest.mark.parametrize("name", ["run.json", "config.json", "journal.jsonl"])
def test_a_broken_file_makes_a_run_damaged_and_is_named(tmp_path: Path, name: str) -> None:
    make(tmp_path / "a", stopped="plateau")
    (tmp_path / "a" / name).write_text("{\n{}\n")
    info = look_at(tmp_path / "a")
    assert info.state == "damaged"
    assert info.problem


def test_a_run_without_a_good_checkpoint_is_damaged(tmp_path: Path) -> None:
    make(tmp_path / "a", stopped="plateau")
    for path in (tmp_path / "a" / "checkpoints").rglob("*.safetensors"):
        path.write_bytes(b"nonsense")
    info = look_at(tmp_path / "a")
    assert info.state == "damaged"
    assert "tensors.safetensors" in info.problem


def test_a_run_that_has_lost_its_last_checkpoint_is_not_read_as_if_it_were_older(
    tmp_path: Path,
) -> None:
    folder = make(tmp_path / "a")
    with folder.lock(), folder.journal() as journal:
        journal.append({"update": 2, "total_episodes": 200, "stopped": "plateau"})
    info = look_at(tmp_path / "a")
    assert (info.state, "its last checkpoint is missing" in info.problem) == ("resumable", True)
    with pytest.raises(CheckpointError, match="its last checkpoint is missing; --resume"):
        latest_of(tmp_path / "a", "train")


def test_a_journal_that_has_lost_lines_is_said(tmp_path: Path) -> None:
    make(tmp_path / "a", stopped="plateau")
    (tmp_path / "a" / "journal.jsonl").write_text("")
    assert "the journal has 0" in look_at(tmp_path / "a").problem
    folder = RunFolder.create(tmp_path / "s", {"seed": 0}, "search")
    with folder.lock(), folder.journal() as journal:
        journal.append({"event": "final", "total_episodes": 7})
        journal.note_head()
    (tmp_path / "s" / "journal.jsonl").write_text("")
    info = look_at(tmp_path / "s")
    assert (info.state, "but 1 were written" in info.problem) == ("damaged", True)


def test_runs_inside_runs_are_found_only_if_wanted(tmp_path: Path) -> None:
    make(tmp_path / "b" / "s")
    make(tmp_path / "b" / "s" / "policies" / "001")
    make(tmp_path / "a")
    assert list(find_runs([tmp_path])) == [tmp_path / "a", tmp_path / "b" / "s"]
    deep = list(find_runs([tmp_path], is_deep=True))
    assert deep[-1] == tmp_path / "b" / "s" / "policies" / "001"


def test_links_are_not_followed_and_told_of(tmp_path: Path) -> None:
    make(tmp_path / "real" / "a")
    lost, loop = tmp_path / "real" / "b", tmp_path / "real" / "loop"
    lost.symlink_to(tmp_path / "nowhere")
    loop.symlink_to(tmp_path / "real")
    told: list[str] = []
    assert len(list(find_runs([tmp_path / "real"], is_deep=True, report=told.append))) == 1
    assert told == [f"{path}: a link, which is not followed" for path in (lost, loop)]


@pytest.mark.parametrize("way", ["gone", "link", "pipe", "folder"])
def test_a_run_that_has_lost_its_mark_is_listed_as_damaged(tmp_path: Path, way: str) -> None:
    make(tmp_path / "a")
    mark = tmp_path / "a" / "run.json"
    mark.unlink()
    if way == "link":
        mark.symlink_to(mark)
    elif way == "pipe":
        os.mkfifo(mark)
    elif way == "folder":
        mark.mkdir()
    assert [look_at(path).state for path in find_runs([tmp_path])] == ["damaged"]
