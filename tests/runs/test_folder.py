import json
from pathlib import Path
from typing import Any

import pytest

from standing_orders.config import SimConfig
from standing_orders.errors import CheckpointError, NumericsError
from standing_orders.runs import folder as module
from standing_orders.runs.folder import RunFolder, check_unused
from standing_orders.version import VERSION

CONFIG = {"seed": 7, "ppo": {"learning_rate": 3e-4, "epochs": 4}}


def test_a_new_run_holds_config_and_versions(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / "deep" / "run", CONFIG, "train")
    assert json.loads((run.path / "config.json").read_text()) == CONFIG
    assert json.loads((run.path / "versions.json").read_text())["standing_orders"] == VERSION
    assert RunFolder.open(run.path, kind="train") == run
    assert run.versions()["numpy"]


def test_an_empty_folder_will_do(tmp_path: Path) -> None:
    assert RunFolder.create(tmp_path, CONFIG, "train").config == CONFIG


def test_an_existing_run_is_not_begun_again(tmp_path: Path) -> None:
    RunFolder.create(tmp_path, CONFIG, "train")
    with pytest.raises(CheckpointError, match="holds a run: go on with --resume or choose another"):
        RunFolder.create(tmp_path, {}, "train")
    assert RunFolder.open(tmp_path, kind="train").config == CONFIG


@pytest.mark.parametrize("name", ["thesis.tex", "config.json", ".lock2"])
def test_somebody_elses_folder_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(CheckpointError, match=f"not empty and not a run .*{name}"):
        RunFolder.create(tmp_path, CONFIG, "train")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, "mine")]


def test_a_place_for_a_run_can_be_checked_before_it_begins(tmp_path: Path) -> None:
    check_unused(tmp_path / "new")
    RunFolder.create(tmp_path / "run", CONFIG, "train")
    with pytest.raises(CheckpointError, match="holds a run"):
        check_unused(tmp_path / "run")
    with pytest.raises(CheckpointError, match=r"run\.json: cannot be written"):
        check_unused(tmp_path / "run" / "run.json")
    assert not (tmp_path / "new").exists()


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match="file: cannot be written"):
        RunFolder.create(tmp_path / "file", CONFIG, "train")


@pytest.mark.parametrize("num_written", [0, 1, 2])
def test_a_creation_cut_short_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, num_written: int
) -> None:
    write, calls = module.write_atomically, []

    def fail_after_some(path: Path, data: bytes) -> None:
        if len(calls) == num_written:
            raise KeyboardInterrupt
        calls.append(path)
        write(path, data)

    with monkeypatch.context() as patch:
        patch.setattr(module, "write_atomically", fail_after_some)
        with pytest.raises(KeyboardInterrupt):
            RunFolder.create(tmp_path, {"old": 1}, "train")
    with pytest.raises(CheckpointError, match="not a run"):
        RunFolder.open(tmp_path, kind="train")
    assert RunFolder.create(tmp_path, CONFIG, "train").config == CONFIG


def test_a_config_that_cannot_be_stored_makes_no_run(tmp_path: Path) -> None:
    with pytest.raises(NumericsError, match=r"config\.json: ppo\.clip = inf"):
        RunFolder.create(tmp_path, {"ppo": {"clip": float("inf")}}, "train")
    with pytest.raises(CheckpointError, match="not a run"):
        RunFolder.open(tmp_path, kind="train")


def test_a_folder_that_is_being_made_is_in_use(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path, CONFIG, "train")
    (tmp_path / "run.json").unlink()
    with run.lock(), pytest.raises(CheckpointError, match="in use by process"):
        RunFolder.create(tmp_path, CONFIG, "train")


def test_a_run_of_another_kind_is_refused(tmp_path: Path) -> None:
    RunFolder.create(tmp_path, CONFIG, "search")
    with pytest.raises(CheckpointError, match="a run of kind 'search': must be 'train'"):
        RunFolder.open(tmp_path, kind="train")


def test_no_run_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(CheckpointError, match=f"{path.name}: not a run"):
            RunFolder.open(path, kind="train")


@pytest.mark.parametrize("name", ["run.json", "config.json"])
@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 2}'])
def test_damaged_files_are_named(tmp_path: Path, name: str, text: str) -> None:
    RunFolder.create(tmp_path, CONFIG, "train")
    (tmp_path / name).write_text(text)
    with pytest.raises(CheckpointError, match=name):
        RunFolder.open(tmp_path, kind="train")


