"""The committed sweeps of learned policies are whole, and a search of them beats random choice."""

import numpy as np
import pytest
from benchmarks.search import TRUTH, Sweep, mean_regrets, read_sweep, run_trial

from standing_orders.rules.orders import NUM_ORDERS, ORDERS

SWEEPS = sorted(TRUTH.glob("*.csv"))
ENTERPRISE, OP_SERVER, USER = 1, 2, 4


@pytest.fixture(params=SWEEPS, ids=lambda path: path.stem)
def sweep(request: pytest.FixtureRequest) -> Sweep:
    return read_sweep(request.param)


def test_there_is_a_contested_and_a_standard_game() -> None:
    assert [path.stem for path in SWEEPS] == ["b_line-head-start-20", "b_line-standard"]


def test_every_order_passes_and_is_measured_on_900_episodes_or_more(sweep: Sweep) -> None:
    assert sweep.has_passed.sum() == NUM_ORDERS
    assert (sweep.num_episodes >= 900).all()
    assert (sweep.strict >= 0.95).all()
    assert (sweep.std_error < 1.5).all()


def test_a_search_has_less_regret_than_random_choice(sweep: Sweep) -> None:
    land = sweep.landscape()
    found = {}
    for strategy in ("ucb", "random"):
        trials = [run_trial(land, strategy, budget=20, seed=seed) for seed in range(10)]
        found[strategy] = mean_regrets([land] * 10, trials, 20)[0]
    assert found["ucb"] < found["random"]


def test_orders_of_the_late_game_fall_into_six_classes() -> None:
    sweep = read_sweep(TRUTH / "b_line-head-start-20.csv")
    classes: dict[tuple[int, ...], list[float]] = {}
    for order, value in zip(ORDERS, sweep.mean, strict=True):
        ranked = tuple(kind for kind in order if kind in (ENTERPRISE, OP_SERVER, USER))
        classes.setdefault(ranked, []).append(float(value))
    spreads = [np.ptp(values) for values in classes.values()]
    means = sorted(np.mean(values) for values in classes.values())
    assert len(classes) == 6
    assert max(spreads) < 3
    assert round(means[-1], 1) == -34.6
    assert round(means[0], 1) == -64.4
