"""What an attack is, and how one case of it is played, watched and judged."""

import hashlib
import io
import random
import resource
import signal
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from standing_orders.cli.app import main
from standing_orders.cli.command import Shown
from standing_orders.detect.assess.probe import Probe

MAX_SECONDS = 10.0  # of processor time for a case, or ten times that by the clock: more is a hang
MAX_GROWTH = 2**30  # bytes that a case may add to the memory of the process
_GIANT = 2**30  # bytes: a file that is there only to be refused
CODES = {0, 1, 2, 3, 4}
STEERING = set(map(chr, [*range(9), *range(11, 32), *range(127, 160)])) | set("\u202e\u2066")


@dataclass(frozen=True)
class Attack:
    """One row of the table of attacks.

    Args:
        name: of the attack.
        what: one case is, and what must not happen.
        short: cases in a short battery.
        long: cases in a long one.
        prepare: makes what all cases share, in a folder.
        play: one case, given what was prepared, a generator of its own and an empty folder; it
            gives what is wrong, None if nothing is.
        max_seconds: of a case; see `MAX_SECONDS`.
    """

    name: str
    what: str
    short: int
    long: int
    prepare: Callable[[Path], Any]
    play: Callable[[Any, random.Random, Path], str | None]
    max_seconds: float = MAX_SECONDS


@dataclass(frozen=True)
class Said:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def fault(self) -> str | None:
        """What no command may do, whatever it was given."""
        text = self.out + self.err
        if "Traceback" in text or "fault of the program" in text:
            return f"traceback: {self.err[-300:]!r}"
        if self.code not in CODES:
            return f"exit code {self.code}"
        if self.code > 1 and not self.err.strip():
            return f"exit code {self.code} without a message"
        if bad := STEERING & set(text):
            return f"control characters {sorted(bad)!r} on the terminal"
        return None


def call(*words: object) -> Said:
    """Run a command in this process."""
    return said_by(main, [str(word) for word in words])


def said_by(work: Callable[[list[str]], int], words: list[str]) -> Said:
    """What a function says, and its exit code."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        code = work(words)
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
    return Said(code, *texts)


@contextmanager
def light() -> Iterator[None]:
    """Commands without what costs most of their time and is no part of a run.

    The look at the data before training, git's word on the sources, and what follows the last
    checkpoint: figures on fresh episodes and the page.
    """
    learnable = Probe(pr_auc=1.0, prevalence=0.1, pr_auc_event=1.0, p_value=0.0, num_events=100,
                      num_threats=10, num_benign=90, is_cross_validated=False)  # fmt: skip
    nothing = Shown((), {})
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (
            ("runs.folder.software_versions", {"python": "3"}), ("cli.report.leave_report", None),
            ("api.ending.measure_run", nothing), ("api.teams.measure_team", nothing),
            ("detect.assess.probe.probe", learnable),
        ):  # fmt: skip
            patch.setattr(f"standing_orders.{name}", lambda *_, value=value: value)
        yield


def play_case(attack: Attack, shared: Any, number: int, folder: Path) -> str | None:
    """Play one case beside a canary tree; what is wrong, None if nothing is.

    A case depends on its number alone, so that it can be played again by itself.
    """
    canary = folder / "canary"
    place = folder / "case"
    place.mkdir()
    _plant(canary)
    before, memory = digest_of(canary), _peak_bytes()
    try:
        with _time_limit(attack.max_seconds):
            fault = attack.play(shared, random.Random(f"{attack.name} {number}"), place)
    except _LateError:
        fault = f"hang: more than {attack.max_seconds:.0f} s"
    except Exception as err:  # the whole point: nothing may get as far as here
        fault = f"{type(err).__name__}: {err}"
    if digest_of(canary) != before:
        return f"wrote or deleted outside the folder ({fault})"
    if _peak_bytes() - memory > MAX_GROWTH:
        return f"took {(_peak_bytes() - memory) / 1e9:.1f} GB of memory ({fault})"
    return fault


def _plant(canary: Path) -> None:
    """Files and folders that nobody has any business with."""
    (canary / "checkpoints" / "00000002").mkdir(parents=True)
    for name in ("precious", "checkpoints/precious", "checkpoints/00000002/data.json"):
        (canary / name).write_text("precious\n")


def digest_of(
    folder: Path, *, without: frozenset[str] = frozenset(), but: frozenset[Path] = frozenset()
) -> str:
    """Names, kinds and contents of a tree, without files of some names and but for some folders."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if not (without & set(name.parts) or but & {path, *path.parents}):
            found = path.lstat()
            digest.update(f"{name} {found.st_mode}".encode())
            if stat.S_ISREG(found.st_mode):
                digest.update(str(found.st_size).encode())
                digest.update(path.read_bytes() if found.st_size < _GIANT else b"")
    return digest.hexdigest()


class _LateError(BaseException):
    """A case takes too long."""


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise _LateError

    timers = {signal.SIGPROF: (signal.ITIMER_PROF, seconds),
              signal.SIGALRM: (signal.ITIMER_REAL, 10 * seconds)}  # fmt: skip
    before = {number: signal.signal(number, stop) for number in timers}
    for timer, limit in timers.values():
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        for number, (timer, _) in timers.items():
            signal.setitimer(timer, 0)
            signal.signal(number, before[number])


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
