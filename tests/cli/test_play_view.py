"""Watching an episode, step by step, back and forth."""

import fcntl
import io
import os
import pty
import re
import struct
import termios
import time
from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from standing_orders.cage2.defenders import ScriptedDefender
from standing_orders.cli import keys
from standing_orders.cli import play_view as play_module
from standing_orders.cli.play_view import play, summarise, watch
from standing_orders.config import SimConfig
from standing_orders.envs.frame import Frame
from standing_orders.rules.orders import Order


def answer(monkeypatch: pytest.MonkeyPatch, text: str, width: int = 110) -> io.StringIO:
    """Type `text` at the keyboard; gives what is shown."""
    shown = io.StringIO()

    def console(**_: object) -> Console:
        return Console(file=shown, width=width, height=24, force_terminal=True, color_system=None)

    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    monkeypatch.setattr(play_module, "Console", console)
    return shown


def steps_shown(shown: io.StringIO) -> list[int]:
    return [int(step) for step in re.findall(r"step (\d+)/5", shown.getvalue())]


@pytest.mark.parametrize(
    ("typed", "steps"),
    [
        ("\n\nq\n", [0, 1, 2]),
        ("", [0]),
        ("\n", [0, 1]),
        ("\n" * 9, [0, 1, 2, 3, 4, 5]),
        ("\n\nb\nb\nb\n\n", [0, 1, 2, 1, 0, 0, 1]),
        ("$\n0\n", [0, 5, 0]),
    ],
)
def test_keys_go_forward_and_back_and_the_end_of_input_quits(
    monkeypatch: pytest.MonkeyPatch, typed: str, steps: list[int]
) -> None:
    shown = answer(monkeypatch, typed)
    watch(ScriptedDefender("sleep"), SimConfig(horizon=5), seed=0, speed=None, is_plain=False)
    assert steps_shown(shown) == steps


def test_help_is_shown_and_left_by_any_key(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = answer(monkeypatch, "h\n\n\nq\n")
    watch(ScriptedDefender("sleep"), SimConfig(horizon=5), seed=0, speed=None, is_plain=False)
    assert shown.getvalue().count("CAGE Challenge 2") == 2  # before the episode, and by the key
    assert steps_shown(shown) == [0, 0, 1]


@pytest.mark.parametrize(("is_terminal", "width"), [(True, 80), (False, 110)])
def test_plain_boards_fit_a_terminal_and_are_wide_in_a_file(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool, width: int
) -> None:
    shown = io.StringIO()

    def console(**options: Any) -> Console:
        asked = {"width": 80, "force_terminal": is_terminal, **options}
        return Console(file=shown, **asked)

    monkeypatch.setattr(play_module, "Console", console)
    watch(ScriptedDefender("sleep"), SimConfig(horizon=2), seed=0, speed=None, is_plain=True)
    lines = [len(line.rstrip()) for line in shown.getvalue().splitlines()]
    assert max(lines) <= width
    assert (max(lines) > 80) == (width > 80)


def test_with_a_speed_the_episode_plays_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = answer(monkeypatch, "")
    monkeypatch.setattr(keys.LineKeyboard, "wait", lambda *_: None)
    watch(ScriptedDefender("sleep"), SimConfig(horizon=5), seed=0, speed=1e6, is_plain=False)
    assert steps_shown(shown) == [0, 1, 2, 3, 4, 5]
    assert "the episode: return" in shown.getvalue()


def test_the_board_is_drawn_again_when_the_terminal_gets_another_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Even right after it was drawn, and whatever COLUMNS says."""
    shown = answer(monkeypatch, "")
    sizes = chain([(110, 24), (110, 24)], repeat((160, 50)))
    monkeypatch.setattr(play_module, "_size_of", lambda _: next(sizes))
    looks = iter([None, None, None, keys.QUIT])
    monkeypatch.setattr(keys.LineKeyboard, "wait", lambda *_: next(looks))
    watch(ScriptedDefender("sleep"), SimConfig(horizon=5), seed=0, speed=None, is_plain=False)
    assert steps_shown(shown) == [0, 0]
    assert "as admin" in shown.getvalue()  # a column for which there was no room before


def test_the_size_is_the_terminals_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as terminal:
        console = Console(file=terminal, force_terminal=True)
        for lines, columns in ((50, 160), (30, 100)):
            fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
            assert play_module._size_of(console) == (columns, lines)
    os.close(ours)


def test_several_keys_typed_at_once_are_all_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    with Path(os.ttyname(theirs)).open() as terminal:
        monkeypatch.setattr("sys.stdin", terminal)
        with keys.open_keyboard() as keyboard:
            os.write(ours, b"n\x1b[Db q")
            pressed = [keyboard.wait(1.0) for _ in range(5)]
            assert keyboard.wait(0.0) is None
    assert pressed == [keys.NEXT, keys.BACK, keys.BACK, keys.PAUSE, keys.QUIT]
    os.close(ours)
    os.close(theirs)


def test_the_reward_so_far_is_the_sum_of_the_rewards() -> None:
    frames = list(play(ScriptedDefender("react_restore"), SimConfig(red="meander"), seed=2))
    assert len(frames) == 101
    assert frames[-1].total < 0
    assert frames[-1].total == pytest.approx(sum(frame.reward for frame in frames))


def test_a_fast_red_agent_is_said_to_have_done_more_than_is_shown() -> None:
    *_, last = play(ScriptedDefender("sleep"), SimConfig(red_tempo=3, horizon=4), seed=0)
    assert last.red.startswith("(last of 3 actions) ")


class Told(ScriptedDefender):
    """A scripted defender that says it follows orders."""

    orders = (Order.parse("critical_first").index, Order.parse("user_priority").index)

    def told(self, order: int) -> "Told":
        return self


def test_a_policy_is_judged_by_the_order_that_it_is_told() -> None:
    config = SimConfig(red="meander", head_start=15, horizon=30)
    *_, last = play(Told("react_restore"), config, seed=1)
    assert last.order is not None
    assert last.order.index in Told.orders
    assert last.kept is not None
    assert last.kept.judged > 0
    assert any(f"{last.kept.violations} violation" in line for line in summarise(last))


def test_whoever_waits_for_the_compiler_is_told_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = answer(monkeypatch, "q\n")
    monkeypatch.setattr(play_module, "_PATIENCE", 0.0)
    slow = play_module.play

    def play_slowly(*words: Any, **options: Any) -> Iterator[Frame]:
        time.sleep(0.2)
        yield from slow(*words, **options)

    monkeypatch.setattr(play_module, "play", play_slowly)
    watch(ScriptedDefender("sleep"), SimConfig(horizon=5), seed=0, speed=None, is_plain=False)
    assert "the first time, the simulator is compiled" in capsys.readouterr().err
    assert steps_shown(shown) == [0]
    assert "in 0 of 5 steps" in shown.getvalue()
