"""Result files of the benchmarks, and the tables of the documentation that are made from them.

A benchmark calls `write`; `python benchmarks/results.py` then writes the tables of all pages anew.
A page says where a table goes and what its columns are, as a column's name or as a title and a
format string over the columns:

    <!-- table: unconstrained.csv; red; seed; greedy: {greedy} ± {greedy_error} -->
    <!-- end of table -->

`leaderboard.csv where red=total` takes only some of the rows.
"""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

FOLDER = Path(__file__).parent / "results"
ROOT = FOLDER.parents[1]
_TABLE = re.compile(
    r"<!-- table: (?P<file>[\w-]+\.csv)(?: where (?P<column>\w+)=(?P<value>[^;>]+?))?"
    r"(?:; (?P<columns>.+?))? -->\n(?P<body>.*?)<!-- end of table -->",
    flags=re.DOTALL,
)

Row = Mapping[str, object]


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
    table = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text.getvalue(), encoding="utf-8")


def read(name: str) -> list[dict[str, str]]:
    """The rows of a result file."""
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def source_of(name: str) -> str:
    """The command that prints a result, and what it rests on."""
    return (FOLDER / name).read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")


def render(page: str) -> str:
    """A page with its tables made anew."""
    return _TABLE.sub(_render_one, page)


def _render_one(found: re.Match[str]) -> str:
    rows = read(found["file"])
    if found["column"]:
        rows = [row for row in rows if row[found["column"]] == found["value"]]
    columns = found["columns"].split("; ") if found["columns"] else list(rows[0])
    titles, formats = zip(*map(_column, columns), strict=True)
    lines = [titles, ["---"] * len(titles)]
    lines += [[_cell(text, row) for text in formats] for row in rows]
    table = "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
    marker = found[0].split("\n", maxsplit=1)[0]
    return f"{marker}\n\n{table}\n<!-- end of table -->"


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
