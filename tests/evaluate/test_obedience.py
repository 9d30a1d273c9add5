"""How obedience is measured: fresh episodes, pooled ratios, order swap."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.config import GateConfig, SimConfig
from standing_orders.evaluate.measure import Measured
from standing_orders.evaluate.obedience import (
    Obedience,
    measure_obedience,
    obedience_table,
    summarise,
)
from standing_orders.learn.policy import LearnedDefender
from standing_orders.learn.rollout import collect
from standing_orders.rules.compliance import (
    OrderCompliance,
    count_with_late,
    ratio_of_tallies,
)
from standing_orders.rules.gate import GateResult, judge_gate
from standing_orders.rules.orders import Order
from standing_orders.seeding import child_seed
from standing_orders.stats import Ratio

Make = Callable[..., Any]
B_LINE = SimConfig(red="b_line")


def measure(
    net: Any,
    orders: list[int],
    *,
    episodes: int = 40,
    is_greedy: bool = False,
    seed: int = 0,
    **gate: Any,
) -> list[Obedience]:
    policy = LearnedDefender(net, name="it", orders=range(120), is_greedy=is_greedy)
    return measure_obedience(
        policy, B_LINE, orders, num_episodes=episodes, seed=seed, gate=GateConfig(**gate)
    )


def always_restore(net: Any, *hosts: int) -> Any:
    """A policy that restores these hosts at random, whatever it sees or is told."""
    with torch.no_grad():
        net.actor[-1].weight.zero_()
        net.actor[-1].bias.fill_(-30.0)
        net.actor[-1].bias[[132 + host for host in hosts]] = 0.0
    return net


# ------------------------------------------------------------------------------------ measured
def test_the_figures_are_those_of_the_episodes_played(network: Make) -> None:
    """A rollout with the same seed plays the same episodes, judged once by each order."""
    net, told = network(), Order(63)
    found = measure(net, [told.index], kind="strict")[0]
    rollouts = [
        collect(
            Cage2Batch(40, B_LINE), net, np.full(40, told.index),
            seed=child_seed(0, "obedience", "b_line"), judged_by=np.full(40, judge.index),
        )
        for judge in (told, told.backwards())
    ]  # fmt: skip
    measured = found.measured
    assert found.order == told
    assert measured.kept == rollouts[0].counts
    assert measured.mean_return == pytest.approx(rollouts[0].mean_return)
    assert measured.strict.value == measured.kept.strict_compliance
    assert measured.contested.value == measured.kept.contested_compliance
    compliant, judged = ratio_of_tallies(rollouts[1].tallies, is_contested=True)
    assert found.swapped_contested.value == pytest.approx(compliant.sum() / judged.sum())


def test_late_episodes_count_for_contested_compliance_alone(network: Make) -> None:
    net, told = network(), Order(63)
    found = measure(net, [told.index], contested_starts=15)[0].measured
    seed = child_seed(0, "obedience", "b_line")
    first, late = (
        collect(
            Cage2Batch(20, SimConfig(red="b_line", head_start=head_start)), net,
            np.full(20, told.index), seed=seed + start,
        )
        for start, head_start in ((0, 0), (20, 15))
    )  # fmt: skip
    assert found.mean_return == pytest.approx(first.mean_return)
    assert found.kept == count_with_late(first.tallies, late.tallies)
    assert found.gate == judge_gate(first.tallies, GateConfig(), late.tallies)


def test_all_of_it_is_plain_data(network: Make) -> None:
    found = measure(network(), [5])[0]
    plain = found.to_json()
    assert plain["order"] == str(Order(5))
    assert plain["return"] == found.measured.mean_return
    assert plain["swapped_contested"]["value"] == found.swapped_contested.value


def test_measuring_again_gives_the_same_and_another_seed_does_not(network: Make) -> None:
    net = network()
    assert measure(net, [3]) == measure(net, [3])
    assert measure(net, [3], seed=1) != measure(net, [3])


def test_every_order_meets_the_same_attacks(network: Make) -> None:
    """A greedy network that takes no order must then do exactly the same for each."""
    net = network(has_order=False)
    first, second = measure(net, [0, 60], is_greedy=True)
    assert first.measured.mean_return == second.measured.mean_return
    assert first.measured.kept.held_steps == second.measured.kept.held_steps


def test_a_figure_does_not_depend_on_which_other_orders_are_measured(network: Make) -> None:
    net = network()
    assert measure(net, [7, 60])[1] == measure(net, [60])[0]


def test_a_policy_that_does_not_listen_has_no_swap_gap_on_average(network: Make) -> None:
    """Over orders and their reverses: what one gains by luck the other loses."""
    orders = [Order.parse("critical_first").index, Order.parse("user_priority").index, 77]
    orders += [Order(order).backwards().index for order in orders]
    for net in (network(), always_restore(network(), 1, 2, 3)):
        measured = measure(net, orders, episodes=200)
        assert abs(summarise(measured)["swap_gap"]) < 0.05


def test_a_policy_that_listens_has_a_swap_gap(network: Make) -> None:
    """It restores any host, but only what the order allows as far as it can know."""
    net = always_restore(network(has_belief=True, certainty=0.95), *range(1, 8), *range(9, 13))
    found = summarise(measure(net, [40, Order(40).backwards().index], episodes=100))
    assert found["contested"] > 0.9
    assert found["swap_gap"] > 0.4


# ------------------------------------------------------------------------------------ summary
def obedience(*, compliant: int, violations: int, mean_return: float = -20.0) -> Obedience:
    kept = OrderCompliance(compliant=compliant, violations=violations, fixes=compliant + violations)
    value = compliant / (compliant + violations)
    ratio = Ratio(value, value, value)
    gate = GateResult("passed" if value >= 0.95 else "failed", "made up")
    measured = Measured(mean_return, 0.1, kept, ratio, ratio, gate)
    return Obedience(Order(0), measured, Ratio(0.25, 0.2, 0.3))


def test_the_summary_pools_and_averages_over_orders() -> None:
    found = summarise(
        [
            obedience(compliant=190, violations=10, mean_return=-10.0),
            obedience(compliant=300, violations=300, mean_return=-30.0),
        ]
    )
    assert (found["orders"], found["passed"]) == (2, 1)
    assert found["strict"] == pytest.approx(490 / 800)
    assert (found["mean_return"], found["worst_return"]) == (-20.0, -30.0)
    assert found["swap_gap"] == pytest.approx((0.95 - 0.25 + 0.5 - 0.25) / 2)


def test_one_order_is_spoken_of_as_one_and_the_card_says_why_it_fails() -> None:
    one = obedience(compliant=50, violations=50)
    table = obedience_table("b_line", [replace(one, late_episodes=7)])
    assert table.title.startswith("the order told, against b_line, n = 0 episodes, and 7 begun")
    (note,) = table.notes
    assert note.startswith("the order does not pass the gate; ")
    assert note.endswith("why not: made up\n")
    assert "worst order" not in note


def test_many_orders_are_counted() -> None:
    table = obedience_table("b_line", [obedience(compliant=9, violations=1)] * 7)
    assert table.title == "orders told, against b_line, n = 0 episodes each, the lowest 6 of 7"
    assert table.notes[0].startswith("0 of 7 orders pass the gate; ")
