"""What a search says at its end is right as often as it claims."""

import numpy as np
import pytest
from numpy.typing import NDArray

from standing_orders.cage2.scenario import UNIT_TYPES
from standing_orders.errors import ConfigError
from standing_orders.rules.orders import NUM_ORDERS, PAIRS, PRECEDENCE_BITS
from standing_orders.search.answer import answer, ties_of
from standing_orders.search.surrogate import Belief, Observation, fit_surrogate
from tests.effort import effort

SEEDS = effort(100, 20)
NUM_VISITS, STD_ERROR = 30, 1.0


def believe(values: NDArray[np.float64], seed: int) -> Belief:
    """What the surrogate believes after visits of random orders with known noise."""
    rng = np.random.default_rng(seed)
    orders = rng.choice(NUM_ORDERS, size=NUM_VISITS, replace=False)
    seen = [
        Observation(int(order), float(values[order] + STD_ERROR * rng.standard_normal()), STD_ERROR)
        for order in orders
    ]
    return fit_surrogate(seen, seed=seed).belief


def one_precedence(pair: int, worth: float) -> NDArray[np.float64]:
    return -50 + worth * PRECEDENCE_BITS[:, pair].astype(np.float64)


def test_where_all_orders_are_equal_it_says_so_in_95_percent_of_the_seeds() -> None:
    flat = np.full(NUM_ORDERS, -50.0)
    said = sum(not answer(believe(flat, seed)).matters for seed in range(SEEDS))
    assert said >= 0.95 * SEEDS


def test_where_one_precedence_matters_it_is_named_first_in_95_percent_of_the_seeds() -> None:
    named = 0
    for seed in range(SEEDS):
        pair = seed % len(PAIRS)
        a, b = (UNIT_TYPES[t] for t in PAIRS[pair])
        found = answer(believe(one_precedence(pair, 5.0), seed))
        top = found.precedences[0]
        named += found.matters and (top.first, top.second) == (a, b)
    assert named >= 0.95 * SEEDS


def test_the_worth_of_a_precedence_is_within_three_errors_of_the_truth() -> None:
    found = answer(believe(one_precedence(7, -8.0), 3))
    top = found.precedences[0]
    assert top.worth == pytest.approx(8.0, abs=3 * top.error)
    assert (top.second, top.first) == tuple(UNIT_TYPES[t] for t in PAIRS[7])


def test_a_precedence_lends_no_worth_to_those_that_go_with_it() -> None:
    exact = Belief(one_precedence(4, 10.0), 1e-6 * np.eye(NUM_ORDERS))
    worths = sorted(one.worth for one in answer(exact).precedences)
    assert worths[-1] == pytest.approx(10.0)
    assert worths[-2] == pytest.approx(0.0, abs=1e-9)


def test_orders_are_ties_unless_all_are_worse_with_the_stated_probability() -> None:
    mean = np.zeros(NUM_ORDERS)
    mean[0], mean[1] = 5.0, 4.9
    # Differences have variance 2: 5 / 1.41 = 3.54 standard deviations, of which 119 err with 2.4 %.
    belief = Belief(mean, np.eye(NUM_ORDERS))
    assert ties_of(belief, 0, level=0.95) == (1,)
    assert len(ties_of(belief, 0, level=0.99)) == NUM_ORDERS - 1


def test_orders_as_good_as_the_best_are_seldom_called_worse() -> None:
    lost = []
    for seed in range(10):
        values = one_precedence(seed, 5.0)
        found = answer(believe(values, seed))
        equal = set(np.flatnonzero(values == values.max()).tolist())
        lost.append(len(equal - {found.best, *found.ties}))
    assert np.mean(lost) < 3


def test_correlated_orders_are_told_apart_more_easily_than_their_spread_suggests() -> None:
    mean = np.zeros(NUM_ORDERS)
    mean[5] = 1.0
    shared = Belief(mean, 0.99 * np.ones((NUM_ORDERS, NUM_ORDERS)) + 0.01 * np.eye(NUM_ORDERS))
    assert ties_of(shared, 5) == ()


def test_exact_equal_values_are_ties_and_nothing_matters() -> None:
    found = answer(Belief(np.zeros(NUM_ORDERS), np.zeros((NUM_ORDERS, NUM_ORDERS))))
    assert len(found.ties) == NUM_ORDERS - 1
    assert not found.matters
    assert "no measurable difference" in found.sentence()


def test_the_sentence_names_best_ties_and_what_matters() -> None:
    found = answer(believe(one_precedence(4, 10.0), 1))
    said = found.sentence()
    assert found.to_json()["best"].replace(">", ",") in said
    assert f"{len(found.ties)} others are" in said
    assert "enterprise before op_server" in said


def test_a_level_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="level = 1"):
        answer(Belief(np.zeros(NUM_ORDERS), np.eye(NUM_ORDERS)), level=1.0)
