"""A table as data: printed on a terminal of any width, or written as CSV, Markdown or JSON."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.console import Console, Group

PLAIN_WIDTH = 160  # of a table that goes into a pipe or a string: never cut a figure
_GAP, _EDGES = 3, -1  # between columns, and what the two ends have more than one gap
Cell = str | int | float | bool | None


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
        return cell if isinstance(cell, str) else format(cell, self.form)


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
        writer.writerow(column.name for column in self.columns)
        writer.writerows(self.rows)
        return text.getvalue()

    def to_markdown(self) -> str:
        """A Markdown table, title and notes as paragraphs."""
        lines = [[column.name for column in self.columns]]
        lines.append(["---" if column.is_text else "---:" for column in self.columns])
        lines += self._texts()
        body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return "\n\n".join([self.title, body, *self.notes]) + "\n"

    def fit(self, width: int) -> "Group":
        """For rich, without the columns that there is no room for."""
        from rich import box  # noqa: PLC0415
        from rich.console import Group  # noqa: PLC0415
        from rich.table import Table as RichTable  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        kept = self._columns_for(width)
        table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
        for column, _ in kept:
            justify: Literal["left", "right"] = "left" if column.is_text else "right"
            table.add_column(Text(column.name), justify=justify, no_wrap=True)
        for number, line in enumerate(self._texts()[: self.shown]):
            cells = [Text(line[index]) for _, index in kept]
            table.add_row(*cells, end_section=number in self.ruled)
        return Group(*([Text(self.title)] if self.title else []), *([table] if kept else []))

    def remarks(self) -> list[str]:
        """What is printed below it."""
        hidden = 0 if self.shown is None else max(len(self.rows) - self.shown, 0)
        return [*([f"{hidden} more rows: {self.more}"] if hidden else []), *self.notes]

    def _texts(self) -> list[list[str]]:
        return [
            [column.show(cell) for column, cell in zip(self.columns, row, strict=True)]
            for row in self.rows
        ]

    def _columns_for(self, width: int) -> list[tuple[Column, int]]:
        """Columns that fit, with their places."""
        lines = self._texts()[: self.shown]
        widths = [
            max(len(text) for text in (column.name, *(line[i] for line in lines)))
            for i, column in enumerate(self.columns)
        ]
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
