"""What commands say fits the terminal."""

import io
import os
import sys

import pytest

from standing_orders.cli.command import tell


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def said(monkeypatch: pytest.MonkeyPatch, message: str) -> str:
    """What a terminal of 20 columns is sent."""
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "20")
    tell(message)
    return screen.getvalue()


def test_no_word_is_broken_at_the_end_of_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    text = said(monkeypatch, "trained against b_line (ended: budget used)")
    assert text == "trained against\nb_line (ended:\nbudget used)\n"


@pytest.mark.parametrize(
    "message",
    ["go on: standing-orders train --resume --run runs/any", "  fits   as it is"],
)
def test_a_command_is_printed_as_one_line(monkeypatch: pytest.MonkeyPatch, message: str) -> None:
    assert said(monkeypatch, message) == f"{message}\n"


def test_a_path_is_not_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"{os.sep}{'a' * 30}"
    assert said(monkeypatch, f"written: {path}").split() == ["written:", path]
