"""Figures of the pages are those of the result files."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from standing_orders.cage2.defenders import ScriptedDefender
from standing_orders.cage2.policy import NAMES
from standing_orders.config import GameConfig
from standing_orders.detect.learn import run as detect_run
from standing_orders.evaluate.card import evaluate
from standing_orders.learn import run as train_run
from standing_orders.search import mirrors
from tests.docs.pages import PAGES, README, ROOT, all_commands, name_of

RESULTS = sorted((ROOT / "benchmarks" / "results").glob("*.csv"))


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The helper of the benchmarks."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import results

    yield results
    del sys.modules["results"]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_tables_are_those_of_the_files(page: Path, results: ModuleType) -> None:
    text = page.read_text(encoding="utf-8")
    assert results.render(text) == text, "python benchmarks/results.py writes the tables anew"


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.name)
def test_result_is_shown_and_says_where_it_is_from(path: Path, results: ModuleType) -> None:
    command = results.source_of(path.name).split(";")[0]
    assert command in all_commands("standing-orders ") + all_commands("python ")
    assert any(f"<!-- table: {path.name}" in page.read_text(encoding="utf-8") for page in PAGES)


def test_a_changed_result_changes_the_page(results: ModuleType, tmp_path: Path) -> None:
    rows = [{"red": "b_line", "mean": -1.5, "error": 0.25, "episodes": 40_000},
            {"red": "total", "mean": -2.5, "error": "", "episodes": 10}]  # fmt: skip
    results.write("new.csv", rows, source="python x.py; n = 2", folder=tmp_path)
    results.FOLDER = tmp_path
    page = "<!-- table: new.csv; red; m: {mean} ± {error}; episodes -->\nold\n<!-- end of table -->"
    shown = results.render(page)
    assert "| b_line | -1.5 ± 0.25 | 40,000 |\n| total | -2.5 | 10 |" in shown
    assert results.render(shown) == shown
    assert "b_line" not in results.render(page.replace("new.csv", "new.csv where red=total"))


def test_figures_of_the_readme_are_on_the_page_that_it_names() -> None:
    text = README.read_text("utf-8").replace("\N{MINUS SIGN}", "-")
    rows = re.findall(r"\*\*(-?[\d,.]+)\*\*.*\]\((docs/[\w-]+\.md)", text)
    assert len(rows) == 4
    for figure, page in rows[1:]:  # parity is counted by its own command
        shown = re.escape(figure)
        assert re.search(rf"\| {shown}( ± [\d.]+)? \|", (ROOT / page).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NAMES)
def test_scores_of_defenders_are_those_of_the_command(name: str, results: ModuleType) -> None:
    card = evaluate(
        ScriptedDefender(name), GameConfig(), reds=("b_line", "meander"), num_episodes=1_000, seed=0
    )
    row = next(row for row in results.read("defenders.csv") if row["defender"] == name)
    for red in ("b_line", "meander"):
        score = card.score(red, 100)
        assert row[red] == f"{score.mean:.1f}"
        assert row[f"{red}_error"] == f"{score.std_error:.1f}"


def test_columns_of_the_logs_are_the_documented_ones() -> None:
    page = (ROOT / "docs" / "run-folder.md").read_text(encoding="utf-8")
    tables = re.findall(r"\| `-f` .*?\n\|---.*?\n((?:\|.*\n)+)", page)
    documented = [re.findall(r"^\| (\d+) \| `(\w+)`", table, re.MULTILINE) for table in tables]
    logs = (train_run.CSV_COLUMNS, mirrors.SAMPLING_COLUMNS, detect_run.CSV_COLUMNS)
    assert documented == [
        [(str(place), name) for place, name in enumerate(log, start=1)] for log in logs
    ]
    assert ", ".join(f"`{name}`" for name in mirrors.LEADERBOARD_COLUMNS) in page.replace("\n", " ")
