"""How obedience is measured: fresh episodes, pooled ratios, order swap."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from standing_orders.config import SimConfig
from standing_orders.evaluate.obedience import (
    Obedience,
    Ratio,
    measure_obedience,
    pooled_ratio,
    reverse_order,
    summarise,
)
from standing_orders.learn.rollout import collect
from standing_orders.rules.compliance import Counts, ratio_of_tallies
from standing_orders.rules.orders import ORDERS, describe_order, parse_order

Make = Callable[..., Any]
B_LINE = SimConfig(red="b_line")
ENTERPRISE_FIRST = parse_order("enterprise_focus")


def measure(net: Any, orders: list[int], *, episodes: int = 40, **options: Any) -> list[Obedience]:
    options = {"seed": 0, "is_greedy": False} | options
    return measure_obedience(net, B_LINE, orders, num_episodes=episodes, **options)


def always_restore(net: Any, *hosts: int) -> Any:
    """A policy that restores these hosts at random, whatever it sees or is told."""
    with torch.no_grad():
        net.actor[-1].weight.zero_()
        net.actor[-1].bias.fill_(-30.0)
        net.actor[-1].bias[[132 + host for host in hosts]] = 0.0
    return net


# ------------------------------------------------------------------------------- pooled ratio
def test_a_pooled_ratio_is_sum_over_sum() -> None:
    ratio = pooled_ratio(np.array([1, 0, 8]), np.array([2, 0, 8]))
    assert ratio.value == 0.9
    assert ratio.low is not None
    assert ratio.high is not None
    assert 0 <= ratio.low <= 0.9 <= ratio.high <= 1


def test_without_a_case_there_is_no_ratio() -> None:
    nothing = np.zeros(5, dtype=np.int64)
    assert pooled_ratio(nothing, nothing) == Ratio(None, None, None)


def test_the_interval_is_that_of_the_bootstrap_over_episodes() -> None:
    rng = np.random.default_rng(0)
    whole = rng.integers(0, 30, 400)
    skill = rng.beta(8, 4, 400)  # episodes differ: fixes inside one are not independent
    part = rng.binomial(whole, skill)
    ratio = pooled_ratio(part, whole)
    picks = rng.integers(0, 400, (4000, 400))
    low, high = np.quantile(part[picks].sum(axis=1) / whole[picks].sum(axis=1), [0.025, 0.975])
    assert ratio.low == pytest.approx(low, abs=0.15 * (high - low))
    assert ratio.high == pytest.approx(high, abs=0.15 * (high - low))


# ------------------------------------------------------------------------------------ measured
def test_the_reverse_of_an_order_is_read_from_its_end() -> None:
    for index in range(120):
        assert ORDERS[reverse_order(index)] == ORDERS[index][::-1]


def test_the_figures_are_those_of_the_episodes_played(network: Make) -> None:
    net = network()
    told, calls = 63, []
    found = measure(net, [told], advance=calls.append)[0]
    assert found.order == told
    assert sum(calls) == 40
    assert found.counts.episodes == 40
    counts = found.counts
    assert found.strict.value == counts.strict_compliance
    assert found.contested.value == counts.contested_compliance
    assert found.std_error > 0
    assert found.swapped_contested.value is not None
    plain = found.to_json()
    assert plain["order"] == describe_order(told)
    assert plain["return"] == found.mean_return


def test_the_swap_is_judged_by_the_reverse_order_in_the_same_episodes(
    network: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    from standing_orders.learn import obedience

    calls: list[Any] = []

    def spy(*args: Any, **options: Any) -> Any:
        calls.append((args, options, collect(*args, **options)))
        return calls[-1][2]

    monkeypatch.setattr(obedience, "collect", spy)
    found = measure(network(), [5])[0]
    tallies = []
    for (_, _, told), options, _ in calls:
        assert set(told.tolist()) == {5}
        assert options.get("mask_factor") is None
        assert not options.get("count_foothold", False)
    for _, options, rollout in calls:
        judges = options["judged_by"]
        if judges is not None and set(judges.tolist()) == {reverse_order(5)}:
            tallies.append(rollout.tallies)
    compliant, judged = ratio_of_tallies(tallies[0], is_contested=True)
    assert found.swapped_contested.value == pytest.approx(compliant.sum() / judged.sum())
    first, second = calls[0][2], calls[1][2]
    assert np.array_equal(first.actions, second.actions)


def test_measuring_again_gives_the_same_and_another_seed_does_not(network: Make) -> None:
    net = network()
    assert measure(net, [3]) == measure(net, [3])
    assert measure(net, [3], seed=1) != measure(net, [3])


def test_every_order_meets_the_same_attacks(network: Make) -> None:
    """A greedy network that takes no order must then do exactly the same for each."""
    net = network(has_order=False)
    first, second = measure(net, [0, 60], is_greedy=True)
    assert first.mean_return == second.mean_return
    assert first.counts.held_steps == second.counts.held_steps


def test_a_figure_does_not_depend_on_which_other_orders_are_measured(network: Make) -> None:
    net = network()
    assert measure(net, [7, 60])[1] == measure(net, [60])[0]


def test_a_policy_that_does_not_listen_has_no_swap_gap_on_average(network: Make) -> None:
    """Over orders and their reverses: what one gains by luck the other loses."""
    orders = [parse_order("critical_first"), parse_order("user_priority"), 77]
    orders += [reverse_order(order) for order in orders]
    for net in (network(), always_restore(network(), 1, 2, 3)):
        measured = measure(net, orders, episodes=200)
        assert abs(summarise(measured)["swap_gap"]) < 0.05


def test_a_policy_that_listens_has_a_swap_gap(network: Make) -> None:
    """It restores hosts of the type in focus: the highest-ranked one it believes compromised."""
    net = network(hidden=(8,), has_focus=True)
    with torch.no_grad():
        for parameter in net.actor.parameters():
            parameter.zero_()
        net.actor[-1].bias.fill_(-30.0)
        net.actor[-1].bias[0] = 0.0
        for unit_type, hosts in enumerate([[], [1, 2, 3], [7], [4, 5, 6], [9, 10, 11, 12]]):
            net.actor[0].weight[unit_type, 77 + unit_type] = 10.0
            net.actor[-1].weight[[132 + host for host in hosts], unit_type] = 60.0
    found = summarise(measure(net, [40, reverse_order(40)], episodes=100))
    assert found["contested"] > 0.7
    assert found["swap_gap"] > 0.4


# ------------------------------------------------------------------------------------ summary
def obedience(*, compliant: int, violations: int, mean_return: float = -20.0) -> Obedience:
    counts = Counts(compliant=compliant, violations=violations, fixes=compliant + violations)
    value = compliant / (compliant + violations)
    ratio = Ratio(value, value, value)
    return Obedience(0, counts, ratio, ratio, Ratio(0.25, 0.2, 0.3), mean_return, 0.1)


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


def test_an_order_does_not_pass_with_fewer_than_100_judged_fixes() -> None:
    assert summarise([obedience(compliant=3, violations=0)])["passed"] == 0
