"""What an attack is, and how one case of it is played, watched and judged."""

import hashlib
import io
import random
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from standing_orders.cli.app import main

MAX_SECONDS = 10.0  # of processor time for a case, or ten times that by the clock: more is a hang
MAX_GROWTH = 2**30  # bytes that a case may add to the memory of the process
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
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([str(word) for word in words])
    return Said(code, out.getvalue(), err.getvalue())


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


def digest_of(folder: Path, *, without: frozenset[str] = frozenset()) -> str:
    """Names, kinds and contents of a tree."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if not without & set(name.parts):
            digest.update(f"{name} {path.lstat().st_mode}".encode())
            digest.update(path.read_bytes() if path.is_file() and not path.is_symlink() else b"")
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
