"""Ways to search stand side by side on a landscape whose truth is known."""

from standing_orders.compare.trials import compare_strategies
from standing_orders.config import SimConfig


def test_each_strategy_has_a_row_for_each_budget_and_a_surrogate_beats_chance() -> None:
    rows = compare_strategies(
        SimConfig(head_start=20), num_seeds=4, num_episodes=200, seed=0,
        ways=("ucb", "random"), budgets=(5, 15),
    )  # fmt: skip
    assert [(row["strategy"], row["evaluations"]) for row in rows] == [
        ("ucb", 5), ("ucb", 15), ("random", 5), ("random", 15),
    ]  # fmt: skip
    assert rows[1]["found regret"] <= rows[3]["found regret"]
    for row in rows:
        assert row["low"] <= row["named regret"] <= row["high"]
        assert row["found regret"] <= row["named regret"] + 1e-9
