"""Named data sets: small imitations everywhere, the real files where they lie beside us."""

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from standing_orders.detect.data.load import DataConfig, load, load_stream
from standing_orders.detect.data.options import NSL_KDD_COLUMNS, fill_options
from standing_orders.errors import DataError


def imitate_nsl_kdd(folder: Path, num_rows: int = 200) -> None:
    rng = np.random.default_rng(0)
    for name in ("KDDTrain+.txt.gz", "KDDTest+.txt.gz"):
        rows = []
        for _ in range(num_rows):
            label = str(rng.choice(["normal", "normal", "neptune", "smurf"]))
            values = [str(int(rng.poisson(3 + 9 * (label != "normal")))) for _ in range(41)]
            values[1:4] = ["tcp", str(rng.choice(["http", "ftp"])), "SF"]
            rows.append(",".join([*values, label, "21"]))
        (folder / name).write_bytes(gzip.compress("\n".join(rows).encode()))


def imitate_adfa_ld(path: Path) -> None:
    rng = np.random.default_rng(0)
    instances = [""] * 40 + [f"Adduser_{run}" for run in range(10) for _ in range(3)]
    calls = [
        (rng.integers(1, 30, rng.integers(75, 200)) + 5 * bool(instance)).tolist()
        for instance in instances
    ]
    table = {
        "file": [f"{number}.txt" for number in range(70)],
        "category": [instance.split("_")[0] or "normal" for instance in instances],
        "instance": instances,
        "syscalls": pa.array(calls, type=pa.list_(pa.int16())),
        "length": [len(trace) for trace in calls],
        "label": [int(bool(instance)) for instance in instances],
    }
    pq.write_table(pa.table(table), path)


def imitate_darpa(path: Path) -> None:
    rng = np.random.default_rng(0)
    columns = "part sequence thread_id subject object entity size pid memory_address"
    table = {name: rng.integers(0, 9, 300) for name in columns.split()}
    table |= {
        "record_type": ["EVENT"] * 200 + ["SUBJECT"] * 100,
        "timestamp_ns": rng.permutation(300) + 10**18,
        "event_type": pa.array(rng.choice(["OPEN", "MMAP"], 300)).dictionary_encode(),
        "file_path": rng.choice(["", "/bin/sh"], 300),
        "protection": rng.choice(["", "5"], 300),
        "is_suspicious": rng.random(300) < 0.1,
    }
    pq.write_table(pa.table(table), path)


def test_what_the_user_says_beats_the_format() -> None:
    filled = fill_options(DataConfig(format="nsl-kdd", threats=("neptune",), ignore=("land",)))
    assert filled.threats == ("neptune",)
    assert filled.benign == ()
    assert filled.ignore == ("difficulty", "land")
    assert filled.label == "class"
    assert fill_options(DataConfig(format="unsw-nb15", duplicates="keep")).duplicates == "keep"


def test_nsl_kdd_is_pooled_from_its_folder_without_difficulty(tmp_path: Path) -> None:
    imitate_nsl_kdd(tmp_path)
    dataset = load(DataConfig(data=(tmp_path,), format="nsl-kdd"))
    assert len(NSL_KDD_COLUMNS) == 43
    parts = (dataset.train, dataset.validation, dataset.test)
    assert sum(part.num_events for part in parts) == 400
    assert dataset.train.attack_names == ("neptune", "smurf")
    assert dataset.dropped["difficulty"] == "ignored"
    assert "protocol_type" in dataset.dropped


def test_nsl_kdd_can_keep_its_published_split(tmp_path: Path) -> None:
    imitate_nsl_kdd(tmp_path, 150)
    files = [tmp_path / name for name in ("KDDTrain+.txt.gz", "KDDTest+.txt.gz")]
    dataset = load(DataConfig(data=(files[0],), test_data=(files[1],), format="nsl-kdd"))
    assert dataset.test.num_events == 150


