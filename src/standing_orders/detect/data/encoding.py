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
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.data.columns import Column, NumericColumn, WordColumn
from standing_orders.detect.data.options import DataConfig
from standing_orders.detect.kernels import HUGE, encode_numbers

MIN_COUNT = 20  # of a frequent value, or 2 % of a small training part
MAX_KNOWN = 1_000  # values of a category that are told from new ones
CONSTANT = "constant in the training part"
OTHER, MISSING = "other", "missing"
_Tables = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]


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
    edges: tuple[float, ...]  # (num_pieces + 1,) or none
    marks_missing: bool
    had_missing: bool  # in training

    @cached_property
    def features(self) -> tuple[str, ...]:
        """Name of each feature."""
        size = [self.name] if self.deviation else []
        pieces = [f"{self.name}[{i}]" for i in range(len(self.edges) - 1)]
        return (*size, *pieces, *([f"{self.name}={MISSING}"] if self.marks_missing else []))


@dataclass(frozen=True, eq=False)
class WordEncoder:
    """A fitted categorical column."""

    name: str
    frequent: tuple[str, ...]  # values with a feature each
    marks_rare: bool  # one more for all other values
    marks_missing: bool
    had_missing: bool  # in training
    rare: tuple[str, ...] | None  # other values in training; None if there are too many to keep

    @cached_property
    def features(self) -> tuple[str, ...]:
        """Name of each feature."""
        marks = ((OTHER, self.marks_rare), (MISSING, self.marks_missing))
        names = (*self.frequent, *(name for name, is_marked in marks if is_marked))
        return tuple(f"{self.name}={name}" for name in names)

    def encode(self, column: WordColumn, features: NDArray[np.float32]) -> None:
        """Fill in the features of a column, (num_rows, num_features)."""
        place = self._place
        other = len(self.frequent) if self.marks_rare else -1
        missing = features.shape[1] - 1 if self.marks_missing else other
        slots = np.array([*(place.get(word, other) for word in column.words), missing])
        # Code -1, missing, is the last of the slots.
        chosen = slots[column.values]
        rows = np.arange(len(chosen)) if chosen.min(initial=0) >= 0 else np.flatnonzero(chosen >= 0)
        features[:] = 0.0
        features[rows, chosen[rows]] = 1.0

    def is_new(self, column: WordColumn) -> NDArray[np.bool_] | None:  # (num_rows,)
        """Rows with a value that training never showed; None if there is none."""
        known = self._known
        if self.rare is None or all(word in known for word in column.words):
            return None
        return np.array([*(word not in known for word in column.words), False])[column.values]

    @cached_property
    def _place(self) -> dict[str, int]:
        return {word: slot for slot, word in enumerate(self.frequent)}

    @cached_property
    def _known(self) -> set[str]:
        return {*self.frequent, *(self.rare or ())}


