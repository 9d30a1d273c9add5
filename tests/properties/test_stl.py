"""Signal temporal logic: laws that hold for any formula and any trace."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from standing_orders.errors import ConfigError
from standing_orders.rules.stl import Monitor, history, horizon, parse, robustness, signals
from standing_orders.rules.stl import syntax as s
from tests.effort import effort

NAMES = ("x", "y")
stl_settings = settings(max_examples=effort(150, 50), deadline=None, print_blob=True)

numbers = st.floats(-1e6, 1e6, allow_subnormal=False)
names = st.sampled_from(NAMES)
terms = st.recursive(
    st.builds(s.Signal, names) | st.builds(s.Constant, numbers),
    lambda part: (
        st.builds(s.Negative, part)
        | st.builds(s.Absolute, part)
        | st.builds(s.Arithmetic, st.sampled_from(list(s.ARITHMETIC)), part, part)
    ),
    max_leaves=4,
)
safe_terms = st.builds(s.Signal, names) | st.builds(
    s.Arithmetic,
    st.sampled_from("+-*"),
    st.builds(s.Signal, names),
    st.builds(s.Constant, st.integers(-3, 3).map(float)),
)


@st.composite
def bounds(draw, is_open: bool):
    lower = draw(st.integers(0, 3))
    upper = draw(st.integers(lower, lower + 4))
    return lower, (draw(st.sampled_from([upper, upper, None])) if is_open else upper)


def windowed(node: type[s.Formula], *parts, is_open: bool):
    return st.builds(lambda b, *p: node(*p, *b), bounds(is_open), *parts)


def formulas(numeric=safe_terms, *, is_open_ahead: bool = True, max_leaves: int = 6):
    """Any formula over some terms; windows ahead have an end if asked for."""
    atoms = (
        st.builds(s.Holds, names)
        | st.builds(s.Comparison, st.sampled_from(s.COMPARISONS), numeric, numeric)
        | st.builds(s.Truth, st.booleans())
    )
    return st.recursive(
        atoms,
        lambda part: st.one_of(
            st.builds(s.Not, part),
            st.builds(s.And, st.lists(part, min_size=2, max_size=3).map(tuple)),
            st.builds(s.Or, st.lists(part, min_size=2, max_size=3).map(tuple)),
            st.builds(s.Implies, part, part),
            st.builds(s.Iff, part, part),
            *(windowed(node, part, is_open=is_open_ahead) for node in (s.Always, s.Eventually)),
            *(windowed(node, part, is_open=True) for node in (s.Once, s.Historically)),
            windowed(s.Until, part, part, is_open=is_open_ahead),
            windowed(s.Since, part, part, is_open=True),
        ),
        max_leaves=max_leaves,
    )


@st.composite
def traces(draw, batch_size: int = 2, min_steps: int = 1):
    """Two signals, (batch_size, num_steps); few distinct values, so that there are ties."""
    num_steps = draw(st.integers(min_steps, 14))
    row = st.lists(st.integers(-4, 4), min_size=num_steps, max_size=num_steps)
    rows = st.lists(row, min_size=batch_size, max_size=batch_size)
    return {name: np.array(draw(rows)) / 2 for name in NAMES}


def cut(trace: dict[str, np.ndarray], num_steps: int) -> dict[str, np.ndarray]:
    return {name: values[..., :num_steps] for name, values in trace.items()}


@given(formulas(terms, max_leaves=12))
@stl_settings
def test_a_formula_prints_as_text_that_parses_back(formula: s.Formula) -> None:
    assert parse(str(formula)) == formula


@given(st.text("ab 01.()[],-+*/<>=!&|GFUxinf\n\té", max_size=40))
@settings(stl_settings, max_examples=effort(500, 150))
def test_any_text_is_a_formula_or_an_error_with_a_caret(text: str) -> None:
    try:
        formula = parse(text)
    except ConfigError as err:
        assert str(err).rstrip(" ").endswith("^")
    else:
        assert parse(str(formula)) == formula


@given(formulas(is_open_ahead=False), traces())
@settings(stl_settings, max_examples=effort(150, 100))
def test_online_equals_offline_on_every_prefix(formula: s.Formula, trace) -> None:
    monitor = Monitor(formula, batch_size=2)
    num_steps = trace["x"].shape[1]
    for n in range(1, num_steps + 1):
        value = monitor.update({name: values[:, n - 1] for name, values in trace.items()})
        exact = robustness(formula, cut(trace, n))
        if n <= monitor.delay:
            assert value is None
        else:
            assert value.tolist() == exact[:, n - 1 - monitor.delay].tolist()
            whole = robustness(formula, trace)
            assert value.tolist() == whole[:, n - 1 - monitor.delay].tolist()
        assert monitor.finish().tolist() == exact[:, max(0, n - monitor.delay) :].tolist()


@given(formulas(is_open_ahead=False), traces(min_steps=2), st.data())
@settings(stl_settings, max_examples=effort(150, 100))
def test_the_interval_holds_whatever_follows(formula: s.Formula, trace, data) -> None:
    num_steps = trace["x"].shape[1]
    seen = data.draw(st.integers(1, num_steps))
    monitor = Monitor(formula, batch_size=2)
    for t in range(seen):
        monitor.update({name: values[:, t] for name, values in trace.items()})
    lower, upper = monitor.interval()
    pending = slice(max(0, seen - monitor.delay), seen)
    for end in range(seen, num_steps + 1):
        exact = robustness(formula, cut(trace, end))[:, pending]
        assert (lower <= exact).all()
        assert (exact <= upper).all()


@given(formulas(), traces())
@stl_settings
def test_each_trace_of_a_batch_is_as_if_alone(formula: s.Formula, trace) -> None:
    batch = robustness(formula, trace)
    for index in range(2):
        alone = robustness(formula, {name: values[index] for name, values in trace.items()})
        assert batch[index].tolist() == alone.tolist()


@given(formulas(max_leaves=3), bounds(is_open=True), traces())
@stl_settings
def test_not_always_is_eventually_not(formula: s.Formula, window, trace) -> None:
    for each, some in ((s.Always, s.Eventually), (s.Historically, s.Once)):
        left = robustness(s.Not(each(formula, *window)), trace)
        right = robustness(some(s.Not(formula), *window), trace)
        assert left.tolist() == right.tolist()


@given(formulas(max_leaves=3), bounds(is_open=True), traces())
@stl_settings
def test_eventually_is_true_until_and_once_is_true_since(formula, window, trace) -> None:
    for some, pair in ((s.Eventually, s.Until), (s.Once, s.Since)):
        left = robustness(some(formula, *window), trace)
        right = robustness(pair(s.Truth(True), formula, *window), trace)
        assert left.tolist() == right.tolist()


@given(formulas(), formulas(), traces())
@stl_settings
def test_connectives_are_those_of_logic(left: s.Formula, right: s.Formula, trace) -> None:
    def rho(formula: s.Formula) -> list[list[float]]:
        return robustness(formula, trace).tolist()

    assert rho(s.Implies(left, right)) == rho(s.Or((s.Not(left), right)))
    assert rho(s.Not(s.And((left, right)))) == rho(s.Or((s.Not(left), s.Not(right))))
    both = s.And((s.Implies(left, right), s.Implies(right, left)))
    assert rho(s.Iff(left, right)) == rho(both)


# Without products, which make a change larger.
@given(formulas(st.builds(s.Signal, names)), traces(batch_size=1), st.floats(0, 1))
@stl_settings
def test_a_change_of_the_signals_smaller_than_the_margin_changes_no_verdict(
    formula: s.Formula, trace, size: float
) -> None:
    exact = robustness(formula, trace)
    moved = robustness(formula, {"x": trace["x"] + size, "y": trace["y"] - size})
    is_sure = np.abs(exact) > 2 * size + 1e-9  # a comparison of two signals feels both
    assert (np.sign(exact) == np.sign(moved))[is_sure].all()


@given(formulas(is_open_ahead=False), traces(), st.data())
@stl_settings
def test_samples_beyond_the_reach_do_not_matter(formula: s.Formula, trace, data) -> None:
    num_steps = trace["x"].shape[1]
    step = data.draw(st.integers(0, num_steps - 1))
    away = np.arange(num_steps) - step
    is_seen = (away <= horizon(formula)) & (-away <= horizon(formula) + history(formula))
    other = {name: np.where(is_seen, values, 9.0) for name, values in trace.items()}
    for name in NAMES:
        if name not in signals(formula):
            other[name] = np.full_like(other[name], 9.0)
    before, after = robustness(formula, trace), robustness(formula, other)
    assert before[:, step].tolist() == after[:, step].tolist()
