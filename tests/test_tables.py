import json

import pytest

from standing_orders.tables import Column, Table, to_text

TABLE = Table(
    "three rows",
    (
        Column("name", is_text=True),
        Column("mean return", ".1f"),
        Column("share", ".1%", drop=1),
        Column("low 95 %", ".2f", drop=2),
        Column("high 95 %", ".2f", drop=2),
    ),
    (("a", -1.25, 0.5, -2.0, 0.0), ("b", None, None, None, None), ("c", 3, 1.0, 2.0, True)),
    notes=("a remark",),
)


def test_cells_are_shown_by_the_form_of_their_column() -> None:
    lines = [line.split() for line in str(TABLE).splitlines() if line.strip()]
    assert lines[0] == ["three", "rows"]
    assert lines[3] == ["a", "-1.2", "50.0%", "-2.00", "0.00"]
    assert lines[4] == ["b", "-", "-", "-", "-"]
    assert lines[5] == ["c", "3.0", "100.0%", "2.00", "yes"]
    assert lines[6] == ["a", "remark"]


@pytest.mark.parametrize(
    ("width", "kept"),
    [(80, 5), (52, 5), (51, 3), (29, 3), (28, 2), (20, 2)],
)
def test_columns_go_in_the_stated_order_and_no_line_is_too_long(width: int, kept: int) -> None:
    text = to_text([TABLE], width)
    shown = [column.name for column in TABLE.columns if column.name in text]
    assert shown == [column.name for column in TABLE.columns[:kept]]
    assert max(map(len, text.splitlines())) <= width


def test_hidden_rows_are_counted_and_exported_all_the_same() -> None:
    table = Table(TABLE.title, TABLE.columns, TABLE.rows, shown=1, more="all.csv")
    assert "2 more rows: all.csv" in str(table)
    assert len(table.to_json()) == 3
    assert table.to_csv().splitlines()[1:] == ["a,-1.25,0.5,-2.0,0.0", "b,,,,", "c,3,1.0,2.0,True"]


def test_markdown_has_every_row() -> None:
    lines = TABLE.to_markdown().splitlines()
    assert lines[2] == "| name | mean return | share | low 95 % | high 95 % |"
    assert lines[3] == "| --- | ---: | ---: | ---: | ---: |"
    assert len(lines) == 9


def test_text_in_brackets_is_no_markup() -> None:
    table = Table("[bold]x[/nonsense]", (Column("[red]", is_text=True),), (("[dim]",),), ("[/a]",))
    for text in ("[bold]x[/nonsense]", "[red]", "[dim]", "[/a]"):
        assert text in str(table)
    assert json.dumps(table.to_json()) == '[{"[red]": "[dim]"}]'
