"""The committed sweeps of learned policies are whole, and a search of them beats random choice."""

import numpy as np
import pytest
from benchmarks.search import mean_regrets, run_trial
from benchmarks.sweeps import FOLDER, Sweep, read_sweep

from standing_orders.rules.orders import NUM_ORDERS, ORDERS
from tests.effort import effort

SEEDS = effort(8, 4)
SWEEPS = sorted(FOLDER.glob("*.csv"))
ENTERPRISE, OP_SERVER, USER = 1, 2, 4


@pytest.fixture(params=SWEEPS, ids=lambda path: path.stem)
def sweep(request: pytest.FixtureRequest) -> Sweep:
    return read_sweep(request.param)


def test_there_are_two_bases_of_a_contested_and_a_standard_game() -> None:
    wanted = {f"{game}-{base}" for game in ("b_line", "b_line-late") for base in (11, 12)}
    assert wanted <= {path.stem for path in SWEEPS}


def test_every_order_passes_and_is_measured_on_400_episodes_or_more(sweep: Sweep) -> None:
    assert sweep.has_passed.sum() == NUM_ORDERS
    assert (sweep.num_episodes >= 400).all()
    assert (sweep.strict >= 0.95).all()
    assert (sweep.contested >= 0.95).all()
    assert np.median(sweep.std_error) < 0.6
    assert (sweep.std_error < 2.5).all()


def test_a_search_has_less_regret_than_random_choice() -> None:
    land = read_sweep(FOLDER / "b_line-late-11.csv").landscape()
    found = {}
    for strategy in ("ucb", "random"):
        trials = [run_trial(land, strategy, budget=15, seed=seed) for seed in range(SEEDS)]
        found[strategy] = mean_regrets([land] * SEEDS, trials, 15)[0]
    assert found["ucb"] < found["random"]


@pytest.mark.parametrize("base", [11, 12])
def test_what_the_base_earns_is_a_prior_that_finds_the_best_class_at_once(base: int) -> None:
    sweep = read_sweep(FOLDER / f"b_line-late-{base}.csv")
    land, prior = sweep.landscape(), sweep.prior(0)
    with_it = run_trial(land, "ucb", budget=5, seed=0, prior=prior)
    assert with_it.first_visit(sweep.tied) <= 5
    misled = run_trial(land, "ucb", budget=1, seed=0, prior=-prior)
    assert not sweep.tied[misled.visited[0]]  # so it is the prior that chooses


@pytest.mark.parametrize("base", [11, 12])
def test_orders_of_the_late_game_fall_into_six_classes(base: int) -> None:
    sweep = read_sweep(FOLDER / f"b_line-late-{base}.csv")
    classes: dict[tuple[int, ...], list[float]] = {}
    for order, value in zip(ORDERS, sweep.mean, strict=True):
        ranked = tuple(kind for kind in order if kind in (ENTERPRISE, OP_SERVER, USER))
        classes.setdefault(ranked, []).append(float(value))
    assert len(classes) == 6
    within = max(np.ptp(values) for values in classes.values())
    between = np.ptp([np.mean(values) for values in classes.values()])
    assert within < between / 4
