"""How well a policy follows the orders it is told, measured on fresh episodes."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.policy import Policy
from standing_orders.config import GateConfig, SimConfig
from standing_orders.evaluate.measure import (
    Measured,
    halve,
    late_start,
    play,
    summarise_episodes,
)
from standing_orders.rules.compliance import OrderCompliance, ratio_of_tallies
from standing_orders.rules.orders import Order
from standing_orders.seeding import child_seed, environment_seeds
from standing_orders.stats import Ratio, pooled_ratio
from standing_orders.tables import Column, Table

_SHOWN_ORDERS = 6
_COLUMNS = (
    Column("order", is_text=True),
    Column("strict", ".1%"),
    Column("low 95 %", ".1%", drop=3),
    Column("high 95 %", ".1%", drop=3),
    Column("contested", ".1%"),
    Column("swapped", ".1%", drop=2),
    Column("response", ".1%", drop=4),
    Column("aim", ".1%", drop=5),
    Column("return", ".1f"),
    Column("std error", ".1f", drop=1),
)


@runtime_checkable
class OrderFollower(Protocol):
    """A policy that can be told an order."""

    @property
    def orders(self) -> Sequence[int]:
        """What it is told; empty for a policy that takes no order."""

    def told(self, order: int) -> Policy:
        """The same policy, told this order in every episode."""


@dataclass(frozen=True)
class Obedience:
    """One order, told and judged by."""

    order: Order
    measured: Measured
    swapped_contested: Ratio  # judged by the order read backwards
    late_episodes: int = 0  # that were played besides, for contested fixes alone

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        return {
            "order": str(self.order),
            **self.measured.to_json(),
            "swapped_contested": asdict(self.swapped_contested),
            "late_episodes": self.late_episodes,
        }


def summarise(measured: Sequence[Obedience]) -> dict[str, float]:
    """Figures over all orders measured: how many pass, pooled compliance, returns, order swap."""
    pooled = sum((one.measured.kept for one in measured), OrderCompliance())
    returns = [one.measured.mean_return for one in measured]
    swaps = [
        one.measured.contested.value - one.swapped_contested.value
        for one in measured
        if one.measured.contested.value is not None and one.swapped_contested.value is not None
    ]
    return {
        "orders": len(measured),
        "passed": sum(one.measured.gate.has_passed for one in measured),
        "strict": pooled.strict_compliance or 0.0,
        "contested": pooled.contested_compliance or 0.0,
        "response": pooled.response_rate or 0.0,
        "aim": pooled.aim or 0.0,
        "mean_return": sum(returns) / len(returns),
        "worst_return": min(returns),
        "swap_gap": sum(swaps) / len(swaps) if swaps else 0.0,
    }


def count_passed(summary: dict[str, float], which: str = "") -> str:
    """How many orders pass the gate, in words.

    Example:
        >>> count_passed({"passed": 0, "orders": 1}, "told ")
        'the order told does not pass the gate'
    """
    passed, orders = round(summary["passed"]), round(summary["orders"])
    if orders > 1:
        return f"{passed} of {orders} orders {which}pass the gate"
    return f"the order {which}{'passes' if passed else 'does not pass'} the gate"


def describe(summary: dict[str, float]) -> str:
    """The figures of `summarise` in words, in the units of the table."""
    shares = ", ".join(
        f"{name} {summary[name]:.1%}" for name in ("strict", "contested", "response", "aim")
    )
    worst = f", worst order {summary['worst_return']:.1f}" if summary["orders"] > 1 else ""
    return (
        f"{count_passed(summary)}; {shares}; return {summary['mean_return']:.1f}{worst}; order "
        f"swap {100 * summary['swap_gap']:.0f} points"
    )


def obedience_table(red: str, measured: Sequence[Obedience]) -> Table:
    """How each order is followed; of many orders the lowest six are printed, and a summary."""
    worst = sorted(measured, key=lambda one: one.measured.strict.value or 0.0)
    rows = tuple(
        (
            one.order.typed,
            one.measured.strict.value,
            one.measured.strict.low,
            one.measured.strict.high,
            one.measured.contested.value,
            one.swapped_contested.value,
            one.measured.kept.response_rate,
            one.measured.kept.aim,
            one.measured.mean_return,
            one.measured.std_error,
        )
        for one in worst
    )
    shown = f", the lowest {_SHOWN_ORDERS} of {len(rows)}" if len(rows) > _SHOWN_ORDERS else ""
    first = measured[0]
    late = f", and {first.late_episodes} begun late for contested fixes" * bool(first.late_episodes)
    told, each, why = "orders told", " each", ""
    if len(rows) == 1:
        told, each = "the order told", ""
        why = "" if first.measured.gate.has_passed else f"\nwhy not: {first.measured.gate.reason}"
    num_episodes = first.measured.kept.episodes
    return Table(
        f"{told}, against {red}, n = {num_episodes} episodes{each}{late}{shown}",
        _COLUMNS,
        rows,
        notes=(f"{describe(summarise(measured))}{why}\n",),
        shown=_SHOWN_ORDERS,
        more="--all, or --out FILE",
    )


def measure_obedience(
    policy: OrderFollower,
    config: SimConfig,
    orders: Sequence[int],
    *,
    num_episodes: int,
    seed: int,
    gate: GateConfig | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> list[Obedience]:
    """Tell the policy each order in turn and judge what it does.

    Each episode is judged twice, by the order told and by that order read backwards. A policy that
    does not listen scores alike by both on average over all orders; for one order alone the gap may
    also come from a fixed habit that happens to suit it.

    Args:
        policy: it sees observations and the order only.
        config: the game.
        orders: which orders, by index.
        num_episodes: fresh episodes for each; half of them start late if the gate says so.
        seed: root seed; every order meets the same attacks.
        gate: what passing takes; the default gate if left out.
        advance: called with the number of episodes just finished.
    """
    gate = gate or GateConfig()
    seeds = environment_seeds(child_seed(seed, "obedience", config.red), num_episodes)
    late = late_start(config, gate)
    games = [(config, seeds)]
    if late and num_episodes > 1:
        first, second = halve(seeds)
        games = [(config, first), (config.model_copy(update={"head_start": late}), second)]
    results = []
    for order in map(Order, orders):
        judges = [order.index, order.backwards().index]
        played = [
            play(
                policy.told(order.index), partial(Cage2Batch, config=game), some,
                judged_by=judges, advance=advance,
            )
            for game, some in games
        ]  # fmt: skip
        swapped = np.concatenate([one.tallies[1] for one in played])
        ratio = pooled_ratio(*ratio_of_tallies(swapped, is_contested=True))
        measured = summarise_episodes(played[0], gate, *played[1:])
        num_late = sum(len(one.returns) for one in played[1:])
        results.append(Obedience(order, measured, ratio, num_late))
    return results
