"""A search's episodes are divided without rest."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from standing_orders.config import BaseConfig, SearchConfig
from standing_orders.errors import ConfigError
from standing_orders.search.budget import final_reserve, for_orders, for_prior, next_allowance

numbers = st.integers(1, 5_000)


@given(free=st.integers(0, 20_000), limit=numbers, evaluation=st.integers(2, 500), update=numbers)
def test_a_visit_never_gets_more_than_is_free_nor_than_its_limit(
    free: int, limit: int, evaluation: int, update: int
) -> None:
    config = SearchConfig(
        order_episodes=limit, evaluation_episodes=evaluation, update_episodes=update
    )
    for is_first in (True, False):
        allowance = next_allowance(config, free, is_first=is_first)
        if allowance is None:
            assert free < evaluation + update
            assert free == 0 or not is_first
            continue
        assert 1 <= allowance.training <= limit
        assert allowance.evaluation != 1
        assert allowance.total <= free
        if free >= evaluation + max(update, limit):
            measured = min(evaluation, free // 2)
            wanted = (limit, measured if measured > 1 else 0)  # one alone has no standard error
            assert (allowance.training, allowance.evaluation) == wanted


def test_the_last_visit_gets_what_is_left() -> None:
    allowance = next_allowance(SearchConfig(order_episodes=2_000), 1_234, is_first=False)
    assert allowance is not None
    assert allowance.total == 1_234


def test_a_base_policy_takes_its_part_of_the_budget() -> None:
    config = SearchConfig(budget=1_000, base=BaseConfig(episodes=900), prior="none")
    assert for_orders(config, is_base_given=False) == 100
    assert for_orders(config, is_base_given=True) == 1_000
    assert final_reserve(config, is_base_given=False) == 10
    scratch = SearchConfig(budget=1_000, start="own")
    assert for_orders(scratch, is_base_given=False) == 1_000


def test_a_base_policy_that_takes_everything_is_refused() -> None:
    config = SearchConfig(budget=40_000, base=BaseConfig(episodes=40_000))
    with pytest.raises(ConfigError, match=r"budget = 40000: must be greater than base.episodes"):
        for_orders(config, is_base_given=False)


@pytest.mark.parametrize(
    ("budget", "is_base_given", "each"),
    [
        (120_000, False, 50),  # as many as are asked for
        (20_000 + 360 * 50, False, 50),
        (20_000 + 360 * 50 - 1, False, 49),  # a third of what the base leaves
        (20_000 + 360 * 2, False, 2),
        (20_000 + 360 * 2 - 1, False, 0),  # one episode has no standard error
        (20_001, False, 0),
        (100, False, 0),
        (360 * 2, True, 2),
        (360 * 2 - 1, True, 0),
        (1, True, 0),
    ],
)
def test_a_prior_takes_at_most_a_third_of_what_the_base_leaves(
    budget: int, is_base_given: bool, each: int
) -> None:
    config = SearchConfig(budget=budget)
    assert for_prior(config, is_base_given=is_base_given) == each
    left = budget - (0 if is_base_given else 20_000)
    if left > 0:
        assert for_orders(config, is_base_given=is_base_given) == left - 120 * each
        assert 3 * 120 * each <= left


@pytest.mark.parametrize(
    "options", [{"prior": "none"}, {"start": "own"}, {"base": BaseConfig(order="none")}]
)
def test_a_base_that_knows_no_orders_is_not_asked(options: dict[str, Any]) -> None:
    config = SearchConfig(**options)
    assert for_prior(config, is_base_given=False) == 0
    assert for_prior(config, is_base_given=True) == 0


def test_a_prior_never_makes_a_budget_that_suffices_insufficient() -> None:
    for budget in range(61, 2_000, 7):
        config = SearchConfig(budget=budget, base=BaseConfig(episodes=60), prior_episodes=2)
        assert for_orders(config, is_base_given=False) > 0