def test_a_folder_without_the_files_says_which(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no UNSW_NB15_82332\.csv\.gz in it, which unsw-nb15"):
        load(DataConfig(data=(tmp_path,), format="unsw-nb15"))


def test_unsw_nb15_drops_duplicates_and_the_category(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 300)
    table = pa.table(
        {
            "id": np.arange(600) + 1,
            "dur": np.tile(rng.random(300), 2),
            "proto": np.tile(rng.choice(["tcp", "udp"], 300), 2),
            "attack_cat": np.tile(np.where(label, "DoS", "Normal"), 2),
            "label": np.tile(label, 2),
        }
    )
    path = tmp_path / "UNSW_NB15_82332.csv"
    pa_csv.write_csv(table, path)
    dataset = load(DataConfig(data=(path,), format="unsw-nb15"))
    parts = (dataset.train, dataset.validation, dataset.test)
    assert sum(part.num_events for part in parts) == 300
    assert set(dataset.train.sources) == {"dur", "proto"}


def test_adfa_ld_is_split_by_attack_instance(tmp_path: Path) -> None:
    path = tmp_path / "adfa_ld_traces.parquet"
    imitate_adfa_ld(path)
    dataset = load(DataConfig(data=(tmp_path,), format="adfa-ld"))
    threats = [
        int(part.session_is_threat.sum())
        for part in (dataset.train, dataset.validation, dataset.test)
    ]
    assert threats == [18, 6, 6]  # 6, 2 and 2 runs of 3 traces
    assert dataset.task == "sessions"
    assert dataset.train.attack_names == ("Adduser",)


def test_darpa_is_a_benign_stream_and_nothing_to_train_on(tmp_path: Path) -> None:
    path = tmp_path / "trace_e5_20190507_500k.parquet"
    imitate_darpa(path)
    config = DataConfig(data=(path,), format="darpa-trace-e5")
    with pytest.raises(
        DataError, match=r"one class only, every one of 200 events is benign.*no labels"
    ):
        load(config)
    stream = load_stream(config)
    assert stream.num_events == 200
    assert not stream.is_threat.any()
    assert set(stream.sources) == {"event_type", "file_path", "protection", "size"}


@pytest.mark.slow
def test_real_nsl_kdd_at_the_published_prevalence(real_data: Path) -> None:
    config = DataConfig(data=(real_data / "nsl-kdd",), format="nsl-kdd", prevalence=0.089)
    dataset = load(config)
    parts = (dataset.train, dataset.validation, dataset.test)
    assert sum(int((~part.is_threat).sum()) for part in parts) == 67_343 + 9_711
    assert all(part.prevalence == pytest.approx(0.089, abs=0.001) for part in parts)
    assert dataset.dropped["num_outbound_cmds"] == "constant in the training part"


@pytest.mark.slow
def test_real_unsw_nb15_has_55945_distinct_rows(real_data: Path) -> None:
    dataset = load(DataConfig(data=(real_data / "unsw-nb15",), format="unsw-nb15"))
    parts = (dataset.train, dataset.validation, dataset.test)
    assert sum(part.num_events for part in parts) == 55_945


@pytest.mark.slow
def test_real_unsw_nb15_stream_is_in_time_order(real_data: Path) -> None:
    dataset = load(DataConfig(data=(real_data / "unsw-nb15",), format="unsw-nb15-stream"))
    assert dataset.dropped["Stime"] == "it is the time"
    assert "srcip" in dataset.dropped
    assert dataset.test.is_threat.any()


@pytest.mark.slow
def test_real_adfa_ld_is_whole(real_data: Path) -> None:
    dataset = load(DataConfig(data=(real_data / "adfa-ld",), format="adfa-ld"))
    parts = (dataset.train, dataset.validation, dataset.test)
    assert sum(part.num_sessions for part in parts) == 5_951
    assert sum(int(part.session_is_threat.sum()) for part in parts) == 746
    assert len(dataset.train.attack_names) == 6


@pytest.mark.slow
def test_real_darpa_streams(real_data: Path) -> None:
    folder = real_data / "darpa-tc-trace-e5"
    stream = load_stream(DataConfig(data=(folder,), format="darpa-trace-e5"))
    assert stream.num_events == 408_301
