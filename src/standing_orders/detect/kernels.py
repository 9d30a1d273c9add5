"""Compiled loops over many events: leaves of trees, features of numbers, counts by bins."""

import math

import numpy as np
from numpy.typing import NDArray

from standing_orders.compiled import count_bits, jit

ROWS_TOGETHER = 256  # that go through all trees one after the other
EVERY_LEAF = 0xFFFFFFFF
HUGE = 1e100  # sizes beyond it count as infinite
LOW, HIGH, MEDIAN, UNIT, MEAN, DEVIATION = range(6)  # what is fitted to a column of numbers
MAX_DEVIATION = 5.0  # standard deviations at which the size of a number is cut


@jit
def add_leaves(
    inputs: NDArray[np.float32],  # (rows, size)
    columns: NDArray[np.int64],  # (num_asked,): inputs that any node asks about
    asked: NDArray[np.int32],  # (num_nodes,): place in `columns`, tree after tree
    threshold: NDArray[np.float32],  # (num_nodes,): inputs up to this go left
    barred: NDArray[np.uint32],  # (num_nodes,): leaves that are out of reach further right
    starts: NDArray[np.int64],  # (num_trees + 1,): first node of each tree
    value: NDArray[np.float64],  # (num_trees, leaves): from left to right
    sums: NDArray[np.float64],  # (rows,): added to
) -> None:
    """Add the leaf that each row falls into, tree by tree for rows that the cache holds.

    All nodes of a tree are asked, for many rows at once: each bars the leaves on its left, a bit
    for each, where the answer is "right"; the leftmost that is left is the one. That takes no
    branch, so it is several times faster than a walk from the root (QuickScorer, Lucchese et al.,
    SIGIR 2015).
    """
    seen = np.empty((len(columns), ROWS_TOGETHER), dtype=np.float32)
    left = np.empty(ROWS_TOGETHER, dtype=np.uint32)
    for first in range(0, len(inputs), ROWS_TOGETHER):
        count = min(ROWS_TOGETHER, len(inputs) - first)
        for row in range(count):
            for place in range(len(columns)):
                seen[place, row] = inputs[first + row, columns[place]]
        for tree in range(len(value)):
            left[:count] = EVERY_LEAF
            for node in range(starts[tree], starts[tree + 1]):
                numbers, limit, bar = seen[asked[node]], threshold[node], barred[node]
                for row in range(count):
                    left[row] &= bar if numbers[row] > limit else np.uint32(EVERY_LEAF)
            for row in range(count):
                lowest = left[row] & (~left[row] + np.uint32(1))
                sums[first + row] += value[tree, count_bits(int(lowest) - 1)]


@jit
def bar_leaves(
    column: NDArray[np.int32],  # (rounds, nodes): the input that a node asks about; -1: a leaf
    left: NDArray[np.int32],  # (rounds, nodes): number of the left child, the right one is the next
    value: NDArray[np.float64],  # (rounds, nodes): what a leaf adds
    barred: NDArray[np.uint32],  # (rounds, nodes): filled, see `add_leaves`
    leaves: NDArray[np.float64],  # (rounds, leaves): filled, the leaves from left to right
) -> None:
    """Lay out trees for `add_leaves`."""
    waiting = np.empty(column.shape[1], dtype=np.int64)
    begun = np.empty(column.shape[1], dtype=np.int64)  # leaves to the left of a node
    for tree in range(len(column)):
        waiting[0], size, num_leaves = 0, 1, 0
        begun[:] = -1
        while size:
            node = waiting[size - 1]
            if column[tree, node] < 0:
                leaves[tree, num_leaves] = value[tree, node]
                num_leaves += 1
                size -= 1
            elif begun[node] < 0:
                begun[node] = num_leaves
                waiting[size] = left[tree, node]
                size += 1
            else:  # its left side is done
                below = (1 << num_leaves) - (1 << begun[node])
                barred[tree, node] = np.uint32(EVERY_LEAF & ~below)
                waiting[size - 1] = left[tree, node] + 1


@jit
def encode_numbers(
    values: NDArray[np.float64],  # (rows, num_columns): NaN where missing
    fitted: NDArray[np.float64],  # (num_columns, 6): by LOW to DEVIATION
    begins: NDArray[np.float64],  # (num_pieces,): of the pieces of all columns
    widths: NDArray[np.float64],  # (num_pieces,)
    starts: NDArray[np.int64],  # (num_columns + 1,): first piece of each column
    places: NDArray[np.int64],  # (num_columns, 3): of size, first piece and mark; -1: none
    features: NDArray[np.float32],  # (rows, num_features): filled
) -> None:
    """Features of numbers; see `detect.data.encoding`."""
    for row in range(len(values)):
        for column in range(values.shape[1]):
            x = values[row, column]
            size, piece, mark = places[column, 0], places[column, 1], places[column, 2]
            if mark >= 0:
                features[row, mark] = 1.0 if math.isnan(x) else 0.0
            if math.isnan(x):
                x = fitted[column, MEDIAN]
            elif x > HUGE:
                x = fitted[column, HIGH]
            elif x < -HUGE:
                x = fitted[column, LOW]
            if size >= 0:
                z = math.copysign(math.log1p(abs(x) / fitted[column, UNIT]), x)
                z = (z - fitted[column, MEAN]) / fitted[column, DEVIATION]
                features[row, size] = min(max(z, -MAX_DEVIATION), MAX_DEVIATION)
            first, end = starts[column], starts[column + 1]
            begin, width = begins[first:end], widths[first:end]
            shares = features[row, piece : piece + len(begin)]
            for index in range(len(begin)):
                # Unlike `/` this divides many at once: it does not ask whether a width is 0.
                share = np.divide(x - begin[index], width[index])
                shares[index] = min(max(share, 0.0), 1.0)


@jit
def count_bins(
    values: NDArray[np.float64],  # (rows, num_columns): NaN where missing
    edges: NDArray[np.float64],  # between the bins of all columns, one after the other
    starts: NDArray[np.int64],  # (num_columns + 1,): first edge of each column
    counts: NDArray[np.int64],  # (num_columns, bins): added to; missing is the bin behind the last
) -> None:
    """Count the numbers of each column by its bins; an edge belongs to the bin above it."""
    for row in range(len(values)):
        for column in range(values.shape[1]):
            x = values[row, column]
            first, end = starts[column], starts[column + 1]
            place = end - first + 1 if math.isnan(x) else 0
            for edge in range(first, end):
                place += x >= edges[edge]
            counts[column, place] += 1
