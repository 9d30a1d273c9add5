"""A search's episodes are divided without rest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from standing_orders.config import BaseConfig, SearchConfig
from standing_orders.errors import ConfigError
from standing_orders.search.budget import final_reserve, for_orders, next_allowance

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
            assert (allowance.training, allowance.evaluation) == (limit, min(evaluation, free // 2))


def test_the_last_visit_gets_what_is_left() -> None:
    allowance = next_allowance(SearchConfig(), 1_234, is_first=False)
    assert allowance is not None
    assert allowance.total == 1_234


def test_a_base_policy_takes_its_part_of_the_budget() -> None:
    config = SearchConfig(budget=1_000, base=BaseConfig(episodes=900))
    assert for_orders(config, is_base_given=False) == 100
    assert for_orders(config, is_base_given=True) == 1_000
    assert final_reserve(config, is_base_given=False) == 10
    scratch = SearchConfig(budget=1_000, start="own")
    assert for_orders(scratch, is_base_given=False) == 1_000


def test_a_base_policy_that_takes_everything_is_refused() -> None:
    config = SearchConfig(budget=40_000, base=BaseConfig(episodes=40_000))
    with pytest.raises(ConfigError, match=r"budget = 40000: must be greater than base.episodes"):
        for_orders(config, is_base_given=False)
