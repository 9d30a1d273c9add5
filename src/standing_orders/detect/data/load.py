"""Files -> training, validation and test events. `load` is the way in."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pa_compute  # type: ignore[import-untyped]
from numpy.typing import NDArray

from standing_orders.detect.data.columns import (
    Column,
    NumericColumn,
    parse_columns,
    read_times,
    read_words,
)
from standing_orders.detect.data.drift import fit_histograms
from standing_orders.detect.data.encoding import Encoder, fit_encoder
from standing_orders.detect.data.events import DataSet, Events
from standing_orders.detect.data.labels import (
    benign_words,
    check_classes,
    describe_labels,
    find_leaks,
    read_labels,
)
from standing_orders.detect.data.options import (
    ROLES,
    DataConfig,
    adapter_of,
    fill_options,
    find_files,
)
from standing_orders.detect.data.plan import Planned
from standing_orders.detect.data.schema import Schema
from standing_orders.detect.data.sessions import (
    GAP,
    PART_NAMES,
    TEST,
    TRAIN,
    VALIDATION,
    Grouped,
    group_events,
    lower_prevalence,
    split_by_group,
    split_by_time,
    split_stratified,
)
from standing_orders.detect.data.synthetic import make_sessions
from standing_orders.detect.data.tables import join_tables, read_tables
from standing_orders.detect.data.traces import Traces, describe_traces, read_traces
from standing_orders.errors import ConfigError, DataError
from standing_orders.memory import require_memory
from standing_orders.seeding import child_seed

__all__ = ["DataConfig", "load", "load_more", "load_stream"]


@dataclass(frozen=True, eq=False)
class _Source:
    """Everything about the rows before they are split."""

    config: DataConfig  # with the format's options filled in
    table: pa.Table  # (num_rows,): all columns
    is_test: NDArray[np.bool_]  # (num_rows,): of a file given as test data
    grouped: Grouped  # events by session, with their attacks
    attack_names: tuple[str, ...]
    benign: tuple[str, ...]  # values of the label
    traces: Traces | None  # what the events are made of, if a row is a trace
    columns: list[Column] = field(default_factory=list)  # of rows; empty for traces
    plan: list[Planned] = field(default_factory=list)
    dropped: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def load(config: DataConfig) -> DataSet:
    """Read, check, split and encode the events.

    Nothing of the validation and test parts goes into the features: medians, scales, quantiles,
    frequent values, constant columns and the statistics of traces are of the training part.

    Raises:
        ConfigError: an option does not fit the file, such as a column that is not there.
        DataError: a file is missing, malformed or too large, or its label cannot be used.

    Example:
        >>> load(DataConfig()).task
        'sessions'
    """
    data = _load(config)
    return data.with_ends() if config.session_end and data.task == "sessions" else data


def _load(config: DataConfig) -> DataSet:
    if not config.data:
        config.check_together(has_labels=True)
        return make_sessions(config.data_seed, pieces=config.pieces, short=config.short)
    source = _read_source(config)
    try:
        check_classes(source.grouped.attacks >= 0, _names(config.data + config.test_data))
    except DataError as err:
        if adapter_of(config).has_labels:
            raise
        raise DataError(f"{err}. {adapter_of(config).note}") from err
    rng = np.random.Generator(np.random.Philox(child_seed(config.data_seed, "data")))
    grouped = source.grouped
    if config.prevalence is not None:
        grouped = lower_prevalence(grouped, config.prevalence, rng)
    parts = _split(source, grouped, rng)
    for part, name in enumerate(PART_NAMES):
        events = grouped.take(np.flatnonzero(parts == part))
        files = config.test_data if part == TEST and config.test_data else config.data
        check_classes(events.attacks >= 0, f"{_names(files)}: the {name} part")
    columns, encoder = _fit(source, grouped, parts)
    require_memory(12.0 * len(grouped.rows) * len(encoder.columns), _names(config.data))
    taken = (grouped.take(np.flatnonzero(parts == part)) for part in (TRAIN, VALIDATION, TEST))
    train, validation, test = (
        _events_of(encoder, encoder.encode(columns, part.rows), part, source.attack_names)
        for part in taken
    )
    return DataSet(
        name=config.data_name,
        task="sessions" if source.config.session or source.config.trace else "records",
        train=train,
        validation=validation,
        test=test,
        dropped=source.dropped,
        notes=tuple(source.notes),
        schema=_schema(source, grouped.take(np.flatnonzero(parts == TRAIN)), encoder),
    )


def _schema(source: _Source, train: Grouped, encoder: Encoder) -> Schema | None:
    """How more of such events are read; None for traces, whose columns are statistics of all."""
    if source.traces:
        return None
    used = {part.name for part in encoder.parts}
    columns = [column for column in source.columns if column.name in used]
    return Schema(
        name=source.config.data_name,
        task="sessions" if source.config.session else "records",
        names=tuple(name for name in source.table.column_names if name != GAP),
        plan=tuple(source.plan),
        encoder=encoder,
        histograms=fit_histograms(columns, train.rows),
        benign=source.benign,
        attack_names=source.attack_names,
    )


def load_stream(config: DataConfig) -> Events:
    """All events of a file as one stream, labelled or not, in order; for throughput and alarms.

    Scales are fitted on the first half of the sessions.

    Raises:
        ConfigError, DataError: as `load`, but one class is enough and so is none.
    """
    source = _read_source(config)
    grouped = source.grouped
    parts = np.where(np.arange(grouped.num_sessions) * 2 < grouped.num_sessions, TRAIN, TEST)
    columns, encoder = _fit(source, grouped, parts.astype(np.int8))
    features = encoder.encode(columns, grouped.rows)
    return _events_of(encoder, features, grouped, source.attack_names)


def load_more(config: DataConfig, schema: Schema) -> Events:
    """All events of labelled files, read as those that a team was trained on.

    Raises:
        ConfigError, DataError: as `load`, but one class is enough.
    """
    config = fill_options(config)
    if config.label is None:
        raise ConfigError("label: the team was trained without one, so no figure can be given")
    table = read_tables(find_files(config, config.data), config)
    config.check_columns(table.column_names)
    known = (schema.benign, schema.attack_names)
    attacks, names = read_labels(table, config, known)
    grouped = _group(config, table, attacks, _times(config, table, []), None)
    if GAP in schema.inputs:
        table = _with_gaps(table, grouped)
    return _events_of(schema.encoder, schema.read(table).features[grouped.rows], grouped, names)


def _read_source(config: DataConfig) -> _Source:
    config, adapter = fill_options(config), adapter_of(config)
    config.check_together(has_labels=adapter.has_labels)
    sets = [paths for paths in (config.data, config.test_data) if paths]
    tables = [read_tables(find_files(config, paths), config) for paths in sets]
    if adapter.only:
        column, value = adapter.only
        is_event = [pa_compute.equal(table[column].cast(pa.string()), value) for table in tables]
        tables = [table.filter(mask) for table, mask in zip(tables, is_event, strict=True)]
    is_test = np.repeat(np.arange(len(tables)), [table.num_rows for table in tables]) == 1
    table = join_tables(tables, [paths[0] for paths in sets])
    config.check_columns(table.column_names)
    attacks, names = np.full(table.num_rows, -1, dtype=np.int64), tuple[str, ...]()
    notes, benign = [adapter.note] if adapter.note else [], tuple[str, ...]()
    if config.label:
        attacks, names = read_labels(table, config)
        benign = benign_words(table, config.label, attacks)
        if meant := describe_labels(table, config, attacks):
            notes.append(meant)
    traces = read_traces(table[config.trace], config) if config.trace else None
    grouped = _group(config, table, attacks, _times(config, table, notes), traces)
    if config.session and config.time:
        table = _with_gaps(table, grouped)
    source = _Source(config, table, is_test, grouped, names, benign, traces, notes=notes)
    if traces is None:
        _parse(source)
    return source


def _with_gaps(table: pa.Table, grouped: Grouped) -> pa.Table:
    """With the time since the event before as a column: attacks may be hasty, or patient."""
    return table.append_column(GAP, pa.array(grouped.gaps(table.num_rows)))


def _names(paths: Sequence[Path]) -> str:
    return ", ".join(map(str, paths[:3])) + (", ..." if len(paths) > 3 else "")


def _group(
    config: DataConfig,
    table: pa.Table,
    attacks: NDArray[np.int64],
    times: NDArray[np.float64] | None,
    traces: Traces | None,
) -> Grouped:
    """Order events into sessions; duplicates go."""
    limit = config.max_events
    if traces:
        rows = traces.event_trace
        times = None if times is None else times[rows]
        events = np.arange(len(rows))
        return group_events(
            events, rows, attacks[rows], times, max_events=limit, rows_in_table=rows
        )
    rows = sessions = np.arange(table.num_rows)
    if config.session:
        sessions = read_words(config.session, table[config.session].combine_chunks()).values
        if (sessions < 0).any():
            raise DataError(f"session column {config.session!r}: a row has no session")
    if config.duplicates == "drop":
        rows = _distinct_rows(config, table)
    return group_events(rows, sessions, attacks, times, max_events=limit)


def _distinct_rows(config: DataConfig, table: pa.Table) -> NDArray[np.int64]:
    """First of each set of rows that are equal in all inputs and in the label."""
    names = [name for name in table.column_names if name not in {*config.ignore, config.time}]
    rows = pa.array(np.arange(table.num_rows))
    first = (
        table.select(names)
        .append_column("\x1frow", rows)
        .group_by(names, use_threads=False)
        .aggregate([("\x1frow", "min")])
    )
    return np.sort(first["\x1frow_min"].to_numpy())


def _times(
    config: DataConfig, table: pa.Table, notes: list[str]
) -> NDArray[np.float64] | None:  # (num_rows,)
    if config.time is None:
        return None
    times = read_times(config.time, table[config.time].combine_chunks())
    if num_missing := int(np.isnan(times).sum()):
        notes.append(f"{config.time}: {num_missing} rows have no time; they come last")
    return times


def _parse(source: _Source) -> None:
    """Read the input columns of rows that are events."""
    config, table = source.config, source.table
    source.dropped.update(
        {getattr(config, role): f"it is the {role}" for role in ROLES if getattr(config, role)}
    )
    source.dropped.update({name: "ignored" for name in config.ignore if name not in source.dropped})
    inputs = [name for name in table.column_names if name not in source.dropped]
    parsed = parse_columns(table.select(inputs), config.told)
    for column in parsed.columns:
        if isinstance(column, NumericColumn):
            _note_numbers(source, column)
    source.columns.extend(parsed.columns)
    source.plan.extend(parsed.plan)
    source.dropped.update(parsed.dropped)
    source.notes.extend(parsed.notes)


def _note_numbers(source: _Source, column: NumericColumn) -> None:
    num_missing = int(column.is_missing.sum())
    num_infinite = int(np.isinf(column.values).sum())
    if num_missing:
        source.notes.append(f"{column.name}: {num_missing} missing values; training median")
    if num_infinite:
        source.notes.append(
            f"{column.name}: {num_infinite} infinite values; largest finite one in training"
        )


def _split(source: _Source, grouped: Grouped, rng: np.random.Generator) -> NDArray[np.int8]:
    """Part of each session."""
    config, shares = source.config, source.config.shares
    first_rows = grouped.rows_in_table[grouped.firsts]
    free = np.flatnonzero(~source.is_test[first_rows])
    if config.test_data:
        scale = 1 - config.test_share
        shares = (shares[0] / scale, shares[1] / scale, 0.0)
    kinds = grouped.session_attacks
    parts = np.full(grouped.num_sessions, TEST, dtype=np.int8)
    if config.split_method == "time":
        assert grouped.times is not None
        parts[free] = split_by_time(grouped.times[grouped.firsts][free], shares)
    elif config.split_method == "group":
        parts[free] = split_by_group(_groups(source, first_rows)[free], kinds[free], shares, rng)
    else:
        parts[free] = split_stratified(kinds[free], shares, rng)
    if config.test_data:
        parts[free] = np.minimum(parts[free], VALIDATION)
    return parts


def _groups(source: _Source, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Group of some rows; -1 where there is none."""
    if source.config.group is None:
        return np.full(len(rows), -1, dtype=np.int64)
    words = read_words(source.config.group, source.table[source.config.group].combine_chunks())
    is_named = np.array([bool(word.strip()) for word in words.words] + [False])
    return np.where(is_named[words.values], words.values, -1)[rows]


