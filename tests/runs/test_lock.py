import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from standing_orders.errors import CheckpointError
from standing_orders.runs.lock import RunLock

HOLD = """
import sys, time
from pathlib import Path
from standing_orders.runs.lock import RunLock
with RunLock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def hold_elsewhere(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HOLD, str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_process_is_told_who_has_it_and_gets_it_after_a_kill(tmp_path: Path) -> None:
    with hold_elsewhere(tmp_path) as process:
        with pytest.raises(CheckpointError) as caught, RunLock(tmp_path):
            pass
        assert str(tmp_path) in str(caught.value)
        assert f"process {process.pid}:" in str(caught.value)
        process.send_signal(signal.SIGKILL)
        process.wait()
    with RunLock(tmp_path) as lock:
        assert lock.is_held


def test_a_second_handle_of_the_same_process_is_refused(tmp_path: Path) -> None:
    with RunLock(tmp_path):
        with pytest.raises(CheckpointError, match=f"process {os.getpid()}:"), RunLock(tmp_path):
            pass
        with pytest.raises(CheckpointError), RunLock(tmp_path):
            pass  # the first refusal must not have freed the lock


def test_one_object_cannot_be_entered_twice(tmp_path: Path) -> None:
    with RunLock(tmp_path) as lock:
        with pytest.raises(CheckpointError, match="already"), lock:
            pass
        assert lock.is_held


def test_it_is_free_after_the_block_even_after_an_error(tmp_path: Path) -> None:
    lock = RunLock(tmp_path)
    with pytest.raises(KeyError), lock:
        raise KeyError
    assert not lock.is_held
    with lock, pytest.raises(CheckpointError), RunLock(tmp_path):
        pass


def test_a_worker_that_outlives_its_killed_parent_does_not_keep_it(tmp_path: Path) -> None:
    ready, let_go = os.pipe(), os.pipe()
    owner = os.fork()
    if owner == 0:
        RunLock(tmp_path).__enter__()
        if os.fork() == 0:
            os.close(let_go[1])
            os.write(ready[1], b"!")
            os.read(let_go[0], 1)  # until the test closes its end
            os._exit(0)
        os.read(ready[0], 1)
        os._exit(0)  # without leaving the block, as if killed
    try:
        os.waitpid(owner, 0)
        with RunLock(tmp_path) as lock:
            assert lock.is_held
    finally:
        for end in (*ready, *let_go):
            os.close(end)


def test_a_forked_worker_does_not_free_it(tmp_path: Path) -> None:
    with RunLock(tmp_path):
        worker = os.fork()
        if worker == 0:
            os._exit(0)
        os.waitpid(worker, 0)
        with pytest.raises(CheckpointError), RunLock(tmp_path):
            pass


def test_the_owner_clears_leftovers_away_and_nobody_else_does(tmp_path: Path) -> None:
    leftover = tmp_path / ".tmp-config.json"
    with RunLock(tmp_path):
        leftover.touch()
        with pytest.raises(CheckpointError), RunLock(tmp_path):
            pass
        assert leftover.exists()
    with RunLock(tmp_path):
        assert not leftover.exists()


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="nowhere"), RunLock(tmp_path / "nowhere"):
        pass


def test_a_lock_that_is_held_for_an_instant_is_waited_for(tmp_path: Path) -> None:
    first = RunLock(tmp_path)
    first.__enter__()
    release = threading.Timer(0.1, first.__exit__, (None, None, None))
    release.start()
    with RunLock(tmp_path) as second:
        assert second.is_held
    release.join()
