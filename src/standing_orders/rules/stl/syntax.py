"""Formulas of signal temporal logic as immutable trees that print as text and parse back."""

import math
import re
from dataclasses import dataclass
from typing import ClassVar

from standing_orders.errors import ConfigError

MAX_BOUND = 1_000_000  # steps; a window costs memory in the online monitor
RESERVED = frozenset(
    ("always", "G", "eventually", "F", "until", "U", "once", "O", "historically", "H", "since", "S",
     "not", "and", "or", "true", "false", "abs", "inf")
)  # fmt: skip
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")

# How tightly each construct binds, loosest first.
IFF, IMPLIES, OR, AND, UNTIL, PREFIX, COMPARE, ADD, MULTIPLY, NEGATE, ATOM = range(1, 12)
ARITHMETIC = {"+": ADD, "-": ADD, "*": MULTIPLY, "/": MULTIPLY}
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


class Term:
    """A number at every step."""

    precedence: ClassVar[int] = ATOM


class Formula:
    """A condition at every step.

    Example:
        >>> str(Always(Implies(Holds("threat"), Eventually(Holds("safe"), 0, 5)), 0, 100))
        'always[0,100] (threat -> eventually[0,5] safe)'
    """

    precedence: ClassVar[int] = ATOM


def _inside(node: Term | Formula, loosest: int) -> str:
    """Text of a part, in parentheses if it binds less tightly than its place allows."""
    return str(node) if _binding(node) >= loosest else f"({node})"


def _binding(node: Term | Formula) -> int:
    return ARITHMETIC[node.operator] if isinstance(node, Arithmetic) else node.precedence


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise ConfigError(f"signal name {name!r}: must be letters, digits, `_`, and `.` between")
    if name in RESERVED:
        raise ConfigError(f"signal name {name!r}: is a word of the formula language")


@dataclass(frozen=True)
class Signal(Term):
    """The value of a signal."""

    name: str

    def __post_init__(self) -> None:
        _check_name(self.name)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Constant(Term):
    """A finite number."""

    value: float

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise ConfigError(f"constant {self.value}: must be finite")

    def __str__(self) -> str:
        return repr(float(self.value)).removesuffix(".0")


@dataclass(frozen=True)
class Negative(Term):
    """A term with the opposite sign."""

    operand: Term
    precedence: ClassVar[int] = NEGATE

    def __str__(self) -> str:
        # `-1` is a constant, so the negative of a constant needs its parentheses.
        is_constant = isinstance(self.operand, Constant)
        return f"-({self.operand})" if is_constant else f"-{_inside(self.operand, ATOM)}"


@dataclass(frozen=True)
class Absolute(Term):
    """A term without its sign."""

    operand: Term

    def __str__(self) -> str:
        return f"abs({self.operand})"


@dataclass(frozen=True)
class Arithmetic(Term):
    """A sum, difference, product or quotient."""

    operator: str  # one of + - * /
    left: Term
    right: Term

    def __post_init__(self) -> None:
        if self.operator not in ARITHMETIC:
            raise ConfigError(f"operator {self.operator!r}: must be one of {' '.join(ARITHMETIC)}")

    def __str__(self) -> str:
        binding = _binding(self)
        return f"{_inside(self.left, binding)} {self.operator} {_inside(self.right, binding + 1)}"


@dataclass(frozen=True)
class Truth(Formula):
    """`true` (robustness +inf) or `false` (robustness -inf)."""

    value: bool

    def __str__(self) -> str:
        return "true" if self.value else "false"


@dataclass(frozen=True)
class Holds(Formula):
    """A 0/1 signal by its bare name; robustness value - 0.5."""

    name: str

    def __post_init__(self) -> None:
        _check_name(self.name)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Comparison(Formula):
    """Two terms compared; robustness is the margin by which it holds.

    `<` and `<=` give right - left, `>` and `>=` give left - right, `==` gives -|left - right|
    (never positive), `!=` gives |left - right| (never negative).
    """

    operator: str  # one of < <= > >= == !=
    left: Term
    right: Term
    precedence: ClassVar[int] = COMPARE

    def __post_init__(self) -> None:
        if self.operator not in COMPARISONS:
            raise ConfigError(f"operator {self.operator!r}: must be one of {' '.join(COMPARISONS)}")

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


