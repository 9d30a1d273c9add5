"""How a policy follows an order that changes within an episode, and what the change costs."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.policy import Policy
from standing_orders.cage2.reward import TENTHS_PER_POINT
from standing_orders.config import GateConfig, SimConfig
from standing_orders.errors import ConfigError
from standing_orders.evaluate.measure import Episodes, halve, late_start, play
from standing_orders.rules.compliance import ratio_of_tallies
from standing_orders.rules.orders import Order
from standing_orders.seeding import child_seed, environment_seeds
from standing_orders.stats import Ratio, pooled_ratio, standard_error
from standing_orders.tables import Column, Table

GRACE = 2  # steps after the switch that are not judged: the third one is the first that is
LATE_SWITCH = 3  # step of the switch in episodes that start late, with several types held
_COLUMNS = (
    Column("told", is_text=True),
    Column("return", ".2f"),
    Column("std error", ".2f"),
    Column("contested", ".1%"),
    Column("low 95 %", ".1%"),
    Column("high 95 %", ".1%"),
    Column("fixes", ",d"),
)


@runtime_checkable
class Switchable(Protocol):
    """A policy that can be told another order within an episode."""

    def told(self, order: int) -> "Switchable":
        """The same policy, told this order in every episode."""

    def switched(self, step: int, order: int) -> Policy:
        """The same policy, told another order from a step on."""


@dataclass(frozen=True)
class Switched:
    """Told one order up to a step and another from there on, beside each of them throughout."""

    red: str
    step: int
    first: Order
    second: Order
    returns: dict[str, NDArray[np.float64]]  # of `switched`, `first` and `second`
    compliant: NDArray[np.int64]  # contested fixes that keep the new order, by episode
    judged: NDArray[np.int64]  # contested fixes from the third step after the switch on

    @property
    def contested(self) -> Ratio:
        """Contested compliance with the new order, from the third step after the switch on."""
        return pooled_ratio(self.compliant, self.judged)

    @property
    def cost(self) -> float:
        """Return that is lost against the better of the two orders told throughout."""
        means = {name: float(values.mean()) for name, values in self.returns.items()}
        return max(means["first"], means["second"]) - means["switched"]

    def tables(self) -> list[Table]:
        """The switch, and each order told throughout."""
        found = self.contested
        names = {
            "switched": f"{self.first.typed}, from step {self.step} {self.second.typed}",
            "first": self.first.typed,
            "second": self.second.typed,
        }
        rows = []
        for name, told in names.items():
            values = self.returns[name]
            shown = (found.value, found.low, found.high, int(self.judged.sum()))
            kept = shown if name == "switched" else (None, None, None, None)
            rows.append((told, float(values.mean()), standard_error(values), *kept))
        count = len(self.returns["switched"])
        return [
            Table(
                f"an order that changes at step {self.step}, against {self.red}, n = {count}; "
                "contested compliance with the new order from the third step after the change on",
                _COLUMNS,
                tuple(rows),
            )
        ]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        found = self.contested
        return {
            "red": self.red,
            "step": self.step,
            "first": str(self.first),
            "second": str(self.second),
            "returns": {name: float(values.mean()) for name, values in self.returns.items()},
            "contested": found.value,
            "contested_interval95": [found.low, found.high],
            "contested_fixes": int(self.judged.sum()),
            "cost": self.cost,
        }


def measure_switch(
    policy: Switchable,
    config: SimConfig,
    *,
    orders: tuple[int, int],
    step: int,
    num_episodes: int,
    seed: int,
    advance: Callable[[int], None] = lambda _: None,
) -> Switched:
    """Tell a policy another order within its episodes, and judge it by that one.

    Args:
        policy: that can be told so.
        config: the game.
        orders: told at first, and from the step on.
        step: of the switch; the first one is 0.
        num_episodes: fresh ones. Half of them start late, with several types held and the switch
            at step 3: they count for contested compliance alone.
        seed: root seed.
        advance: called with the number of episodes just finished.

    Raises:
        ConfigError: the episode ends before the new order is judged.
    """
    if step + GRACE >= config.horizon:
        raise ConfigError(f"order-switch = {step}: must be below {config.horizon - GRACE}")
    first, second = orders
    seeds = environment_seeds(child_seed(seed, "switch", config.red), num_episodes)
    late = late_start(config, GateConfig()) or config.head_start
    own, begun_late = halve(seeds)
    changed = policy.told(first).switched

    def run(told: Policy, game: SimConfig, some: NDArray[np.uint64], at: int) -> Episodes:
        return play(
            told, partial(Cage2Batch, config=game), some,
            judged_by=[second], judged_from=at + GRACE, advance=advance,
        )  # fmt: skip

    played = [run(changed(step, second), config, own, step)]
    returns = {"switched": played[0].returns[:, -1] / TENTHS_PER_POINT}
    for name, order in (("first", first), ("second", second)):
        throughout = run(changed(0, order), config, own, 0)
        returns[name] = throughout.returns[:, -1] / TENTHS_PER_POINT
    if len(begun_late):
        game = config.model_copy(update={"head_start": late})
        played.append(run(changed(LATE_SWITCH, second), game, begun_late, LATE_SWITCH))
    tallies = np.concatenate([one.tallies[0] for one in played])
    compliant, judged = ratio_of_tallies(tallies, is_contested=True)
    return Switched(config.red, step, Order(first), Order(second), returns, compliant, judged)
