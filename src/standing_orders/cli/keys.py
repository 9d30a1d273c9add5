"""Single keys from a terminal, or lines where there are no single keys."""

import os
import re
import select
import sys
from types import TracebackType
from typing import Protocol

try:
    import termios
    import tty
except ImportError:  # no such terminals on this system
    termios = None  # type: ignore[assignment]

NEXT, BACK, FIRST, LAST, PAUSE, HELP, QUIT = (
    "next", "back", "first", "last", "pause", "help", "quit",
)  # fmt: skip
_KEYS = {
    "": NEXT, "\r": NEXT, "\n": NEXT, "n": NEXT, "\x1b[C": NEXT, "\x1bOC": NEXT,
    "b": BACK, "\x7f": BACK, "\x1b[D": BACK, "\x1bOD": BACK,
    "0": FIRST, "\x1b[H": FIRST, "\x1b[1~": FIRST, "$": LAST, "\x1b[F": LAST, "\x1b[4~": LAST,
    " ": PAUSE, "h": HELP, "?": HELP, "q": QUIT, "\x1b": QUIT, "\x04": QUIT,
}  # fmt: skip
_KEY = re.compile(r"\x1b\[[0-9;]*[A-Za-z~]|\x1bO.|.", re.DOTALL)  # one, of several that were typed


class Keyboard(Protocol):
    """Where keys come from."""

    def __enter__(self) -> "Keyboard": ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def wait(self, seconds: float) -> str | None:
        """What the user wants; None if it has not said so in time, or not understandably."""


class RawKeyboard:
    """Keys of a terminal as they are pressed; it is put back as it was."""

    def __enter__(self) -> "RawKeyboard":
        self._descriptor = sys.stdin.fileno()
        self._typed: list[str] = []
        self._before = termios.tcgetattr(self._descriptor)
        tty.setcbreak(self._descriptor)  # Ctrl-C still interrupts
        return self

    def __exit__(self, *_: object) -> None:
        termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)

    def wait(self, seconds: float) -> str | None:
        """See `Keyboard`."""
        if not self._typed:
            if not select.select([self._descriptor], [], [], seconds)[0]:
                return None
            read = os.read(self._descriptor, 1024)
            if not read:  # the terminal is gone
                return QUIT
            self._typed = _KEY.findall(read.decode(errors="replace"))
        return _KEYS.get(self._typed.pop(0))


class LineKeyboard:
    """Letters followed by Enter; the end of the input quits."""

    def __enter__(self) -> "LineKeyboard":
        return self

    def __exit__(self, *_: object) -> None: ...

    def wait(self, seconds: float) -> str | None:  # noqa: ARG002 (a line takes as long as it takes)
        """See `Keyboard`."""
        line = sys.stdin.readline()
        return _KEYS.get(line.strip()) if line else QUIT


def open_keyboard() -> Keyboard:
    """Single keys if the terminal has them."""
    return RawKeyboard() if termios is not None and sys.stdin.isatty() else LineKeyboard()
