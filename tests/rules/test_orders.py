"""Orders: numbering, words, encodings and distances, against brute force."""

from itertools import combinations, permutations

import numpy as np
import pytest

from standing_orders.errors import ConfigError
from standing_orders.rules.orders import (
    ENCODINGS,
    NAMED_ORDERS,
    NUM_ORDERS,
    ORDERS,
    PRECEDENCE_BITS,
    RANKS,
    Order,
)

TYPES = ("defender", "enterprise", "op_server", "op_host", "user")
# As the issue names them.
CANONICAL = {
    "critical_first": ("defender", "op_server", "enterprise", "op_host", "user"),
    "enterprise_focus": ("enterprise", "defender", "op_server", "op_host", "user"),
    "user_priority": ("user", "defender", "enterprise", "op_server", "op_host"),
    "operational_focus": ("op_server", "op_host", "defender", "enterprise", "user"),
    "balanced": ("defender", "enterprise", "op_server", "user", "op_host"),
    "least_critical_first": ("user", "op_host", "enterprise", "op_server", "defender"),
}


def test_there_are_120_orders_in_lexicographic_order() -> None:
    assert NUM_ORDERS == 120
    assert list(ORDERS) == sorted(permutations(range(5)))


def test_every_order_survives_being_written_and_read() -> None:
    for index, order in enumerate(ORDERS):
        text = ">".join(TYPES[unit_type] for unit_type in order)
        assert str(Order(index)) == text
        assert Order(index).ranking == tuple(text.split(">"))
        assert Order.parse(text) == Order.parse(str(index)) == Order(index)
        assert Order.parse(Order(index).typed) == Order(index)
        assert not set(Order(index).typed) & set("> &|;*?'\"")  # a shell leaves it alone


@pytest.mark.parametrize(
    "text",
    [
        "defender > enterprise > op_server > op_host > user",
        "defender,enterprise,op_server,op_host,user",
        "defender, enterprise > op_server, op_host, user",
        "d,e,op_s,op_h,u",
        "def>ent>op_ser>op_host>us",
        "d,e,os,oh,u",
    ],
)
def test_types_may_be_separated_by_commas_or_spaces_too_and_cut_short(text: str) -> None:
    assert Order.parse(text) == Order(0)


def test_the_order_read_backwards_is_another_than_the_one_named_reverse() -> None:
    for index, order in enumerate(ORDERS):
        assert ORDERS[Order(index).backwards().index] == order[::-1]
    critical = Order.parse("critical_first")
    assert Order.parse("reverse") == Order.parse("least_critical_first") == critical.backwards()


def test_the_named_orders_are_those_of_the_issue() -> None:
    assert set(NAMED_ORDERS) == set(CANONICAL)
    for name, types in CANONICAL.items():
        assert Order.parse(name).ranking == types


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("120", "between 0 and 119"),
        ("-1", "'-1'"),
        ("", "''"),
        ("1.5", "'1.5'"),
        ("\u0661", "\u0661"),
        ("User>defender>enterprise>op_server>op_host", "'User'"),
        ("servers_first", "servers_first.*critical_first"),
        ("op,user,defender,enterprise,op_host", "'op' may be any of op_server, op_host"),
        ("user>defender", "each of"),
        ("user>>defender>enterprise>op_host", "''"),
        ("user>user>enterprise>op_server>op_host", "each of"),
        ("user>defender>enterprise>op_server>op_host>user", "each of"),
    ],
)
def test_what_is_no_order_is_refused_with_the_reason(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        Order.parse(text)


@pytest.mark.parametrize("index", [-1, 120])
def test_an_index_out_of_range_has_no_text(index: int) -> None:
    with pytest.raises(ConfigError, match=str(index)):
        Order(index)


def test_the_encoding_has_bit_position_times_five_plus_type() -> None:
    assert ENCODINGS.shape == (120, 25)
    for index, order in enumerate(ORDERS):
        wanted = {position * 5 + unit_type for position, unit_type in enumerate(order)}
        assert set(np.flatnonzero(ENCODINGS[index])) == wanted
        assert set(ENCODINGS[index].tolist()) == {0, 1}


def test_the_rank_of_a_type_is_its_place_in_the_order() -> None:
    for index, order in enumerate(ORDERS):
        assert [order.index(unit_type) for unit_type in range(5)] == RANKS[index].tolist()


def test_precedence_bits_tell_of_each_pair_which_comes_first() -> None:
    assert PRECEDENCE_BITS.shape == (120, 10)
    for index, order in enumerate(ORDERS):
        wanted = [int(order.index(a) < order.index(b)) for a, b in combinations(range(5), 2)]
        assert PRECEDENCE_BITS[index].tolist() == wanted
    assert len(np.unique(PRECEDENCE_BITS, axis=0)) == 120


def test_kendall_distance_is_the_number_of_discordant_pairs() -> None:
    for i in range(120):
        for j in range(0, 120, 7):
            first, second = ORDERS[i], ORDERS[j]
            discordant = sum(
                (first.index(a) < first.index(b)) != (second.index(a) < second.index(b))
                for a, b in combinations(range(5), 2)
            )
            assert Order(i).distance(Order(j)) == Order(j).distance(Order(i)) == discordant
