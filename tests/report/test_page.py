"""The page is one file that nothing from a run can turn into code."""

import json
import math
from pathlib import Path

import pytest

from standing_orders.errors import DataError
from standing_orders.report import document as doc
from standing_orders.report.page import MAX_BYTES, clean, embed, render, write_page

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> <!-- \u2028 &lt;"


def page(*blocks: doc.Block) -> dict[str, object]:
    return doc.document("title", "subtitle", [doc.section("One", *blocks)])


def test_embedded_data_holds_no_character_that_html_reads() -> None:
    text = embed({"name": HOSTILE})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text)["name"] == HOSTILE


def test_terminal_escapes_and_marks_that_turn_text_around_are_replaced() -> None:
    assert clean(["\x1b[2J", "\u202eabc", "a\nb\tc"]) == ["\\x1b[2J", "\\u202eabc", "a\nb\tc"]


def test_numbers_that_are_not_finite_are_refused() -> None:
    with pytest.raises(DataError, match="cannot be written"):
        embed({"value": math.nan})


def test_the_page_names_no_other_place() -> None:
    text = render(page(doc.lead(HOSTILE)))
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in text
    assert text.count("<script") == 2
    assert "default-src 'none'" in text
    assert "unsafe-inline" not in text


def test_the_same_data_give_the_same_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "a.html", tmp_path / "b.html"
    assert write_page(first, page(doc.lead("x"))) == write_page(second, page(doc.lead("x")))
    assert first.read_bytes() == second.read_bytes()


def test_a_page_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="bytes"):
        write_page(tmp_path / "a.html", page(doc.lead("x" * MAX_BYTES)))
    assert not (tmp_path / "a.html").exists()
