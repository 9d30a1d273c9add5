"""Whatever kills a run, it goes on and ends with the very files of an undisturbed one."""

import errno
import itertools
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from standing_orders.errors import CheckpointError
from standing_orders.runs.checkpoint import load_latest, save_checkpoint
from standing_orders.runs.folder import RunFolder, is_run
from tests.effort import effort
from tests.faults import toy_run
from tests.faults.processes import exit_code, fork, may_fork, watched

SCRIPT = Path(toy_run.__file__)
NUM_STEPS = 11  # of the short run: three checkpoints, one is removed, two records after them
NUM_KILLS = effort(20, 10)
LONG = 2_000  # steps: more than are made between all kills


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a run but the versions: a commit during the test changes those."""
    files = (p for p in folder.rglob("*") if p.is_file() and p.name != "versions.json")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def start(folder: Path, num_steps: int, **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, str(SCRIPT), str(folder), str(num_steps)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, **options)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder in memory if possible: thousands of writes that wait for a disk take minutes."""
    memory = Path("/dev/shm")
    is_usable = memory.is_dir() and os.access(memory, os.W_OK)
    with tempfile.TemporaryDirectory(dir=memory if is_usable else None) as folder:
        yield Path(folder).resolve()


@pytest.fixture(autouse=True)
def versions_without_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asking git takes most of the time of a short run."""
    monkeypatch.setattr("standing_orders.runs.folder.software_versions", lambda: {"python": "3"})


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("standing_orders.runs.folder.software_versions", lambda: {"python": "3"})
        toy_run.run(folder, NUM_STEPS)
    assert len(RunFolder.open(folder, kind="toy").journal().read()) == NUM_STEPS
    assert sorted(path.name for path in (folder / "checkpoints").iterdir()) == [
        "00000006", "00000009",
    ]  # fmt: skip
    return folder


def run_until_killed(folder: Path, fatal_call: int) -> bool:
    """Run in a child that dies before a certain call, or halfway if it writes."""
    write = os.write

    def die(number: int, name: str, args: tuple[Any, ...]) -> None:
        if number == fatal_call:
            if name == "write":
                write(args[0], args[1][: len(args[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)

    def work() -> None:
        with watched(die):
            toy_run.run(folder, NUM_STEPS)

    return exit_code(fork(work)) == -signal.SIGKILL


@may_fork
def test_a_kill_at_any_system_call_changes_nothing_in_the_end(
    tmp_path: Path, undisturbed: Path
) -> None:
    wanted = contents(undisturbed)
    for fatal_call in itertools.count(0, effort(1, 2)):  # every one in `make test-all`
        folder = tmp_path / str(fatal_call)
        is_killed = run_until_killed(folder, fatal_call)
        toy_run.run(folder, NUM_STEPS)
        assert contents(folder) == wanted, f"killed at call {fatal_call}"
        if not is_killed:
            break
    assert fatal_call > 80  # else the calls were not the watched ones


@may_fork
@pytest.mark.parametrize("seed", range(effort(15, 5)))
def test_kills_while_resuming_change_nothing_in_the_end(
    tmp_path: Path, undisturbed: Path, seed: int
) -> None:
    rng = random.Random(seed)
    for _ in range(6):
        run_until_killed(tmp_path / "run", rng.randrange(60))
    toy_run.run(tmp_path / "run", NUM_STEPS)
    assert contents(tmp_path / "run") == contents(undisturbed)


@may_fork
def test_kills_at_random_moments_change_nothing_in_the_end(tmp_path: Path) -> None:
    toy_run.run(tmp_path / "undisturbed", LONG)
    reference = RunFolder.open(tmp_path / "undisturbed", kind="toy").journal().read()
    folder, rng, num_killed = tmp_path / "killed", random.Random(0), 0
    for _ in range(NUM_KILLS):
        child = fork(lambda: toy_run.run(folder, LONG))
        while not (folder / "run.json").exists():
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.06))
        os.kill(child, signal.SIGKILL)
        num_killed += exit_code(child) == -signal.SIGKILL
        records = RunFolder.open(folder, kind="toy").journal([].append).read()
        assert records == reference[: len(records)]
        checkpoint, messages = load_latest(folder)
        assert not messages
        assert checkpoint is None or len(records) >= checkpoint.data["num_records"]
    assert num_killed >= NUM_KILLS // 2, num_killed
    toy_run.run(folder, LONG)
    assert contents(folder) == contents(tmp_path / "undisturbed")


@may_fork
def test_two_processes_on_one_folder_do_not_meet(tmp_path: Path) -> None:
    toy_run.run(tmp_path / "alone", 300)

    def work() -> int:
        try:
            toy_run.run(tmp_path / "both", 300)
        except CheckpointError:
            return 3
        return 0

    codes = [exit_code(child) for child in [fork(work), fork(work)]]
    assert 0 in codes
    assert set(codes) <= {0, 3}
    toy_run.run(tmp_path / "both", 300)
    assert contents(tmp_path / "both") == contents(tmp_path / "alone")


def resume_after_failure(folder: Path, undisturbed: Path) -> None:
    """What is there after a failed write is whole, and the run goes on from it."""
    messages: list[str] = []
    if is_run(folder):
        RunFolder.open(folder, kind="toy").journal(messages.append).read()
    assert not messages
    assert load_latest(folder)[1] == []
    assert not list(folder.rglob(".tmp-*"))
    toy_run.run(folder, NUM_STEPS)
    assert contents(folder) == contents(undisturbed)


def test_a_disk_that_fills_up_anywhere_is_one_clear_error(
    tmp_path: Path, undisturbed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    for capacity in itertools.count(0, 61):
        left = capacity

        def limited(descriptor: int, data: Any) -> int:
            nonlocal left
            if not left:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            taken = write(descriptor, data[:left])
            left -= taken
            return taken

        folder = tmp_path / str(capacity)
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", limited)
            try:
                toy_run.run(folder, NUM_STEPS)
            except CheckpointError as err:
                assert "cannot be written: No space left on device" in str(err)
            else:
                break
        resume_after_failure(folder, undisturbed)
    assert capacity > 2_000


def fail_at(bad_call: int, names: list[str]) -> Callable[[int, str, tuple[Any, ...]], None]:
    def fail(number: int, name: str, args: tuple[Any, ...]) -> None:
        names.append(name)
        if number == bad_call:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    return fail


def test_any_call_that_fails_is_one_clear_error(tmp_path: Path, undisturbed: Path) -> None:
    for bad_call in itertools.count():
        names: list[str] = []

        folder = tmp_path / str(bad_call)
        try:
            with watched(fail_at(bad_call, names)):
                toy_run.run(folder, NUM_STEPS)
        except CheckpointError as err:
            assert "cannot be written: Input/output error" in str(err)
        if len(names) <= bad_call:
            break
        toy_run.run(folder, NUM_STEPS)
        assert contents(folder) == contents(undisturbed), f"call {bad_call}: {names[bad_call]}"
    assert bad_call > 80


def test_a_limit_on_file_sizes_leaves_what_was_written(tmp_path: Path) -> None:
    with start(tmp_path / "undisturbed", 100) as process:
        assert process.wait() == 0

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000))

    folder = tmp_path / "limited"
    with start(folder, 100, preexec_fn=limit) as process:
        error = process.communicate()[1]
    assert process.returncode == 1
    assert error.startswith("CheckpointError: ")
    assert "journal.jsonl: cannot be written: File too large" in error
    assert len(error.splitlines()) == 1
    records = RunFolder.open(folder, kind="toy").journal().read()
    checkpoint, messages = load_latest(folder)
    assert checkpoint is not None
    assert (checkpoint.index, messages) == (len(records) // 3 * 3, [])
    with start(folder, 100) as process:
        assert process.wait() == 0
    assert contents(folder) == contents(tmp_path / "undisturbed")


@pytest.fixture
def two_checkpoints(tmp_path: Path) -> Path:
    for index in (1, 2):
        tensors = {"w": np.arange(6.0), "s": np.ones(2, toy_run.STATE)}
        save_checkpoint(tmp_path, index, tensors, {"num_records": index})
    return tmp_path / "checkpoints" / "00000002"


def assert_refused(path: Path, *names: str) -> None:
    """The newest checkpoint is refused by the name of one of the files, the one before is used."""
    checkpoint, messages = load_latest(path.parents[1])
    assert checkpoint is not None
    assert (checkpoint.index, checkpoint.data) == (1, {"num_records": 1})
    assert len(messages) == 2
    assert any(f"{path}/{name}" in messages[0] for name in names), messages
    assert messages[1] == f"{path.with_name('00000001')}: used instead"


FILES = ("tensors.safetensors", "data.json", "manifest.json")


@pytest.mark.parametrize("name", FILES)
def test_a_flipped_bit_anywhere_is_found(two_checkpoints: Path, name: str) -> None:
    rng = random.Random(0)
    content = (two_checkpoints / name).read_bytes()
    # A flip in the manifest's sum of a file shows as damage of that file.
    blamed = FILES if name == "manifest.json" else (name,)
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 1 << rng.randrange(8)
        (two_checkpoints / name).write_bytes(damaged)
        assert_refused(two_checkpoints, *blamed, "")


@pytest.mark.parametrize("name", FILES)
def test_a_truncated_or_longer_file_is_found(two_checkpoints: Path, name: str) -> None:
    content = (two_checkpoints / name).read_bytes()
    for size in {0, 1, 8, len(content) // 2, len(content) - 1}:
        (two_checkpoints / name).write_bytes(content[:size])
        assert_refused(two_checkpoints, name)
    for extra in (b"\0", b"\n", content):
        (two_checkpoints / name).write_bytes(content + extra)
        assert_refused(two_checkpoints, name)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_or_exchanged_file_is_found(two_checkpoints: Path, name: str) -> None:
    (two_checkpoints / name).unlink()
    assert_refused(two_checkpoints, name)
    (two_checkpoints / name).mkdir()
    assert_refused(two_checkpoints, name)
    (two_checkpoints / name).rmdir()
    shutil.copy(two_checkpoints.with_name("00000001") / name, two_checkpoints)
    if name != "tensors.safetensors":  # the arrays are the same in both
        assert_refused(two_checkpoints, *FILES)


def test_when_all_are_damaged_each_is_named(two_checkpoints: Path) -> None:
    for path in two_checkpoints.parent.iterdir():
        (path / "data.json").unlink()
    checkpoint, messages = load_latest(two_checkpoints.parents[1])
    assert checkpoint is None
    assert [f"{index:08d}/data.json: missing" in messages[2 - index] for index in (2, 1)] == [
        True, True,
    ]  # fmt: skip
