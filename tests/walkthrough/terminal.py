"""A terminal of a given size that types like a person and can be read."""

import re
import shutil
import subprocess
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

PROMPT = "ready$ "


def need_tmux() -> None:
    """Skip visibly where there is no tmux."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed: the walk through the quick start is not typed")


class Terminal:
    """A tmux server of its own with one pane.

    Args:
        width: columns.
        height: lines.
        folder: where the shell starts.
        environment: of the shell.
        captures: where each pane that is looked at is kept, to be read by a person.
    """

    def __init__(
        self, width: int, height: int, folder: Path, environment: dict[str, str], captures: Path
    ) -> None:
        self.width, self.height = width, height
        self._server = f"walk-{uuid.uuid4().hex[:8]}"
        self._folder, self._environment, self._captures = folder, environment, captures
        self._num_captures, self._num_commands = 0, 0

    def __enter__(self) -> Self:
        settings = [f"{name}={value}" for name, value in self._environment.items()]
        # What a line editor in this process exported is not the size of that terminal.
        shell = [
            "env",
            "-u",
            "COLUMNS",
            "-u",
            "LINES",
            *settings,
            f"PS1={PROMPT}",
            "bash",
            "--norc",
            "--noprofile",
        ]
        size = ("-x", str(self.width), "-y", str(self.height))
        self._tmux("-f", "/dev/null", "new-session", "-d", *size, "-c", str(self._folder), *shell)
        self._tmux("set-option", "-g", "history-limit", "5000")
        self.wait_for(lambda text: PROMPT.strip() in text, 10)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._tmux("kill-server")

    def _tmux(self, *words: str) -> str:
        command = ["tmux", "-L", self._server, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def type(self, text: str) -> None:
        """Type a line and Enter."""
        self._tmux("send-keys", "-l", text)
        self._tmux("send-keys", "Enter")

    def press(self, *keys: str) -> None:
        """Press keys by tmux's names: Enter, Left, C-c, q."""
        for key in keys:
            self._tmux("send-keys", key)

    def resize(self, width: int, height: int) -> None:
        """Give the terminal another size."""
        self.width, self.height = width, height
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    def screen(self) -> str:
        """What is on the screen now."""
        return self._tmux("capture-pane", "-p")

    def history(self) -> str:
        """All that has been printed, lines that were wrapped joined again."""
        return self._tmux("capture-pane", "-p", "-J", "-S", "-")

    def keep(self, name: str) -> str:
        """The screen, which is also kept as a file for a person to read."""
        text = self.screen()
        self._num_captures += 1
        place = f"{self.width}x{self.height}-{self._num_captures:02}-{name}.txt"
        self._captures.mkdir(parents=True, exist_ok=True)
        (self._captures / place).write_text(text)
        return text

    def wait_for(self, is_there: Callable[[str], bool], seconds: float) -> str:
        """Look until something is on the screen; gives the screen."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            text = self.screen()
            if is_there(text):
                return text
            time.sleep(0.1)
        raise AssertionError(f"not seen within {seconds} s:\n{self.screen()}")

    def run(self, command: str, seconds: float, name: str) -> str:
        """Type a command, wait for the prompt, and give all that it printed."""
        self._tmux("clear-history")
        self._num_commands += 1  # else the end of the one before could be taken for this one's
        which = f"of command {self._num_commands}"
        self.type(f'clear; {command}; echo "exit code $? {which}"')
        self.wait_for(lambda text: bool(re.search(rf"exit code \d+ {which}\n", text)), seconds)
        self.keep(name)
        return self.history().split(f'exit code $? {which}"')[-1]
