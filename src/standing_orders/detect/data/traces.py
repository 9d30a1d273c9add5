"""One trace a row (system calls, commands, pages) -> sessions of events of a few tokens each.

An event's features describe its own tokens only, so that evidence adds up over a session:

| feature | meaning |
|---|---|
| `call 5` | how often a frequent token occurs in the event |
| `pair 5 6` | how often a frequent pair of neighbours occurs |
| `new 3` | share of runs of 3 tokens that occur in no benign training trace |
| `rare 3` | mean of -log2 of the share of benign training traces with that run |
| `odds 3` | mean log-odds of the run: share of threat traces with it against benign ones |
| `tokens`, `kinds` | length of the event, and how many different tokens it has |

A training trace is described as if its own group had not been in the training part: otherwise no
run of it could be new, and a network would learn to trust features that mean nothing in the test.
Runs may begin in the event before, as they would on a real machine.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pa_compute  # type: ignore[import-untyped]
from numpy.typing import NDArray

from standing_orders.detect.data.columns import NumericColumn, read_words
from standing_orders.detect.data.events import Sessions
from standing_orders.detect.data.options import DataConfig
from standing_orders.errors import DataError

MAX_RUN = 5  # tokens
MAX_CALLS, MAX_PAIRS = 40, 40  # most frequent ones that get a feature


@dataclass(frozen=True, eq=False)
class Traces:
    """Tokens of all traces, and how they are cut into events."""

    tokens: NDArray[np.int64]  # (num_tokens,): index into words
    words: tuple[str, ...]
    trace_index: NDArray[np.int64]  # (num_tokens,): row of each token
    event_index: NDArray[np.int64]  # (num_tokens,): event of each token
    event_trace: NDArray[np.int64]  # (num_events,): row of each event

    def count(
        self, events: NDArray[np.int64], weights: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:  # (num_events,)
        """How often each event is named, or the sum of the weights given with it."""
        return np.bincount(events, weights, minlength=len(self.event_trace)).astype(np.float64)


def read_traces(column: pa.ChunkedArray, config: DataConfig) -> Traces:
    """Cut the traces of a column into events.

    Args:
        column: lists of tokens, or text with spaces or commas between tokens.
        config: its `trace`, `chunk` (tokens of an event; the last one of a trace may be shorter)
            and `max_events` (what follows them is not read).

    Raises:
        DataError: the column holds no traces, or one of them is empty.
    """
    name, chunk, values = str(config.trace), config.chunk, column.combine_chunks()
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        text = pa_compute.utf8_trim_whitespace(values.cast(pa.string()))
        values = pa_compute.split_pattern_regex(text, r"[\s,;]+")
    if not (pa.types.is_list(values.type) or pa.types.is_large_list(values.type)):
        raise DataError(
            f"trace column {name!r}: holds {values.type}; a trace is a list, or text with spaces "
            "or commas between its tokens"
        )
    lengths = pa_compute.list_value_length(values).fill_null(0).to_numpy(zero_copy_only=False)
    words = read_words(name, pa_compute.list_flatten(values))
    if len(lengths) == 0 or lengths.min() == 0 or "" in words.words or (words.values < 0).any():
        raise DataError(f"trace column {name!r}: a trace is empty or has an empty token")
    whole = Sessions.of_lengths(lengths)
    is_kept = whole.place < chunk * config.max_events
    trace_index, is_first = whole.index[is_kept], whole.place[is_kept] % chunk == 0
    return Traces(
        tokens=words.values[is_kept],
        words=words.words,
        trace_index=trace_index,
        event_index=np.cumsum(is_first) - 1,
        event_trace=trace_index[is_first],
    )


def describe_traces(
    traces: Traces,
    *,
    is_training: NDArray[np.bool_],  # (num_traces,)
    is_threat: NDArray[np.bool_],  # (num_traces,)
    groups: NDArray[np.int64],  # (num_traces,): left out together; -1 = the trace alone
) -> list[NumericColumn]:
    """Numeric columns of every event; frequencies, and threats, are of training traces only."""
    alone = np.arange(len(groups)) + groups.max(initial=0) + 1
    groups = np.where(groups < 0, alone, groups)
    kinds = np.unique(traces.event_index * len(traces.words) + traces.tokens)
    columns = _counts(traces, is_training)
    columns.append(NumericColumn("tokens", traces.count(traces.event_index)))
    columns.append(NumericColumn("kinds", traces.count(kinds // len(traces.words))))
    runs = traces.tokens
    for length in range(2, MAX_RUN + 1):
        runs = _extend_runs(runs, traces, length)
        shares = _run_shares(runs, traces, is_training, is_threat, groups)
        columns.extend(_run_columns(runs, traces, shares, length))
    return columns


def _counts(traces: Traces, is_training: NDArray[np.bool_]) -> list[NumericColumn]:
    """How often each frequent token, and each frequent pair of neighbours, occurs in an event."""
    num_words = len(traces.words)
    is_pair = traces.trace_index[1:] == traces.trace_index[:-1]
    pairs = np.where(is_pair, traces.tokens[:-1] * num_words + traces.tokens[1:], -1)
    columns = []
    for label, keys, limit in (
        ("call", traces.tokens, MAX_CALLS),
        ("pair", np.concatenate([[-1], pairs]), MAX_PAIRS),
    ):
        is_used = is_training[traces.trace_index] & (keys >= 0)
        values, counts = np.unique(keys[is_used], return_counts=True)
        for key in values[np.argsort(-counts, kind="stable")[:limit]]:
            tokens = divmod(int(key), num_words)[label == "call" :]
            name = " ".join([label, *(traces.words[token] for token in tokens)])
            columns.append(NumericColumn(name, traces.count(traces.event_index[keys == key])))
    return columns


def _extend_runs(
    runs: NDArray[np.int64], traces: Traces, length: int
) -> NDArray[np.int64]:  # (num_tokens,)
    """Number of the run of `length` tokens that ends at each token, -1 at the start of a trace."""
    longer = np.full(len(runs), -1, dtype=np.int64)
    is_run = traces.trace_index[length - 1 :] == traces.trace_index[: len(runs) - length + 1]
    ends = np.flatnonzero(is_run) + length - 1
    keys = runs[ends - 1] * len(traces.words) + traces.tokens[ends]
    longer[ends] = np.unique(keys, return_inverse=True)[1]
    return longer


def _run_shares(
    runs: NDArray[np.int64],
    traces: Traces,
    is_training: NDArray[np.bool_],
    is_threat: NDArray[np.bool_],
    groups: NDArray[np.int64],
) -> NDArray[np.float64]:  # (2, num_tokens)
    """Share of benign, and of threat, training traces of other groups with the token's run."""
    num_runs = int(runs.max(initial=0)) + 1
    shares = np.zeros((2, len(runs)))
    is_run = runs >= 0
    group_of = groups[traces.trace_index]
    for row, chosen in enumerate((is_training & ~is_threat, is_training & is_threat)):
        used = is_run & chosen[traces.trace_index]
        seen = np.unique(traces.trace_index[used] * num_runs + runs[used])
        seen_trace, seen_run = np.divmod(seen, num_runs)
        totals = np.bincount(seen_run, minlength=num_runs)
        # What the own group adds: counted by (group, run), zero outside the training part.
        keys = groups[seen_trace] * num_runs + seen_run
        own_keys, own_counts = np.unique(keys, return_counts=True)
        wanted = group_of[is_run] * num_runs + runs[is_run]
        own = _look_up(own_keys, own_counts, wanted)
        group_sizes = np.bincount(groups[chosen], minlength=int(groups.max()) + 1)
        others = int(chosen.sum()) - group_sizes[group_of[is_run]]
        shares[row, is_run] = (totals[runs[is_run]] - own) / np.maximum(others, 1)
    return shares


def _look_up(
    keys: NDArray[np.int64], counts: NDArray[np.int64], wanted: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Count of each wanted key, 0 for one that is not among the sorted keys."""
    if not len(keys):
        return np.zeros(len(wanted), dtype=np.int64)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, counts[at], 0)


def _run_columns(
    runs: NDArray[np.int64], traces: Traces, shares: NDArray[np.float64], length: int
) -> list[NumericColumn]:
    is_run = runs >= 0
    events = traces.event_index[is_run]
    num_runs = np.maximum(traces.count(events), 1)
    benign, threat = shares[:, is_run]
    smooth = 1e-3  # one trace in a thousand: what a run never seen is taken for
    measures = {
        "new": (benign == 0).astype(np.float64),
        "rare": -np.log2(benign + smooth),
        "odds": np.log2((threat + smooth) / (benign + smooth)),
    }
    return [
        NumericColumn(f"{name} {length}", traces.count(events, value) / num_runs)
        for name, value in measures.items()
    ]
