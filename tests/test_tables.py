import json

import pytest

from standing_orders.tables import Column, Table, printable, to_text

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


def test_where_nothing_can_go_text_goes_on_below_and_no_figure_is_cut() -> None:
    columns = (Column("name", is_text=True), Column("about", is_text=True), Column("mean", ".2f"))
    table = Table("", columns, (("zoo/a-long-name", "words " * 12, -123.45),))
    lines = to_text([table], 40).splitlines()
    assert max(map(len, lines)) <= 40
    assert any("zoo/a-long-name" in line and "-123.45" in line for line in lines)
    assert sum(line.count("words") for line in lines) == 12
    assert "…" not in "".join(lines)


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


HOSTILE = "a\x1b]0;b\x07\u202e\udcff[/bold]"


def test_what_a_terminal_would_obey_is_shown_as_its_escape() -> None:
    assert printable("plain é\n\ttext") == "plain é\n\ttext"
    assert printable("a\nb\tc", is_line=True) == "a\\nb\\tc"
    assert printable(HOSTILE) == "a\\x1b]0;b\\x07\\u202e\\udcff[/bold]"
    table = Table(HOSTILE, (Column(HOSTILE),), ((HOSTILE,),), notes=(HOSTILE,))
    for text in (str(table), table.to_csv(), table.to_markdown()):
        assert text.count("[/bold]") >= 2
        assert not set("\x1b\x07\u202e\udcff") & set(text)


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-x", "@sum", " =1", "\t=1"])
def test_a_cell_that_a_spreadsheet_would_run_is_quoted(text: str) -> None:
    table = Table("", (Column("name"),), ((text,),))
    assert table.to_csv().splitlines()[1].strip('"').startswith("'")


def test_numbers_are_left_as_they_are_in_csv() -> None:
    table = Table("", (Column("a"), Column("b"), Column("c")), ((-1.5, "-1.5", "+2e3"),))
    assert table.to_csv().splitlines()[1] == "-1.5,-1.5,+2e3"


def test_a_column_sign_does_not_break_a_markdown_table() -> None:
    table = Table("t", (Column("a|b"),), (("c|d",),))
    assert "| a\\|b |" in table.to_markdown()
    assert "| c\\|d |" in table.to_markdown()


def test_a_single_text_column_keeps_its_words_and_figures_stay_whole() -> None:
    columns = (Column("kind of liar", is_text=True), Column("0", ".4g"), Column("9", ".4g", drop=9))
    table = Table("", columns, (("says the opposite", 0.5109, 14_540),) * 2)
    text = to_text([table], 25)
    assert "14,540" not in text  # dropped before anything is cut
    assert "0.5109" in text
    assert "opposite" in text
    assert "14,540" in to_text([table], 60)
