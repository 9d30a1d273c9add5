"""Which order is tried next: hand-computed scores, and what holds for every strategy."""

import math
from itertools import pairwise
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from standing_orders.config import SearchConfig, Strategy
from standing_orders.errors import ConfigError
from standing_orders.rules.orders import KENDALL_DISTANCES
from standing_orders.search.acquisition import (
    Situation,
    beta_at,
    choose,
    contrast_score,
    expected_improvement,
    optimistic_score,
    spread_score,
)
from standing_orders.search.answer import WORTHS
from standing_orders.search.surrogate import (
    Belief,
    Hyperparameters,
    Observation,
    Outcome,
    fit_surrogate,
    pass_chance,
)
from tests.effort import effort

CERTAIN = np.ones(120)
STRATEGIES = get_args(Strategy)
KNOWN = ("pass_chance", "visited", "pending", "just_failed", "found")
orders = st.integers(0, 119)
strategies = st.sampled_from(STRATEGIES)


def independent(mean: Any = 0.0, std: Any = 1.0) -> Belief:
    """Orders of which nothing is known to be alike."""
    variance = np.broadcast_to(np.asarray(std, dtype=float), 120) ** 2
    return Belief(np.array(np.broadcast_to(np.asarray(mean, float), 120)), np.diag(variance))


def settings_of(strategy: str, **changes: Any) -> SearchConfig:
    return SearchConfig(
        acquisition=strategy,
        **({"spread": 0, "contrast_every": 0, "schedule": "constant"} | changes),
    )


def pick(strategy: str, belief: Belief, *, seed: int = 0, **changes: Any) -> int:
    """Choose with everything else as it is, or changed: of the situation or of the settings."""
    known = {name: changes.pop(name) for name in KNOWN if name in changes}
    situation = Situation(belief, **({"pass_chance": CERTAIN} | known))
    rng = np.random.default_rng(seed)
    return choose(settings_of(strategy, **changes), situation, rng).order


def bump(**values: float) -> np.ndarray:
    """-10 everywhere but at the orders named o<index>."""
    mean = np.full(120, -10.0)
    for name, value in values.items():
        mean[int(name[1:])] = value
    return mean


def test_ucb_takes_the_highest_mean_plus_beta_standard_deviations() -> None:
    std = np.full(120, 0.1)
    std[8] = 2.0
    belief = independent(bump(o7=-5.0, o8=-8.0), std)
    assert pick("ucb", belief, beta=2.0) == 8  # -8 + 4 > -5 + 0.2
    assert pick("ucb", belief, beta=1.0) == 7  # -8 + 2 < -5 + 0.1
    assert pick("ucb", belief, beta=0.0) == 7


def test_ucb_is_weighted_above_the_worst_plausible_value() -> None:
    chance = np.full(120, 0.5)
    chance[8] = 0.9
    belief = independent(bump(o7=-5.0, o8=-6.0), 1.0)
    score = optimistic_score(belief, chance, 2.0)
    # The floor is -10 - 2 = -12: (-5 + 2 + 12) * 0.5 and (-6 + 2 + 12) * 0.9.
    assert score[[7, 8, 0]].tolist() == pytest.approx([4.5, 7.2, 2.0])
    assert pick("ucb", belief, pass_chance=chance) == 8


@given(
    mean=st.lists(st.floats(-200, 200), min_size=120, max_size=120),
    shift=st.floats(-1e3, 1e3),
    order=orders,
)
@settings(max_examples=effort(50, 20), deadline=None)
def test_a_lower_chance_never_helps_an_order_and_a_shift_of_all_values_changes_nothing(
    mean: list[float], shift: float, order: int
) -> None:
    belief = independent(mean, 1.0)
    lower = CERTAIN.copy()
    lower[order] = 0.3
    certain = optimistic_score(belief, CERTAIN, 2.0)
    weighted = optimistic_score(belief, lower, 2.0)
    assert weighted[order] <= certain[order]
    assert (certain >= 0).all()
    moved = optimistic_score(independent(np.array(mean) + shift, 1.0), CERTAIN, 2.0)
    np.testing.assert_allclose(moved, certain, atol=1e-9)


