"""A malformed recording gets one clear message."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from standing_orders.cage2.parity import compare_file
from standing_orders.cage2.traces import find_recordings, read_recording
from standing_orders.errors import DataError

Arrays = dict[str, np.ndarray]


@pytest.fixture
def arrays(reference: Path) -> Arrays:
    with np.load(reference / "head" / "useful__bline.npz") as recording:
        return {name: recording[name] for name in recording.files}


def write(folder: Path, arrays: Arrays) -> Path:
    path = folder / "recording.npz"
    np.savez(path, **arrays)
    return path


def test_unknown_arrays_are_ignored(arrays: Arrays, tmp_path: Path) -> None:
    arrays["weather"] = np.array(["rain"])
    assert compare_file(write(tmp_path, arrays)).differences == 0


def test_other_numbers_of_episodes_and_steps_are_read(arrays: Arrays, tmp_path: Path) -> None:
    steps = arrays["blue_action"].shape[1]
    short = {
        name: array[1:2, :18] if array.shape[1] > steps else array[1:2, :17]
        for name, array in arrays.items()
    }
    report = compare_file(write(tmp_path, short))
    assert (report.num_episodes, report.num_steps, report.differences) == (1, 17, 0)


def test_an_array_that_is_not_needed_may_be_missing(arrays: Arrays, tmp_path: Path) -> None:
    del arrays["done"]
    assert compare_file(write(tmp_path, arrays)).differences == 0


def remove(name: str) -> Callable[[Arrays], None]:
    def change(arrays: Arrays) -> None:
        del arrays[name]

    return change


def put(name: str, value: int) -> Callable[[Arrays], None]:
    def change(arrays: Arrays) -> None:
        arrays[name] = arrays[name].astype(np.int64)
        arrays[name][0, 5] = value

    return change


def replace(name: str, array: np.ndarray) -> Callable[[Arrays], None]:
    return lambda arrays: arrays.update({name: array})


def put_target(action: int, target: int) -> Callable[[Arrays], None]:
    def change(arrays: Arrays) -> None:
        arrays["red_action"][0, 5] = action
        arrays["red_target"][0, 5] = target

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (remove("red_action"), "array 'red_action' is missing"),
        (remove("ot"), "array 'ot' is missing"),
        (put("blue_action", 145), r"blue_action\[0, 5\] = 145: must be between 0 and 144"),
        (put("exploit", 9), r"exploit\[0, 5\] = 9"),
        (put("session_pick", 64), r"session_pick\[0, 5\] = 64"),
        (put_target(3, 20), r"red_target\[0, 5\] = 20: no target of red action 3"),
        (put_target(1, 4), r"red_target\[0, 5\] = 4: no target of red action 1"),
        (put_target(4, -1), r"red_target\[0, 5\] = -1"),
        (replace("blue_action", np.zeros(3, np.int8)), r"shape \(3,\), not \(episodes, steps\)"),
        (replace("blue_action", np.zeros((0, 5), np.int8)), r"shape \(0, 5\)"),
        (
            replace("malware", np.zeros((4, 101, 12), np.int8)),
            r"\(4, 101, 12\), not \(4, 101, 13\)",
        ),
        (replace("reward10", np.zeros((4, 100))), "holds float64, not whole numbers"),
        (replace("detect", np.array([{}], dtype=object)), "not a readable npz recording"),
    ],
)
def test_a_malformed_recording_is_refused_by_name(
    arrays: Arrays, tmp_path: Path, change: Callable[[Arrays], None], message: str
) -> None:
    change(arrays)
    path = write(tmp_path, arrays)
    with pytest.raises(DataError, match=message) as caught:
        read_recording(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"not a zip file", b"PK\x03\x04 half a zip file"])
def test_a_file_that_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.npz"
    path.write_bytes(content)
    with pytest.raises(DataError, match="not a readable npz recording"):
        read_recording(path)


def test_a_truncated_recording_is_refused(reference: Path, tmp_path: Path) -> None:
    whole = (reference / "head" / "useful__bline.npz").read_bytes()
    path = tmp_path / "half.npz"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="not a readable npz recording"):
        read_recording(path)


def test_a_damaged_recording_is_refused(reference: Path, tmp_path: Path) -> None:
    whole = bytearray((reference / "head" / "useful__bline.npz").read_bytes())
    whole[2_000:2_010] = bytes(10)
    path = tmp_path / "damaged.npz"
    path.write_bytes(whole)
    with pytest.raises(DataError, match="not a readable npz recording"):
        read_recording(path)


def test_a_folder_means_all_recordings_in_it(reference: Path) -> None:
    assert len(find_recordings([reference / "head"])) == 26


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no recording"):
        find_recordings([tmp_path])


def test_a_missing_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file or folder"):
        find_recordings([tmp_path / "nowhere"])
