import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
import torch

from standing_orders.errors import ConfigError
from standing_orders.rules.stl import parse, robustness, smooth_robustness, smoothing_error
from tests.effort import effort
from tests.rules.stl.formulas import NAMES, random_formula, random_signals

ORDER = "always[0,100] (threat > 0 -> eventually[0,5] safe > 0)"


def tensors(signals: dict[str, np.ndarray]) -> dict[str, torch.Tensor]:
    return {name: torch.tensor(values) for name, values in signals.items()}


@pytest.mark.parametrize("temperature", [1.0, 0.1, 1e-3])
def test_the_error_stays_within_its_bound(temperature: float) -> None:
    for seed in range(effort(150, 50)):
        rng = np.random.default_rng(seed)
        formula = random_formula(rng, int(rng.integers(1, 5)))
        signals = random_signals(rng, (2, int(rng.integers(1, 25))))
        exact = robustness(formula, signals)
        smooth = smooth_robustness(formula, tensors(signals), temperature=temperature).numpy()
        below, above = smoothing_error(formula, exact.shape[-1], temperature=temperature)
        assert np.all(exact - below - 1e-9 <= smooth), f"seed {seed}: {formula}"
        assert np.all(smooth <= exact + above + 1e-9), f"seed {seed}: {formula}"


def test_converges_to_the_exact_value_as_the_temperature_falls() -> None:
    rng = np.random.default_rng(1)
    signals = {name: rng.normal(size=(4, 300)) for name in ("threat", "safe")}
    exact = robustness(ORDER, signals)
    errors = [
        np.abs(smooth_robustness(ORDER, tensors(signals), temperature=t).numpy() - exact).max()
        for t in (1.0, 0.1, 0.01, 1e-3, 1e-6, 1e-12)
    ]
    assert all(later < earlier for earlier, later in pairwise(errors))
    assert errors[-1] < 1e-10


def test_the_bound_is_reached_by_equal_values() -> None:
    x = {"x": torch.zeros(64, dtype=torch.float64)}
    smooth = smooth_robustness("always[0,9] x > 0", x, temperature=0.5)
    assert smooth[0].item() == pytest.approx(-0.5 * np.log(10))
    assert smoothing_error("always[0,9] x > 0", 64, temperature=0.5) == (
        pytest.approx(0.5 * np.log(10)),
        0.0,
    )


@pytest.mark.parametrize(
    "formula",
    [
        "always[0,3] x > y",
        "eventually[2,5] x > 0.5 and not y < z",
        "x > 0 until[1,4] y > 0",
        "x > 0 until y > 0",
        "x > 0 since[2,6] y > z",
        "historically x > 0 -> once[1,inf] abs(y) > 1",
        "x <-> (y or z)",
        "always (x * y - z / 2 <= 1 -> eventually[0,3] x == y)",
        "true until[2,3] x > 0",
    ],
)
def test_gradients_agree_with_finite_differences(formula: str) -> None:
    rng = np.random.default_rng(7)
    values = [torch.tensor(rng.normal(size=(2, 9)), requires_grad=True) for _ in NAMES]

    def finite_part(*signals: torch.Tensor) -> torch.Tensor:
        named = dict(zip(NAMES, signals, strict=True))
        rho = smooth_robustness(formula, named, temperature=0.3)
        return torch.where(torch.isfinite(rho), rho, 0.0)

    assert torch.autograd.gradcheck(finite_part, values, eps=1e-6, atol=1e-6)


@pytest.mark.parametrize("temperature", [10.0, 0.1, 1e-6, 1e-300])
def test_gradients_are_finite_whatever_the_formula(temperature: float) -> None:
    for seed in range(effort(60, 25)):
        rng = np.random.default_rng(seed)
        formula = random_formula(rng, 3)
        signals = tensors(random_signals(rng, (12,)))
        for tensor in signals.values():
            tensor.requires_grad_()
        rho = smooth_robustness(formula, signals, temperature=temperature)
        finite = rho[torch.isfinite(rho)]
        if finite.requires_grad and finite.numel():
            finite.sum().backward()
        for tensor in signals.values():
            if tensor.grad is not None:
                assert torch.isfinite(tensor.grad).all(), f"seed {seed}: {formula}"


def test_gradient_ascent_makes_a_failing_trace_obey() -> None:
    threat = torch.full((120,), 1.0)
    safe = torch.full((120,), -1.0, requires_grad=True)
    optimiser = torch.optim.SGD([safe], lr=5.0)
    for _ in range(200):
        optimiser.zero_grad()
        rho = smooth_robustness(ORDER, {"threat": threat, "safe": safe}, temperature=0.2)
        (-rho[0]).backward()
        optimiser.step()
    assert robustness(ORDER, {"threat": threat.numpy(), "safe": safe.detach().numpy()})[0] > 0


def test_keeps_the_type_of_the_tensors_and_broadcasts() -> None:
    signals = {"x": torch.zeros(3, 1, 5), "y": torch.ones(4, 5)}
    rho = smooth_robustness("always x < y", signals, temperature=0.1)
    assert rho.dtype == torch.float32
    assert rho.shape == (3, 4, 5)


@pytest.mark.parametrize(
    ("formula", "signals", "temperature", "message"),
    [
        ("x", {"x": torch.zeros(3)}, 0.0, "temperature = 0.0: must be finite and greater than 0"),
        ("x", {"x": torch.zeros(3)}, float("nan"), "temperature"),
        ("x", {"y": torch.zeros(3)}, 1.0, "signal `x`: not known; known are: y"),
        ("x", {"x": torch.zeros(3, dtype=torch.int64)}, 1.0, "must be floating point"),
        ("1 / x > 0", {"x": torch.zeros(3)}, 1.0, "`1 / x > 0`: must be finite"),
        ("1 / 0 > x", {"x": torch.zeros(3)}, 1.0, "division by zero"),
        ("x and y", {"x": torch.zeros(3), "y": torch.zeros(2)}, 1.0, "same number of steps"),
    ],
)
def test_bad_arguments_are_named(formula, signals, temperature, message) -> None:
    with pytest.raises(ConfigError, match=message):
        smooth_robustness(formula, signals, temperature=temperature)


def test_torch_is_imported_only_when_asked_for() -> None:
    code = (
        "import sys; from standing_orders.rules import stl; stl.parse('a');"
        "assert 'torch' not in sys.modules; stl.smooth_robustness; assert 'torch' in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_package_has_no_other_lazy_names() -> None:
    from standing_orders.rules import stl

    assert stl.parse is parse
    with pytest.raises(AttributeError, match="no attribute 'rough'"):
        _ = stl.rough
