import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from standing_orders.cage2.state import allocate
from standing_orders.errors import CheckpointError, ConfigError, DataError, NumericsError
from standing_orders.runs.checkpoint import (
    load_checkpoint,
    load_latest,
    prune_checkpoints,
    save_checkpoint,
)

TYPES = ("bool", "int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64")
PADDED = np.dtype([("a", "i1"), ("b", "f8", (2,)), ("c", [("x", "u2"), ("y", "i4")])], align=True)


def sum_of(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def names_of(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "checkpoints").iterdir())


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (0, 2), (2, 3, 4)])
def test_arrays_come_back_bit_for_bit(tmp_path: Path, dtype: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    array = rng.integers(0, 256, (*shape, np.dtype(dtype).itemsize), dtype=np.uint8)
    array = (array & 1 if dtype == "bool" else array).view(dtype)[..., 0]  # NaNs of all kinds too
    path = save_checkpoint(tmp_path, 1, {"x": array}, {})
    again = load_checkpoint(path).tensors["x"]
    assert (again.dtype, again.shape) == (array.dtype, array.shape)
    assert again.tobytes() == array.tobytes()
    assert again.flags.writeable


def test_views_are_saved_as_they_look(tmp_path: Path) -> None:
    base = np.arange(12.0).reshape(3, 4)
    views = {"turned": base.T, "part": base[::2, 1::2], "back": base[::-1]}
    again = load_checkpoint(save_checkpoint(tmp_path, 0, views, {})).tensors
    for name, view in views.items():
        np.testing.assert_array_equal(again[name], view)


def test_states_of_environments_come_back(tmp_path: Path) -> None:
    states = allocate(5)
    states["seed"] = np.arange(5, dtype=np.uint64) + np.uint64(2**63)
    states["known_ip"] = -7
    checkpoint = load_checkpoint(save_checkpoint(tmp_path, 1, {"states": states}, {}))
    again = checkpoint.structured("states", states.dtype)
    assert again.dtype == states.dtype
    assert again.tobytes() == states.tobytes()
    assert again.flags.writeable


def test_padding_does_not_change_the_bytes(tmp_path: Path) -> None:
    paths = []
    for i, filler in enumerate((b"\x00", b"\xff")):
        records = np.frombuffer(bytearray(filler * PADDED.itemsize * 3), PADDED)
        records["a"], records["b"] = 1, 2.5
        records["c"]["x"], records["c"]["y"] = 3, 4
        folder = tmp_path / str(i)
        folder.mkdir()
        paths.append(save_checkpoint(folder, 1, {"r": records}, {}))
        assert (load_checkpoint(paths[-1]).structured("r", PADDED) == records).all()
    sums = [
        [hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(path.iterdir())]
        for path in paths
    ]
    assert sums[0] == sums[1]


@pytest.mark.parametrize(
    "other", [[("a", "i4"), ("c", "f4")], [("b", "f4"), ("a", "i4")], [("a", "i4"), ("b", "f8")]]
)
def test_records_with_other_fields_are_refused(tmp_path: Path, other: Any) -> None:
    records = np.zeros(3, [("a", "i4"), ("b", "f4")])
    checkpoint = load_checkpoint(save_checkpoint(tmp_path, 1, {"r": records, "x": np.ones(2)}, {}))
    with pytest.raises(CheckpointError, match="r has other fields"):
        checkpoint.structured("r", np.dtype(other))
    with pytest.raises(CheckpointError, match="no structured array x"):
        checkpoint.structured("x", np.dtype(other))


@pytest.mark.parametrize("array", [np.array(["text"]), np.array([None]), np.zeros(2, ">i4"),
                                   np.zeros(2, [("a", "O")])])  # fmt: skip
def test_other_arrays_are_refused_by_name(tmp_path: Path, array: Any) -> None:
    with pytest.raises(DataError, match="tensor x"):
        save_checkpoint(tmp_path, 1, {"x": array}, {})


def test_data_and_order_come_back(tmp_path: Path) -> None:
    state = np.random.default_rng(3).bit_generator.state
    data = {"rng": state, "num_records": 12, "temperature": 0.1}
    tensors = {"z": np.ones(1), "a": np.ones(1, dtype=bool), "m": np.ones(1, dtype=np.int8)}
    checkpoint = load_checkpoint(save_checkpoint(tmp_path, 1, tensors, data))
    assert checkpoint.data == data
    assert list(checkpoint.data) == list(data)
    assert list(checkpoint.tensors) == ["z", "a", "m"]


def test_nan_in_data_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(NumericsError, match=r"data\.best = nan"):
        save_checkpoint(tmp_path, 1, {}, {"best": float("nan")})
    assert load_latest(tmp_path) == (None, [])


def test_the_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    sums = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        rng = np.random.default_rng(1)
        tensors = {f"layer{i}": rng.random((3, i)) for i in range(20)}
        path = save_checkpoint(tmp_path / name, 7, tensors, {"x": 0.1})
        sums.append(
            [
                (file.name, hashlib.sha256(file.read_bytes()).hexdigest())
                for file in sorted(path.iterdir())
            ]
        )
    assert sums[0] == sums[1]
    assert [name for name, _ in sums[0]] == ["data.json", "manifest.json", "tensors.safetensors"]


def test_the_newest_are_kept(tmp_path: Path) -> None:
    for index in (1, 2, 5, 9):
        save_checkpoint(tmp_path, index, {}, {}, keep=2)
    assert names_of(tmp_path) == ["00000005", "00000009"]
    checkpoint, messages = load_latest(tmp_path)
    assert checkpoint is not None
    assert (checkpoint.index, messages) == (9, [])


def test_going_on_from_an_earlier_one_drops_the_later_ones(tmp_path: Path) -> None:
    for index in (1, 2, 50, 60):
        save_checkpoint(tmp_path, index, {}, {}, keep=4)
    save_checkpoint(tmp_path, 3, {}, {}, keep=2)
    assert names_of(tmp_path) == ["00000002", "00000003"]


def test_pruning_leaves_what_an_uninterrupted_run_has(tmp_path: Path) -> None:
    for index in range(6):
        save_checkpoint(tmp_path, index, {}, {}, keep=10)
    prune_checkpoints(tmp_path, 4, keep=2)
    assert names_of(tmp_path) == ["00000003", "00000004"]


def test_saving_again_replaces_even_a_damaged_one(tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path, 1, {}, {"x": 1})
    (path / "stray").touch()
    save_checkpoint(tmp_path, 1, {}, {"x": 2})
    assert load_checkpoint(path).data == {"x": 2}
    assert names_of(tmp_path) == ["00000001"]


@pytest.mark.parametrize(("index", "keep"), [(-1, 3), (0, 0)])
def test_impossible_numbers_are_refused(tmp_path: Path, index: int, keep: int) -> None:
    with pytest.raises(ConfigError, match="must be at least"):
        save_checkpoint(tmp_path, index, {}, {}, keep=keep)


def change_manifest(path: Path, **changes: Any) -> None:
    manifest = json.loads((path / "manifest.json").read_text())
    manifest.update(changes)
    (path / "manifest.json").write_text(json.dumps(manifest, separators=(",", ":")))


def test_another_format_version_is_refused(tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path, 1, {}, {})
    change_manifest(path, format=2)
    with pytest.raises(CheckpointError, match=r"manifest\.json: format 2: this version reads"):
        load_checkpoint(path)


def test_a_manifest_cannot_point_out_of_the_folder(tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path, 1, {}, {})
    secret = tmp_path / "secret"
    secret.write_bytes(b"?")
    listed = json.loads((path / "manifest.json").read_text())["files"]
    listed["../../secret"] = {"size": 1, "sha256": sum_of(secret)}
    change_manifest(path, files=listed)
    with pytest.raises(CheckpointError, match=r"does not belong: '\.\./\.\./secret'"):
        load_checkpoint(path)


def test_a_link_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path, 1, {}, {})
    (path / "data.json").rename(tmp_path / "outside.json")
    (path / "data.json").symlink_to(tmp_path / "outside.json")
    with pytest.raises(CheckpointError, match=r"data\.json: cannot be read: is a link"):
        load_checkpoint(path)


