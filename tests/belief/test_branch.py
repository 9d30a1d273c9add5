"""The listed draws are those that the simulator draws, as often as it draws them."""

from collections import Counter

import numpy as np
import pytest

from standing_orders.belief.branch import list_draws, make_bench
from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.opponents import choose, decide
from standing_orders.cage2.red import draw
from standing_orders.config import RedAgent, SimConfig
from tests.belief.games import outcomes, watch

NUM_WORDS = 20_000


@pytest.mark.parametrize("turns", [0, 2, 9, 11, 15, 24])
def test_chances_are_the_frequencies_of_the_draws(turns: int) -> None:
    batch = Cage2Batch(1, SimConfig(red="meander"))
    batch.reset(seed=3)
    for _ in range(turns):
        batch.step([0])
    env, bench = batch.states[0], make_bench()
    kind, targets = decide(env)
    count = list_draws(bench, env, kind, targets, 1 / bin(targets).count("1"))
    chances = {
        tuple(d): c for d, c in zip(bench.draws[:count].tolist(), bench.chances, strict=False)
    }
    assert sum(chances.values()) == pytest.approx(1)
    words = np.random.default_rng(turns).integers(0, 2**32, (NUM_WORDS, 4))
    seen: Counter[tuple[int, ...]] = Counter()
    for row in words.tolist():
        target = choose(targets, row[0])
        seen[(target, *draw(env, kind, target, tuple(row)))] += 1
    assert set(seen) <= set(chances)
    for outcome, chance in chances.items():
        spread = np.sqrt(NUM_WORDS * chance * (1 - chance))
        assert abs(seen[outcome] - NUM_WORDS * chance) <= 4.5 * spread + 1e-9


@pytest.mark.parametrize("red", ["b_line", "meander", "sleep"])
def test_every_draw_of_a_game_is_listed_with_its_chance(red: RedAgent) -> None:
    bench = make_bench()
    for _, _, states in watch(SimConfig(red=red), "heuristic", 3, steps=60):
        for env in states.copy():
            kind, targets = decide(env)
            count = list_draws(bench, env, kind, targets, 1 / max(bin(targets).count("1"), 1))
            wanted = sorted(outcomes(env, kind, targets))
            listed = zip(bench.draws[:count].tolist(), bench.chances[:count], strict=True)
            ours = sorted((*outcome, chance) for outcome, chance in listed)
            assert [row[:4] for row in ours] == [row[:4] for row in wanted]
            assert [row[4] for row in ours] == pytest.approx([row[4] for row in wanted])
