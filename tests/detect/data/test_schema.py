"""A schema comes back from its file and reads a table as the training file was read."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from standing_orders.detect.data.load import load, load_more
from standing_orders.detect.data.options import DataConfig
from standing_orders.detect.data.schema import Schema
from standing_orders.detect.data.tables import read_tables
from standing_orders.errors import CheckpointError
from tests.detect.data.test_load import make_table, save


def test_a_saved_schema_gives_the_same_features(tmp_path: Path) -> None:
    path, other = (
        save(make_table(), tmp_path / "a.csv"),
        save(make_table(seed=1), tmp_path / "b.csv"),
    )
    config = DataConfig(data=(path,), test_data=(other,), label="label")
    data = load(config)
    assert data.schema is not None
    schema = Schema.from_json(json.loads(json.dumps(data.schema.to_json())))
    reading = schema.read(read_tables([other], config))
    assert np.array_equal(reading.features, data.test.features)
    as_text = pa.table({n: c.cast(pa.string()) for n, c in
                        zip(*_parts(read_tables([other], config)), strict=True)})  # fmt: skip
    assert np.array_equal(schema.read(as_text).features, data.test.features)
    more = load_more(config.model_copy(update={"data": (other,)}), schema)
    assert np.array_equal(more.features, data.test.features)
    assert np.array_equal(more.is_threat, data.test.is_threat)


def _parts(table: pa.Table) -> tuple[list[str], list[pa.ChunkedArray]]:
    return table.column_names, table.columns


def test_what_is_no_schema_is_refused() -> None:
    for data in (None, {}, {"name": "x"}, {"plan": 3}):
        with pytest.raises(CheckpointError):
            Schema.from_json(data)
