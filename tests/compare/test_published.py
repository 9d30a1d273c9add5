"""The published grid is complete, and what is measured stands beside what was claimed."""

from pathlib import Path

import pytest

from standing_orders.compare.config import CompareConfig
from standing_orders.compare.published import (
    PROPOSALS,
    claimed_beside_measured,
    grid,
    outcomes,
    published,
    run_grid,
    train_setting,
)
from standing_orders.config import TrainConfig
from standing_orders.rules.orders import Order


def test_the_grid_has_the_claims_all_eight_each_alone_and_all_but_one() -> None:
    rows = grid()
    assert len(PROPOSALS) == 8
    assert [row.claim.share for row in rows[:4]] == [0.2, 0.5, 0.7, 0.85]
    assert [row.claim.episodes for row in rows[:4]] == [4000, 3000, 2500, 2000]
    assert len(rows) == 6 + 8 + 8 + 1
    assert rows[-1].preset == "fast-order"
    assert [row.is_claimed for row in rows] == [True] * 4 + [False] * 19
    assert len({row.name for row in rows}) == len(rows)
    for row in rows:
        TrainConfig(order="balanced", **row.changes)  # type: ignore[arg-type]
    assert "shape" not in grid()[-9].changes.get("alignment", {})  # all but the first


def test_a_setting_is_trained_and_judged() -> None:
    outcome = train_setting(grid()[0], Order(3), episodes=40, seed=1)
    assert outcome.episodes == outcome.budget == 40
    assert 0 <= outcome.last <= outcome.best <= 1
    assert outcome.reached is None
    assert not outcome.passed


def test_what_is_done_is_not_done_again() -> None:
    done = [
        {"setting": setting.name, "order": str(Order(0))} for setting in grid()[:-1]
    ]  # fmt: skip
    (left,) = run_grid([Order(0)], episodes=10, seed=0, done=done)
    assert left["setting"].startswith("ours")


def test_some_settings_may_be_trained_alone() -> None:
    (one,) = run_grid([Order(0)], episodes=10, seed=0, settings=grid()[4:5])
    assert one["setting"] == "proposals 1 to 3"


def test_claims_stand_beside_what_was_measured() -> None:
    name = grid()[1].name
    records = [
        {"setting": name, "reached": 500, "passed": True, "best": 0.97, "last": 0.96,
         "budget": 3000},
        {"setting": name, "reached": None, "passed": False, "best": 0.5, "last": 0.4,
         "budget": 3000},
        {"setting": name, "error": "not finite"},
    ]  # fmt: skip
    (row,) = claimed_beside_measured(records)
    assert (row["orders"], row["budget"]) == (2, 3000)
    assert (row["claimed share"], row["share that passes"]) == (0.5, 0.5)
    assert (row["claimed episodes"], row["median episodes of those"]) == (3000, 500)
    assert row["mean of the last batch"] == pytest.approx(0.68)


def test_a_grid_that_is_cut_short_can_be_looked_at(tmp_path: Path) -> None:
    config = CompareConfig(orders=("balanced", "critical_first"), train_episodes=20)
    stopped = tmp_path / "grid"
    assert outcomes(stopped) == []

    def stop(text: str) -> None:
        if text.endswith(Order.parse("critical_first").typed):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        published(config, stopped, settings=grid()[:1], report=stop)
    assert [one["order"] for one in outcomes(stopped)] == [str(Order.parse("balanced"))]
    assert claimed_beside_measured(outcomes(stopped))[0]["orders"] == 1
