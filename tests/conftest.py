"""Where the tests find recordings, in the repository and beside it."""

from pathlib import Path

import pytest

REFERENCE = Path(__file__).parent / "reference"
SHARED = Path(__file__).parents[2] / "shared" / "cage2"


@pytest.fixture
def reference() -> Path:
    return REFERENCE


@pytest.fixture
def shared() -> Path:
    """The complete recordings; they are too large for the repository."""
    if not SHARED.is_dir():
        pytest.skip("the complete recordings are not beside the repository")
    return SHARED
