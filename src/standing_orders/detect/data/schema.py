"""What a run must know to read events like those it was trained on, without its training files."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray

from standing_orders.detect.data.columns import Column, WordColumn, plain_values, read_column
from standing_orders.detect.data.drift import Histogram
from standing_orders.detect.data.encoding import Encoder, WordEncoder
from standing_orders.detect.data.plan import Planned
from standing_orders.errors import CheckpointError


@dataclass(frozen=True, eq=False)
class Reading:
    """A table as the team sees it."""

    features: NDArray[np.float32]  # (num_rows, num_features)
    columns: tuple[Column, ...]  # the inputs, by which drift is measured
    misfits: dict[str, NDArray[np.bool_]]  # (num_rows,) by what is wrong and where


@dataclass(frozen=True, eq=False)
class Schema:
    """Columns, how they are encoded, and what they looked like in training."""

    name: str  # of the data
    task: Literal["records", "sessions"]
    names: tuple[str, ...]  # all columns of the table, in its order
    plan: tuple[Planned, ...]  # of the inputs and of what is left out
    encoder: Encoder
    histograms: Mapping[str, Histogram]  # by input column
    benign: tuple[str, ...] = ()  # values of the label that are no threats
    attack_names: tuple[str, ...] = ()
    _inputs: dict[str, Planned] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        used = {part.name for part in self.encoder.parts}
        inputs = {one.name: one for one in self.plan if one.name in used}
        object.__setattr__(self, "_inputs", inputs)
        if used != set(inputs):
            raise CheckpointError("schema: an encoded column has no plan")

    @property
    def inputs(self) -> Mapping[str, Planned]:
        """The plan of each column that is an input."""
        return self._inputs

    def read(self, table: pa.Table) -> Reading:
        """Encode a table; what does not fit counts as missing and is named.

        Args:
            table: with the input columns, in any order and of any types; one may be missing.
        """
        there = dict(zip(table.column_names, table.columns, strict=True))
        columns: list[Column] = []
        misfits: dict[str, NDArray[np.bool_]] = {}
        for part in self.encoder.parts:
            name, planned = part.name, self._inputs[part.name]
            values = plain_values(there[name]) if name in there else pa.nulls(table.num_rows)
            column, is_misfit = read_column(planned, values)
            columns.append(column)
            kinds = {f"no {planned.kind}": is_misfit}
            if not part.had_missing:
                is_missing = column.is_missing
                kinds["missing"] = is_missing if is_misfit is None else is_missing & ~is_misfit
            if isinstance(part, WordEncoder):
                assert isinstance(column, WordColumn)
                kinds["new value"] = part.is_new(column)
            for what, mask in kinds.items():
                if mask is not None and mask.any():
                    misfits[f"{name}: {what}"] = mask
        features = self.encoder.encode(columns)
        return Reading(features, tuple(columns), misfits)

    def to_json(self) -> dict[str, Any]:
        """Plain data for a checkpoint."""
        return {
            "name": self.name,
            "task": self.task,
            "names": list(self.names),
            "plan": [one.to_json() for one in self.plan],
            "encoder": self.encoder.to_json(),
            "histograms": {name: one.to_json() for name, one in self.histograms.items()},
            "benign": list(self.benign),
            "attack_names": list(self.attack_names),
        }

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Read what `to_json` gave.

        Raises:
            CheckpointError: it is something else.
        """
        try:
            return cls(
                name=data["name"],
                task=data["task"],
                names=tuple(data["names"]),
                plan=tuple(map(Planned.from_json, data["plan"])),
                encoder=Encoder.from_json(data["encoder"]),
                histograms={
                    name: Histogram.from_json(one) for name, one in data["histograms"].items()
                },
                benign=tuple(data["benign"]),
                attack_names=tuple(data["attack_names"]),
            )
        except (KeyError, TypeError, AttributeError) as err:
            raise CheckpointError(f"schema: {err}") from err
