"""Attacks as draws: any of them can be played, kept in a file, and met again."""

from pathlib import Path

import numpy as np
import pytest

from standing_orders.cage2.attacks import (
    AttackBatch,
    AttackFile,
    random_attacks,
    read_attack,
    write_attack,
)
from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.state import digest
from standing_orders.config import SimConfig
from standing_orders.errors import ConfigError, DataError

GAME = SimConfig(red="meander", horizon=20, head_start=3, red_tempo=2)


def play(batch: Cage2Batch) -> tuple[str, int]:
    total = 0
    for _ in range(GAME.horizon):
        total += int(batch.step(np.zeros(batch.num_envs, dtype=np.int64))[1].sum())
    return digest(batch.states), total


def test_one_seed_throughout_is_an_ordinary_episode() -> None:
    seeds = np.array([3, 9], dtype=np.uint64)
    attack = AttackBatch(GAME, np.repeat(seeds[:, None], 1 + GAME.horizon, axis=1))
    ordinary = Cage2Batch(2, GAME)
    assert (attack.reset() == ordinary.reset(seeds)).all()
    assert play(attack) == play(ordinary)


def test_the_same_beginning_gives_the_same_steps_and_another_end_another_end() -> None:
    first = random_attacks(np.random.default_rng(0), 50, GAME.horizon)
    second = first.copy()
    second[:, 11:] = random_attacks(np.random.default_rng(1), 50, GAME.horizon)[:, 11:]
    one, other = AttackBatch(GAME, first), AttackBatch(GAME, second)
    one.reset()
    other.reset()
    same = []
    for _ in range(GAME.horizon):
        seen = [batch.step(np.zeros(50, dtype=np.int64))[0].copy() for batch in (one, other)]
        same.append((seen[0] == seen[1]).all())
    assert all(same[:10])
    assert not same[-1]


def test_an_attack_needs_a_seed_for_each_step() -> None:
    with pytest.raises(ConfigError, match="an attack is 21 seeds"):
        AttackBatch(GAME, np.zeros((1, 20), dtype=np.uint64))


def test_a_file_gives_the_attack_back(tmp_path: Path) -> None:
    seeds = tuple(int(s) for s in random_attacks(np.random.default_rng(0), 1, GAME.horizon)[0])
    attack = AttackFile(game=GAME, seeds=seeds, policy="heuristic", order="critical_first")
    write_attack(tmp_path / "new" / "a.json", attack)
    assert read_attack(tmp_path / "new" / "a.json") == attack


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"format": 2}', '{"format": 1, "policy": "sleep", "game": {}, "seeds": [1]}',
     '{"format": 1, "policy": "sleep", "game": {"horizon": 1}, "seeds": [1, -1]}',
     '{"format": 1, "policy": "sleep", "game": {"horizon": 1}, "seeds": [1, 2], "more": 1}'],
)  # fmt: skip
def test_a_file_that_holds_no_attack_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(DataError, match=r"a\.json"):
        read_attack(path)
    with pytest.raises(DataError, match="cannot be read"):
        read_attack(tmp_path / "none.json")
