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


def largest_gap(seeds: range) -> tuple[float, str]:
    """How far robustness is from rtamt's at most, and for which formula."""
    gaps = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        formula = random_formula(rng, int(rng.integers(1, 4)), is_plain=True)
        signals = random_signals(rng, (int(rng.integers(2, 20)),))  # one step is too few for rtamt
        ours, theirs = robustness(formula, signals), np.array(run_rtamt(formula, signals))
        with np.errstate(invalid="ignore"):
            gap = np.where(ours == theirs, 0.0, np.abs(ours - theirs))  # both may be infinite
        gaps.append((float(np.nan_to_num(gap, nan=np.inf).max()), f"seed {seed}: {formula}"))
    return max(gaps)


def test_equals_rtamt_on_100_random_formulas() -> None:
    gap, where = largest_gap(range(100))
    assert gap <= 1e-9, where


@pytest.mark.slow
def test_equals_rtamt_on_2000_random_formulas() -> None:
    gap, where = largest_gap(range(10_000, 12_000))
    assert gap <= 1e-9, where
