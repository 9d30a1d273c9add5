"""Where the tests find recordings, in the repository and beside it, and a Ray cluster."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

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


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Ray with a cluster of our own, one for all tests of a module."""
    from standing_orders.collect.cluster import open_cluster

    pytest.importorskip("ray")
    with open_cluster(None, 2) as ray:
        yield ray


@pytest.fixture(scope="package")
def brief_endings() -> Iterator[None]:
    """What a command that trained measures and plays at its end, with few episodes."""
    from standing_orders.api import ending
    from standing_orders.cli import report

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ending, "NUM_ORDERS_TOLD", 2)
        patch.setattr(report, "EPISODES", 4)
        yield