def test_expected_improvement_is_the_textbook_number() -> None:
    std = np.full(120, 2.0)
    std[3] = 0.0
    std[4] = 0.0
    improvement = expected_improvement(independent(bump(o1=1.0, o2=-1.0, o3=1.5, o4=-3.0), std), 0)
    # z = 1/2: 1 * Phi(0.5) + 2 * phi(0.5); z = -1/2: -1 * Phi(-0.5) + 2 * phi(0.5).
    assert improvement[1] == pytest.approx(0.6914624613 + 2 * 0.3520653268)
    assert improvement[2] == pytest.approx(-0.3085375387 + 2 * 0.3520653268)
    assert improvement[3] == 1.5
    assert improvement[4] == 0.0
    assert (improvement >= 0).all()


def test_expected_improvement_is_the_mean_of_draws() -> None:
    draws = np.random.default_rng(0).normal(-3.0, 4.0, 400_000)
    improvement = expected_improvement(independent(-3.0, 4.0), -1.0)[0]
    assert improvement == pytest.approx(np.maximum(draws + 1.0, 0).mean(), rel=0.02)


def test_ei_improves_on_what_was_found_and_not_on_what_failed() -> None:
    std = np.full(120, 1e-6)
    std[9] = 3.0
    belief = independent(bump(o5=5.0, o6=-1.0, o9=-2.0), std)
    assert pick("ei", belief, visited=[6], pending=[5]) == 9
    assert pick("ei", belief, visited=[5, 6], found=[6]) == 9
    assert pick("ei", belief, visited=[6]) == 5


def test_thompson_follows_the_odds_of_being_best() -> None:
    std = np.full(120, 1e-6)
    std[[3, 4]] = 1.0
    belief = independent(bump(o3=0.0, o4=1.0), std)
    picks = [pick("thompson", belief, seed=seed) for seed in range(400)]
    share = picks.count(4) / len(picks)
    assert set(picks) == {3, 4}
    assert share == pytest.approx(0.7602, abs=0.08)  # Phi(1 / sqrt(2))


def test_sweep_goes_from_0_to_119_and_begins_again() -> None:
    visited: list[int] = []
    for _ in range(240):
        visited.append(pick("sweep", independent(), visited=visited))
    assert visited == [*range(120), *range(120)]


def test_random_visits_every_order_once_before_any_twice() -> None:
    rng = np.random.default_rng(0)
    visited: list[int] = []
    for _ in range(240):
        known = Situation(independent(), CERTAIN, visited=visited)
        visited.append(choose(settings_of("random"), known, rng).order)
    assert sorted(visited[:120]) == sorted(visited[120:]) == list(range(120))
    assert visited[:120] != sorted(visited[:120])


@pytest.mark.parametrize("strategy", ["ucb", "thompson", "ei"])
def test_the_first_picks_are_as_far_apart_as_possible(strategy: str) -> None:
    rng = np.random.default_rng(4)
    visited: list[int] = []
    for _ in range(5):
        known = Situation(independent(), CERTAIN, visited=visited)
        found = choose(settings_of(strategy, spread=5), known, rng)
        chosen = found.order
        nearest = [min((KENDALL_DISTANCES[o, v] for v in visited), default=0) for o in range(120)]
        assert nearest[chosen] == max(nearest) == found.score
        assert found.decided_by == "spread"
        assert spread_score(visited).tolist() == nearest
        visited.append(chosen)
    assert KENDALL_DISTANCES[visited[0], visited[1]] == 10


@pytest.mark.parametrize("strategy", ["ucb", "thompson", "ei"])
def test_every_so_manieth_pick_after_the_first_is_a_contrast(strategy: str) -> None:
    settings = settings_of(strategy, spread=4, contrast_every=3)
    decided = [
        choose(
            settings,
            Situation(independent(), CERTAIN, visited=list(range(done)), pending=[119]),
            np.random.default_rng(0),
        ).decided_by
        for done in range(9)
    ]  # the pending one counts: these are the second to the tenth pick
    assert decided[:3] == ["spread"] * 3
    assert decided[3:] == [strategy, "contrast", strategy, strategy, "contrast", strategy]