def _fit(
    source: _Source, grouped: Grouped, parts: NDArray[np.int8]
) -> tuple[list[Column], Encoder]:
    """Columns of all events and the encoder of the training part; what is dropped is noted."""
    config = source.config
    train = grouped.take(np.flatnonzero(parts == TRAIN))
    columns = source.columns
    if source.traces:
        columns = _describe(source, source.traces, grouped, parts)
        for name in source.table.column_names:
            if name != config.trace:
                source.dropped[name] = "describes the whole trace; only its tokens are inputs"
    told = {name for name, kind in config.told.items() if kind != "out"}
    leaks, notes = find_leaks(columns, train.rows, train.attacks >= 0, told=told)
    kept = [column for column in columns if column.name not in leaks]
    encoder, useless = fit_encoder(kept, train.rows, config)
    source.dropped.update(leaks | useless)
    source.notes.extend(notes)
    if not encoder.parts:
        reasons = "; ".join(f"{name}: {why}" for name, why in list(source.dropped.items())[:10])
        raise DataError(f"{config.data[0]}: no column is left as input ({reasons})")
    return columns, encoder


def _describe(
    source: _Source, traces: Traces, grouped: Grouped, parts: NDArray[np.int8]
) -> list[Column]:
    """Columns of the events of traces."""
    num_rows, first_rows = source.table.num_rows, grouped.rows_in_table[grouped.firsts]
    is_training, is_threat = np.zeros((2, num_rows), dtype=np.bool_)
    is_training[first_rows[parts == TRAIN]] = True
    is_threat[first_rows[grouped.session_attacks >= 0]] = True
    groups = _groups(source, np.arange(num_rows))
    return [*describe_traces(traces, is_training=is_training, is_threat=is_threat, groups=groups)]


def _events_of(
    encoder: Encoder, features: NDArray[np.float32], grouped: Grouped, attack_names: tuple[str, ...]
) -> Events:
    return Events(
        features=features,
        columns=encoder.columns,
        sources=encoder.sources,
        attacks=grouped.attacks,
        attack_names=attack_names,
        starts=grouped.sessions.starts,
    )
