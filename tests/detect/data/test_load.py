"""Loading: any table with a label; nothing of the test part in the features."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pa_compute
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
import tyro

from standing_orders.detect.data.events import DataSet
from standing_orders.detect.data.load import DataConfig, load, load_stream
from standing_orders.errors import ConfigError, DataError


def make_table(num_rows: int = 400, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    size = rng.lognormal(3, 2, num_rows)
    is_threat = rng.random(num_rows) < np.where(size > 40, 0.6, 0.05)
    return pa.table(
        {
            "id": np.arange(num_rows),
            "size": size,
            "proto": rng.choice(["tcp", "udp"], num_rows),
            "always": np.zeros(num_rows),
            "user": rng.permutation(np.arange(num_rows) % 60),
            "when": rng.permutation(num_rows).astype(np.float64),
            "kind": np.where(is_threat, rng.choice(["dos", "scan"], num_rows), "none"),
            "label": is_threat.astype(np.int64),
        }
    )


def save(table: pa.Table, path: Path) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        pa_csv.write_csv(table, path)
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return save(make_table(), tmp_path / "events.csv")


def load_file(path: Path, **options: Any) -> DataSet:
    return load(DataConfig(**({"data": (path,), "label": "label", "attack": "kind"} | options)))


def test_a_table_with_a_label_is_all_it_takes(file: Path) -> None:
    dataset = load_file(file)
    assert dataset.task == "records"
    assert dataset.name == "events.csv"
    assert dataset.train.attack_names == ("dos", "scan")
    sizes = [part.num_events for part in (dataset.train, dataset.validation, dataset.test)]
    assert sum(sizes) == 400
    np.testing.assert_allclose(sizes, [240, 80, 80], atol=3)
    assert set(dataset.train.sources) == {"size", "proto", "user", "when"}
    assert dataset.dropped == {
        "id": "numbers the rows",
        "always": "constant in the training part",
        "kind": "it is the attack",
        "label": "it is the label",
    }


def test_csv_and_parquet_give_the_same_events(file: Path, tmp_path: Path) -> None:
    other = load_file(save(make_table(), tmp_path / "events.parquet"))
    np.testing.assert_array_equal(load_file(file).test.features, other.test.features)


def test_the_seed_decides_the_split(file: Path) -> None:
    first, again, other = (load_file(file, data_seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.train.features, again.train.features)
    assert not np.array_equal(first.test.features, other.test.features)


def test_features_come_from_the_training_part_alone(tmp_path: Path) -> None:
    # A published defect: every split was scaled by its own mean and spread.
    table = make_table()
    shifted = table.set_column(1, "size", pa.array(np.array(table["size"]) * 1000))
    train = save(table, tmp_path / "train.csv")
    plain = load_file(train, test_data=(save(table, tmp_path / "plain.csv"),))
    moved = load_file(train, test_data=(save(shifted, tmp_path / "moved.csv"),))
    np.testing.assert_array_equal(plain.train.features, moved.train.features)
    np.testing.assert_array_equal(plain.validation.features, moved.validation.features)
    at = plain.train.columns.index("size")
    assert moved.test.features[:, at].mean() > plain.test.features[:, at].mean() + 2


def test_test_data_is_the_test_part_and_nothing_else(tmp_path: Path) -> None:
    train = save(make_table(300, seed=1), tmp_path / "a.csv")
    test = save(make_table(100, seed=2), tmp_path / "b.csv")
    dataset = load_file(train, test_data=(test,))
    assert dataset.test.num_events == 100
    assert dataset.train.num_events == pytest.approx(225, abs=3)
    np.testing.assert_array_equal(dataset.test.is_threat, make_table(100, seed=2)["label"])


def test_test_data_by_time_leaves_the_latest_rows_in_validation(tmp_path: Path) -> None:
    train = save(make_table(300, seed=1), tmp_path / "a.csv")
    test = save(make_table(100, seed=2), tmp_path / "b.csv")
    dataset = load_file(train, test_data=(test,), time="when")
    assert dataset.test.num_events == 100
    assert dataset.train.num_events + dataset.validation.num_events == 300


def test_constant_inputs_never_reach_the_agents(file: Path) -> None:
    # A published defect: four of seven inputs were constant.
    dataset = load_file(file)
    assert np.all(np.ptp(dataset.train.features, axis=0) > 0)


def test_sessions_are_never_cut_across_parts(file: Path) -> None:
    dataset = load_file(
        file, session="user", time="when", split="stratified", columns=("id=number",)
    )
    assert dataset.task == "sessions"
    parts = (dataset.train, dataset.validation, dataset.test)
    assert sum(part.num_sessions for part in parts) == 60
    assert sum(part.num_events for part in parts) == 400
    assert "user" not in dataset.train.sources
    assert "when" not in dataset.train.sources


def test_time_splits_by_the_start_of_sessions(tmp_path: Path) -> None:
    table = make_table().append_column("clock", make_table()["when"])
    dataset = load_file(save(table, tmp_path / "t.csv"), time="when")
    at = dataset.train.columns.index("clock")
    for part in (dataset.train, dataset.validation, dataset.test):
        assert np.all(np.diff(part.features[:, at]) >= 0)
    assert dataset.train.features[:, at].max() < dataset.validation.features[:, at].min()
    assert dataset.validation.features[:, at].max() < dataset.test.features[:, at].min()


@pytest.mark.parametrize("kind", ["text", "time of day", "duration"])
def test_a_file_of_either_kind_is_ordered_by_its_times(tmp_path: Path, kind: str) -> None:
    table = make_table()
    plain = load_file(save(table, tmp_path / "plain.parquet"), time="when")
    stamps = pa.array(table["when"].to_numpy().astype(np.int64))
    times = {
        "text": pa_compute.strftime(stamps.cast(pa.timestamp("s")), "%Y-%m-%dT%H:%M:%SZ"),
        "time of day": stamps.cast(pa.int32()).cast(pa.time32("s")),
        "duration": stamps.cast(pa.duration("s")),
    }[kind]
    moved = table.set_column(5, "when", times)
    suffixes = (".parquet",) if kind == "duration" else (".parquet", ".csv")  # CSV has none
    for suffix in suffixes:
        dataset = load_file(save(moved, tmp_path / f"moved{suffix}"), time="when")
        np.testing.assert_array_equal(dataset.test.features, plain.test.features)


def test_rows_without_a_time_are_counted(tmp_path: Path) -> None:
    table = make_table()
    when = pa.array([None] * 3 + table["when"].to_pylist()[3:])
    path = save(table.set_column(5, "when", when), tmp_path / "late.parquet")
    dataset = load_file(path, time="when", session="user", split="stratified")
    assert "when: 3 rows have no time; they come last" in dataset.notes
    with pytest.raises(ConfigError, match="3 of 400 sessions begin without a time"):
        load_file(path, time="when")


def test_groups_stay_together(tmp_path: Path) -> None:
    table = make_table().append_column("copy", make_table()["user"])
    dataset = load_file(save(table, tmp_path / "g.csv"), group="user")
    at = dataset.train.columns.index("copy")
    values = [
        set(part.features[:, at]) for part in (dataset.train, dataset.validation, dataset.test)
    ]
    assert not values[0] & values[1] and not values[0] & values[2] and not values[1] & values[2]


def test_a_trace_a_row_becomes_a_session(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(80) % 4 == 0
    traces = [
        " ".join(map(str, rng.integers(0, 4 + 3 * label, rng.integers(5, 60)))) for label in labels
    ]
    table = pa.table({"calls": traces, "label": labels, "length": [len(t) for t in traces]})
    dataset = load_file(save(table, tmp_path / "t.csv"), trace="calls", attack=None, chunk=10)
    assert dataset.task == "sessions"
    assert dataset.train.num_sessions == 48
    assert dataset.train.sessions.lengths.max() == 6
    assert "length" in dataset.dropped
    np.testing.assert_array_equal(
        dataset.train.session_is_threat[dataset.train.sessions.index], dataset.train.is_threat
    )


def test_prevalence_is_lowered_by_dropping_threats(file: Path) -> None:
    dataset = load_file(file, prevalence=0.089)
    parts = (dataset.train, dataset.validation, dataset.test)
    share = sum(part.is_threat.sum() for part in parts) / sum(part.num_events for part in parts)
    assert share == pytest.approx(0.089, abs=0.003)
    assert sum((~part.is_threat).sum() for part in parts) == np.sum(
        make_table()["label"].to_numpy() == 0
    )


def test_duplicates_go_on_request(tmp_path: Path) -> None:
    table = make_table(200)
    double = pa.concat_tables([table, table.set_column(0, "id", pa.array(np.arange(200) + 900))])
    path = save(double, tmp_path / "d.csv")
    counts = []
    for choice in ("drop", "keep"):
        dataset = load_file(path, duplicates=choice, ignore=("id",))
        parts = (dataset.train, dataset.validation, dataset.test)
        counts.append(sum(part.num_events for part in parts))
    assert counts == [200, 400]


def test_missing_and_infinite_numbers_are_handled_and_noted(tmp_path: Path) -> None:
    table = make_table()
    size = table["size"].to_numpy().copy()
    size[::7], size[1::50] = np.nan, np.inf
    path = save(table.set_column(1, "size", pa.array(size)), tmp_path / "n.parquet")
    dataset = load_file(path)
    assert "size=missing" in dataset.train.columns
    assert any(note.startswith("size: 57 missing values") for note in dataset.notes)
    assert any(note.startswith("size: 8 infinite values") for note in dataset.notes)


def test_without_files_the_synthetic_stream_is_made() -> None:
    assert load(DataConfig()).name == DataConfig().data_name == "synthetic"


def test_a_stream_needs_no_label_and_keeps_every_event(file: Path) -> None:
    stream = load_stream(DataConfig(data=(file,), label="label", attack="kind", time="when"))
    assert stream.num_events == stream.num_sessions == 400


def constant_label(value: int) -> pa.Table:
    return make_table().set_column(7, "label", pa.array([value] * 400))


@pytest.mark.parametrize(
    ("options", "error", "complaint"),
    [
        ({"label": None}, ConfigError, "label: name the column"),
        ({"label": "class"}, ConfigError, "label: no column 'class'; there are id, size, proto"),
        ({"ignore": ("sise",)}, ConfigError, "ignore: no column 'sise'; there are id"),
        ({"label": "user"}, DataError, "'user' is not binary: it has 60 values"),
        ({"split": "time"}, ConfigError, "split = 'time': name the column to split by"),
        ({"time": "proto"}, ConfigError, "time: column 'proto' holds text such as 'tcp'"),
        ({"session": "user", "trace": "proto"}, ConfigError, "session, trace: either"),
        ({"session": "user", "duplicates": "drop"}, ConfigError, "duplicates: only of records"),
        ({"prevalence": 0.9}, ConfigError, "prevalence = 0.9"),
        ({"validation_share": 0.5, "test_share": 0.5}, ConfigError, "nothing to train on"),
        ({"ignore": ("size", "proto", "user", "when")}, DataError, "no column is left as input"),
        ({"data": (Path("absent.csv"),)}, DataError, "absent.csv: cannot be read"),
        ({"separator": ";"}, DataError, "only one column found"),
        ({"max_bytes": 100}, DataError, "raise --max-bytes"),
        ({"max_rows": 100}, DataError, "400 rows, more than the 100 allowed"),
    ],
)
def test_bad_input_gets_one_clear_message(
    file: Path, options: dict[str, Any], error: type[Exception], complaint: str
) -> None:
    with pytest.raises(error, match=complaint):
        load_file(file, **options)


@pytest.mark.parametrize(("value", "kind"), [(0, "benign"), (1, "a threat")])
def test_one_class_only_is_refused(tmp_path: Path, value: int, kind: str) -> None:
    path = save(constant_label(value), tmp_path / "one.csv")
    with pytest.raises(DataError, match=f"one class only, every one of 400 events is {kind}"):
        load_file(path, attack=None)


def test_a_part_of_one_class_is_named(tmp_path: Path) -> None:
    table = make_table().set_column(7, "label", pa.array([1] * 200 + [0] * 200))
    table = table.set_column(5, "when", pa.array(np.arange(400) * 2.0))
    path = save(table, tmp_path / "late.csv")
    with pytest.raises(DataError, match=r"late\.csv: the validation part: one class only"):
        load_file(path, attack=None, time="when")


def test_test_data_of_one_class_are_named(tmp_path: Path, file: Path) -> None:
    test = save(constant_label(0), tmp_path / "calm.csv")
    with pytest.raises(DataError, match=r"calm\.csv: the test part: one class only"):
        load_file(file, test_data=(test,), attack=None)
    other = save(constant_label(0), tmp_path / "other.csv")
    with pytest.raises(DataError, match=r"other\.csv, \S*calm\.csv: one class only"):
        load_file(other, test_data=(test,), attack=None)


def test_test_data_with_other_columns_are_named(tmp_path: Path, file: Path) -> None:
    test = save(make_table().drop_columns(["label"]), tmp_path / "bare.csv")
    with pytest.raises(DataError, match=r"bare\.csv: other columns than \S*events\.csv: label"):
        load_file(file, test_data=(test,))


def test_a_file_that_is_named_twice_is_refused(file: Path) -> None:
    with pytest.raises(ConfigError, match=r"data, test_data: \S*events\.csv is named twice"):
        load_file(file, test_data=(file,))


def test_options_about_files_need_files(file: Path) -> None:
    with pytest.raises(ConfigError, match="test_data, label: no files to read: name them with"):
        load(DataConfig(test_data=(file,), label="label"))


def test_a_column_that_is_the_label_is_dropped_and_named(tmp_path: Path) -> None:
    dataset = load_file(save(make_table(), tmp_path / "leak.csv"), attack=None)
    assert "decides the label alone" in dataset.dropped["kind"]


def test_every_option_is_a_flag_with_a_description() -> None:
    assert all(field.description for field in DataConfig.model_fields.values())
    config = tyro.cli(
        DataConfig,
        args=["--data", "a.csv", "b.csv", "--label", "y", "--ignore", "p", "q", "--split", "time"],
    )
    assert config.data == (Path("a.csv"), Path("b.csv"))
    assert config.ignore == ("p", "q")


@pytest.mark.parametrize("spelling", ["\t", "\\t", "tab"])
def test_a_tab_can_be_spelled_out(spelling: str) -> None:
    assert DataConfig(separator=spelling).separator == "\t"


def test_what_a_label_of_words_means_is_said_and_one_of_numbers_says_it_itself(
    tmp_path: Path,
) -> None:
    rows = [
        f"{i * 7 % 13},{'scan' if i % 4 == 0 else 'flood' if i % 4 == 1 else 'web'}"
        for i in range(80)
    ]
    words = tmp_path / "words.csv"
    words.write_text("\n".join(["size,kind", *rows]) + "\n")
    data = load(DataConfig(data=(words,), label="kind", benign=("web",)))
    assert "label kind: threat is 'flood', 'scan'; benign is 'web'" in data.notes
    numbers = tmp_path / "numbers.csv"
    numbers.write_text("size,kind\n" + "".join(f"{i * 7 % 13},{i % 2}\n" for i in range(80)))
    notes = load(DataConfig(data=(numbers,), label="kind")).notes
    assert not [note for note in notes if note.startswith("label")]


def test_a_column_that_rather_names_the_event_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "flows.csv"
    lines = [f"{i * 7 % 13},f{min(i, 197)},h{i % 3},{i % 2}" for i in range(200)]
    path.write_text("\n".join(["size,flow,host,label", *lines]) + "\n")
    config = DataConfig(data=(path,), label="label")
    assert load(config).dropped["flow"].startswith("198 different texts in 200 rows name the event")
    kept = load(config.model_copy(update={"columns": ("flow=category",)}))
    assert "flow" not in {**kept.dropped} or "frequent" in kept.dropped["flow"]
