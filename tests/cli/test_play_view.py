"""Watching an episode, step by step."""

import io

import pytest
from rich.console import Console

from standing_orders.cage2.defenders import ScriptedDefender
from standing_orders.cli import play_view as play_module
from standing_orders.cli.play_view import play, watch
from standing_orders.config import SimConfig


def answer(monkeypatch: pytest.MonkeyPatch, text: str) -> io.StringIO:
    """Type `text` at the prompt; gives what is shown."""
    shown = io.StringIO()
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    monkeypatch.setattr(play_module, "Console", lambda: Console(file=shown, width=110))
    return shown


@pytest.mark.parametrize(
    ("typed", "last_step"), [("\n\nq\n", 2), ("", 0), ("\n", 1), ("\n" * 9, 5)]
)
def test_enter_plays_the_next_step_and_q_or_the_end_of_input_quits(
    monkeypatch: pytest.MonkeyPatch, typed: str, last_step: int
) -> None:
    shown = answer(monkeypatch, typed)
    config = SimConfig(horizon=5)
    watch(ScriptedDefender("sleep"), config, seed=0, speed=None, is_plain=False)
    text = shown.getvalue()
    assert f"step {last_step}/5" in text
    assert f"step {last_step + 1}/5" not in text


def test_the_reward_so_far_is_the_sum_of_the_rewards() -> None:
    frames = list(play(ScriptedDefender("react_restore"), SimConfig(red="meander"), seed=2))
    assert len(frames) == 101
    assert frames[-1].total < 0
    assert frames[-1].total == pytest.approx(sum(frame.reward for frame in frames))


def test_a_fast_red_agent_is_said_to_have_done_more_than_is_shown() -> None:
    *_, last = play(ScriptedDefender("sleep"), SimConfig(red_tempo=3, horizon=4), seed=0)
    assert last.red.startswith("(last of 3 actions) ")
