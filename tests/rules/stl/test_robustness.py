import numpy as np
import pytest

from standing_orders.errors import ConfigError
from standing_orders.rules.stl import parse, robustness
from tests.effort import effort
from tests.rules.stl.formulas import oracle, random_formula, random_signals


def test_equals_the_definition_on_random_formulas_and_batches() -> None:
    for seed in range(effort(1_500, 300)):
        rng = np.random.default_rng(seed)
        formula = random_formula(rng, int(rng.integers(1, 5)))
        signals = random_signals(rng, (2, 3, int(rng.integers(1, 25))))
        result = robustness(formula, signals)
        for place in np.ndindex(2, 3):
            expected = oracle(formula, {name: v[place] for name, v in signals.items()})
            np.testing.assert_allclose(
                result[place], expected, rtol=0, atol=1e-12, err_msg=f"seed {seed}: {formula}"
            )


def test_equals_the_definition_with_long_windows() -> None:
    for seed in range(effort(60, 25)):
        rng = np.random.default_rng(seed)
        formula = random_formula(rng, 2, widest=70)
        signals = random_signals(rng, (150,))
        np.testing.assert_allclose(
            robustness(formula, signals), oracle(formula, signals), rtol=0, atol=1e-12,
            err_msg=f"seed {seed}: {formula}",
        )  # fmt: skip


X = {"x": [1.0, -2.0, 3.0, 4.0]}


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("always[0,1] x > 0", [-2, -2, 3, 4]),
        ("always[2,3] x > 0", [3, 4, np.inf, np.inf]),
        ("eventually[2,3] x > 0", [4, 4, -np.inf, -np.inf]),
        ("always[9,9] x > 0", [np.inf] * 4),
        ("always[2,inf] x > 0", [3, 4, np.inf, np.inf]),
        ("historically[1,2] x > 0", [np.inf, 1, -2, -2]),
        ("once[1,2] x > 0", [-np.inf, 1, 1, 3]),
        ("once x > 0", [1, 1, 3, 4]),
        ("true until[2,2] x > 0", [3, 4, -np.inf, -np.inf]),
        ("x < 3.5 until x > 3.5", [0.5] * 4),
        ("x < 3.5 since[1,1] x > 0", [-np.inf, 1, -2, -0.5]),
        ("x", [0.5, -2.5, 2.5, 3.5]),
        ("x == 1", [0, -3, -2, -3]),
        ("x != 1", [0, 3, 2, 3]),
        ("x > 0 <-> x > 2", [-1, 2, 1, 2]),
        ("true", [np.inf] * 4),
        ("abs(x - 1) * 2 <= 4 / 2", [2, -4, -2, -4]),
    ],
)
def test_margins_by_hand(formula: str, expected: list[float]) -> None:
    assert robustness(formula, X).tolist() == expected


def test_a_window_may_be_far_longer_than_the_trace() -> None:
    text = "always[0,1000000] x > 0 and eventually[999999,1000000] x > 0"
    assert robustness(text, X).tolist() == [-np.inf] * 4


def test_leading_axes_broadcast_and_unused_signals_do_not_matter() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(5, 1, 8)), rng.normal(size=(3, 8))
    result = robustness("x > y", {"x": x, "y": y, "other": np.zeros(2)})
    assert result.tolist() == (x - y).tolist()


def test_a_constant_formula_has_the_shape_of_the_signals() -> None:
    assert robustness("always false", {"x": np.zeros((2, 3))}).tolist() == [[-np.inf] * 3] * 2
    assert robustness("always x", {"x": np.zeros((2, 0))}).shape == (2, 0)


def test_booleans_and_integers_are_numbers() -> None:
    assert robustness("x", {"x": np.array([True, False])}).tolist() == [0.5, -0.5]
    assert robustness("not x", {"x": np.array([2, 0], dtype=np.int8)}).tolist() == [-1.5, 0.5]


def test_the_inputs_and_the_result_share_no_memory() -> None:
    x = np.zeros(3)
    result = robustness("x >= 0", {"x": x})
    result += 1
    assert x.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("formula", "signals", "message"),
    [
        ("a and b", {"b": [1], "c": [1]}, "signal `a`: not known; known are: b, c"),
        ("a", {}, "signal `a`: not known; known are: none"),
        ("true", {}, "at least one"),
        ("a", {"a": 1.0}, r"must have a time axis; shapes: a \(\)"),
        ("a and b", {"a": [1], "b": [1, 2]}, r"same number of steps; shapes: a \(1,\), b \(2,\)"),
        ("a or b", {"a": np.ones((2, 1)), "b": np.ones((3, 1))}, "do not broadcast"),
        ("a", {"a": [[0, 1], [0, np.nan]]}, r"`a`: nan at index \(1, 1\): must be finite"),
        ("a", {"a": [0, -np.inf]}, r"`a`: -inf at index \(1,\)"),
        ("a", {"a": ["low"]}, "must be an array of numbers"),
        ("1 / a > 0", {"a": [1, 0]}, "`1 / a > 0`: divide by zero"),
        ("1 / 0 > a", {"a": [1]}, "`1 / 0 > a`: .*division by zero"),
        ("a * 1e300 > 0", {"a": [1e300]}, "overflow"),
        ("1e300 * 1e300 > a", {"a": [1]}, "overflow"),
    ],
)
def test_bad_signals_are_named(formula: str, signals: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        robustness(formula, signals)


def test_text_and_tree_give_the_same() -> None:
    text = "always[0,2] (x > 0 -> once x > 2)"
    assert robustness(text, X).tolist() == robustness(parse(text), X).tolist()
