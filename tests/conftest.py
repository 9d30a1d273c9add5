"""Where the tests find recordings, in the repository and beside it, and what many of them share.

Every process of the tests has one core: threads that wait for each other only take it away.
"""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

for _library in ("OMP", "OPENBLAS", "MKL"):  # before anything imports numpy or torch
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

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


@pytest.fixture
def brief_detection(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stream that comes with the package with few sessions, and boosting in a few rounds."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    from standing_orders.detect.data import load, synthetic

    fit = HistGradientBoostingClassifier.fit

    def fit_briefly(model: Any, *arguments: Any, **options: Any) -> Any:
        return fit(model.set_params(max_iter=10), *arguments, **options)

    few = partial(synthetic.make_sessions, num_sessions=300)
    monkeypatch.setattr(load, "make_sessions", few)
    monkeypatch.setattr(HistGradientBoostingClassifier, "fit", fit_briefly)


@pytest.fixture(scope="package")
def brief_endings() -> Iterator[None]:
    """What a command that trained measures and plays at its end, with few episodes."""
    from standing_orders.api import ending
    from standing_orders.cli import report

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ending, "NUM_ORDERS_TOLD", 2)
        patch.setattr(report, "EPISODES", 4)
        yield
