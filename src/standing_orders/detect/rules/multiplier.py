"""A price that is learned: dual ascent on how often a rule is broken.

Maximise reward subject to E[violation rate] <= 1 - target. The Lagrangian is
reward - price * (violation rate - (1 - target)); the policy ascends in it, the price descends, no
lower than 0: price <- clip(price + price_rate * (violation rate - (1 - target)), 0, max_price).
"""

import math
from dataclasses import dataclass, replace
from typing import Any, Self

from standing_orders.detect.rules.rule import RuleConfig
from standing_orders.errors import CheckpointError


@dataclass(frozen=True)
class Multiplier:
    """The price of one rule's violations.

    Example:
        >>> rule = RuleConfig(name="r", formula="flagged", mode="lagrange", price_rate=2.0)
        >>> price = Multiplier.begin(rule)
        >>> [round(price.update(rate).price, 9) for rate in (0.55, 0.0, None)]
        [2.0, 0.9, 1.0]
    """

    config: RuleConfig
    price: float
    num_updates: int = 0

    @classmethod
    def begin(cls, config: RuleConfig) -> Self:
        """The price as configured."""
        return cls(config, config.price)

    def update(self, violation_rate: float | None) -> "Multiplier":
        """The next price.

        Args:
            violation_rate: share of the obligations broken; None, for no obligation, leaves the
                price as it is.
        """
        if violation_rate is None:
            return self
        excess = violation_rate - (1 - self.config.target)
        price = self.price + self.config.price_rate * excess
        price = min(max(price, 0.0), self.config.max_price)
        return replace(self, price=price, num_updates=self.num_updates + 1)

    def to_json(self) -> dict[str, float]:
        """Plain data for a checkpoint."""
        return {"price": self.price, "num_updates": self.num_updates}

    @classmethod
    def from_json(cls, config: RuleConfig, data: Any) -> Self:
        """Read what `to_json` gave.

        Raises:
            CheckpointError: it is something else.
        """
        try:
            price, num_updates = float(data["price"]), data["num_updates"]
        except (KeyError, TypeError, ValueError) as err:
            raise CheckpointError(f"price of rule `{config.name}`: {data!r}: must have a price and "
                                  "num_updates") from err  # fmt: skip
        is_whole = isinstance(num_updates, int) and not isinstance(num_updates, bool)
        if not (math.isfinite(price) and price >= 0 and is_whole and num_updates >= 0):
            raise CheckpointError(f"price of rule `{config.name}`: {data!r}: must be at least 0")
        return cls(config, price, num_updates)
