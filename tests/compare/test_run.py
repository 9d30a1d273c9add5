"""A comparison measures everybody on the same attacks, goes on after a stop, and names failures."""

from pathlib import Path

import numpy as np
import pytest

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.defenders import ScriptedDefender
from standing_orders.compare.config import CANONICAL, CompareConfig
from standing_orders.compare.contestants import find_contestants
from standing_orders.compare.greedy import GreedyDefender, OracleDefender
from standing_orders.compare.run import compare
from standing_orders.compare.summary import summarise
from standing_orders.config import SimConfig, TrainConfig
from standing_orders.errors import ConfigError
from standing_orders.learn.run import train
from standing_orders.rules.orders import Order
from standing_orders.search.oracle import oracle_returns
from standing_orders.seeding import child_seed, environment_seeds

SMALL = CompareConfig(
    contestants=("sleep", "react_restore", "greedy@reverse", "oracle@reverse"),
    seeds=3, episodes=20, train_episodes=20, head_start=12,
)  # fmt: skip


def test_every_contestant_has_a_run_of_every_task(tmp_path: Path) -> None:
    records = compare(SMALL, tmp_path / "c")
    results = [record for record in records if record["event"] == "result"]
    assert len(results) == 4 * 3 * 2
    found = summarise(records)
    assert [row.name for row in found.rows] == list(SMALL.contestants)
    assert found.failed == {}
    by_name = {row.name: row for row in found.rows}
    assert by_name["oracle@reverse"].figures["strict"] == 1.0
    assert by_name["sleep"].mean.value == pytest.approx(0.0, abs=0.1)
    assert by_name["oracle@reverse"].iqm.value > 0.5


def test_the_same_contestant_twice_has_the_same_figures(tmp_path: Path) -> None:
    config = SMALL.model_copy(update={"contestants": ("heuristic", "heuristic@3"), "seeds": 2})
    first, second = summarise(compare(config, tmp_path / "c")).rows
    assert first.returns == second.returns
    assert second.improvement is not None
    assert second.improvement.value == 0.5


def test_a_comparison_that_was_cut_short_goes_on(tmp_path: Path) -> None:
    whole = compare(SMALL, tmp_path / "whole")
    compare(SMALL, tmp_path / "cut")
    journal = tmp_path / "cut" / "journal.jsonl"
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:9]))
    again = compare(CompareConfig(contestants=("random",)), tmp_path / "cut")

    def figures(records: list[dict[str, object]]) -> list[object]:
        return [record.get("return") for record in records]

    assert figures(again) == figures(whole)


def test_what_fails_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "run.json").write_text("nonsense")
    config = SMALL.model_copy(update={"contestants": (str(broken), "sleep"), "seeds": 1})
    found = summarise(compare(config, tmp_path / "c"))
    assert [row.name for row in found.rows] == ["sleep"]
    assert list(found.failed) == [str(broken)]


def test_a_run_that_is_missing_is_named_and_tried_again_when_it_is_there(tmp_path: Path) -> None:
    lost = tmp_path / "lost"
    config = CompareConfig(contestants=("sleep", str(lost)), reds=("b_line",), seeds=1, episodes=5)
    found = summarise(compare(config, tmp_path / "c"))
    assert [row.name for row in found.rows] == ["sleep"]
    assert found.failed == {str(lost): f"{lost}: no run folder is there"}
    train(TrainConfig(order="balanced", episodes=2, update_episodes=2), lost, report=lambda _: None)
    found = summarise(compare(config, tmp_path / "c"))
    assert [row.name for row in found.rows] == ["sleep", str(lost)]
    assert found.failed == {}


def test_baselines_stands_for_every_baseline_and_each_for_every_order() -> None:
    config = CompareConfig(contestants=("heuristic", "baselines"))
    names = [one.name for one in find_contestants(config)]
    assert names[0] == "heuristic"
    assert len(names) == len(set(names)) == 9 + 4 * 6
    for what in ("greedy", "oracle", "fast-order", "fast"):
        assert {f"{what}@{order}" for order in CANONICAL} <= set(names)


def test_a_preset_is_trained_with_the_budget_of_all(tmp_path: Path) -> None:
    config = CompareConfig(
        contestants=("published@balanced",), reds=("b_line",), seeds=1, episodes=5,
        train_episodes=20,
    )  # fmt: skip
    (row,) = summarise(compare(config, tmp_path / "c")).rows
    assert row.training_episodes == 20
    assert row.judged_by == str(Order.parse("balanced"))
    assert row.seconds > 0


@pytest.mark.parametrize("name", ["nobody", "greedy", "oracle", "search", "sleep@nonsense"])
def test_an_unknown_contestant_is_refused_before_anything_is_played(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(ConfigError):
        compare(SMALL.model_copy(update={"contestants": (name,)}), tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_the_oracle_is_the_one_that_the_search_is_checked_with() -> None:
    game, order = SimConfig(head_start=12, horizon=30), Order.parse("user_priority")
    oracle = OracleDefender(order)
    batch = oracle.watching(lambda count: Cage2Batch(count, game))(6)
    seeds = environment_seeds(child_seed(5, "oracle", game.red), 6)
    oracle.reset(seeds)
    observations, total = batch.reset(seeds), np.zeros(6, np.int64)
    for _ in range(game.horizon):
        observations, rewards = batch.step(oracle.act(observations))
        total += rewards
    assert total.tolist() == oracle_returns(game, 6, 5)[order.index].tolist()


def test_greedy_restores_the_highest_ranked_type_that_blue_believes_compromised() -> None:
    batch = Cage2Batch(20, SimConfig(head_start=15))
    defender = GreedyDefender(Order.parse("reverse"))
    reacting = ScriptedDefender("react_restore")
    for one in (defender, reacting):
        one.reset(np.arange(20, dtype=np.uint64))
    observations = batch.reset(3)
    assert (defender.act(observations) > 0).any()
    assert (defender.act(observations) != reacting.act(observations)).any()
