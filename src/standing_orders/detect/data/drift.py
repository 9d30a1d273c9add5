"""How far events have moved from those of training: the population stability index (PSI).

PSI = sum over bins of (p - q) ln (p / q), with the shares p now and q in training. By custom below
0.1 nothing has changed, from 0.25 on it is another population.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.data.columns import Column, NumericColumn, WordColumn
from standing_orders.detect.data.saved import Saved
from standing_orders.detect.kernels import count_bins

DRIFTED = 0.25  # PSI from which it is another population
MIN_EVENTS = 500  # fewer say little: chance alone gives about (bins - 1) / events
_NUM_BINS, _MAX_WORDS = 10, 20
_LEAST = 1e-4  # share of an empty bin


@dataclass(frozen=True)
class Histogram(Saved):
    """Shares of the values of a column in training, by bins; missing is the last bin."""

    shares: tuple[float, ...]
    edges: tuple[float, ...] = ()  # of a number: between the bins
    words: tuple[str, ...] = ()  # of a category: each a bin, all others share one more

    def count(self, column: Column) -> NDArray[np.int64]:  # (num_bins,)
        """How many values of a column are in each bin."""
        if isinstance(column, NumericColumn):
            return _count_numbers([self], column.values[:, None])[0]
        last = len(self.shares) - 1
        of_word = np.array([*(self._place.get(word, last - 1) for word in column.words), last])
        return np.bincount(of_word[column.values], minlength=last + 1)

    @cached_property
    def _place(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    def psi(self, counts: NDArray[np.int64]) -> float:  # (num_bins,)
        """The index of counts by the same bins.

        Example:
            >>> Histogram((0.5, 0.5, 0.0), edges=(1.0,)).psi(np.array([50, 50, 0]))
            0.0
        """
        now = np.maximum(counts / max(int(counts.sum()), 1), _LEAST)
        then = np.maximum(np.array(self.shares), _LEAST)
        return float(((now - then) * np.log(now / then)).sum())


def count_columns(
    columns: Sequence[Column], histograms: Mapping[str, Histogram]
) -> dict[str, NDArray[np.int64]]:  # (num_bins,) by column
    """How many values of each column that has a histogram are in each of its bins."""
    known = [column for column in columns if column.name in histograms]
    numbers = [column for column in known if isinstance(column, NumericColumn)]
    words = (column for column in known if isinstance(column, WordColumn))
    counts = {column.name: histograms[column.name].count(column) for column in words}
    if numbers:
        values = np.stack([column.values for column in numbers], axis=1)
        found = _count_numbers([histograms[column.name] for column in numbers], values)
        counts |= {column.name: own for column, own in zip(numbers, found, strict=True)}
    return counts


def _count_numbers(
    histograms: Sequence[Histogram], values: NDArray[np.float64]
) -> list[NDArray[np.int64]]:  # (num_bins,) each
    """The same for columns of numbers, (num_rows, num_columns)."""
    sizes = [len(one.shares) for one in histograms]
    edges = np.array([edge for one in histograms for edge in one.edges], dtype=np.float64)
    starts = np.cumsum([0, *(len(one.edges) for one in histograms)])
    counts = np.zeros((len(sizes), max(sizes, default=0)), dtype=np.int64)
    count_bins(values, edges, starts, counts)
    return [own[:size] for own, size in zip(counts, sizes, strict=True)]


def fit_histogram(column: Column) -> Histogram:
    """The shares of a column's values, in ten bins of equal counts or by frequent words."""
    if isinstance(column, WordColumn):
        counts = np.bincount(column.values[column.values >= 0], minlength=len(column.words))
        chosen = np.argsort(-counts, kind="stable")[:_MAX_WORDS]
        empty = Histogram((0.0,) * (len(chosen) + 2), words=tuple(column.words[i] for i in chosen))
    else:
        finite = column.values[np.isfinite(column.values)]
        quantiles = np.linspace(0, 1, _NUM_BINS + 1)[1:-1]
        edges = np.unique(np.quantile(finite, quantiles)) if len(finite) else np.zeros(0)
        empty = Histogram((0.0,) * (len(edges) + 2), edges=tuple(map(float, edges)))
    shares = empty.count(column) / max(len(column.values), 1)
    return Histogram(tuple(map(float, shares)), empty.edges, empty.words)


def fit_histograms(columns: Sequence[Column], rows: NDArray[np.int64]) -> dict[str, Histogram]:
    """The histogram of each column over training rows."""
    return {column.name: fit_histogram(column.take(rows)) for column in columns}