def _operand(node: Formula) -> str:
    """Text of what a prefix applies to; a comparison would not need its parentheses."""
    return f"({node})" if isinstance(node, Comparison) else _inside(node, PREFIX)


@dataclass(frozen=True)
class Not(Formula):
    """Negation; robustness changes its sign."""

    operand: Formula
    precedence: ClassVar[int] = PREFIX

    def __str__(self) -> str:
        return f"not {_operand(self.operand)}"


@dataclass(frozen=True)
class _Several(Formula):
    parts: tuple[Formula, ...]  # at least 2
    word: ClassVar[str]

    def __post_init__(self) -> None:
        if len(self.parts) < 2:
            raise ConfigError(f"`{self.word}` of {len(self.parts)} parts: must be at least 2")

    def __str__(self) -> str:
        return f" {self.word} ".join(_inside(part, self.precedence + 1) for part in self.parts)


class And(_Several):
    """All parts hold; robustness is the smallest."""

    word = "and"
    precedence = AND


class Or(_Several):
    """Some part holds; robustness is the largest."""

    word = "or"
    precedence = OR


@dataclass(frozen=True)
class Implies(Formula):
    """`left -> right`, the same as `not left or right`."""

    left: Formula
    right: Formula
    precedence: ClassVar[int] = IMPLIES

    def __str__(self) -> str:
        return f"{_inside(self.left, IMPLIES + 1)} -> {_inside(self.right, IMPLIES)}"


@dataclass(frozen=True)
class Iff(Formula):
    """`left <-> right`, the same as `(left -> right) and (right -> left)`."""

    left: Formula
    right: Formula
    precedence: ClassVar[int] = IFF

    def __str__(self) -> str:
        return f"{_inside(self.left, IFF + 1)} <-> {_inside(self.right, IFF)}"


def _check_bounds(word: str, lower: int, upper: int | None) -> None:
    last = MAX_BOUND if upper is None else upper
    if not 0 <= lower <= last <= MAX_BOUND:
        raise ConfigError(
            f"{word}[{lower},{upper}]: bounds must satisfy 0 <= lower <= upper <= {MAX_BOUND}"
        )


def _bounds(lower: int, upper: int | None) -> str:
    if upper is None:
        return "" if lower == 0 else f"[{lower},inf]"
    return f"[{lower},{upper}]"


@dataclass(frozen=True)
class Windowed(Formula):
    """A prefix over a window of steps, from `lower` to `upper` steps away."""

    operand: Formula
    lower: int = 0
    upper: int | None = None  # None: to the end (or the beginning) of the trace
    word: ClassVar[str]
    precedence: ClassVar[int] = PREFIX

    def __post_init__(self) -> None:
        _check_bounds(self.word, self.lower, self.upper)

    def __str__(self) -> str:
        return f"{self.word}{_bounds(self.lower, self.upper)} {_operand(self.operand)}"


class Always(Windowed):
    """At every step of a window ahead; robustness is the smallest there, +inf if it is empty."""

    word = "always"


class Eventually(Windowed):
    """At some step of a window ahead; robustness is the largest there, -inf if it is empty."""

    word = "eventually"


class Historically(Windowed):
    """At every step of a window behind; robustness is the smallest there, +inf if it is empty."""

    word = "historically"


class Once(Windowed):
    """At some step of a window behind; robustness is the largest there, -inf if it is empty."""

    word = "once"


@dataclass(frozen=True)
class Paired(Formula):
    """`right` at some step of a window, and `left` at all steps between there and here."""

    left: Formula
    right: Formula
    lower: int = 0
    upper: int | None = None  # None: to the end (or the beginning) of the trace
    word: ClassVar[str]
    precedence: ClassVar[int] = UNTIL

    def __post_init__(self) -> None:
        _check_bounds(self.word, self.lower, self.upper)

    def __str__(self) -> str:
        left, right = _inside(self.left, UNTIL + 1), _inside(self.right, UNTIL)
        return f"{left} {self.word}{_bounds(self.lower, self.upper)} {right}"


class Until(Paired):
    """`right` at some step s of a window ahead, `left` at all steps from here to before s."""

    word = "until"


class Since(Paired):
    """`right` at some step s of a window behind, `left` at all steps after s up to here."""

    word = "since"