@dataclass(frozen=True, eq=False)
class Encoder:
    """All fitted columns, in the order of the table."""

    parts: tuple[NumberEncoder | WordEncoder, ...]

    @cached_property
    def _firsts(self) -> list[int]:
        """Place of the first feature of each part."""
        return [0, *np.cumsum([len(part.features) for part in self.parts]).tolist()][:-1]

    @cached_property
    def _numbers(self) -> tuple[list[str], _Tables]:
        """Names of the numeric columns, and the tables of all of them for `encode_numbers`.

        Side by side, so that one event costs hardly more than one column does.
        """
        pairs = zip(self.parts, self._firsts, strict=True)
        numbers = [(part, at) for part, at in pairs if isinstance(part, NumberEncoder)]
        parts = [part for part, _ in numbers]
        fitted = [
            (part.low, part.high, part.median, part.unit, part.mean, part.deviation)
            for part in parts
        ]
        places = [
            (
                first if part.deviation else -1,
                first + bool(part.deviation),
                first + len(part.features) - 1 if part.marks_missing else -1,
            )
            for part, first in numbers
        ]
        return [part.name for part in parts], (
            np.array(fitted),
            np.concatenate([np.empty(0), *(part.edges[:-1] for part in parts)]),
            np.concatenate([np.empty(0), *(np.diff(part.edges) for part in parts)]),
            np.cumsum([0, *(len(part.edges[:-1]) for part in parts)]),
            np.array(places, dtype=np.int64),
        )

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Name of each feature."""
        return tuple(name for part in self.parts for name in part.features)

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """Input column of each feature."""
        return tuple(part.name for part in self.parts for _ in part.features)

    def encode(
        self, columns: Sequence[Column], rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.float32]:  # (num_rows, num_features)
        """Features of some rows, or of all, of the columns that were fitted."""
        by_name = {column.name: column for column in columns}
        num_rows = len(columns[0].values) if rows is None else len(rows)
        features = np.empty((num_rows, len(self.columns)), dtype=np.float32)
        for part, first in zip(self.parts, self._firsts, strict=True):
            if isinstance(part, WordEncoder):
                column = by_name[part.name]
                assert isinstance(column, WordColumn)
                block = features[:, first : first + len(part.features)]
                part.encode(column if rows is None else column.take(rows), block)
        names, tables = self._numbers
        if names:
            told = [by_name[name].values for name in names]
            numbers = [one if rows is None else one[rows] for one in told]
            encode_numbers(np.stack(numbers, axis=1), *tables, features)
        return features


def fit_encoder(
    columns: Sequence[Column], rows: NDArray[np.int64], config: DataConfig
) -> tuple[Encoder, dict[str, str]]:
    """Fit every column on training rows; nothing else is looked at.

    Returns:
        The encoder, and why some columns are not in it.
    """
    parts: list[NumberEncoder | WordEncoder] = []
    dropped = {}
    for column in columns:
        part: NumberEncoder | WordEncoder | None
        if isinstance(column, NumericColumn):
            part = _fit_numbers(column, rows, config.pieces)
        else:
            part = _fit_words(column, rows, config.max_values)
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


def _fit_numbers(
    column: NumericColumn, rows: NDArray[np.int64], pieces: int
) -> NumberEncoder | None:
    values = column.values[rows]
    finite = values[np.abs(values) <= HUGE]
    has_missing = bool(np.isnan(values).any())
    if not len(finite) or (finite.min() == finite.max() and not has_missing):
        return None
    low, high, median = float(finite.min()), float(finite.max()), float(np.median(finite))
    sizes = np.abs(finite[finite != 0])
    unit = float(np.median(sizes)) if len(sizes) else 1.0
    filled = np.clip(np.where(np.isnan(values), median, values), low, high)
    z = np.sign(filled) * np.log1p(np.abs(filled) / unit)
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
        edges=tuple(edges.tolist()) if pieces and len(edges) > 2 else (),
        marks_missing=has_missing,
        had_missing=has_missing,
    )


def _fit_words(column: WordColumn, rows: NDArray[np.int64], max_values: int) -> WordEncoder | None:
    codes = column.values[rows]
    if len(np.unique(codes)) == 1:
        return None
    counts = np.bincount(codes[codes >= 0], minlength=len(column.words))
    by_count = np.argsort(-counts, kind="stable")[:max_values]
    # A small training part has no value that is frequent in absolute terms.
    enough = min(MIN_COUNT, max(2, len(rows) // 50))
    frequent = [int(code) for code in by_count if counts[code] >= enough]
    marks_missing = bool(frequent) and bool((codes < 0).any())
    is_rare = ~np.isin(codes, frequent) & ~(marks_missing & (codes < 0))
    rare = np.setdiff1d(codes[codes >= 0], frequent)
    return WordEncoder(
        column.name,
        frequent=tuple(column.words[code] for code in frequent),
        # A feature that training never shows would have weights that mean nothing.
        marks_rare=bool(frequent) and bool(is_rare.any()),
        marks_missing=marks_missing,
        had_missing=bool((codes < 0).any()),
        rare=tuple(column.words[code] for code in rare) if len(rare) <= MAX_KNOWN else None,
    )
