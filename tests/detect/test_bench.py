"""The benchmark measures every way of judging, and gives up what takes too long."""

import pytest

from standing_orders.detect import bench


@pytest.mark.slow
def test_every_cell_has_a_figure_or_says_why_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "BATCHES", (1, 10))
    monkeypatch.setattr(bench, "_TRAINED_ON", 400)
    monkeypatch.setattr(bench, "_MOST", 40)
    variants = bench.VARIANTS
    cells = list(bench.measure_detect(seconds=0.02, rows=(200,), limit=0.01, variants=variants))
    judged, files = cells[: 2 * len(variants)], cells[2 * len(variants) :]
    assert [cell.what for cell in judged[::2]] == [variant.name for variant in variants]
    for cell in judged:
        assert cell.rate and cell.p50 and cell.p99 and cell.p99 >= cell.p50 > 0
    assert [cell.note for cell in files] == ["not done after 0.01 s"] * 2
