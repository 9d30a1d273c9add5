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

MAX_DEVIATION = 5.0  # standard deviations at which z is cut
HUGE = 1e100  # sizes beyond it count as infinite
CONSTANT = "constant in the training part"
OTHER, MISSING = "other", "missing"


@dataclass(frozen=True)
class EncodingOptions:
    """How columns become features; the fields of `DataConfig` of the same names."""

    pieces: int = 8
    max_values: int = 20
    min_count: int = 20
    mark_missing: bool = True


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
    words: tuple[str, ...]  # frequent training values
    slots: NDArray[np.int64]  # (num_words + 1,): feature of each code, -1 none; last: missing
    features: tuple[str, ...]

    def encode(self, codes: NDArray[np.int64]) -> NDArray[np.float32]:
        """Features of some codes, (num_rows, num_features)."""
        slots = self.slots[codes]  # code -1, missing, is the last
        encoded: NDArray[np.float32] = (slots[:, None] == np.arange(len(self.features))).astype(
            np.float32
        )
        return encoded


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
            column = by_name[part.name]
            if isinstance(part, NumberEncoder):
                assert isinstance(column, NumericColumn)
                block = part.encode(column.values[rows])
            else:
                assert isinstance(column, WordColumn)
                block = part.encode(column.codes[rows])
            features[:, at : at + block.shape[1]] = block
            at += block.shape[1]
        return features


def fit_encoder(
    columns: Sequence[Column], rows: NDArray[np.int64], options: EncodingOptions
) -> tuple[Encoder, dict[str, str]]:
    """Fit every column on training rows.

    Args:
        columns: the columns of all rows.
        rows: the training rows; nothing else is looked at.
        options: how.

    Returns:
        The encoder, and why some columns are not in it.
    """
    parts: list[NumberEncoder | WordEncoder] = []
    dropped = {}
    for column in columns:
        if _is_constant(column, rows, options.mark_missing):
            dropped[column.name] = CONSTANT
            continue
        part = (
            _fit_numbers(column, rows, options)
            if isinstance(column, NumericColumn)
            else _fit_words(column, rows, options)
        )
        if len(part.features):
            parts.append(part)
        else:
            dropped[column.name] = (
                f"no value is frequent: none of its words occurs {options.min_count} times in the "
                "training part"
            )
    return Encoder(tuple(parts)), dropped


def _is_constant(column: Column, rows: NDArray[np.int64], mark_missing: bool) -> bool:
    """Whether all training rows would get the same features."""
    has_missing = bool(column.is_missing[rows].any())
    if isinstance(column, NumericColumn):
        numbers = column.values[rows]
        numbers = numbers[np.abs(numbers) <= HUGE]
        if len(numbers) and has_missing and mark_missing:
            return False
        return not len(numbers) or bool(numbers.min() == numbers.max())
    # A missing word is at least `other`.
    return len(np.unique(column.codes[rows])) == 1


def _signed_log(x: NDArray[np.float64], unit: float) -> NDArray[np.float64]:
    return np.sign(x) * np.log1p(np.abs(x) / unit)


def _fit_numbers(
    column: NumericColumn, rows: NDArray[np.int64], options: EncodingOptions
) -> NumberEncoder:
    values = column.values[rows]
    finite = values[np.abs(values) <= HUGE]
    low, high, median = float(finite.min()), float(finite.max()), float(np.median(finite))
    sizes = np.abs(finite[finite != 0])
    unit = float(np.median(sizes)) if len(sizes) else 1.0
    filled = np.clip(np.where(np.isnan(values), median, values), low, high)
    z = _signed_log(filled, unit)
    edges = np.unique(np.quantile(finite, np.linspace(0, 1, options.pieces + 1)))
    return NumberEncoder(
        name=column.name,
        low=low,
        high=high,
        median=median,
        unit=unit,
        mean=float(z.mean()),
        deviation=float(z.std()) if high > low else 0.0,
        # One piece alone would say what z says.
        edges=edges if options.pieces and len(edges) > 2 else np.empty(0),
        marks_missing=options.mark_missing and bool(np.isnan(values).any()),
    )


def _fit_words(
    column: WordColumn, rows: NDArray[np.int64], options: EncodingOptions
) -> WordEncoder:
    codes = column.codes[rows]
    counts = np.bincount(codes[codes >= 0], minlength=len(column.words))
    by_count = np.argsort(-counts, kind="stable")[: options.max_values]
    # A small training part has no value that is frequent in absolute terms.
    enough = min(options.min_count, max(2, len(rows) // 50))
    frequent = [int(code) for code in by_count if counts[code] >= enough]
    if not frequent:
        return WordEncoder(column.name, (), np.empty(0, dtype=np.int64), ())
    words = tuple(column.words[code] for code in frequent)
    marks_missing = options.mark_missing and bool((codes < 0).any())
    slots = np.full(len(column.words) + 1, len(words), dtype=np.int64)
    slots[frequent] = np.arange(len(words))
    slots[-1] = len(words) + marks_missing
    # A feature that training never shows would have weights that mean nothing.
    has_other = bool((slots[codes] == len(words)).any())
    names = [*words, *([OTHER] if has_other else []), *([MISSING] if marks_missing else [])]
    if not has_other:
        slots[slots == len(words)] = -1
        slots[-1] = len(words) if marks_missing else -1
    features = tuple(f"{column.name}={name}" for name in names)
    return WordEncoder(column.name, words, slots, features)
