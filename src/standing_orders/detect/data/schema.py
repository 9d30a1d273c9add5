"""What a run must know to read events like those it was trained on, without its training files."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray
from pydantic import BeforeValidator, WrapSerializer

from standing_orders.detect.data.columns import Column, WordColumn, plain_values, read_column
from standing_orders.detect.data.drift import Histogram
from standing_orders.detect.data.encoding import Encoder, NumberEncoder, WordEncoder
from standing_orders.detect.data.plan import Planned
from standing_orders.detect.data.saved import Saved
from standing_orders.errors import CheckpointError


@dataclass(frozen=True, eq=False)
class Reading:
    """A table as the team sees it."""

    features: NDArray[np.float32]  # (num_rows, num_features)
    columns: tuple[Column, ...]  # the inputs, by which drift is measured
    misfits: dict[str, NDArray[np.bool_]]  # (num_rows,) by what is wrong and where


@dataclass(frozen=True, eq=False)
class Schema(Saved):
    """Columns, how they are encoded, and what they looked like in training."""

    name: str  # of the data
    task: Literal["records", "sessions"]
    names: tuple[str, ...]  # all columns of the table, in its order
    plan: tuple[Planned, ...]  # of the inputs and of what is left out
    encoder: Annotated[  # saved as the list of its parts
        Encoder,
        BeforeValidator(lambda parts: {"parts": parts}),
        WrapSerializer(lambda encoder, plain: plain(encoder)["parts"]),
    ]
    histograms: Mapping[str, Histogram]  # by input column
    benign: tuple[str, ...] = ()  # values of the label that are no threats
    attack_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.inputs) < len(self.encoder.parts):
            raise CheckpointError("schema: an encoded column has no plan")

    @cached_property
    def inputs(self) -> Mapping[str, Planned]:
        """The plan of each column that is an input."""
        used = {part.name for part in self.encoder.parts}
        return {one.name: one for one in self.plan if one.name in used}

    def read(self, table: pa.Table) -> Reading:
        """Encode a table with its columns in any order; what does not fit is missing and named."""
        there = dict(zip(table.column_names, table.columns, strict=True))
        columns: list[Column] = []
        misfits: dict[str, NDArray[np.bool_]] = {}
        for part in self.encoder.parts:
            name = part.name
            values = plain_values(there[name]) if name in there else pa.nulls(table.num_rows)
            column, is_misfit = read_column(self.inputs[name], values)
            columns.append(column)
            for what, mask in self._misfits(part, column, is_misfit):
                if mask.any():
                    misfits[f"{name}: {what}"] = mask
        return Reading(self.encoder.encode(columns), tuple(columns), misfits)

    def _misfits(
        self, part: NumberEncoder | WordEncoder, column: Column, is_misfit: NDArray[np.bool_] | None
    ) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        """What does not fit a column, and where."""
        if is_misfit is not None:
            yield f"no {self.inputs[part.name].kind}", is_misfit
        if not part.had_missing:
            yield (
                "missing",
                (column.is_missing if is_misfit is None else column.is_missing & ~is_misfit),
            )
        if isinstance(part, WordEncoder):
            assert isinstance(column, WordColumn)
            if (is_new := part.is_new(column)) is not None:
                yield "new value", is_new
