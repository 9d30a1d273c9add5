"""Random formulas and signals, and the definition of robustness written out step by step."""

from math import inf

import numpy as np

from standing_orders.rules.stl import syntax as s

NAMES = ("x", "y", "z")


def random_term(rng: np.random.Generator, depth: int) -> s.Term:
    kind = rng.integers(5) if depth else rng.integers(2)
    if kind == 0:
        return s.Signal(str(rng.choice(NAMES)))
    if kind == 1:
        return s.Constant(round(float(rng.normal()), 2))
    if kind == 2:
        return s.Absolute(random_term(rng, depth - 1))
    if kind == 3:
        return s.Negative(random_term(rng, depth - 1))
    operator = str(rng.choice(list(s.ARITHMETIC)))
    divisor = s.Constant(float(rng.choice([-4, 0.5, 3])))
    right = divisor if operator == "/" else random_term(rng, depth - 1)
    return s.Arithmetic(operator, random_term(rng, depth - 1), right)


def random_bounds(rng: np.random.Generator, widest: int, is_plain: bool) -> tuple[int, int | None]:
    lower = int(rng.integers(0, widest))
    if rng.random() < 0.2:
        return (0 if is_plain else lower), None
    return lower, lower + int(rng.integers(0, widest))


def random_formula(
    rng: np.random.Generator, depth: int, *, widest: int = 6, is_plain: bool = False
) -> s.Formula:
    """A formula of some depth; a plain one has no `true`, `false` and `[a,inf]`."""

    def part() -> s.Formula:
        return random_formula(rng, depth - 1, widest=widest, is_plain=is_plain)

    if depth == 0 or rng.random() < 0.1:
        if not is_plain and rng.random() < 0.05:
            return s.Truth(bool(rng.integers(2)))
        if rng.random() < 0.2:
            return s.Holds(str(rng.choice(NAMES)))
        left, right = random_term(rng, 1), random_term(rng, 1)
        return s.Comparison(str(rng.choice(s.COMPARISONS)), left, right)
    kind = rng.integers(11)
    if kind == 0:
        return s.Not(part())
    if kind in (1, 2):
        parts = tuple(part() for _ in range(rng.integers(2, 4)))
        return s.And(parts) if kind == 1 else s.Or(parts)
    if kind in (3, 4):
        return (s.Implies, s.Iff)[kind - 3](part(), part())
    bounds = random_bounds(rng, widest, is_plain)
    if kind in (5, 6):
        return (s.Until, s.Since)[kind - 5](part(), part(), *bounds)
    return (s.Always, s.Eventually, s.Once, s.Historically)[kind - 7](part(), *bounds)


def random_signals(rng: np.random.Generator, shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Some signals smooth, some of a few values only, so that there are ties."""
    return {
        name: rng.normal(size=shape) if rng.random() < 0.6 else rng.integers(-1, 2, shape) / 1.0
        for name in NAMES
    }


def value_of(term: s.Term, signals: dict[str, np.ndarray], t: int) -> float:
    match term:
        case s.Signal(name):
            return float(signals[name][t])
        case s.Constant(value):
            return value
        case s.Negative(operand):
            return -value_of(operand, signals, t)
        case s.Absolute(operand):
            return abs(value_of(operand, signals, t))
    left, right = value_of(term.left, signals, t), value_of(term.right, signals, t)
    return {"+": left + right, "-": left - right, "*": left * right,
            "/": left / right if right else inf}[term.operator]  # fmt: skip


def oracle(f: s.Formula, signals: dict[str, np.ndarray]) -> list[float]:
    """Robustness at every step of one trace, by definition."""
    steps = range(len(signals["x"]))
    if isinstance(f, s.Truth):
        return [inf if f.value else -inf for _ in steps]
    if isinstance(f, s.Holds):
        return [signals[f.name][t] - 0.5 for t in steps]
    if isinstance(f, s.Comparison):
        gaps = [value_of(f.left, signals, t) - value_of(f.right, signals, t) for t in steps]
        sign = {"<": lambda d: -d, ">": lambda d: d, "=": lambda d: -abs(d), "!": abs}
        return [sign[f.operator[0]](gap) for gap in gaps]
    if isinstance(f, s.And | s.Or):
        parts = [oracle(part, signals) for part in f.parts]
        extreme = min if isinstance(f, s.And) else max
        return [extreme(part[t] for part in parts) for t in steps]
    if isinstance(f, s.Not):
        return [-value for value in oracle(f.operand, signals)]
    if isinstance(f, s.Implies):
        return oracle(s.Or((s.Not(f.left), f.right)), signals)
    if isinstance(f, s.Iff):
        return oracle(s.And((s.Implies(f.left, f.right), s.Implies(f.right, f.left))), signals)
    forward = isinstance(f, s.Always | s.Eventually | s.Until)
    last = len(steps) if f.upper is None else f.upper
    window = [[u for u in steps if f.lower <= (u - t if forward else t - u) <= last] for t in steps]
    if isinstance(f, s.Always | s.Historically):
        x = oracle(f.operand, signals)
        return [min((x[u] for u in window[t]), default=inf) for t in steps]
    if isinstance(f, s.Eventually | s.Once):
        x = oracle(f.operand, signals)
        return [max((x[u] for u in window[t]), default=-inf) for t in steps]
    x, y = oracle(f.left, signals), oracle(f.right, signals)
    between = (lambda t, u: x[t:u]) if forward else (lambda t, u: x[u + 1 : t + 1])
    return [max((min([y[u], *between(t, u)]) for u in window[t]), default=-inf) for t in steps]
