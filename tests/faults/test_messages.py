"""Whatever is wrong with the input, a command ends with one message and the code for it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from standing_orders.cli import app
from standing_orders.cli.app import COMMANDS, main
from standing_orders.cli.command import resumable
from standing_orders.errors import (
    CheckpointError,
    ConfigError,
    DataError,
    NumericsError,
    ResourceError,
    SimulationError,
    VotingError,
    WorkerError,
)
from standing_orders.runs.folder import RunFolder
from tests.faults.processes import exit_code, fork, may_fork

DEEP = "x = " + "[" * 20_000 + "]" * 20_000
TINY = ("train", "--episodes", "40", "--update-episodes", "10", "--ppo.hidden", "8",
        "--gate.episodes", "4")  # fmt: skip


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    """Exit code and message of a command that must end with one line on standard error."""
    code = main([str(word) for word in words])
    *_, said = capsys.readouterr().err.splitlines()  # before it, what a command is about to do
    assert said.startswith("error: "), said
    assert "fault of the program" not in said
    return code, said


@pytest.mark.parametrize(
    ("text", "code", "why"),
    [
        (DEEP, 3, "nested too deeply"),
        (f"seed = {'1' * 5_000}", 3, "cannot be read as TOML: Exceeds the limit"),
        (f"seed = 0x{'f' * 5_000}", 2, "seed = a int that is too long to show"),
        (f'order = "{"x" * 5_000}"', 2, r"order 'xxx"),
        ('config = "other.toml"', 2, "config: no such option in a file"),
        ('preset = "fast"', 2, "preset: no such option in a file"),
        ('run_folder = "a\\u0000b"', 2, "run_folder = .*null byte"),
        ('start = "a\\u0000b"', 2, "start = .*null byte"),
        ("\x00", 3, "cannot be read as TOML"),
        ("seed = nan", 2, "seed"),
    ],
)
def test_settings_that_cannot_be_used(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, code: int, why: str
) -> None:
    path = tmp_path / "own.toml"
    path.write_text(text)
    found, said = refused(capsys, "train", "--config", path)
    assert found == code
    assert len(said) < 1_000
    assert re.search(why, said), said


def test_a_pipe_a_device_a_loop_and_a_giant_are_not_read(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with (tmp_path / "giant").open("wb") as file:
        file.truncate(40 * 2**30)
    for name in ("pipe", "loop", "giant", "/dev/zero", "missing", "."):
        for words in (
            ("train", "--config", tmp_path / name),
            ("detect", "train", "--data", tmp_path / name, "--label", "y"),
            ("parity", tmp_path / name),
        ):
            assert refused(capsys, *words)[0] in (2, 3)


@pytest.mark.parametrize("name", ["run.json", "config.json", "journal.jsonl", "checkpoints"])
def test_a_run_folder_of_pipes_and_loops_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    folder = RunFolder.create(tmp_path / "run", {"seed": 1, "start": None}, "train")
    for make in (
        os.mkfifo,
        lambda path: path.symlink_to(path),
        lambda path: path.write_bytes(b"\xff" * 9 + b"\n{}\n"),
    ):
        place = folder.path / name
        place.unlink(missing_ok=True)
        make(place)
        for words in (
            ("train", "--resume", "--run", folder.path),
            ("evaluate", "--policy", folder.path),
            ("runs", "show", folder.path),
            ("report", folder.path, "--episodes", "0"),
        ):
            if name != "checkpoints" or "runs" not in words:
                assert refused(capsys, *words)[0] in (2, 3)


@pytest.mark.parametrize(
    "words",
    [
        ("train", "--update-episodes", "1000000000"),
        ("train", "--ppo.hidden", "1000000000"),
        ("train", "--ppo.hidden", "100000", "100000"),
        ("train", "--order", "0", "--stop-at-gate", "--gate.episodes", "10000000000"),
        ("search", "--budget", "10000000000000", "--final-episodes", "10000000000"),
        ("search", "--budget", "10000000000000", "--prior-episodes", "10000000000"),
        ("evaluate", "--policy", "heuristic", "--episodes", "100000000000"),
        ("detect", "train", "--learn.steps", "100000000000"),
        ("detect", "train", "--team.hidden", "1000000000"),
    ],
)
@pytest.mark.usefixtures("brief_detection")
def test_sizes_beyond_memory_are_refused_with_the_number(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    code, said = refused(capsys, *words)
    assert code == 4
    assert re.search(r"takes about [0-9,.]+ GB of memory, but [0-9.]+ GB are free", said), said
    assert not list(tmp_path.rglob("run.json"))


@pytest.mark.usefixtures("brief_endings")
def test_names_do_not_steer_the_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = "\x1b]0;x\x07[/bold]\u202e\udcff=1"
    assert main([*TINY, "--run", name]) == 0
    few = ("--episodes", "2", "--order-episodes", "2", "--order", "0")
    for words in (
        ("runs",), ("runs", "."), ("runs", "show", name), ("evaluate", "--policy", name, *few),
        ("play", "--policy", name, "--horizon", "2"), ("train", f"--{name}"),
        ("train", "--order", name), (name,),
    ):  # fmt: skip
        main(list(words))
    said = capsys.readouterr()
    text = said.out + said.err
    assert "[/bold]" in text
    assert not set("\x1b\x07\u202e\udcff") & set(text)


@may_fork
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_lets_the_update_end_saves_and_says_how_to_go_on(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    journal, said = tmp_path / "run" / "journal.jsonl", tmp_path / "said"

    def work() -> int:
        os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT, 0o600), 2)
        sys.stderr = os.fdopen(2, "w")  # not the one that pytest reads
        signal.signal(number, signal.SIG_DFL)  # under nohup it is ignored
        long = ("--episodes", "100000", "--update-episodes", "10", "--checkpoint-every", "100000")
        return main(["train", *long, "--ppo.hidden", "8", "--run", str(tmp_path / "run")])

    child = fork(work)
    deadline = time.monotonic() + 300
    while not (journal.exists() and journal.read_text().count("\n") > 3):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(child, number)
    assert exit_code(child) == code
    assert f"to go on: standing-orders train --resume --run {tmp_path}/run" in said.read_text()
    num_updates = journal.read_text().count("\n")
    newest = sorted((tmp_path / "run" / "checkpoints").iterdir())[-1]
    assert int(newest.name) == num_updates > 3
    assert json.loads(journal.read_text().splitlines()[-1])["update"] == num_updates


def test_a_signal_where_no_update_runs_ends_at_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "_dispatch", lambda _: signal.raise_signal(signal.SIGTERM))
    before = signal.getsignal(signal.SIGTERM)
    assert main(["evaluate"]) == 143
    assert capsys.readouterr().err == "interrupted\n"
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_pipe_that_nobody_reads_is_a_quiet_end() -> None:
    for words in ("train --help-all", "presets --json"):
        command = f"{sys.executable} -m standing_orders {words} | head -1; exit ${{PIPESTATUS[0]}}"
        answer = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
        assert (answer.returncode, answer.stderr) == (0, b"")


def test_a_full_disk_behind_the_output_is_one_message() -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "standing_orders", "presets"]
        answer = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert answer.returncode == 3
    assert answer.stderr == "error: standard output, or a file: No space left on device\n"


@pytest.mark.parametrize(
    "fault", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried")]
)
def test_memory_that_gives_out_is_one_message_with_a_good_checkpoint(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    fault: Exception,
) -> None:
    def work(_: object) -> int:
        with resumable("train", tmp_path / "run"):
            raise fault
        return 0

    monkeypatch.setattr(app, "_dispatch", work)
    assert main([]) == 4
    assert capsys.readouterr().err.startswith("error: out of memory: ask for less")
    RunFolder.create(tmp_path / "run", {"seed": 1}, "train")
    assert main([]) == 4
    said = capsys.readouterr().err
    assert "out of memory; its last checkpoint is good" in said
    assert f"standing-orders train --resume --run {tmp_path}/run" in said


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_an_unknown_flag_with_code_2(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    assert main([*command.split(), "--no-such-flag"]) == 2
    said = capsys.readouterr()
    assert f"standing-orders {command}" in said.err  # which has the help
    assert said.out == ""


@pytest.mark.parametrize(
    ("error", "code"),
    [(ConfigError, 2), (SimulationError, 2), (VotingError, 2), (DataError, 3), (CheckpointError, 3),
     (NumericsError, 4), (WorkerError, 4), (ResourceError, 4), (KeyboardInterrupt, 130),
     (LookupError, 4), (PermissionError, 3), (BrokenPipeError, 0)],
)  # fmt: skip
def test_what_ends_a_command_decides_its_code(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: type[BaseException],
    code: int,
) -> None:
    def fail(_: object) -> int:
        raise error("x\x1b")

    monkeypatch.setattr(app, "_dispatch", fail)
    assert main([]) == code
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert len(said.splitlines()) == (0 if code == 0 else 1)
    assert ("fault of the program" in said) == (error is LookupError)
