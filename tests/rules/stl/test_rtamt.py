"""The same robustness as rtamt, an independent implementation."""

import contextlib
import io
import warnings

import numpy as np
import pytest

from standing_orders.rules.stl import robustness
from standing_orders.rules.stl import syntax as s
from tests.rules.stl.formulas import NAMES, random_formula, random_signals

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # its parser uses names that Python 3.12 no longer has
    rtamt = pytest.importorskip("rtamt")


def term_for_rtamt(term: s.Term) -> str:
    match term:
        case s.Signal(name):
            return name
        case s.Constant(value):
            return f"{value}" if value >= 0 else f"(0 - {-value})"
        case s.Negative(operand):
            return f"(0 - {term_for_rtamt(operand)})"
        case s.Absolute(operand):
            return f"abs({term_for_rtamt(operand)})"
    return f"({term_for_rtamt(term.left)} {term.operator} {term_for_rtamt(term.right)})"


def for_rtamt(f: s.Formula) -> str:
    """The same in rtamt's language, every part in parentheses."""
    match f:
        case s.Holds(name):
            return f"({name} >= 0.5)"
        case s.Comparison(operator, left, right):
            sign = "!==" if operator == "!=" else operator
            return f"({term_for_rtamt(left)} {sign} {term_for_rtamt(right)})"
        case s.Not(operand):
            return f"(not {for_rtamt(operand)})"
        case s.And(parts) | s.Or(parts):
            return "(" + f" {f.word} ".join(map(for_rtamt, parts)) + ")"
        case s.Implies(left, right):
            return f"({for_rtamt(left)} implies {for_rtamt(right)})"
        case s.Iff(left, right):  # rtamt's own iff is negative also where both sides hold
            return for_rtamt(s.And((s.Implies(left, right), s.Implies(right, left))))
    bounds = "" if f.upper is None else f"[{f.lower},{f.upper}]"
    if isinstance(f, s.Paired):
        return f"({for_rtamt(f.left)} {f.word}{bounds} {for_rtamt(f.right)})"
    return f"({f.word}{bounds} {for_rtamt(f.operand)})"


def run_rtamt(formula: s.Formula, signals: dict[str, np.ndarray]) -> list[float]:
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        specification = rtamt.StlDiscreteTimeSpecification()
        for name in NAMES:
            specification.declare_var(name, "float")
        specification.spec = for_rtamt(formula)
        specification.parse()
        data = {"time": list(range(len(signals["x"])))}
        result = specification.evaluate(data | {n: v.tolist() for n, v in signals.items()})
    return [value for _, value in result]


def compare_with_rtamt(seeds: range) -> None:
    for seed in seeds:
        rng = np.random.default_rng(seed)
        formula = random_formula(rng, int(rng.integers(1, 4)), is_plain=True)
        signals = random_signals(rng, (int(rng.integers(2, 20)),))  # one step is too few for rtamt
        np.testing.assert_allclose(
            robustness(formula, signals), run_rtamt(formula, signals), rtol=0, atol=1e-9,
            err_msg=f"seed {seed}: {formula}",
        )  # fmt: skip


def test_equals_rtamt_on_200_random_formulas() -> None:
    compare_with_rtamt(range(200))


@pytest.mark.slow
def test_equals_rtamt_on_2000_random_formulas() -> None:
    compare_with_rtamt(range(10_000, 12_000))
