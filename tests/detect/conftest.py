"""Where the tests find real data sets: beside the repository, never in it."""

from pathlib import Path

import pytest

REAL_DATA = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture
def real_data() -> Path:
    if not REAL_DATA.is_dir():
        pytest.skip("the real data sets are not beside the repository")
    return REAL_DATA