def test_an_extra_file_is_refused(tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path, 1, {}, {})
    (path / "model.pkl").touch()
    with pytest.raises(CheckpointError, match=r"model\.pkl: does not belong"):
        load_checkpoint(path)


@pytest.mark.parametrize("files", [{}, {"data.json": None}, [], {"data.json": {}}])
def test_a_manifest_of_another_shape_is_refused(tmp_path: Path, files: Any) -> None:
    path = save_checkpoint(tmp_path, 1, {}, {})
    change_manifest(path, files=files)
    with pytest.raises(CheckpointError, match=r"manifest\.json"):
        load_checkpoint(path)


def test_a_checkpoint_under_the_name_of_another_is_refused(tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path, 1, {}, {})
    path.rename(path.with_name("00000099"))
    with pytest.raises(CheckpointError, match="index, 1, is not that of the rest"):
        load_checkpoint(path.with_name("00000099"))


def test_a_copy_under_a_name_of_ones_own_is_fine(tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path, 1, {}, {"x": 1})
    path.rename(tmp_path / "best")
    assert load_checkpoint(tmp_path / "best").data == {"x": 1}


def test_nothing_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"00000001/manifest\.json: missing"):
        load_checkpoint(tmp_path / "00000001")
    assert load_latest(tmp_path) == (None, [])


def test_an_index_that_is_only_in_the_manifest_is_refused(tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path, 1, {}, {}).rename(tmp_path / "best")
    change_manifest(path, index=2)
    with pytest.raises(CheckpointError, match="index, 2, is not that of the rest"):
        load_checkpoint(path)


def test_a_removal_cut_short_leaves_nothing_that_looks_like_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(path: Path) -> None:
        (path / "data.json").unlink()
        raise KeyboardInterrupt

    for index in (1, 2):
        save_checkpoint(tmp_path, index, {}, {})
    monkeypatch.setattr("shutil.rmtree", die)
    with pytest.raises(KeyboardInterrupt):
        prune_checkpoints(tmp_path, 1)
    checkpoint, messages = load_latest(tmp_path)
    assert checkpoint is not None
    assert (checkpoint.index, messages) == (1, [])


def test_a_linked_folder_of_checkpoints_is_left_alone(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (tmp_path / "other").mkdir()
    save_checkpoint(tmp_path / "other", 1, {}, {})
    (tmp_path / "other" / "checkpoints").rename(outside)
    run = tmp_path / "run"
    run.mkdir()
    (run / "checkpoints").symlink_to(outside)
    with pytest.raises(CheckpointError, match="is a link"):
        save_checkpoint(run, 9, {}, {}, keep=1)
    with pytest.raises(CheckpointError, match="is a link"):
        load_latest(run)
    assert [path.name for path in outside.iterdir()] == ["00000001"]
