"""How a benchmark ends: cleanly when it is stopped, with a line that helps when data is missing."""

from dataclasses import dataclass
from pathlib import Path

import pytest

import collect
import detect
import results
from standing_orders.cli.app import INTERRUPTED
from standing_orders.errors import DataError
from standing_orders.evaluate.bench_collect import Cell


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
