"""Columns -> features that a small network learns from; everything is fitted on training rows.

| column | features |
|---|---|
| number x | z = log(1 + abs(x) / unit) with the sign of x, standardised, cut at +-5; `unit` is |
| | the median size of non-zero training values, so the user's units do not matter |
| number x | x in [a, b] -> (x - a) / (b - a), 0 below and 1 above, for each piece [a, b] between |
| | training quantiles: a linear layer on these is any piecewise-linear function of x |
| word | 1 for its own value, for each frequent training value; rare and unseen ones share |
| | `other`, or are all 0 if training has no rare one |
| missing | the training median, and (if any was missing in training) 1 in `column=missing` |

Infinite (or absurd) numbers become the largest or smallest other training value. Pieces: Gorishniy
et al., "On embeddings for numerical features in tabular deep learning", NeurIPS 2022.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.data.columns import Column, NumericColumn, WordColumn
from standing_orders.detect.data.options import DataConfig

MAX_DEVIATION = 5.0  # standard deviations at which z is cut
HUGE = 1e100  # sizes beyond it count as infinite
MIN_COUNT = 20  # of a frequent value, or 2 % of a small training part
CONSTANT = "constant in the training part"
OTHER, MISSING = "other", "missing"


@dataclass(frozen=True, eq=False)
class NumberEncoder:
    """A fitted numeric column."""

    name: str
    low: float  # smallest and largest finite training value
    high: float
    median: float
    unit: float
    mean: float  # of z in training
    deviation: float
    edges: NDArray[np.float64]  # (num_pieces + 1,) or (0,)
    marks_missing: bool

    @property
    def features(self) -> tuple[str, ...]:
        """Name of each feature."""
        size = [self.name] if self.deviation else []
        pieces = [f"{self.name}[{i}]" for i in range(len(self.edges) - 1)]
        return (*size, *pieces, *([f"{self.name}={MISSING}"] if self.marks_missing else []))

    def encode(self, values: NDArray[np.float64]) -> NDArray[np.float32]:
        """Features of some values, (num_rows, num_features)."""
        is_missing = np.isnan(values)
        x = np.where(is_missing, self.median, values)
        x = np.where(x > HUGE, self.high, np.where(x < -HUGE, self.low, x))
        parts = []
        if self.deviation:
            z = (_signed_log(x, self.unit) - self.mean) / self.deviation
            parts.append(np.clip(z, -MAX_DEVIATION, MAX_DEVIATION)[:, None])
        if len(self.edges):
            start, end = self.edges[:-1], self.edges[1:]
            parts.append(np.clip((x[:, None] - start) / (end - start), 0, 1))
        if self.marks_missing:
            parts.append(is_missing[:, None].astype(np.float64))
        return np.concatenate(parts, axis=1).astype(np.float32)


@dataclass(frozen=True, eq=False)
class WordEncoder:
    """A fitted categorical column."""

    name: str
    slots: NDArray[np.int64]  # (num_words + 1,): feature of each code, -1 none; last: missing
    features: tuple[str, ...]

    def encode(self, codes: NDArray[np.int64]) -> NDArray[np.float32]:
        """Features of some codes, (num_rows, num_features)."""
        slots = self.slots[codes]  # code -1, missing, is the last
        return np.equal(slots[:, None], np.arange(len(self.features))).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Encoder:
    """All fitted columns, in the order of the table."""

    parts: tuple[NumberEncoder | WordEncoder, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Name of each feature."""
        return tuple(name for part in self.parts for name in part.features)

    @property
    def sources(self) -> tuple[str, ...]:
        """Input column of each feature."""
        return tuple(part.name for part in self.parts for _ in part.features)

    def encode(
        self, columns: Sequence[Column], rows: NDArray[np.int64]
    ) -> NDArray[np.float32]:  # (num_rows, num_features)
        """Features of some rows of the columns that were fitted."""
        by_name = {column.name: column for column in columns}
        features = np.empty((len(rows), len(self.columns)), dtype=np.float32)
        at = 0
        for part in self.parts:
            block = part.encode(by_name[part.name].values[rows])  # type: ignore[arg-type]
            features[:, at : at + block.shape[1]] = block
            at += block.shape[1]
        return features


