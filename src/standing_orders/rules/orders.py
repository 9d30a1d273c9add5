"""Repair orders: rankings of the five unit types, first = repair first; 120 of them.

Orders are indexed 0 to 119 in lexicographic order of their type indices.
"""

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
    "reverse": "user>op_host>enterprise>op_server>defender",
}


def parse_order(text: str) -> int:
    """Index of an order given as text, name or number.

    Args:
        text: `op_server>enterprise>defender>op_host>user`, one of `NAMED_ORDERS`, or 0 to 119.

    Raises:
        ConfigError: it is no order; the message says why.

    Example:
        >>> parse_order("defender>enterprise>op_server>op_host>user")
        0
        >>> parse_order("reverse")
        117
    """
    if text.isascii() and text.isdigit():
        if int(text) >= NUM_ORDERS:
            raise ConfigError(f"order {text}: must be between 0 and {NUM_ORDERS - 1}")
        return int(text)
    names = [name.strip() for name in NAMED_ORDERS.get(text, text).split(">")]
    unknown = [name for name in names if name not in UNIT_TYPES]
    if unknown:
        raise ConfigError(
            f"order {text!r}: {unknown[0]!r} is neither a unit type ({', '.join(UNIT_TYPES)}) "
            f"nor a named order ({', '.join(NAMED_ORDERS)})"
        )
    if sorted(names) != sorted(UNIT_TYPES):
        raise ConfigError(f"order {text!r}: must name each of {', '.join(UNIT_TYPES)} once")
    return ORDERS.index(tuple(UNIT_TYPES.index(name) for name in names))


def describe_order(index: int) -> str:
    """Text form of an order.

    Example:
        >>> describe_order(0)
        'defender>enterprise>op_server>op_host>user'
    """
    if not 0 <= index < NUM_ORDERS:
        raise ConfigError(f"order {index}: must be between 0 and {NUM_ORDERS - 1}")
    return ">".join(UNIT_TYPES[unit_type] for unit_type in ORDERS[index])


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


def kendall_distance(first: int, second: int) -> int:
    """Number of pairs of types that two orders rank differently, 0 to 10.

    Example:
        >>> kendall_distance(0, 119)
        10
    """
    return int(np.abs(PRECEDENCE_BITS[first] - PRECEDENCE_BITS[second]).sum())


def spearman_distance(first: int, second: int) -> int:
    """Sum of squared differences of the places of each type, 0 to 40.

    Example:
        >>> spearman_distance(0, 119)
        40
    """
    return int(((RANKS[first] - RANKS[second]) ** 2).sum())
