import numpy as np
import pytest

from standing_orders.errors import ConfigError
from standing_orders.rules.stl import Monitor, robustness
from standing_orders.rules.stl.operators import Window

ORDER = "always[0,10] (threat -> eventually[0,5] safe)"


def run(monitor: Monitor, signals: dict[str, np.ndarray]) -> np.ndarray:
    """All values that become known, in order."""
    num_steps = next(iter(signals.values())).shape[-1]
    values = [monitor.update({n: v[..., t] for n, v in signals.items()}) for t in range(num_steps)]
    assert all(value is None for value in values[: monitor.delay])
    return np.stack(values[monitor.delay :], axis=-1)


def random_bits(shape: tuple[int, ...], seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.integers(0, 2, shape) for name in ("threat", "safe")}


def test_a_formula_about_the_past_has_no_delay() -> None:
    text = "historically (threat -> once[0,5] safe) and (not threat since[2,4] safe)"
    signals = random_bits((3, 200))
    monitor = Monitor(text, batch_size=3)
    assert monitor.delay == 0
    assert run(monitor, signals).tolist() == robustness(text, signals).tolist()


def test_a_formula_about_the_future_comes_late_by_its_horizon() -> None:
    signals = random_bits((4, 300))
    monitor = Monitor(ORDER, batch_size=4)
    assert monitor.delay == 15
    exact = robustness(ORDER, signals)
    assert run(monitor, signals).tolist() == exact[:, :-15].tolist()
    assert monitor.finish().tolist() == exact[:, -15:].tolist()


def test_parts_with_different_delays_meet_at_the_same_step() -> None:
    text = "threat and (eventually[3,3] safe or always[0,7] once[2,2] threat) until[0,2] safe"
    signals = random_bits((2, 60), seed=4)
    monitor = Monitor(text, batch_size=2)
    values = np.concatenate((run(monitor, signals), monitor.finish()), axis=1)
    assert values.tolist() == robustness(text, signals).tolist()


def test_finish_changes_nothing() -> None:
    signals = random_bits((1, 50))
    monitor, other = Monitor(ORDER), Monitor(ORDER)
    for t in range(50):
        sample = {name: values[:, t] for name, values in signals.items()}
        first, second = monitor.update(sample), other.update(sample)
        assert (first is None) == (second is None)
        assert first is None or first.tolist() == second.tolist()
        monitor.finish()
        monitor.interval()


def test_a_trace_shorter_than_the_delay_can_be_finished() -> None:
    monitor = Monitor("always[0,9] x > 0")
    assert monitor.finish().shape == (1, 0)
    monitor.update({"x": 2})
    monitor.update({"x": 1})
    assert monitor.finish().tolist() == [[1, 1]]
    assert Monitor("x").finish().shape == (1, 0)


def test_a_verdict_may_come_before_the_end() -> None:
    monitor = Monitor("always[0,9] x > 0 or eventually[0,9] y > 0", batch_size=2)
    monitor.update({"x": [1, -1], "y": -1})
    lower, upper = monitor.interval()
    assert lower.tolist() == [[-1], [-1]]
    assert upper.tolist() == [[np.inf], [np.inf]]
    monitor.update({"x": -2, "y": [-1, 3]})
    lower, upper = monitor.interval()
    assert lower.tolist() == [[-1, -1], [3, 3]]  # the second trace has made it
    assert np.isinf(upper).all()


@pytest.mark.parametrize(
    ("formula", "lower", "upper"),
    [
        ("not always[0,9] x > 0", 3, np.inf),
        ("not eventually[0,9] x > -5", -np.inf, -2),
        ("eventually[0,9] x > -5 -> x > 7", -10, -2),
        ("always[0,9] x > 0 -> x > 7", 3, np.inf),
        ("always[0,9] x > 0 <-> x > 7", 3, 10),
    ],
)
def test_a_negation_swaps_the_bounds(formula: str, lower: float, upper: float) -> None:
    monitor = Monitor(formula)
    monitor.update({"x": -3})
    assert [bound.item() for bound in monitor.interval()] == [lower, upper]


def test_a_step_that_may_not_come_is_unknown_even_if_its_value_is_known() -> None:
    monitor = Monitor("eventually[1,1] once[1,1] x > 0")  # x of this step, if there is a next one
    monitor.update({"x": 3})
    lower, upper = monitor.interval()
    assert (lower.item(), upper.item()) == (-np.inf, np.inf)
    assert monitor.finish().item() == -np.inf


def test_a_formula_without_signals_needs_no_sample() -> None:
    assert Monitor("true or 2 > 3", batch_size=2).update({}).tolist() == [np.inf, np.inf]


def test_returned_arrays_are_the_callers_own() -> None:
    monitor = Monitor("once x > 0")
    first = monitor.update({"x": 5})
    first[:] = 100
    assert monitor.update({"x": 1}).tolist() == [5]


@pytest.mark.parametrize("width", [1, 2, 7, 1_000])
def test_a_step_costs_constant_time_and_the_memory_is_the_window(width: int) -> None:
    num_combined = 0

    def combine(older, newer):
        nonlocal num_combined
        num_combined += 1
        return (np.maximum(older[0], newer[0]),)

    window = Window(width, combine)
    values = np.random.default_rng(0).normal(size=5_000)
    for t, value in enumerate(values):
        (result,) = window.push((np.array([value]),))
        assert result[0] == values[max(0, t - width + 1) : t + 1].max()
        assert len(window._older) + len(window._newer) <= width
    assert num_combined <= 3 * len(values)


def test_a_huge_window_takes_no_memory_before_it_fills() -> None:
    monitor = Monitor("always[0,1000000] x > 0 and once[500000,1000000] x > 0", batch_size=1_000)
    for _ in range(3):
        assert monitor.update({"x": 1}) is None


def test_a_bad_sample_changes_nothing() -> None:
    monitor = Monitor("once[0,2] x > 0", batch_size=2)
    monitor.update({"x": [1, 2]})
    for bad in ({"x": [1, np.nan]}, {"x": [1, 2, 3]}, {"y": 0}):
        with pytest.raises(ConfigError):
            monitor.update(bad)
    assert monitor.num_steps == 1
    assert monitor.update({"x": [0, 0]}).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("formula", "batch_size", "message"),
    [
        ("always x", 1, "`always x`: looks ahead without bound"),
        ("eventually[0,3] (a until[2,inf] b)", 1, "looks ahead without bound"),
        ("x", 0, "batch_size = 0: must be at least 1"),
    ],
)
def test_bad_arguments_are_named(formula: str, batch_size: int, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Monitor(formula, batch_size)


def test_bad_samples_are_named() -> None:
    monitor = Monitor("x and y", batch_size=2)
    with pytest.raises(ConfigError, match="signal `y`: not known; known are: x"):
        monitor.update({"x": 1})
    with pytest.raises(ConfigError, match=r"`y`: shape \(3,\): must be \(\) or \(2,\)"):
        monitor.update({"x": 1, "y": [1, 2, 3]})
