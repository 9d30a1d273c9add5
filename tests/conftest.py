"""Where the tests find recordings, in the repository and beside it, and what many of them share.

Every process of the tests has one core: threads that wait for each other only take it away.
"""

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.effort import Run

for _library in ("OMP", "OPENBLAS", "MKL"):  # before anything imports numpy or torch
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

REFERENCE = Path(__file__).parent / "reference"
SHARED = Path(__file__).parents[2] / "shared" / "cage2"


def pytest_configure(config: pytest.Config) -> None:
    Run.is_brief = "not slow" in config.option.markexpr


def pytest_collection_finish() -> None:
    """On several cores, let a kernel be compiled by one process and loaded by the others."""
    if "PYTEST_XDIST_WORKER" in os.environ and "numba" in sys.modules:
        compile_one_at_a_time()


def compile_one_at_a_time() -> None:
    """Of two processes that miss the same kernel, the second waits and then finds it kept."""
    from numba.core.dispatcher import Dispatcher

    compile_kernel = Dispatcher.compile
    depth = 0

    def compile_locked(self: Any, signature: Any) -> Any:
        nonlocal depth
        with ExitStack() as stack:
            if depth == 0:  # else it is called by one that is being compiled
                fcntl.flock(stack.enter_context(Path(__file__).open()), fcntl.LOCK_EX)
            depth += 1
            try:
                return compile_kernel(self, signature)
            finally:
                depth -= 1

    Dispatcher.compile = compile_locked


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


@pytest.fixture(scope="module")
def brief_prior() -> Iterator[None]:
    """A search asks its base policy about every order, but in games of a few steps."""
    from standing_orders.learn import build
    from standing_orders.search import run

    def ask(*settings: Any) -> tuple[float, float]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(build, "game_of", lambda config: replace(game_of(config), horizon=12))
            return ask_network(*settings)

    ask_network, game_of = build.ask_network, build.game_of
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "ask_network", ask)
        yield


@pytest.fixture(scope="package")
def brief_endings() -> Iterator[None]:
    """What a command that trained measures and plays at its end, with few episodes."""
    from standing_orders.api import ending
    from standing_orders.cli import report

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ending, "NUM_ORDERS_TOLD", 2)
        patch.setattr(report, "EPISODES", 4)
        yield