def fit_encoder(
    columns: Sequence[Column], rows: NDArray[np.int64], config: DataConfig
) -> tuple[Encoder, dict[str, str]]:
    """Fit every column on training rows.

    Args:
        columns: the columns of all rows.
        rows: the training rows; nothing else is looked at.
        config: its `pieces`, `max_values` and `missing`.

    Returns:
        The encoder, and why some columns are not in it.
    """
    parts: list[NumberEncoder | WordEncoder] = []
    dropped = {}
    marks_missing = config.missing == "indicator"
    for column in columns:
        part: NumberEncoder | WordEncoder | None
        if isinstance(column, NumericColumn):
            part = _fit_numbers(column, rows, config.pieces, marks_missing)
        else:
            part = _fit_words(column, rows, config.max_values, marks_missing)
        if part is None:
            dropped[column.name] = CONSTANT
        elif len(part.features):
            parts.append(part)
        else:
            dropped[column.name] = (
                f"no value is frequent: none of its words occurs {MIN_COUNT} times in the "
                "training part"
            )
    return Encoder(tuple(parts)), dropped


def _signed_log(x: NDArray[np.float64], unit: float) -> NDArray[np.float64]:
    return np.sign(x) * np.log1p(np.abs(x) / unit)


def _fit_numbers(
    column: NumericColumn, rows: NDArray[np.int64], pieces: int, marks_missing: bool
) -> NumberEncoder | None:
    values = column.values[rows]
    finite = values[np.abs(values) <= HUGE]
    marks_missing = marks_missing and bool(np.isnan(values).any())
    if not len(finite) or (finite.min() == finite.max() and not marks_missing):
        return None
    low, high, median = float(finite.min()), float(finite.max()), float(np.median(finite))
    sizes = np.abs(finite[finite != 0])
    unit = float(np.median(sizes)) if len(sizes) else 1.0
    filled = np.clip(np.where(np.isnan(values), median, values), low, high)
    z = _signed_log(filled, unit)
    edges = np.unique(np.quantile(finite, np.linspace(0, 1, pieces + 1)))
    return NumberEncoder(
        name=column.name,
        low=low,
        high=high,
        median=median,
        unit=unit,
        mean=float(z.mean()),
        deviation=float(z.std()) if high > low else 0.0,
        # One piece alone would say what z says.
        edges=edges if pieces and len(edges) > 2 else np.empty(0),
        marks_missing=marks_missing,
    )


def _fit_words(
    column: WordColumn, rows: NDArray[np.int64], max_values: int, marks_missing: bool
) -> WordEncoder | None:
    codes = column.values[rows]
    if len(np.unique(codes)) == 1:
        return None
    counts = np.bincount(codes[codes >= 0], minlength=len(column.words))
    by_count = np.argsort(-counts, kind="stable")[:max_values]
    # A small training part has no value that is frequent in absolute terms.
    enough = min(MIN_COUNT, max(2, len(rows) // 50))
    frequent = [int(code) for code in by_count if counts[code] >= enough]
    if not frequent:
        return WordEncoder(column.name, np.empty(0, dtype=np.int64), ())
    names = [column.words[code] for code in frequent]
    marks_missing = marks_missing and bool((codes < 0).any())
    is_rare = ~np.isin(codes, frequent) & ~(marks_missing & (codes < 0))
    slots = np.full(len(column.words) + 1, -1, dtype=np.int64)
    # A feature that training never shows would have weights that mean nothing.
    if is_rare.any():
        slots[:] = len(names)
        names.append(OTHER)
    slots[frequent] = np.arange(len(frequent))
    if marks_missing:
        slots[-1] = len(names)
        names.append(MISSING)
    return WordEncoder(column.name, slots, tuple(f"{column.name}={name}" for name in names))
