"""A table as data: printed on a terminal of any width, or written as CSV, Markdown or JSON.

Names come from files, folders and command lines of others: `printable` is what every one of them
goes through before a terminal, a page or TensorBoard sees it, `csv_cell` before a spreadsheet does.
"""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.console import Console, Group

PLAIN_WIDTH = 160  # of a table that goes into a pipe or a string: never cut a figure
_LONG_WORD = 42  # characters: an order
_GAP, _EDGES = 3, -1  # between columns, and what the two ends have more than one gap
Cell = str | int | float | bool | None
# Control characters, marks that turn text around, and halves of characters (of paths not in UTF-8).
_OBEYED = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff"
_IN_TEXT, _IN_LINE = re.compile(f"[{_OBEYED}]"), re.compile(f"[{_OBEYED}\t\n\u2028\u2029]")
_FORMULA = re.compile(r"\s*[=+\-@]")


def printable(text: str, *, is_line: bool = False) -> str:
    """Text of others as it may be printed: what a terminal would obey is shown as its escape.

    Args:
        text: such as a name, or a message that holds one.
        is_line: line ends and tabs are shown as escapes too.

    Example:
        >>> print(printable("a\\x1b]0;b"))
        a\\x1b]0;b
    """
    return (_IN_LINE if is_line else _IN_TEXT).sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


def csv_cell(value: object) -> object:
    """A cell that no spreadsheet takes for a formula: text that could be one gets a quote in front.

    Example:
        >>> csv_cell("=1+1"), csv_cell("-3.5"), csv_cell(-3.5)
        ("'=1+1", '-3.5', -3.5)
    """
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if _FORMULA.match(text) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class Column:
    """One column.

    Args:
        name: its heading.
        form: how a number is shown, as in `format(value, form)`.
        drop: where there is no room, columns with the highest number go first; 0 never goes.
        is_text: flush left instead of right.
    """

    name: str
    form: str = ""
    drop: int = 0
    is_text: bool = False

    def show(self, cell: Cell) -> str:
        """A cell as text; a dash where there is no figure."""
        if cell is None:
            return "-"
        if isinstance(cell, bool):
            return "yes" if cell else "no"
        if isinstance(cell, str):
            return printable(cell, is_line=True)
        # A count is never rounded to so many digits.
        return format(cell, "," if isinstance(cell, int) and self.form.endswith("g") else self.form)


@dataclass(frozen=True)
class Table:
    """Figures with a title above and remarks below.

    Args:
        title: what the figures are of, and n.
        columns: from left to right.
        rows: a cell for each column, as numbers: forms are for people only.
        notes: lines below it.
        ruled: numbers of the rows, from 0, that a line comes after.
        shown: rows that are printed; files always get all of them.
        more: where the others are to be found.

    Example:
        >>> table = Table("two", (Column("name", is_text=True), Column("mean", ".1f")),
        ...               (("a", 1.25), ("b", None)))
        >>> print(table.to_csv())
        name,mean
        a,1.25
        b,
        <BLANKLINE>
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    ruled: frozenset[int] = frozenset()
    shown: int | None = None
    more: str = ""

    def __str__(self) -> str:
        return to_text([self])

    def to_json(self) -> list[dict[str, Cell]]:
        """An object for each row."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]

    def to_csv(self) -> str:
        """Comma-separated, with a heading, figures in full."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(csv_cell(column.name) for column in self.columns)
        writer.writerows(map(csv_cell, row) for row in self.rows)
        return text.getvalue()

    def to_markdown(self) -> str:
        """A Markdown table, title and notes as paragraphs."""
        lines = [self._heads()]
        lines.append(["---" if column.is_text else "---:" for column in self.columns])
        lines += self._texts()
        cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
        body = "\n".join(f"| {' | '.join(line)} |" for line in cells)
        return "\n\n".join([printable(self.title), body, *map(printable, self.notes)]) + "\n"

    def fit(self, width: int) -> "Group":
        """For rich, without the columns that there is no room for; long text goes on below.

        Text breaks between words only, unless a word is longer than an order.
        """
        from rich import box  # noqa: PLC0415
        from rich.console import Group  # noqa: PLC0415
        from rich.table import Table as RichTable  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        widths = self._widths()
        kept = self._columns_for(width, widths)
        table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
        lines = self._texts()[: self.shown]
        heads, num_texts = self._heads(), sum(column.is_text for column, _ in kept)
        for column, index in kept:
            justify: Literal["left", "right"] = "left" if column.is_text else "right"
            is_whole = not column.is_text or (index == 0 and num_texts > 1)  # never cut, nor broken
            words = " ".join([heads[index], *(line[index] for line in lines)]).split()
            least = widths[index] if is_whole else min(max(map(len, words), default=0), _LONG_WORD)
            table.add_column(
                Text(heads[index]), justify=justify, overflow="fold", no_wrap=is_whole,
                min_width=least,
            )  # fmt: skip
        for number, line in enumerate(lines):
            cells = [Text(line[index]) for _, index in kept]
            table.add_row(*cells, end_section=number in self.ruled)
        title = [Text(printable(self.title))] if self.title else []
        return Group(*title, *([table] if kept else []))

    def remarks(self) -> list[str]:
        """What is printed below it."""
        hidden = 0 if self.shown is None else max(len(self.rows) - self.shown, 0)
        lines = [*([f"{hidden} more rows: {self.more}"] if hidden else []), *self.notes]
        return [printable(line) for line in lines]

    def _heads(self) -> list[str]:
        return [printable(column.name, is_line=True) for column in self.columns]

    def _texts(self) -> list[list[str]]:
        return [
            [column.show(cell) for column, cell in zip(self.columns, row, strict=True)]
            for row in self.rows
        ]

    def _widths(self) -> list[int]:
        """Of each column, in characters."""
        lines = self._texts()[: self.shown]
        return [
            max(len(text) for text in (head, *(line[i] for line in lines)))
            for i, head in enumerate(self._heads())
        ]

    def _columns_for(self, width: int, widths: Sequence[int]) -> list[tuple[Column, int]]:
        """Columns that fit, with their places."""
        kept = list(range(len(self.columns)))
        while sum(widths[i] + _GAP for i in kept) + _EDGES > width:
            last = max(self.columns[i].drop for i in kept)
            if not last:
                break
            kept = [i for i in kept if self.columns[i].drop < last]
        return [(self.columns[i], i) for i in kept]


def print_tables(tables: Sequence[Table], console: "Console") -> None:
    """Tables and their notes, one below the other."""
    for table in tables:
        console.print(table.fit(console.width))
        for note in table.remarks():
            console.print(note, markup=False)


def to_text(tables: Sequence[Table], width: int = PLAIN_WIDTH) -> str:
    """What `print_tables` prints, as a string."""
    from rich.console import Console  # noqa: PLC0415

    text = io.StringIO()
    print_tables(tables, Console(file=text, width=width, highlight=False, color_system=None))
    return text.getvalue().rstrip("\n")
