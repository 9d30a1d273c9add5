import math
from typing import Any

import numpy as np
import pytest

from standing_orders.errors import DataError, NumericsError
from standing_orders.runs.plain import decode, encode, lookup


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_named_by_its_key(value: float) -> None:
    with pytest.raises(NumericsError, match=rf"where: loss\.policy\[1\] = {value}: must be finite"):
        encode({"loss": {"policy": [0.0, value]}}, "where")


@pytest.mark.parametrize(
    "value", [np.float32(1), np.int64(1), np.zeros(1), {1}, b"text", object(), {"a": {2: 0}}]
)
def test_what_would_not_come_back_as_it_is_is_refused(value: Any) -> None:
    with pytest.raises(DataError, match=r"where: .*must be"):
        encode({"key": value}, "where")


def test_order_of_keys_and_bits_of_numbers_survive() -> None:
    value = {"b": [0.1, -0.0, 5e-324, 1.7976931348623157e308], "a": 2**127 + 1, "é": "\ud800\n"}
    again = decode(encode(value, ""))
    assert list(again) == ["b", "a", "é"]
    assert again == value
    assert math.copysign(1, again["b"][1]) == -1


@pytest.mark.parametrize("text", [b"", b"{", b"NaN", b"[-Infinity]", b"\xff", b"[" * 100_000])
def test_broken_text_is_one_kind_of_error(text: bytes) -> None:
    with pytest.raises(ValueError):
        decode(text)


@pytest.mark.parametrize(
    ("key", "value"), [("a.b", 1), ("a", {"b": 1}), ("a.c", None), ("a.b.c", None), ("b", None)]
)
def test_dotted_keys(key: str, value: Any) -> None:
    assert lookup({"a": {"b": 1}}, key) == value
