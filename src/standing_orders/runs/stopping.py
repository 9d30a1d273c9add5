"""Being told to stop: SIGTERM and SIGHUP let the running update end and be saved first."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class Stopped(KeyboardInterrupt):
    """A signal has asked the command to end; as with Ctrl-C, no `except Exception` catches it.

    Args:
        message: for the user.
        number: of the signal.
    """

    def __init__(self, message: str = "", number: int = signal.SIGTERM) -> None:
        super().__init__(message)
        self.number = number

    @property
    def exit_code(self) -> int:
        """What a shell expects of a command that a signal has ended."""
        return 128 + self.number


class _Wish:
    """Which signal has asked for an end, and whether there is an update to wait for."""

    number: int | None = None
    is_updating = False


_wish = _Wish()


@contextmanager
def heeding_signals() -> Iterator[None]:
    """Answer SIGTERM and SIGHUP inside the block with `Stopped`, between two updates.

    Where no update runs, and when a second signal comes, it is raised at once. In a thread other
    than the main one, and for a signal that the caller has set to be ignored (`nohup`), nothing
    changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    _wish.number = None
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, _take_note)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _wish.number = None


@contextmanager
def updating() -> Iterator[None]:
    """Updates are made inside the block: a signal waits for `end_if_asked`."""
    before, _wish.is_updating = _wish.is_updating, True
    try:
        yield
    finally:
        _wish.is_updating = before


def is_asked() -> bool:
    """Whether a signal waits for the running update to end."""
    return _wish.number is not None


def end_if_asked() -> None:
    """Stop here, after all that matters is saved, if a signal has come meanwhile.

    Raises:
        Stopped: it has.
    """
    if _wish.number is not None:
        raise Stopped(number=_wish.number)


def _take_note(number: int, _: FrameType | None) -> None:
    is_second = _wish.number is not None
    _wish.number = number
    if is_second or not _wish.is_updating:
        raise Stopped(number=number)
