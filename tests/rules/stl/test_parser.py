from itertools import product

import pytest

from standing_orders.errors import ConfigError
from standing_orders.rules.stl import history, horizon, parse, signals
from standing_orders.rules.stl import syntax as s
from standing_orders.rules.stl.parser import MAX_DEPTH, MAX_LENGTH

A, B, C = s.Holds("a"), s.Holds("b"), s.Holds("c")
X, Y, Z, ONE = s.Signal("x"), s.Signal("y"), s.Signal("z"), s.Constant(1.0)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a", A),
        ("( (a) )", A),
        ("a and b and c", s.And((A, B, C))),
        ("(a & b) && c", s.And((s.And((A, B)), C))),
        ("a or b | c || a", s.Or((A, B, C, A))),
        ("a and b or c", s.Or((s.And((A, B)), C))),
        ("a -> b -> c", s.Implies(A, s.Implies(B, C))),
        ("a <-> b -> c", s.Iff(A, s.Implies(B, C))),
        ("a or b -> c", s.Implies(s.Or((A, B)), C)),
        ("not a and !b", s.And((s.Not(A), s.Not(B)))),
        ("not a U b", s.Until(s.Not(A), B)),
        ("a until b since c", s.Until(A, s.Since(B, C))),
        ("a and b until[1,2] c", s.And((A, s.Until(B, C, 1, 2)))),
        ("G a or b", s.Or((s.Always(A), B))),
        ("always[0,100](a -> eventually[0,5] b)",
         s.Always(s.Implies(A, s.Eventually(B, 0, 5)), 0, 100)),
        ("F[2,inf] O[1,1] H[0,3] a",
         s.Eventually(s.Once(s.Historically(A, 0, 3), 1, 1), 2, None)),
        ("a S[0,4] b", s.Since(A, B, 0, 4)),
        ("not x > 1", s.Not(s.Comparison(">", X, ONE))),
        ("x <= y + 2*z - 1",
         s.Comparison("<=", X, s.Arithmetic("-", s.Arithmetic("+", Y, s.Arithmetic(
             "*", s.Constant(2.0), Z)), ONE))),
        ("(x) == -1", s.Comparison("==", X, s.Constant(-1.0))),
        ("x<-1", s.Comparison("<", X, s.Constant(-1.0))),
        ("-x*y != -(1)", s.Comparison(
            "!=", s.Arithmetic("*", s.Negative(X), Y), s.Negative(ONE))),
        ("abs(x - y) < .5e1", s.Comparison(
            "<", s.Absolute(s.Arithmetic("-", X, Y)), s.Constant(5.0))),
        ("true and not false", s.And((s.Truth(True), s.Not(s.Truth(False))))),
        ("\n always\t a\n", s.Always(A)),
        ("host.User1 -> _b2", s.Implies(s.Holds("host.User1"), s.Holds("_b2"))),
    ],
)  # fmt: skip
def test_text_means_this_tree(text: str, tree: s.Formula) -> None:
    assert parse(text) == tree
    assert parse(str(tree)) == tree


OPERATORS = [
    lambda p, q: s.Not(p),
    lambda p, q: s.And((p, q)),
    lambda p, q: s.Or((p, q)),
    s.Implies,
    s.Iff,
    lambda p, q: s.Until(p, q, 0, 3),
    s.Since,
    lambda p, q: s.Always(p, 2),
    lambda p, q: s.Once(p, 1, 4),
]
ARITHMETIC = [
    lambda p, q: s.Negative(p),
    lambda p, q: s.Absolute(p),
    *(lambda p, q, sign=sign: s.Arithmetic(sign, p, q) for sign in s.ARITHMETIC),
]


def test_every_operator_inside_every_other_prints_and_parses_back() -> None:
    compare = s.Comparison("<", X, s.Constant(-1.0))
    for outer, inner in product(OPERATORS, OPERATORS):
        for tree in (outer(inner(A, compare), B), outer(B, inner(compare, A))):
            assert parse(str(tree)) == tree
    for outer, inner in product(ARITHMETIC, ARITHMETIC):
        for term in (outer(inner(X, ONE), Y), outer(Y, inner(s.Constant(-2.5), X))):
            for tree in (s.Comparison(">", term, ONE), s.Comparison("!=", X, term)):
                assert parse(str(tree)) == tree


# Each with the column that the caret points at and what the message says.
BAD = [
    ("", 1, "expected a formula, found the end"),
    ("   ", 4, "expected a formula, found the end"),
    ("a b", 3, "expected an operator, found `b`"),
    ("(a and b", 1, "expected a `)` for this `(`, found the end"),
    ("(a b)", 4, "expected an operator or `)`, found `b`"),
    ("a and b)", 8, "found `)` without its `(`"),
    ("a and", 6, "expected a formula, found the end"),
    ("a -> -> b", 6, "expected a formula, found `->`"),
    ("x + 1", 1, "expected a formula, found the number `x + 1` alone"),
    ("a and x*2 or b", 7, "expected a formula, found the number `x * 2` alone"),
    ("-a", 1, "expected a formula, found the number `-a` alone"),
    ("x >", 4, "expected a number, found the end"),
    ("x + * 2 > 1", 5, "expected a number, found `*`"),
    ("x > (a and b)", 5, "expected a number for `>`, found the formula `a and b`"),
    ("true + 1 > 0", 1, "expected a number for `+`, found the formula `true`"),
    ("abs(a or b) > 0", 5, "expected a number for `abs`, found the formula `a or b`"),
    ("abs x > 0", 5, "expected `(` after `abs`, found `x`"),
    ("0 < x < 1", 7, "comparisons cannot be chained: join two with `and`"),
    ("x = 1", 3, "unexpected character '=': equality is `==`"),
    ("a $ b", 3, "unexpected character '$'"),
    ("a and  é", 8, "unexpected character 'é'"),
    ("x > 1e999", 5, "number too large"),
    ("always[5,3] a", 10, "expected a bound of at least 5, found `3`"),
    ("always[0.5,3] a", 8, "expected the first step of the window, a whole number, found `0.5`"),
    ("F[0,-1] a", 5, "expected the last step of the window, or `inf`, a whole number, found `-`"),
    ("F[3] a", 4, "expected `,` between the bounds, found `]`"),
    ("F[0,3 a", 7, "expected `]` after the bounds, found `a`"),
    ("F[0,9999999] a", 5, "expected a bound of at most 1000000"),
    ("a until[inf,3] b", 9, "expected the first step of the window, a whole number, found `inf`"),
    ("[0,3] a", 1, "expected a formula, found `[`"),
    ("G and a", 3, "expected a formula, found `and`"),
    ("inf > x", 1, "expected a formula, found `inf`"),
    ("__import__('os')", 12, 'unexpected character "\'"'),
    ("open(x) > 0", 5, "expected an operator, found `(`"),
]


