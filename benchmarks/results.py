"""Result files of the benchmarks, and the tables of the documentation that are made from them.

A benchmark fills a `table`; `python benchmarks/results.py` then writes the tables of pages anew.
A page says where a table goes and what its columns are, as a column's name or as a title and a
format string over the columns:

    <!-- table: unconstrained.csv; red; seed; greedy: {greedy} ± {greedy_error} -->
    <!-- end of table -->

`leaderboard.csv where red=total` takes only some of the rows.
"""

import csv
import io
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import tyro

from standing_orders.cli.app import INTERRUPTED
from standing_orders.errors import StandingOrdersError

FOLDER = Path(__file__).parent / "results"
ROOT = FOLDER.parents[1]
_TABLE = re.compile(
    r"<!-- table: (?P<file>[\w-]+\.csv)(?: where (?P<column>\w+)=(?P<value>[^;>]+?))?"
    r"(?:; (?P<columns>.+?))? -->\n(?P<body>.*?)<!-- end of table -->",
    flags=re.DOTALL,
)

Row = Mapping[str, object]
Task = TypeVar("Task")


def launch(main: Callable[[Task], None], task: type[Task], description: str | None = None) -> None:
    """Run a benchmark from the command line: a sign of life, and a clean end.

    Args:
        main: what it does.
        task: the model of its flags.
        description: for its help.
    """
    wanted = tyro.cli(task, description=description)
    command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
    print(f"{command}: measuring; Ctrl-C stops it", file=sys.stderr, flush=True)
    try:
        main(wanted)
    except KeyboardInterrupt:
        print("stopped: tables that are not finished have not been written", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except StandingOrdersError as err:
        print(f"error: {err}", file=sys.stderr)
        sys.exit(err.exit_code)


def write(name: str, rows: Sequence[Row], *, source: str, folder: Path = FOLDER) -> None:
    """Write a result file.

    Args:
        name: of the file, such as `unconstrained.csv`.
        rows: all with the same columns, which are names as in Python; numbers as they are to be
            shown.
        source: the command that prints the result, then, behind a semicolon, how many episodes
            and seeds it rests on; one line.
        folder: where to write it.
    """
    text = io.StringIO(newline="")
    text.write(f"# {source}\n")
    file = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    file.writeheader()
    file.writerows(rows)
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text.getvalue(), encoding="utf-8")


@contextmanager
def table(name: str, *, source: str, folder: Path | None) -> Iterator[Callable[..., None]]:
    """Print a Markdown table as it grows, and write its file at the end.

    Args:
        name: of the file.
        source: see `write`.
        folder: where to write it; None: nowhere, since a quick run is no result.

    Yields:
        A function that takes the cells of a row by the names of their columns.
    """
    rows: list[Row] = []

    def add(**cells: object) -> None:
        if not rows:
            print(_line(cells), _line(["---"] * len(cells)), sep="\n")
        rows.append(cells)
        print(_line(cells.values()), flush=True)

    yield add
    print(f"\n{source}\n")
    if folder is not None and rows:
        write(name, rows, source=source, folder=folder)


def _line(cells: Iterable[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def read(name: str, folder: Path | None = None) -> list[dict[str, str]]:
    """The rows of a result file."""
    lines = ((folder or FOLDER) / name).read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def source_of(name: str) -> str:
    """The command that prints a result, and what it rests on."""
    return (FOLDER / name).read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")


def render(page: str) -> str:
    """A page with its tables made anew."""
    return _TABLE.sub(_render_one, page)


def _render_one(found: re.Match[str]) -> str:
    marker = found[0].split("\n", maxsplit=1)[0]
    if not (FOLDER / found["file"]).exists():
        return "\n".join([marker, "", "Not measured yet.", "", "<!-- end of table -->"])
    rows = read(found["file"])
    if found["column"]:
        rows = [row for row in rows if row[found["column"]] == found["value"]]
    columns = found["columns"].split("; ") if found["columns"] else list(rows[0])
    titles, formats = zip(*map(_column, columns), strict=True)
    lines = [_line(titles), _line(["---"] * len(titles))]
    lines += [_line(_cell(text, row) for text in formats) for row in rows]
    return "\n".join([marker, "", *lines, "", "<!-- end of table -->"])


def _column(text: str) -> tuple[str, str]:
    """Title and format of a column."""
    title, _, cell = text.partition(": ")
    return title, cell or f"{{{title}}}"


def _cell(text: str, row: Mapping[str, str]) -> str:
    """A cell; long whole numbers get commas, and what has no error shows none."""
    shown = {
        name: f"{int(value):,}" if value.isdecimal() and len(value) > 4 else value
        for name, value in row.items()
    }
    return text.format(**shown).removesuffix(" ± ")


def pages() -> list[Path]:
    """Every page that may hold a table."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def main() -> None:
    """Write all tables anew."""
    for path in pages():
        before = path.read_text(encoding="utf-8")
        after = render(before)
        if after != before:
            path.write_text(after, encoding="utf-8")
            print(f"{path.relative_to(ROOT)}: tables written anew")


if __name__ == "__main__":
    main()
