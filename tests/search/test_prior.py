"""What the base policy says of all orders: a search that begins with it, and ends early by it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from standing_orders.config import SearchConfig, TrainConfig
from standing_orders.evaluate.measure import Measured
from standing_orders.learn.run import load_network, train
from standing_orders.rules.compliance import OrderCompliance
from standing_orders.rules.gate import GateResult
from standing_orders.rules.orders import KENDALL_DISTANCES, Order
from standing_orders.search import run as module
from standing_orders.search.records import Prior, Result, Round
from standing_orders.search.run import resume_search, search
from standing_orders.search.state import SearchState
from standing_orders.stats import Ratio
from tests.search.conftest import CrashError, MadeUpEngine
from tests.search.test_records import CHOICE, PROGRESS
from tests.search.test_run import changed, content, quiet

SPREAD = 6
CONFIG = SearchConfig(spread=SPREAD)
CLEAR = tuple(-20.0 - 4.0 * float(KENDALL_DISTANCES[0, order]) for order in range(120))


def state_of(
    returns: tuple[float, ...],
    visits: Sequence[tuple[int, float, float]],  # order, return, its standard error
    failed: frozenset[int] = frozenset(),
    **options: Any,
) -> SearchState:
    """A search that has visited some orders."""
    state = SearchState(changed(CONFIG, **options))
    state = state.having(Prior(returns, (0.5,) * 120, 6_000, 26_000))
    for i, (order, value, error) in enumerate(visits, start=1):
        choice = replace(CHOICE, iteration=i, round=i, order=Order(order), policy=f"{order:03d}")
        gate = GateResult("failed" if order in failed else "passed", "made up")
        ratio = Ratio(0.97, 0.96, 0.98)
        measured = Measured(value, error, OrderCompliance(), ratio, ratio, gate)
        state = state.having(Round((choice,)))
        state = state.having(Result.of(choice, measured, PROGRESS, used=26_000))
    return state


def near_clear(orders: Sequence[int], gain: float = 2.0) -> list[tuple[int, float, float]]:
    """Visits that come out as the prior says, and a little better."""
    rng = np.random.default_rng(0)
    return [(order, CLEAR[order] + gain + 0.3 * rng.standard_normal(), 0.3) for order in orders]


def test_a_clear_prior_that_visits_bear_out_ends_the_search() -> None:
    best = [int(order) for order in np.argsort(-np.array(CLEAR))[:SPREAD]]
    assert state_of(CLEAR, near_clear(best)).is_settled


def test_fewer_visits_than_the_spread_never_end_it() -> None:
    best = [int(order) for order in np.argsort(-np.array(CLEAR))[: SPREAD - 1]]
    assert not state_of(CLEAR, near_clear(best)).is_settled
    assert not state_of(CLEAR, []).is_settled


def test_while_the_best_of_the_prior_is_not_visited_it_goes_on() -> None:
    poor = [int(order) for order in np.argsort(CLEAR)[:8]]
    assert not state_of(CLEAR, near_clear(poor)).is_settled


def test_a_prior_that_visits_refute_does_not_end_it() -> None:
    """Visits differ from it by far more than it says orders differ."""
    best = [int(order) for order in np.argsort(-np.array(CLEAR))[:SPREAD]]
    values = (-90.0, -10.0, -60.0, -20.0, -120.0, -40.0)
    visits = [(order, value, 0.3) for order, value in zip(best, values, strict=True)]
    assert not state_of(CLEAR, visits).is_settled


@pytest.mark.parametrize("seed", range(5))
def test_a_flat_noisy_prior_does_not_end_it_wrongly(seed: int) -> None:
    """Orders differ by 5, the prior tells only noise, and few orders have been seen."""
    rng = np.random.default_rng(seed)
    truth = -30.0 + 5.0 * rng.standard_normal(120)
    flat = tuple(-30.0 + 0.5 * rng.standard_normal(120))
    orders = rng.choice(np.argsort(truth)[:100], SPREAD, replace=False)  # none of the best
    visits = [(int(order), float(truth[order]), 0.5) for order in orders]
    state = state_of(flat, visits)
    assert truth.max() > truth[orders].max() + 0.6  # there is something to be found
    assert not state.is_settled


def test_an_order_that_failed_is_visited_and_does_not_keep_the_search_going() -> None:
    """The best by the prior cannot be followed: it is not chosen again either."""
    best = [int(order) for order in np.argsort(-np.array(CLEAR))[: SPREAD + 3]]
    state = state_of(CLEAR, near_clear(best), failed=frozenset(best[:1]))
    assert state.is_settled
    assert not state_of(CLEAR, near_clear(best), failed=frozenset(best)).is_settled


def test_it_ends_early_only_if_asked_for_and_never_without_a_prior() -> None:
    best = [int(order) for order in np.argsort(-np.array(CLEAR))[:SPREAD]]
    state = state_of(CLEAR, near_clear(best), stop_chance=0.0)
    assert not state.is_settled
    bare = SearchState(CONFIG, tuple(one for one in state.records if not isinstance(one, Prior)))
    assert not bare.is_settled


# ---------------------------------------------------------------------------------- end to end
@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, brief_prior: None) -> Path:
    """A base policy with belief and certainty, hardly trained."""
    path = tmp_path_factory.mktemp("base") / "run"
    train(TrainConfig(episodes=10, update_episodes=10, ppo={"hidden": (2,)}), path, report=quiet)
    return path


def crash(*_: Any) -> Any:
    raise CrashError


def test_a_search_with_a_prior_resumed_after_crashes_has_the_same_journal(
    quick: SearchConfig, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load_network(base)[0].layout.certainty == 0.8
    config = changed(
        quick, start="base", budget=740, order_episodes=60, prior_episodes=2, stop_chance=0.0
    )
    whole, path = tmp_path / "whole", tmp_path / "run"
    state = search(config, whole, base=base, engine=MadeUpEngine(), report=quiet)
    assert state.prior is not None
    assert len(set(state.prior.returns)) > 1
    assert state.prior.num_episodes == 240
    assert state.used == config.budget
    with monkeypatch.context() as patch, pytest.raises(CrashError):
        patch.setattr(module, "ask_network", crash)  # before anything is recorded
        search(config, path, base=base, engine=MadeUpEngine(), report=quiet)
    with pytest.raises(CrashError):
        resume_search(path, engine=MadeUpEngine(crash_at=1), report=quiet)
    monkeypatch.setattr(module, "ask_network", crash)  # it is not asked twice
    with pytest.raises(CrashError):
        resume_search(path, engine=MadeUpEngine(crash_at=4), report=quiet)
    resume_search(path, engine=MadeUpEngine(), report=quiet)
    assert content(path) == content(whole)


@pytest.mark.slow
def test_a_search_that_is_settled_ends_before_its_budget_and_says_so(
    quick: SearchConfig, base: Path, tmp_path: Path
) -> None:
    config = changed(
        quick, start="base", budget=3_000, prior_episodes=2, stop_chance=0.99, spread=4
    )
    told: list[str] = []
    state = search(config, tmp_path / "run", base=base, engine=MadeUpEngine(), report=told.append)
    assert any("ends before its budget" in line for line in told)
    assert state.final is not None
    assert state.final.num_episodes == config.final_episodes
    assert len(state.results) >= 4
    assert state.used < config.budget
    before = content(tmp_path / "run")
    resume_search(tmp_path / "run", engine=MadeUpEngine(crash_at=1), report=quiet)
    assert content(tmp_path / "run") == before
    with pytest.raises(CrashError):
        resume_search(
            tmp_path / "run", budget=4_000, engine=MadeUpEngine(crash_at=2), report=told.append
        )
    assert "the search had ended before its budget: with a larger one it uses all of it" in told
    state = resume_search(tmp_path / "run", engine=MadeUpEngine(), report=quiet)
    assert state.used == 4_000
    assert state.final is not None