def test_a_contrast_is_what_leaves_least_uncertainty_of_what_precedences_are_worth() -> None:
    seen = [Observation(order, float(order % 7), 1.0) for order in (0, 3, 8, 20, 45)]
    belief = fit_surrogate(seen).belief

    def left(orders: list[int]) -> float:
        return float(np.trace(WORTHS @ belief.condition_on(orders).covariance @ WORTHS.T))

    gains = [left([]) - left([order]) for order in range(120)]
    assert contrast_score(belief) == pytest.approx(gains)
    assert pick("ucb", belief, contrast_every=1) == int(np.argmax(gains))
    unlikely = np.ones(120)
    unlikely[int(np.argmax(gains))] = 0.01
    assert pick("ucb", belief, contrast_every=1, pass_chance=unlikely) != int(np.argmax(gains))


def test_what_is_certain_offers_no_contrast() -> None:
    assert not contrast_score(independent(std=0.0)).any()


def test_the_first_picks_depend_on_the_seed_alone() -> None:
    def picks(seed: int) -> list[int]:
        rng, visited = np.random.default_rng(seed), []
        for _ in range(4):
            known = Situation(independent(), CERTAIN, visited=visited)
            visited.append(choose(settings_of("ucb", spread=4), known, rng).order)
        return visited

    assert picks(1) == picks(1)
    assert picks(1) != picks(2)


def test_with_a_prior_the_very_first_pick_is_its_best_and_then_they_are_spread() -> None:
    mean = np.zeros(120)
    mean[33] = 1.0
    belief, rng = independent(mean), np.random.default_rng(0)
    settings = settings_of("ucb", spread=3)
    first = choose(settings, Situation(belief, CERTAIN, has_prior=True), rng)
    assert (first.order, first.decided_by) == (33, "ucb")
    for has_prior, visited in ((False, []), (True, [33]), (True, [33, 100])):
        known = Situation(belief, CERTAIN, visited=visited, has_prior=has_prior)
        assert choose(settings, known, rng).decided_by == "spread"


@given(
    strategy=strategies,
    visited=st.lists(orders, max_size=150),
    pending=st.sets(orders, max_size=119),
    failed=st.sets(orders, max_size=5),
    spread=st.integers(0, 8),
    max_visits=st.sampled_from([None, 1, 3]),
    seed=st.integers(0, 10),
)
@settings(max_examples=effort(150, 50), deadline=None)
def test_no_pending_order_is_chosen_and_the_answer_repeats(
    strategy: str, visited: list[int], pending: set[int], failed: set[int], spread: int,
    max_visits: int | None, seed: int,
) -> None:  # fmt: skip
    options = {
        "visited": visited, "pending": pending, "just_failed": failed, "spread": spread,
        "max_visits": max_visits, "seed": seed,
    }  # fmt: skip
    belief = fit_surrogate([Observation(3, 1.0, 0.1), Observation(77, 2.0, 0.1)]).belief
    chosen = pick(strategy, belief, **options)
    assert 0 <= chosen < 120
    assert chosen not in pending
    if len(pending | failed) < 120:
        assert chosen not in failed
    assert chosen == pick(strategy, belief, **options)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_several_chosen_at_once_are_different(strategy: str) -> None:
    belief = fit_surrogate([Observation(o, -float(o), 1.0) for o in range(0, 120, 10)]).belief
    pending: list[int] = []
    for seed in range(12):
        pending.append(pick(strategy, belief, pending=pending, seed=seed))
    assert len(set(pending)) == 12


def test_a_pending_order_makes_its_neighbours_less_attractive() -> None:
    surrogate = fit_surrogate(
        [Observation(0, 0.0, 0.01)], hyperparameters=Hyperparameters(own=1e-4)
    )
    first = pick("ucb", surrogate.belief)
    second = pick("ucb", surrogate.belief, pending=[first])
    assert KENDALL_DISTANCES[0, first] == 10
    assert KENDALL_DISTANCES[first, second] > 2


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_failing_order_is_never_picked_twice_in_a_row(strategy: str) -> None:
    """Every order fails, and order 40 looks best by far; no limit of visits helps."""
    rng = np.random.default_rng(0)
    belief = independent(bump(o40=100.0), 0.1)
    visited: list[int] = []
    outcomes: list[Outcome] = []
    for _ in range(150):
        chance = pass_chance(outcomes[-20:])
        known = Situation(belief, chance, visited=visited, just_failed=visited[-1:])
        config = settings_of(strategy, max_visits=None, spread=6, schedule="log")
        chosen = choose(config, known, rng).order
        visited.append(chosen)
        outcomes.append(Outcome(chosen, has_passed=False))
    assert all(a != b for a, b in pairwise(visited))


