"""Every file of a run is judged, and a damaged run can be cut back to its last good state."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from standing_orders.errors import CheckpointError
from standing_orders.runs.checkpoint import Witness, save_checkpoint
from standing_orders.runs.folder import RunFolder
from standing_orders.runs.loop import latest_of
from standing_orders.runs.verify import DAMAGED, FOREIGN, GOOD, MIRROR, repair_run, verify_run


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """Six records, and checkpoints after each second one."""
    folder = RunFolder.create(tmp_path / "run", {"seed": 1}, "train")
    with folder.lock(), folder.journal() as journal:
        for update in range(1, 7):
            journal.append({"update": update})
            if update % 2 == 0:
                witness = Witness(folder.seal or "", *journal.head)
                tensors = {"w": np.full(3, float(update))}
                save_checkpoint(folder.path, update, tensors, {"updates": update}, witness=witness)
    return folder


def states(run: RunFolder) -> dict[str, str]:
    return {one.name: one.state for one in verify_run(run.path)}


def test_an_untouched_run_is_as_written(run: RunFolder) -> None:
    (run.path / "training_log.csv").write_text("Update\n")
    (run.path / "notes.txt").write_text("mine")
    assert states(run) == {
        "run.json": GOOD, "config.json": GOOD, "versions.json": GOOD, "journal.jsonl": GOOD,
        "checkpoints/00000002": GOOD, "checkpoints/00000004": GOOD, "checkpoints/00000006": GOOD,
        ".lock": MIRROR, "training_log.csv": MIRROR, "notes.txt": FOREIGN,
    }  # fmt: skip
    assert repair_run(run.path) == []
    assert (run.path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    "name", ["run.json", "config.json", "versions.json", "journal.jsonl",
             "checkpoints/00000004/data.json", "checkpoints/00000004/tensors.safetensors",
             "checkpoints/00000004/manifest.json"],
)  # fmt: skip
def test_any_damaged_file_is_named(run: RunFolder, name: str) -> None:
    path = run.path / name
    content = path.read_bytes()
    for place in range(0, len(content), max(len(content) // 12, 1)):
        damaged = bytearray(content)
        damaged[place] ^= 4
        path.write_bytes(damaged)
        bad = {one for one, state in states(run).items() if state == DAMAGED}
        wanted = {name, "/".join(name.split("/")[:2])}
        # A kind or sum that is changed in the mark shows in what it vouches for.
        assert bad & wanted or name == "run.json", bad
        assert bad


def test_a_damaged_journal_is_cut_back_to_the_last_checkpoint_before(run: RunFolder) -> None:
    path = run.path / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:4], lines[4].replace(b"5", b"7", 1), *lines[5:]]))
    with pytest.raises(CheckpointError, match=r"line 5: its seal.*verify --repair"):
        latest_of(run.path, "train")
    lost = repair_run(run.path)
    assert lost[0] == "checkpoints/00000006"
    assert lost[1].startswith("journal.jsonl: all after record 4, line 5: its seal")
    assert DAMAGED not in states(run).values()
    assert latest_of(run.path, "train")[1].index == 4
    assert path.read_bytes() == b"".join(lines[:4])


def test_a_damaged_checkpoint_is_lost_with_the_records_after_the_one_before(run: RunFolder) -> None:
    (run.path / "checkpoints" / "00000006" / "data.json").unlink()
    assert repair_run(run.path) == ["checkpoints/00000006", "journal.jsonl: all after record 4"]
    assert latest_of(run.path, "train")[1].index == 4


def test_without_a_good_state_nothing_is_changed(run: RunFolder) -> None:
    shutil.rmtree(run.path / "checkpoints")
    before = (run.path / "journal.jsonl").read_bytes()
    with pytest.raises(CheckpointError, match="no checkpoint is good"):
        repair_run(run.path)
    (run.path / "config.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"cannot be repaired: config\.json"):
        repair_run(run.path)
    assert (run.path / "journal.jsonl").read_bytes() == before


def test_a_run_whose_state_is_its_journal_loses_the_broken_end_only(tmp_path: Path) -> None:
    search = RunFolder.create(tmp_path / "search", {"seed": 1}, "search")
    with search.journal() as journal:
        for number in range(5):
            journal.append({"number": number})
            journal.note_head()
    path = search.path / "journal.jsonl"
    content = path.read_bytes()
    path.write_bytes(content.replace(b'"number":3', b'"number":8'))
    assert states(search)["journal.jsonl"] == DAMAGED
    assert len(repair_run(search.path)) == 1
    assert DAMAGED not in states(search).values()
    search.journal().check_head()
    assert [record["number"] for record in search.journal().read()] == [0, 1, 2]


def test_runs_inside_a_run_are_judged_and_repaired_too(tmp_path: Path, run: RunFolder) -> None:
    search = RunFolder.create(tmp_path / "search", {"seed": 1}, "search")
    (search.path / "policies").mkdir()
    shutil.copytree(run.path, search.path / "policies" / "017")
    (search.path / "policies" / "017" / "checkpoints" / "00000006" / "data.json").unlink()
    assert states(search)["policies/017/checkpoints/00000006"] == DAMAGED
    assert repair_run(search.path)[0] == "policies/017/checkpoints/00000006"
    assert DAMAGED not in states(search).values()
