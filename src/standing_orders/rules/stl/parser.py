"""Text to formula: a recursive-descent parser that says where a formula is wrong."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from standing_orders.errors import ConfigError
from standing_orders.rules.stl import syntax
from standing_orders.rules.stl.syntax import Formula, Term

MAX_LENGTH = 20_000  # characters
MAX_DEPTH = 100  # of the tree; Python's own stack holds more
_MAX_CALLS = 2 * MAX_DEPTH  # every operator and every parenthesis is a call of its own
_CONTEXT = 60  # characters of a long line shown on either side of the caret

_TOKEN = re.compile(
    rf"""\s*(?:
        (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
      | (?P<name>{syntax.NAME.pattern})
      | (?P<symbol><->|->|<=|>=|==|!=|&&|\|\||[-+*/()\[\],<>!&|])
      | (?P<end>\Z)
    )""",
    re.VERBOSE,
)
_ALIASES = {
    "G": "always", "F": "eventually", "U": "until", "O": "once", "H": "historically", "S": "since",
    "!": "not", "&": "and", "&&": "and", "|": "or", "||": "or",
}  # fmt: skip
_WINDOWED: dict[str, type[syntax.Windowed]] = {
    node.word: node for node in (syntax.Always, syntax.Eventually, syntax.Once, syntax.Historically)
}
_PAIRED: dict[str, type[syntax.Paired]] = {node.word: node for node in (syntax.Until, syntax.Since)}
_CONNECTIVES: dict[str, Callable[[Formula, Formula], Formula]] = {
    "->": syntax.Implies,
    "<->": syntax.Iff,
}
_INFIX = {
    "<->": syntax.IFF, "->": syntax.IMPLIES, "or": syntax.OR, "and": syntax.AND,
    **dict.fromkeys(_PAIRED, syntax.UNTIL), **dict.fromkeys(syntax.COMPARISONS, syntax.COMPARE),
    **syntax.ARITHMETIC,
}  # fmt: skip
_LOOSEST = syntax.IFF


@dataclass(frozen=True)
class _Token:
    kind: str  # "number", "name", "end", or the word or symbol itself, without aliases
    text: str
    start: int

    def __str__(self) -> str:
        return "the end" if self.kind == "end" else f"`{self.text}`"


@dataclass(frozen=True)
class _Part:
    """What has been read so far of some operand."""

    node: Term | Formula
    depth: int
    start: int


def parse(text: str) -> Formula:
    """Read a formula.

    From the loosest to the tightest: `<->`, `->` (both from the right), `or`, `and`, `until` and
    `since` (from the right), the prefixes `not`, `always`, `eventually`, `once`, `historically`,
    comparisons, `+ -`, `* /`, unary `-`. Bounds are whole steps, `[2,5]`, `[2,inf]`, or left out.

    Args:
        text: at most 20,000 characters, nested at most 100 deep.

    Raises:
        ConfigError: the text is not a formula; the message shows the place and what was expected.

    Example:
        >>> parse("G[0,9](threat -> F[0,5] x + 1 > 2*y)")  # doctest: +ELLIPSIS
        Always(operand=Implies(left=Holds(name='threat'), right=Eventually(operand=Comp...
        >>> parse("always (a or )")
        Traceback (most recent call last):
        standing_orders.errors.ConfigError: formula, column 14: expected a formula, found `)`
          always (a or )
                       ^
    """
    if len(text) > MAX_LENGTH:
        raise ConfigError(f"formula of {len(text)} characters: must be at most {MAX_LENGTH}")
    try:
        return _Parser(text).whole()
    except RecursionError as err:  # the caller was deep in its own calls
        raise ConfigError("formula: nested too deep for the stack that is left here") from err


def point_at(text: str, position: int, problem: str) -> str:
    """What is wrong, with the line of the place, cut to fit, and a caret below the place."""
    before = text[:position]
    first = before.rfind("\n") + 1
    last = text.find("\n", position)
    line = text[first : last if last >= 0 else len(text)]
    column = position - first
    left, right = max(0, column - _CONTEXT), column + _CONTEXT
    shown = ("..." if left else "") + line[left:right] + ("..." if right < len(line) else "")
    # Tabs stay tabs, so that the caret lands below the place whatever their width.
    pad = re.sub(r"[^\t]", " ", ("..." if left else "") + line[left:column])
    row = f"line {before.count(chr(10)) + 1}, " if "\n" in text else ""
    return f"formula, {row}column {column + 1}: {problem}\n  {shown}\n  {pad}^"


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._split()
        self._index = 0

    def whole(self) -> Formula:
        part = self._expression(_LOOSEST, 1)
        if self._token.kind != "end":
            closing = self._token.kind == ")"
            expected = "found `)` without its `(`" if closing else self._expected("an operator")
            raise self._error(self._token.start, expected)
        return self._formula(part)

    def _split(self) -> list[_Token]:
        tokens: list[_Token] = []
        position = 0
        while not tokens or tokens[-1].kind != "end":
            match = _TOKEN.match(self._text, position)
            if match is None:
                start = position + len(self._text[position:]) - len(self._text[position:].lstrip())
                hint = ": equality is `==`" if self._text[start] == "=" else ""
                raise self._error(start, f"unexpected character {self._text[start]!r}{hint}")
            group = match.lastgroup or ""
            text = match[group]
            kind = _ALIASES.get(text, text)
            if group in ("number", "end") or (group == "name" and text not in syntax.RESERVED):
                kind = group
            tokens.append(_Token(kind, text, match.start(group)))
            position = match.end()
        return tokens

    @property
    def _token(self) -> _Token:
        return self._tokens[self._index]

    def _next(self) -> _Token:
        self._index += 1
        return self._tokens[self._index - 1]

    def _take(self, kind: str, expected: str) -> _Token:
        if self._token.kind != kind:
            raise self._error(self._token.start, self._expected(expected))
        return self._next()

    def _expected(self, what: str) -> str:
        return f"expected {what}, found {self._token}"

    def _error(self, position: int, problem: str) -> ConfigError:
        return ConfigError(point_at(self._text, position, problem))

    def _expression(self, loosest: int, depth: int) -> _Part:
        """Read operators that bind at least as tightly as `loosest`."""
        if depth > _MAX_CALLS:
            raise self._error(self._token.start, f"nested more than {MAX_DEPTH} deep")
        part = self._prefix(loosest, depth)
        while _INFIX.get(self._token.kind, 0) >= loosest:
            part = self._infix(part, depth)
        return part

    def _prefix(self, loosest: int, depth: int) -> _Part:
        token = self._next()
        if token.kind == "number":
            return _Part(syntax.Constant(self._number(token)), 1, token.start)
        if token.kind == "name":
            return _Part(syntax.Signal(token.text), 1, token.start)
        if token.kind in ("true", "false"):
            return _Part(syntax.Truth(token.kind == "true"), 1, token.start)
        if token.kind in ("(", "abs"):
            return self._parentheses(token, depth)
        if token.kind == "-":
            return self._negative(token, depth)
        if token.kind == "not" or token.kind in _WINDOWED:
            lower, upper = self._bounds() if token.kind in _WINDOWED else (0, None)
            part = self._expression(syntax.PREFIX, depth + 1)
            operand = self._formula(part)
            if token.kind == "not":
                return self._join(token, syntax.Not(operand), part)
            return self._join(token, _WINDOWED[token.kind](operand, lower, upper), part)
        self._index -= 1
        what = "a number" if loosest > syntax.COMPARE else "a formula"
        raise self._error(token.start, self._expected(what))

    def _parentheses(self, token: _Token, depth: int) -> _Part:
        opening = self._take("(", "`(` after `abs`") if token.kind == "abs" else token
        part = self._expression(_LOOSEST, depth + 1)
        if self._token.kind == "end":
            raise self._error(opening.start, "expected a `)` for this `(`, found the end")
        self._take(")", "an operator or `)`")
        if token.kind == "abs":
            return self._join(token, syntax.Absolute(self._number_of(part, "abs")), part)
        return _Part(part.node, part.depth, opening.start)

    def _negative(self, token: _Token, depth: int) -> _Part:
        if self._token.kind == "number":
            return _Part(syntax.Constant(-self._number(self._next())), 1, token.start)
        part = self._expression(syntax.NEGATE, depth + 1)
        return self._join(token, syntax.Negative(self._number_of(part, "-")), part)

    def _infix(self, left: _Part, depth: int) -> _Part:
        token = self._token
        if token.kind in ("and", "or"):
            return self._several(left, depth)
        self._next()
        binding = _INFIX[token.kind]
        if token.kind in syntax.ARITHMETIC or token.kind in syntax.COMPARISONS:
            first = self._number_of(left, token.text)
            right = self._expression(binding + 1, depth + 1)
            second = self._number_of(right, token.text)
            if token.kind in syntax.ARITHMETIC:
                return self._join(token, syntax.Arithmetic(token.kind, first, second), left, right)
            if self._token.kind in syntax.COMPARISONS:
                raise self._error(
                    self._token.start, "comparisons cannot be chained: join two with `and`"
                )
            return self._join(token, syntax.Comparison(token.kind, first, second), left, right)
        before, build = self._formula(left), _CONNECTIVES.get(token.kind)
        if build is None:
            lower, upper = self._bounds()
            build = partial(_PAIRED[token.kind], lower=lower, upper=upper)
        right = self._expression(binding, depth + 1)
        return self._join(token, build(before, self._formula(right)), left, right)

    def _several(self, left: _Part, depth: int) -> _Part:
        """Read all parts of one `and` or `or`."""
        token = self._token
        parts, formulas = [left], [self._formula(left)]
        while self._token.kind == token.kind:
            self._next()
            parts.append(self._expression(_INFIX[token.kind] + 1, depth + 1))
            formulas.append(self._formula(parts[-1]))
        node = syntax.And if token.kind == "and" else syntax.Or
        return self._join(token, node(tuple(formulas)), *parts)

    def _join(self, token: _Token, node: Term | Formula, *parts: _Part) -> _Part:
        depth = 1 + max(part.depth for part in parts)
        if depth > MAX_DEPTH:
            raise self._error(token.start, f"nested more than {MAX_DEPTH} deep")
        return _Part(node, depth, min(token.start, parts[0].start))

    def _formula(self, part: _Part) -> Formula:
        """A part that must be a formula; a bare name is one."""
        if isinstance(part.node, Formula):
            return part.node
        if isinstance(part.node, syntax.Signal):
            return syntax.Holds(part.node.name)
        raise self._error(
            part.start, f"expected a formula, found the number `{_short(part.node)}` alone"
        )

    def _number_of(self, part: _Part, operator: str) -> Term:
        """A part that must be a number."""
        if isinstance(part.node, Term):
            return part.node
        problem = f"expected a number for `{operator}`, found the formula `{_short(part.node)}`"
        raise self._error(part.start, problem)

    def _number(self, token: _Token) -> float:
        value = float(token.text)
        if not math.isfinite(value):
            raise self._error(token.start, "number too large")
        return value

    def _bounds(self) -> tuple[int, int | None]:
        """Read `[a,b]` or `[a,inf]`, if it is there."""
        if self._token.kind != "[":
            return 0, None
        self._next()
        lower = self._bound("the first step of the window")
        self._take(",", "`,` between the bounds")
        token, upper = self._token, None
        if token.kind == "inf":
            self._next()
        else:
            upper = self._bound("the last step of the window, or `inf`")
        if upper is not None and upper < lower:
            raise self._error(token.start, f"expected a bound of at least {lower}, found {token}")
        self._take("]", "`]` after the bounds")
        return lower, upper

    def _bound(self, what: str) -> int:
        token = self._token
        if token.kind != "number" or not token.text.isdigit():
            raise self._error(token.start, self._expected(f"{what}, a whole number"))
        if float(token.text) > syntax.MAX_BOUND:
            raise self._error(token.start, f"expected a bound of at most {syntax.MAX_BOUND}")
        self._next()
        return int(float(token.text))


def _short(node: Term | Formula) -> str:
    text = str(node)
    return text if len(text) <= _CONTEXT else text[: _CONTEXT - 3] + "..."
