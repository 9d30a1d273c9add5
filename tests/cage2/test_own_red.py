"""A red agent of the user's own: B_line's first steps, compiled and as plain Python."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.own_red import OwnRedBatch
from standing_orders.cage2.scenario import USER1
from standing_orders.config import SimConfig
from standing_orders.errors import ConfigError

SOURCE = '''
from standing_orders.cage2.scenario import (
    DISCOVER_SERVICES, DISCOVER_SYSTEMS, ESCALATE, EXPLOIT, RED_SLEEP, SUBNET_TARGET, USER, USER1,
)
from standing_orders.compiled import jit

def slow(env, memory, word):
    """Takes one user host, drawn once, and keeps it."""
    turn = memory[0]
    memory[0] += 1
    if turn == 0:
        memory[1] = USER1 + (word * 4 >> 32)
        return DISCOVER_SYSTEMS, SUBNET_TARGET + USER
    if turn == 1:
        return DISCOVER_SERVICES, memory[1]
    if env.held >> memory[1] & 1:
        return ESCALATE, memory[1]
    return EXPLOIT, memory[1]

fast = jit(slow)

@jit
def sleeper(env, memory, word):
    return RED_SLEEP, -1

def wrong(env, memory, word):
    return EXPLOIT, 13

number = 3
'''


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_reds.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))


def play(red: str, steps: int = 12, **options: Any) -> tuple[Any, Any]:
    batch = OwnRedBatch(6, SimConfig(**options), red=f"own_reds:{red}")
    batch.reset(4)
    rewards = [batch.step(np.zeros(6, dtype=np.int64))[1].copy() for _ in range(steps)]
    return batch, np.array(rewards)


def test_a_compiled_function_and_plain_python_play_alike() -> None:
    (fast, rewards), (slow, others) = play("fast"), play("slow")
    assert np.array_equal(rewards, others)
    assert np.array_equal(fast.observations, slow.observations)
    assert np.array_equal(fast.states["held"], slow.states["held"])
    assert all(mask >> USER1 for mask in fast.states["held"])
    assert rewards[-1].tolist() == [-1] * 6  # a tenth for each host, and no more


def test_a_reset_forgets_what_it_remembered() -> None:
    batch, rewards = play("fast")
    batch.reset(4)
    again = [batch.step(np.zeros(6, dtype=np.int64))[1].copy() for _ in range(12)]
    assert np.array_equal(again, rewards)


def test_head_start_and_tempo_are_reds() -> None:
    late, _ = play("fast", steps=1, head_start=8)
    quick, _ = play("fast", steps=3, red_tempo=3)
    assert late.states["held"].all()
    assert quick.states["held"].all()
    assert late.states["step"].tolist() == [1] * 6


def test_a_sleeper_is_cage2s_sleeping_agent() -> None:
    _, rewards = play("sleeper")
    standard = Cage2Batch(6, SimConfig(red="sleep"))
    standard.reset(4)
    assert not rewards.any()
    assert np.array_equal(standard.observations, np.zeros((6, 52)))


@pytest.mark.parametrize(
    ("red", "message"),
    [("wrong", r"\(3, 13\) is no action"), ("number", "must be a function"), ("none", "none")],
)
def test_what_is_no_red_agent_is_refused(red: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        play(red)
