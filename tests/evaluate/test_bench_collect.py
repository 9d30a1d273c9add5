"""Measuring collectors: it ends in time, and the figures are about what was played."""

from typing import Any

import pytest

from standing_orders.collect.games import GameSpec
from standing_orders.config import GameConfig, SimulatorConfig
from standing_orders.errors import ConfigError
from standing_orders.evaluate.bench_collect import (
    BARE,
    RAW,
    Cell,
    games,
    measure_cells,
    pipe_seconds,
)
from standing_orders.evaluate.claims import judge_claims

SPEC = GameSpec(GameConfig(), horizon=5)


def test_every_cell_says_how_fast_and_where_the_time_went() -> None:
    options: dict[str, Any] = {"collectors": ("batch", "lockstep"), "workers": (2,)}
    told: list[str] = []
    alone, parallel = measure_cells(SPEC, seconds=0.1, limit=600, announce=told.append, **options)
    assert [line.split(": ")[0] for line in told] == [alone.title, parallel.title]
    assert (alone.collector, parallel.collector, parallel.workers) == ("batch", "lockstep", 2)
    for cell in (alone, parallel):
        assert not cell.note
        assert cell.cpu_rate is not None
        shares = (cell.environment, cell.inference, cell.waiting, cell.transport)
        assert sum(shares) == pytest.approx(1)
        assert min(shares) >= 0
        assert cell.rate is not None
        assert cell.rate > 0
    assert alone.transport == 0 < parallel.transport


def test_what_is_known_is_not_measured_again_but_its_memory_counts() -> None:
    known = Cell("own", "lockstep", 1, episodes=1, seconds=1, memory_mb=1e9)
    told: list[str] = []
    options: dict[str, Any] = {"collectors": ("lockstep",), "workers": (1, 2)}
    (cell,) = measure_cells(SPEC, known=[known], announce=told.append, **options)
    assert (cell.workers, cell.rate, len(told)) == (2, None, 1)
    assert cell.note == "would take 2000000.0 GB"


def test_a_cell_that_takes_too_long_is_given_up() -> None:
    (cell,) = measure_cells(SPEC, collectors=("batch",), seconds=60, limit=0.3)
    assert cell.rate is None
    assert "not done in" in cell.note


def test_a_cyborg_that_was_asked_for_must_be_there() -> None:
    with pytest.raises(ConfigError, match="no CybORG in this folder"):
        games(SimulatorConfig(cyborg_path="/nowhere"))


def cell(name: str, workers: int, rate: float, **shares: float) -> Cell:
    return Cell("cyborg", name, workers, episodes=int(rate * 10), seconds=10, **shares)  # type: ignore[arg-type]


def test_claims_stand_beside_what_was_measured() -> None:
    cells = [
        cell("sequential", 1, 4, memory_mb=300.0),
        cell(BARE, 2, 8),
        cell(RAW, 2, 10),
        cell("lockstep", 2, 5, waiting=0.25, transport=0.01),
        cell("episodes", 2, 7, memory_mb=400.0),
        cell("ray", 2, 3.5),
        Cell("own", "sequential", 1, episodes=1_000, seconds=1),
        Cell("cyborg", "episodes", 100, note="would take 30 GB"),
    ]
    claims = {claim.what: claim.measured for claim in judge_claims(cells, 2, 20e-6)}
    assert claims["whole episodes on many processes beat one environment"].startswith("1.8 times")
    assert claims["waiting at the barrier of a lock step"] == "25% of 2 workers"
    assert claims["a process pool beats Ray"] == "2.00 times with 2"
    assert claims["the same memory as one process"] == "300 MB alone, 400 MB with 2"
    assert claims["shared memory instead of pipes"] == "1.01 times with 2 workers"
    bare = next(text for what, text in claims.items() if "against bare loops" in what)
    assert bare == "88% (70%) with 2"


def test_sending_a_step_takes_microseconds() -> None:
    assert 1e-6 < pipe_seconds() < 1e-2
