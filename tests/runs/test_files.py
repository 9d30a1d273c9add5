import errno
import os
from pathlib import Path
from typing import Any

import pytest

from standing_orders.errors import CheckpointError
from standing_orders.runs.files import (
    MAX_BYTES,
    read_regular,
    remove_leftovers,
    write_all,
    write_atomically,
    write_synced,
)


def test_the_file_holds_the_data_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_atomically(path, b"first, and longer")
    write_atomically(path, b"second")
    assert path.read_bytes() == b"second"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("function", ["write", "fsync", "replace"])
def test_whatever_fails_the_old_file_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    def fail(*args: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "a.json"
    write_atomically(path, b"old")
    with monkeypatch.context() as patch:
        patch.setattr(os, function, fail)
        with pytest.raises(CheckpointError, match=r"a\.json: cannot be written: No space left"):
            write_atomically(path, b"new")
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("a.json", b"old")]


def test_data_is_on_the_disk_before_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    fsync, replace = os.fsync, os.replace

    def noted_fsync(descriptor: int) -> None:
        calls.append("fsync")
        fsync(descriptor)

    def noted_replace(source: Path, target: Path) -> None:
        calls.append("replace")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    write_atomically(tmp_path / "a", b"data")
    assert calls == ["fsync", "replace", "fsync"]


def test_everything_is_written_when_the_system_takes_it_piecemeal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:3]))
    with (tmp_path / "a").open("wb") as file:
        write_all(file.fileno(), b"0123456789")
    assert (tmp_path / "a").read_bytes() == b"0123456789"


def test_leftovers_are_removed_here_and_one_folder_down(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "checkpoints"):
        (folder / ".tmp-new-00000003").mkdir(parents=True)
        (folder / ".tmp-new-00000003" / "data.json").touch()
        (folder / ".tmp-config.json").touch()
        (folder / "kept.json").touch()
    remove_leftovers(tmp_path)
    names = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    assert names == {"kept.json", "checkpoints", "checkpoints/kept.json"}


def test_cleaning_does_not_follow_links(tmp_path: Path) -> None:
    outside, run = tmp_path / "outside", tmp_path / "run"
    (outside / ".tmp-precious").mkdir(parents=True)
    run.mkdir()
    (run / "link").symlink_to(outside)
    (run / ".tmp-link").symlink_to(outside)
    remove_leftovers(run)
    assert (outside / ".tmp-precious").is_dir()
    assert not (run / ".tmp-link").is_symlink()


@pytest.mark.parametrize("what", ["link", "dangling link", "pipe", "folder"])
def test_nothing_but_a_file_is_opened(tmp_path: Path, what: str) -> None:
    path, outside = tmp_path / "name", tmp_path / "outside"
    if what == "link":
        outside.write_text("precious")
        path.symlink_to(outside)
    elif what == "dangling link":
        path.symlink_to(outside)
    elif what == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(OSError):
        read_regular(path)
    with pytest.raises(OSError):
        write_synced(path, b"changed")
    assert outside.exists() == (what == "link")
    assert what != "link" or outside.read_text() == "precious"


def test_a_file_beyond_all_measure_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(OSError, match="that such a file may have"):
        read_regular(path)


def test_a_file_in_a_linked_folder_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").write_bytes(b"x")
    (tmp_path / "linked").symlink_to(tmp_path / "real")
    assert read_regular(tmp_path / "real" / "file") == b"x"
    with pytest.raises(OSError):
        read_regular(tmp_path / "linked" / "file")
    assert read_regular(tmp_path / "linked" / "file", may_be_link=True) == b"x"
