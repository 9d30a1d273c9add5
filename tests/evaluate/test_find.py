"""Policies by name, by training run and by search."""

from pathlib import Path

import pytest

from standing_orders.config import TrainConfig
from standing_orders.errors import CheckpointError, ConfigError
from standing_orders.evaluate.find import find_policy
from standing_orders.evaluate.obedience import OrderFollower
from standing_orders.learn.run import train
from standing_orders.rules.lawful import LawfulPolicy
from standing_orders.rules.orders import Order
from standing_orders.runs.folder import RunFolder


def quiet(_: object) -> None:
    """Tell nobody."""


def trained(path: Path, order: str) -> Path:
    config = TrainConfig(order=order, episodes=2, update_episodes=2, ppo={"hidden": (2,)})
    train(config, path, report=quiet)
    return path


def orders_of(name: Path, order: str | None = None) -> tuple[int, ...]:
    policy = find_policy(str(name), order=order)
    assert isinstance(policy, OrderFollower)
    return tuple(policy.orders)


def test_a_scripted_defender_is_found_by_name() -> None:
    policy = find_policy("heuristic")
    assert policy.name == "heuristic"
    assert not isinstance(policy, OrderFollower)


@pytest.mark.parametrize(("order", "kept"), [("7", (7,)), ("all", tuple(range(120)))])
def test_a_defender_that_takes_no_order_is_held_to_it(
    tmp_path: Path, order: str, kept: tuple[int, ...]
) -> None:
    none = trained(tmp_path / "none", "none")
    for name in ("heuristic", str(none)):
        policy = find_policy(name, order=order)
        assert isinstance(policy, LawfulPolicy)
        assert policy.orders == kept
    with pytest.raises(ConfigError, match="order 'first'"):
        find_policy("heuristic", order="first")


def test_what_is_neither_a_name_nor_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="must be one of sleep"):
        find_policy("heuristics")
    with pytest.raises(CheckpointError, match="not a run"):
        find_policy(str(tmp_path))


def test_a_run_is_told_its_own_order_unless_it_is_told_another(tmp_path: Path) -> None:
    one = trained(tmp_path / "one", "balanced")
    assert orders_of(one) == (Order.parse("balanced").index,)
    assert orders_of(one, "u,d,e,op_s,op_h") == (Order.parse("user_priority").index,)
    assert orders_of(trained(tmp_path / "any", "any")) == tuple(range(120))
    assert find_policy(str(one), is_greedy=True).name == "one (greedy)"


def test_a_policy_without_orders_is_told_none(tmp_path: Path) -> None:
    none = trained(tmp_path / "none", "none")
    assert orders_of(none) == ()


def test_of_a_search_the_best_policy_is_taken(tmp_path: Path) -> None:
    RunFolder.create(tmp_path / "search", {}, "search")
    with pytest.raises(CheckpointError, match="kind 'search'"):
        find_policy(str(tmp_path / "search"))
    trained(tmp_path / "search" / "best", "enterprise_focus")
    with pytest.raises(CheckpointError, match="has not ended"):
        find_policy(str(tmp_path / "search"))
    with RunFolder.open(tmp_path / "search").journal(quiet) as journal:
        journal.append({"event": "final", "order": "enterprise_focus", "policy": "000"})
        journal.note_head()
    assert orders_of(tmp_path / "search") == (Order.parse("enterprise_focus").index,)
