import json

import pytest

from standing_orders.evaluate import bench
from tests.cli.commands import run


def test_bench_prints_json(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "BATCH_SIZES", (1, 10))
    assert run("bench", "sim", "--seconds", "0.01", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["bytes_per_environment"] < 1_000
    measured = {(speed["system"], speed["red"]) for speed in result["speeds"]}
    assert measured >= {
        (system, red)
        for system in ("standing-orders", "gymnasium Env.step")
        for red in ("b_line", "meander", "sleep")
    }
    assert all(speed["steps_per_second"] > 0 for speed in result["speeds"])


def test_bench_prints_a_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "BATCH_SIZES", (10,))
    assert run("bench", "sim", "--seconds", "0.01") == 0
    assert "steps/s" in capsys.readouterr().out


def test_bench_train_prints_the_split(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("bench", "train", "--episodes", "100") == 0
    out = capsys.readouterr().out
    assert "s playing" in out
    assert "s learning" in out
