"""How a benchmark ends: cleanly when it is stopped, with a line that helps when data is missing."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import collect
import detect
import knowledge
import results
from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.scenario import NUM_HOSTS
from standing_orders.cli.app import INTERRUPTED
from standing_orders.config import SimConfig
from standing_orders.errors import DataError
from standing_orders.evaluate.bench_collect import Cell
from standing_orders.learn.inputs import InputEncoder, InputLayout


@dataclass(frozen=True)
class Nothing:
    """No flags."""


def stop(_: Nothing) -> None:
    raise KeyboardInterrupt


def fail(_: Nothing) -> None:
    raise DataError("events.csv: no such file")


@pytest.mark.parametrize(
    ("main", "code", "said"), [(stop, INTERRUPTED, "stopped"), (fail, 3, "error: events.csv")]
)
def test_a_benchmark_ends_without_a_traceback(
    main: object, code: int, said: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr("sys.argv", ["benchmarks/any.py"])
    with pytest.raises(SystemExit) as end:
        results.launch(main, Nothing)  # type: ignore[arg-type]
    assert end.value.code == code
    shown = capsys.readouterr().err
    assert shown.startswith("any.py: measuring")
    assert said in shown


def test_missing_data_is_named_with_where_to_get_it(tmp_path: Path) -> None:
    task = detect.Task("records", data=tmp_path)
    with pytest.raises(DataError, match=r"nsl-kdd: no such folder: it should hold NSL-KDD, www\."):
        detect.read(task, detect.config_of(task, "nsl-kdd"))


def test_a_measurement_of_collectors_goes_on_from_its_file(tmp_path: Path) -> None:
    cells = [
        Cell("own", "episodes", 2, 200, 1.5, 0.25, 0.5, 0.25, 0.125, 0.125, 2.5, memory_mb=400.0),
        Cell("cyborg", "ray", 100, note="would take 30.0 GB"),
    ]
    path = tmp_path / collect.SPEED
    rows = [collect._to_row(cell) for cell in cells]
    results.write(path.name, rows, source="x; n = 1", folder=tmp_path)
    assert collect.read_cells(path) == cells
    assert collect.read_cells(tmp_path / "none.csv") == []


def test_a_defender_that_is_told_the_truth_knows_who_is_held() -> None:
    game, restore = SimConfig(red="meander", head_start=30, red_tempo=2), 139
    layout = InputLayout(has_belief=True, has_foresight=True)
    batch = Cage2Batch(20, game)
    with knowledge.told_the_truth():
        observations = batch.reset(seed=5)
        encoder = InputEncoder(layout, np.zeros(20, np.int64), game)
        for _ in range(30):
            encoder.encode(observations, np.zeros((20, layout.size), np.int8))
            assert encoder.belief is not None
            held = batch.states["held"][:, None] >> np.arange(NUM_HOSTS) & 1
            assert np.array_equal(encoder.belief.held, held)
            assert np.all(encoder.belief.foresee().sum(axis=(1, 2)) <= 1)
            actions = np.full(20, restore)
            encoder.note(actions)
            observations, _ = batch.step(actions)
    assert type(InputEncoder(layout, np.zeros(1, np.int64), game).belief).__name__ == "Belief"