def test_a_failing_order_may_be_continued() -> None:
    belief = independent(bump(o40=100.0), 0.1)
    assert pick("ucb", belief, visited=[40], just_failed=[40]) != 40
    assert pick("ucb", belief, visited=[40], just_failed=[40], continue_failed=True) == 40
    assert pick("ucb", belief, visited=[40], continue_failed=True) != 40


def test_a_failing_order_is_picked_if_nothing_else_is_left() -> None:
    others = [order for order in range(120) if order != 40]
    assert pick("ucb", independent(), pending=others, just_failed=[40]) == 40


def test_an_order_is_visited_no_more_than_max_visits_times_while_others_are_left() -> None:
    belief = independent(bump(o40=100.0, o41=50.0), 0.1)
    assert pick("ucb", belief, visited=[40]) == 41
    assert pick("ucb", belief, visited=[40], max_visits=2) == 40
    assert pick("ucb", belief, visited=[40, 40], max_visits=2) == 41
    assert pick("ucb", belief, visited=[40] * 9, max_visits=None) == 40
    assert pick("ucb", belief, visited=range(120)) == 40


def test_among_few_candidates_the_best_of_them_is_picked() -> None:
    belief = independent(mean=np.arange(120.0))
    everything = [pick("ucb", belief, seed=seed) for seed in range(40)]
    assert set(everything) == {119}
    few = [pick("ucb", belief, seed=seed, candidates=6) for seed in range(40)]
    assert len(set(few)) > 5  # the best one is among them once in twenty times
    assert np.mean(few) > 85  # the best of six of 0 to 119 is 103 on average
    alone = {pick("ucb", belief, seed=seed, candidates=1) for seed in range(200)}
    assert len(alone) > 60
    assert pick("ucb", belief, candidates=6, pending=list(range(119))) == 119


def test_failures_steer_the_search_away_from_their_neighbourhood() -> None:
    chance = pass_chance([Outcome(0, has_passed=False)] * 3)
    picks = {pick("ucb", independent(-50.0, 1.0), pass_chance=chance, seed=s) for s in range(20)}
    assert min(KENDALL_DISTANCES[0, order] for order in picks) >= 9


def test_ties_are_broken_by_the_seed() -> None:
    assert len({pick("ucb", independent(), seed=seed) for seed in range(30)}) > 15


def test_beta_may_grow_with_the_logarithm_of_the_evaluations() -> None:
    assert beta_at(50, schedule="constant") == 2.0
    assert beta_at(3, schedule="log") == pytest.approx(2 * math.sqrt(math.log(4)))
    assert beta_at(3, beta=0.5, schedule="log") == pytest.approx(0.5 * math.sqrt(math.log(4)))
    grown = [beta_at(t) for t in range(1, 121)]
    assert grown == sorted(grown)


def test_if_all_orders_are_pending_nothing_is_left() -> None:
    with pytest.raises(ConfigError, match="all 120 orders are pending"):
        pick("ucb", independent(), pending=range(120))


@pytest.mark.parametrize("strategy", ["ucb", "ei"])
def test_the_score_that_decided_is_the_highest_of_those_allowed(strategy: str) -> None:
    belief = independent(bump(o7=-5.0, o8=-6.0), 1.0)
    chance = np.full(120, 0.5)
    known = Situation(belief, chance, visited=[7])
    found = choose(settings_of(strategy), known, np.random.default_rng(0))
    assert (found.order, found.decided_by) == (8, strategy)
    wanted = {
        "ucb": optimistic_score(belief, chance, 2.0),
        "ei": expected_improvement(belief, -5.0) * chance,
    }[strategy]
    assert found.score == wanted[8] == np.delete(wanted, 7).max()
    assert wanted[7] > wanted[8]  # visited


def test_a_blind_choice_has_no_score() -> None:
    for strategy in ("random", "sweep"):
        known = Situation(independent(), CERTAIN)
        found = choose(settings_of(strategy), known, np.random.default_rng(0))
        assert (found.score, found.decided_by) == (None, strategy)