@pytest.mark.parametrize(("text", "column", "problem"), BAD, ids=[text for text, *_ in BAD])
def test_a_bad_formula_is_shown_with_a_caret(text: str, column: int, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    first, line, caret = str(caught.value).split("\n")
    assert first == f"formula, column {column}: {problem}"
    assert line == f"  {text}"
    assert caret == "  " + " " * (column - 1) + "^"


def test_only_the_line_of_the_place_is_shown_and_tabs_stay() -> None:
    with pytest.raises(ConfigError) as caught:
        parse("always (\n\ta and or b\n)")
    assert str(caught.value) == (
        "formula, line 2, column 8: expected a formula, found `or`\n  \ta and or b\n  \t      ^"
    )


def test_a_long_line_is_cut_around_the_place() -> None:
    with pytest.raises(ConfigError) as caught:
        parse("a and " * 500 + "= b" + " or c" * 500)
    _, line, caret = str(caught.value).split("\n")
    assert len(line) < 150
    assert line[caret.index("^")] == "="
    assert line.startswith("  ...") and line.endswith("...")


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5_000 + "a" + ")" * 5_000,
        "not " * 4_000 + "a",
        "!" * 15_000 + "a",
        "a -> " * 3_000 + "a",
        "a U " * 3_000 + "a",
        "x" + "+x" * 5_000 + " > 0",
        "-" * 5_000 + "x > 0",
        "abs(" * 4_000 + "x",
        "G" + "[0,1]G" * 2_000 + " a",
        "(" * 90 + "(a -> " * 90 + "a" + ")" * 180,
    ],
    ids=lambda text: text[:9],
)
def test_hostile_nesting_is_an_error_and_not_a_crash(text: str) -> None:
    with pytest.raises(ConfigError, match=f"nested more than {MAX_DEPTH} deep"):
        parse(text)


def test_a_caller_deep_in_its_own_calls_gets_the_same_error() -> None:
    def call(depth: int) -> None:
        if depth:
            call(depth - 1)
        else:
            parse("(" * 150 + "a" + ")" * 150)

    with pytest.raises(ConfigError, match="stack"):
        call(600)


def test_a_tree_of_the_deepest_kind_parses_and_prints() -> None:
    tree: s.Formula = A
    for level in range(MAX_DEPTH - 1):
        tree = s.And((tree, B)) if level % 2 else s.Implies(tree, B)
    assert parse(str(tree)) == tree


def test_wide_is_not_deep() -> None:
    formula = parse(" and ".join(["a"] * 3_000))
    assert isinstance(formula, s.And) and len(formula.parts) == 3_000


def test_too_long_a_text_is_refused_unread() -> None:
    with pytest.raises(ConfigError, match=f"must be at most {MAX_LENGTH}"):
        parse("a" * (MAX_LENGTH + 1))
    with pytest.raises(ConfigError, match="bound of at most"):
        parse(f"G[0,{'9' * 10_000}] a")


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: s.Holds("a b"), "signal name 'a b'"),
        (lambda: s.Signal("until"), "word of the formula language"),
        (lambda: s.Constant(float("nan")), "must be finite"),
        (lambda: s.And((A,)), "at least 2"),
        (lambda: s.Always(A, 3, 2), r"always\[3,2\]: bounds"),
        (lambda: s.Until(A, B, -1), r"until\[-1,None\]: bounds"),
        (lambda: s.Comparison("=", X, Y), "must be one of < <="),
        (lambda: s.Arithmetic("%", X, Y), r"must be one of \+ -"),
    ],
)
def test_a_tree_that_could_not_be_text_cannot_be_built(build, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build()


@pytest.mark.parametrize(
    ("text", "ahead", "behind"),
    [
        ("a", 0, 0),
        ("always[0,100] (a -> eventually[0,5] b)", 105, 0),
        ("a until[2,7] once[1,4] b", 7, 4),
        ("historically[0,3] (a since[0,2] eventually[1,1] b)", 1, 5),
        ("always a", float("inf"), 0),
        ("once[3,inf] a or F[0,2] b", 2, float("inf")),
    ],
)
def test_reach_adds_up_along_the_deepest_path(text: str, ahead: float, behind: float) -> None:
    assert (horizon(text), history(text)) == (ahead, behind)


def test_signals_are_those_of_terms_and_bare_names() -> None:
    assert signals("a until abs(x - 2*y) > -z and true") == {"a", "x", "y", "z"}
