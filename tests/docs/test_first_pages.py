"""The pages that a reader begins with are run from top to bottom, with small budgets."""

from pathlib import Path

import pytest

from tests.docs.pages import FIRST_PAGES, PAGES, name_of
from tests.docs.running import run_page


@pytest.mark.parametrize("page", FIRST_PAGES, ids=name_of)
@pytest.mark.usefixtures("capsys")
def test_page_runs_from_top_to_bottom(page: Path, newcomer: Path) -> None:
    assert page in PAGES
    run_page(page, newcomer)
