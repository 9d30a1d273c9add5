"""A page as plain data: sections of blocks, which the page's script draws.

Every block is a dict with its `kind`; the functions here make them, so that a wrong name is an
error in Python and not an empty place on the page.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from standing_orders.report.episodes import Episode, game_names
from standing_orders.version import VERSION

Block = dict[str, Any]
Cell = str | float | int | bool | None


def document(title: str, subtitle: str, sections: Sequence[Block]) -> dict[str, Any]:
    """A whole page."""
    return {
        "title": title,
        "subtitle": subtitle,
        "sections": [section for section in sections if section["blocks"]],
        "names": game_names(),
        "footer": f"Written by standing-orders {VERSION}. One file, nothing loaded from the "
        "network.",
    }


def section(title: str, *blocks: Block | None, short: str | None = None) -> Block:
    """A part of the page; blocks that are None are left out.

    Args:
        title: above it.
        blocks: in order.
        short: its name in the bar at the top.
    """
    return {"title": title, "short": short or title, "blocks": [b for b in blocks if b is not None]}


def lead(text: str) -> Block:
    """The answer, large."""
    return {"kind": "lead", "text": text}


def text(words: str) -> Block:
    """A paragraph."""
    return {"kind": "text", "text": words}


def warning(words: str) -> Block:
    """A paragraph that must not be overlooked."""
    return {"kind": "warning", "text": words}


def code(words: str, *, title: str | None = None) -> Block:
    """Something to type."""
    return {"kind": "code", "text": words, "title": title}


def facts(*items: tuple[str, Cell, str | None]) -> Block:
    """Figures with a name, a value and a small line below each."""
    return {"kind": "facts", "items": [list(item) for item in items]}


def grid(*blocks: Block | None) -> Block | None:
    """Blocks beside each other where there is room; None if there is none."""
    kept = [block for block in blocks if block is not None]
    return {"kind": "grid", "blocks": kept} if kept else None


def column(name: str, form: str | None = None, *, wrap: bool = False) -> Block:
    """A column of a table: of numbers if it has a form (number, percent, whole, one, two)."""
    return {"name": name, "num": form is not None, "format": form, "wrap": wrap}


def table(
    columns: Sequence[Block],
    rows: Sequence[Sequence[Cell]],
    *,
    title: str | None = None,
    note: str | None = None,
    keys: Sequence[str] | None = None,
    marked: Sequence[bool] | None = None,
) -> Block:
    """A table that sorts.

    Args:
        columns: made by `column`.
        rows: of cells.
        title: above it.
        note: below it.
        keys: of the rows; things with the same key light up together.
        marked: rows to tint.
    """
    return {
        "kind": "table",
        "columns": list(columns),
        "rows": [list(row) for row in rows],
        "title": title,
        "note": note,
        "keys": None if keys is None else list(keys),
        "marked": None if marked is None else list(marked),
    }


def lines(
    title: str,
    series: Sequence[Mapping[str, Any]],
    *,
    x: str,
    y: str,
    form: str = "number",
    note: str | None = None,
    value_range: tuple[float, float] | None = None,
    levels: Sequence[tuple[str, float]] = (),
    marks: Sequence[tuple[float, str, bool]] = (),
    include: Sequence[float] = (),
) -> Block:
    """Lines over a common x, each with `name`, `x`, `y` and perhaps `low`, `high` and `key`.

    Args:
        title: above it.
        series: the lines.
        x: name of the axis.
        y: name of the axis.
        form: of the values.
        note: below it.
        value_range: of the y axis; what the values need if left out.
        levels: horizontal lines, name and value.
        marks: vertical lines: place, name, whether it is good news.
        include: values that the y axis must reach.
    """
    return {
        "kind": "lines",
        "title": title,
        "series": [dict(one) for one in series],
        "x": x,
        "y": y,
        "format": form,
        "note": note,
        "range": None if value_range is None else list(value_range),
        "levels": [{"name": name, "value": value} for name, value in levels],
        "marks": [{"x": place, "name": name, "good": good} for place, name, good in marks],
        "include": list(include),
    }


def intervals(
    title: str,
    rows: Sequence[Mapping[str, Any]],
    *,
    x: str,
    form: str = "number",
    level: float | None = None,
    note: str | None = None,
) -> Block:
    """A dot with its interval for each row: `name`, `mean`, `low`, `high`, perhaps `error`, `key`.

    Args:
        title: above it.
        rows: from top to bottom.
        x: name of the axis.
        form: of the values.
        level: a reference line.
        note: below it.
    """
    return {
        "kind": "intervals",
        "title": title,
        "rows": [dict(row) for row in rows],
        "x": x,
        "format": form,
        "level": level,
        "include": [] if level is None else [level],
        "note": note,
    }


def heat(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float | None]],
    *,
    form: str = "number",
    note: str | None = None,
    counts: Sequence[Sequence[int]] | None = None,
) -> Block:
    """A heat map; a value that is None is left blank."""
    return {
        "kind": "heat",
        "title": title,
        "rows": list(rows),
        "columns": list(columns),
        "values": [list(row) for row in values],
        "format": form,
        "note": note,
        "counts": None if counts is None else [list(row) for row in counts],
    }


def parallel(
    title: str,
    axes: Sequence[Mapping[str, Any]],
    rows: Sequence[Mapping[str, Any]],
    *,
    note: str | None = None,
) -> Block:
    """Parallel coordinates.

    Args:
        title: above it.
        axes: `name`, and `values` (names of 0, 1, ...) or a `format`.
        rows: `name`, `key`, `values` (one for each axis) and `share` (0 to 1: its colour).
        note: below it.
    """
    return {
        "kind": "parallel",
        "title": title,
        "axes": [dict(axis) for axis in axes],
        "rows": [dict(row) for row in rows],
        "note": note,
    }


def choice(label: str, options: Mapping[str, Block]) -> Block | None:
    """One of several blocks, picked by the reader; the first at the beginning.

    Args:
        label: of the picker.
        options: name -> block.
    """
    if not options:
        return None
    return {
        "kind": "choice",
        "label": label,
        "options": [{"name": name, "block": block} for name, block in options.items()],
    }


def replay(episodes: Sequence[Episode]) -> Block:
    """The player."""
    return {"kind": "replay", "episodes": [episode.to_json() for episode in episodes]}


def wide(block: Block | None) -> Block | None:
    """The same block over the whole width of its grid."""
    return None if block is None else {**block, "wide": True}
