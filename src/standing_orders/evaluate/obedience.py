"""How well a trained network follows orders, measured on fresh episodes without any mask."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.config import GateConfig, SimConfig
from standing_orders.learn.networks import ActorCritic
from standing_orders.learn.rollout import collect
from standing_orders.rules.compliance import Counts, count_episodes, ratio_of_tallies
from standing_orders.rules.orders import ORDERS, describe_order
from standing_orders.seeding import child_seed
from standing_orders.stats import NORMAL_95

_MAX_BATCH = 2_000


@dataclass(frozen=True)
class Ratio:
    """A pooled ratio with its 95 % interval, episodes being the independent units."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Obedience:
    """One order, told and judged by."""

    order: int
    counts: Counts
    strict: Ratio
    contested: Ratio
    swapped_contested: Ratio  # judged by the reverse of the order that was told
    mean_return: float
    std_error: float

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        return {
            "order": describe_order(self.order),
            **self.counts.to_json(),
            "strict_interval95": [self.strict.low, self.strict.high],
            "contested_interval95": [self.contested.low, self.contested.high],
            "swapped_contested": asdict(self.swapped_contested),
            "return": self.mean_return,
            "std_error": self.std_error,
        }


def summarise(measured: Sequence[Obedience]) -> dict[str, float]:
    """Figures over all orders measured: how many pass, pooled compliance, returns, order swap."""
    gate = GateConfig()
    pooled = sum((one.counts for one in measured), Counts())
    returns = [one.mean_return for one in measured]
    swaps = [
        one.contested.value - one.swapped_contested.value
        for one in measured
        if one.contested.value is not None and one.swapped_contested.value is not None
    ]
    return {
        "orders": len(measured),
        "passed": sum(
            one.counts.judged >= gate.min_judged and (one.strict.value or 0.0) >= gate.threshold
            for one in measured
        ),
        "strict": pooled.strict_compliance or 0.0,
        "contested": pooled.contested_compliance or 0.0,
        "response": pooled.response_rate or 0.0,
        "aim": pooled.aim or 0.0,
        "mean_return": sum(returns) / len(returns),
        "worst_return": min(returns),
        "swap_gap": sum(swaps) / len(swaps) if swaps else 0.0,
    }


def reverse_order(order: int) -> int:
    """The order read from the end."""
    return ORDERS.index(tuple(reversed(ORDERS[order])))


def pooled_ratio(part: NDArray[np.int64], whole: NDArray[np.int64]) -> Ratio:
    """Sum of parts / sum of wholes over episodes, with the linearised (delta) interval."""
    total = int(whole.sum())
    if total == 0:
        return Ratio(None, None, None)
    value = float(part.sum()) / total
    half = NORMAL_95 * math.sqrt(float(((part - value * whole) ** 2).sum())) / total
    return Ratio(value, max(0.0, value - half), min(1.0, value + half))


def measure_obedience(
    network: ActorCritic,
    config: SimConfig,
    orders: list[int],
    *,
    num_episodes: int,
    seed: int,
    is_greedy: bool,
    advance: Callable[[int], None] = lambda _: None,
) -> list[Obedience]:
    """Tell the network each order in turn and judge what it does.

    Each episode is judged twice, by the order told and by its reverse. A policy that does not
    listen scores alike by both on average over all orders; for one order alone the gap may also
    come from a fixed habit that happens to suit it.

    Args:
        network: trained; it sees observations and the order only.
        config: the game.
        orders: which orders, by index.
        num_episodes: fresh episodes for each.
        seed: root seed; every order meets the same attacks.
        is_greedy: take the likeliest action instead of drawing one.
        advance: called with the number of episodes just finished.
    """
    results = []
    per_batch = max(1, _MAX_BATCH // num_episodes)
    root = child_seed(seed, "obedience", config.red)
    for start in range(0, len(orders), per_batch):
        part = orders[start : start + per_batch]
        batch = Cage2Batch(num_episodes * len(part), config)
        told = np.repeat(np.array(part), num_episodes)
        reverse = np.array([reverse_order(order) for order in told])
        rollouts = [
            collect(
                batch,
                network,
                told,
                seed=root,
                repeats=len(part),
                judged_by=judge,
                is_greedy=is_greedy,
            )
            for judge in (told, reverse)
        ]
        returns = rollouts[0].rewards.sum(axis=0)
        for i, order in enumerate(part):
            rows = slice(i * num_episodes, (i + 1) * num_episodes)
            tallies, swapped = (rollout.tallies[rows] for rollout in rollouts)
            std_error = float(returns[rows].std(ddof=1)) / math.sqrt(num_episodes)
            results.append(
                Obedience(
                    order,
                    count_episodes(tallies),
                    pooled_ratio(*ratio_of_tallies(tallies, is_contested=False)),
                    pooled_ratio(*ratio_of_tallies(tallies, is_contested=True)),
                    pooled_ratio(*ratio_of_tallies(swapped, is_contested=True)),
                    float(returns[rows].mean()),
                    std_error,
                )
            )
        advance(batch.num_envs)
    return results
