"""What a broken rule costs, learned until the rule is kept: dual ascent, for both halves."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

from standing_orders.errors import CheckpointError


class Priced(Protocol):
    """A rule with a price that is learned."""

    @property
    def name(self) -> str:
        """What logs and tables call it."""

    @property
    def price(self) -> float:
        """Reward that a violation costs at first."""

    @property
    def target(self) -> float:
        """Share that is to be kept."""

    @property
    def price_rate(self) -> float:
        """Rise of the price per update and unit of violation rate above 1 - target."""

    @property
    def max_price(self) -> float:
        """The price rises no higher."""


@dataclass(frozen=True)
class Multiplier:
    """The price of one rule's violations, learned by dual ascent.

    Maximise reward subject to E[violation rate] <= 1 - target. The policy ascends in the Lagrangian
    reward - price * (violation rate - (1 - target)); the price descends, within its bounds:
    price <- clip(price + price_rate * (violation rate - (1 - target)), 0, max_price).

    Example:
        >>> from standing_orders.rules.temporal import PricedRule
        >>> price = Multiplier.begin(PricedRule("r", price=1.0, target=0.95, price_rate=2.0))
        >>> [round(price.update(rate).price, 9) for rate in (0.55, 0.0, None)]
        [2.0, 0.9, 1.0]
    """

    config: Priced
    price: float
    num_updates: int = 0

    @classmethod
    def begin(cls, config: Priced) -> Self:
        """The price as configured."""
        return cls(config, config.price)

    def update(self, violation_rate: float | None) -> "Multiplier":
        """The next price.

        Args:
            violation_rate: share that is broken; None, for nothing asked, leaves the price as it
                is.
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
    def from_json(cls, config: Priced, data: Any) -> Self:
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


class Prices:
    """The learned prices of several rules.

    Args:
        rules: with different names.
    """

    def __init__(self, rules: "list[Priced]") -> None:
        self._multipliers = {rule.name: Multiplier.begin(rule) for rule in rules}

    def __contains__(self, name: str) -> bool:
        return name in self._multipliers

    def __getitem__(self, name: str) -> float:
        return self._multipliers[name].price

    def learn(self, rates: Mapping[str, float | None]) -> list[dict[str, Any]]:
        """Update all prices, by the violation rate of each rule.

        Returns:
            One plain record per price, with what it was paid at and what it becomes.
        """
        records = []
        for name, multiplier in self._multipliers.items():
            after = multiplier.update(rates[name])
            records.append({
                "rule": name,
                "update": after.num_updates,
                "violation_rate": rates[name],
                "allowed": 1 - multiplier.config.target,
                "price": multiplier.price,
                "next_price": after.price,
            })  # fmt: skip
            self._multipliers[name] = after
        return records

    def to_json(self) -> dict[str, Any]:
        """Plain data, for a checkpoint."""
        return {name: multiplier.to_json() for name, multiplier in self._multipliers.items()}

    def load_json(self, data: Any) -> None:
        """Go on with the prices of a checkpoint.

        Raises:
            CheckpointError: they are not those of these rules. Nothing changes.
        """
        if not isinstance(data, Mapping) or set(data) != set(self._multipliers):
            seen = ", ".join(map(str, data)) if isinstance(data, Mapping) else repr(data)
            wanted = ", ".join(self._multipliers) or "none"
            raise CheckpointError(f"prices of rules: {seen or 'none'}: must be of: {wanted}")
        self._multipliers = {
            name: Multiplier.from_json(old.config, data[name])
            for name, old in self._multipliers.items()
        }
