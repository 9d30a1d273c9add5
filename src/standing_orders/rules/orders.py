"""Repair orders: rankings of the five unit types, first = repair first; 120 of them.

Orders are indexed 0 to 119 in lexicographic order of their type indices.
"""

import re
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.scenario import NUM_UNIT_TYPES, UNIT_TYPES
from standing_orders.errors import ConfigError

ORDERS: tuple[tuple[int, ...], ...] = tuple(permutations(range(NUM_UNIT_TYPES)))
NUM_ORDERS = len(ORDERS)
ENCODING_SIZE = NUM_UNIT_TYPES * NUM_UNIT_TYPES
PAIRS = tuple(combinations(range(NUM_UNIT_TYPES), 2))

NAMED_ORDERS = {
    "critical_first": "defender>op_server>enterprise>op_host>user",
    "enterprise_focus": "enterprise>defender>op_server>op_host>user",
    "user_priority": "user>defender>enterprise>op_server>op_host",
    "operational_focus": "op_server>op_host>defender>enterprise>user",
    "balanced": "defender>enterprise>op_server>user>op_host",
    "least_critical_first": "user>op_host>enterprise>op_server>defender",
}
_EXAMPLE = 54  # op_server, enterprise, defender, op_host, user
_PUBLISHED_NAMES = {"reverse": "least_critical_first"}  # of critical_first, not of any order


def _ranks() -> NDArray[np.int64]:
    return np.argsort(np.array(ORDERS), axis=1)


def _encodings() -> NDArray[np.int8]:
    bits = np.zeros((NUM_ORDERS, ENCODING_SIZE), dtype=np.int8)
    for index, order in enumerate(ORDERS):
        for position, unit_type in enumerate(order):
            bits[index, position * NUM_UNIT_TYPES + unit_type] = 1
    return bits


# (120, 5): place of each unit type in each order, 0 = repair first.
RANKS = _ranks()
# (120, 25): for a network; bit position * 5 + type.
ENCODINGS = _encodings()
# (120, 10): for a kernel; bit of the pair (a, b), a < b, is 1 if a comes before b.
PRECEDENCE_BITS = np.array([[rank[a] < rank[b] for a, b in PAIRS] for rank in RANKS], dtype=np.int8)
# (120, 120): Kendall distance of any two orders.
KENDALL_DISTANCES = (PRECEDENCE_BITS[:, None] != PRECEDENCE_BITS[None]).sum(axis=2)


@dataclass(frozen=True)
class Order:
    """One of the 120 orders.

    Args:
        index: 0 to 119.

    Raises:
        ConfigError: there is no such order.

    Example:
        >>> order = Order.parse("op_server, enterprise, defender, op_host, user")
        >>> order.index, str(order)
        (54, 'op_server>enterprise>defender>op_host>user')
        >>> Order.parse("critical_first").distance(Order.parse("u>op_h>e>op_s>d"))
        10
    """

    index: int

    def __post_init__(self) -> None:
        if not 0 <= self.index < NUM_ORDERS:
            raise ConfigError(f"order {self.index}: must be between 0 and {NUM_ORDERS - 1}")

    @classmethod
    def parse(cls, text: str) -> "Order":
        """Read an order.

        Args:
            text: the five unit types, first = repair first, with `>` or `,` between them, each
                written out, as a beginning that no other has, or by its initials, as in
                `os,e,d,oh,u`; or one of `NAMED_ORDERS`; or its index.

        Raises:
            ConfigError: it is no order; the message says why.
        """
        if text.isascii() and text.isdigit():
            return cls(int(text))
        name = _PUBLISHED_NAMES.get(text, text)
        words = [word.strip() for word in re.split("[>,]", NAMED_ORDERS.get(name, name))]
        types = tuple(_unit_type(word, text) for word in words)
        if len(types) == 1:  # a shell takes an unquoted > for itself
            raise ConfigError(
                f"order {text!r:.200}: one type is no order: quote it, or use commas, as in "
                f"{Order(_EXAMPLE).typed}"
            )
        if sorted(types) != list(range(NUM_UNIT_TYPES)):
            raise ConfigError(
                f"order {text!r:.200}: must name each of {', '.join(UNIT_TYPES)} once"
            )
        return cls(ORDERS.index(types))

    @property
    def ranking(self) -> tuple[str, ...]:
        """The unit types, first = repair first."""
        return tuple(UNIT_TYPES[unit_type] for unit_type in ORDERS[self.index])

    def __str__(self) -> str:
        return ">".join(self.ranking)

    @property
    def typed(self) -> str:
        """As it can be typed in a shell without quotes."""
        return ",".join(self.ranking)

    def distance(self, other: "Order") -> int:
        """Kendall distance: the number of pairs of types ranked differently, 0 to 10."""
        return int(KENDALL_DISTANCES[self.index, other.index])

    def backwards(self) -> "Order":
        """The order read from its end."""
        return Order(ORDERS.index(ORDERS[self.index][::-1]))


def _is_short_for(word: str, name: str) -> bool:
    return name.startswith(word) or word == "".join(part[0] for part in name.split("_"))


def _unit_type(word: str, text: str) -> int:
    """Index of the one unit type that begins with a word."""
    if word in UNIT_TYPES:
        return UNIT_TYPES.index(word)
    found = [index for index, name in enumerate(UNIT_TYPES) if word and _is_short_for(word, name)]
    if len(found) > 1:
        names = ", ".join(UNIT_TYPES[index] for index in found)
        raise ConfigError(f"order {text!r:.200}: {word!r:.60} may be any of {names}")
    if not found:
        raise ConfigError(
            f"order {text!r:.200}: {word!r:.60} is neither a unit type ({', '.join(UNIT_TYPES)}) "
            f"nor a named order ({', '.join(NAMED_ORDERS)})"
        )
    return found[0]