def test_a_config_of_another_version_is_named(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / "run", {"red": "sleep", "extra": 1}, "train")
    assert run.parse_config(SimConfig, without="extra") == SimConfig(red="sleep")
    with pytest.raises(CheckpointError, match=r"config\.json: not .*: extra: no such option"):
        run.parse_config(SimConfig, without="other")


def test_paths_lie_in_the_folder(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path, CONFIG, "train")
    paths = (run.journal().path, run.tensorboard_path)
    assert {path.parent for path in paths} == {run.path}
    assert len(set(paths)) == 2
    assert run.resolve("report/index.html") == run.path / "report" / "index.html"


@pytest.mark.parametrize(
    "name", ["..", ".", "a/../b", "../other", "a/../../other", "/etc/passwd", "out/x", "\0", "loop"]
)
def test_paths_that_lead_out_are_refused(tmp_path: Path, name: Any) -> None:
    run = RunFolder.create(tmp_path / "run", CONFIG, "train")
    (run.path / "out").symlink_to(tmp_path)
    (run.path / "loop").symlink_to(run.path / "loop")
    with pytest.raises(CheckpointError, match=r"leads out of the run folder|is not a path"):
        run.resolve(name)


def test_a_mirror_that_is_a_link_to_elsewhere_is_refused(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / "run", CONFIG, "train")
    (run.path / "metrics.csv").symlink_to(tmp_path / "precious.csv")
    with pytest.raises(CheckpointError, match="leads out"):
        run.resolve("metrics.csv")


def test_of_two_that_begin_a_run_at_once_the_slower_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def be_overtaken() -> dict[str, Any]:
        monkeypatch.undo()
        RunFolder.create(tmp_path, {"who": "the faster"}, "train")
        return {}

    monkeypatch.setattr(module, "software_versions", be_overtaken)
    with pytest.raises(CheckpointError, match="holds a run"):
        RunFolder.create(tmp_path, {"who": "the slower"}, "train")
    assert RunFolder.open(tmp_path, kind="train").config == {"who": "the faster"}


@pytest.mark.parametrize("name", ["run.json", "config.json", "versions.json"])
def test_any_flipped_bit_is_noticed(tmp_path: Path, name: str) -> None:
    RunFolder.create(tmp_path, CONFIG, "train")
    file = tmp_path / name
    content = file.read_bytes()
    for position in range(0, len(content) * 8, 7):
        changed = bytearray(content)
        changed[position // 8] ^= 1 << position % 8
        file.write_bytes(changed)
        with pytest.raises(CheckpointError, match=r"json: |kind"):
            RunFolder.open(tmp_path, kind="train").versions()


def test_a_run_without_seals_still_opens(tmp_path: Path) -> None:
    for name, value in {
        "run.json": {"format": 1, "kind": "train"},
        "config.json": CONFIG,
        "versions.json": {},
    }.items():
        (tmp_path / name).write_text(json.dumps(value))
    (tmp_path / "journal.jsonl").write_text('{"update":1}\n')
    run = RunFolder.open(tmp_path, kind="train")
    with run.journal() as journal:
        journal.append({"update": 2})
    assert run.seal is None
    assert [record["update"] for record in run.journal().read()] == [1, 2]


def test_a_linked_lock_is_left_alone(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / "run", CONFIG, "train")
    outside = tmp_path / "outside"
    outside.write_text("precious")
    (run.path / ".lock").unlink()
    (run.path / ".lock").symlink_to(outside)
    with pytest.raises(CheckpointError, match="is a link"), run.lock():
        pass
    assert outside.read_text() == "precious"


def test_an_extended_run_has_the_new_values_and_keeps_the_config_it_began_with(
    tmp_path: Path,
) -> None:
    run = RunFolder.create(tmp_path / "run", {"seed": 7, "episodes": 10}, "train")
    assert not run.is_extended
    again = run.extend(episodes=20)
    assert again.is_extended
    assert again.config == {"seed": 7, "episodes": 20}
    assert again.seal == run.seal
    path = tmp_path / "run" / "extension.json"
    path.write_text(path.read_text().replace("20", "30"))
    with pytest.raises(CheckpointError, match="damaged, or the extension of another run"):
        RunFolder.open(tmp_path / "run")


def test_the_extension_of_another_run_is_refused(tmp_path: Path) -> None:
    one = RunFolder.create(tmp_path / "one", {"seed": 1}, "train").extend(episodes=20)
    two = RunFolder.create(tmp_path / "two", {"seed": 2}, "train")
    (two.path / "extension.json").write_bytes((one.path / "extension.json").read_bytes())
    with pytest.raises(CheckpointError, match="extension of another run"):
        RunFolder.open(two.path)
