"""Files: what is read, and one clear message for each that cannot be."""

import gzip
import os
import resource
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from standing_orders.detect.data.options import DataConfig
from standing_orders.detect.data.tables import read_tables
from standing_orders.errors import DataError

CSV = "a,b\n1,x\n2,y\n"


def read(*paths: Path, **options: object) -> pa.Table:
    limits = {"max_rows": 1000, "max_bytes": 10**6}
    return read_tables(paths, DataConfig(**(limits | options)))


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_csv_gzip_and_parquet_hold_the_same_whatever_their_names(tmp_path: Path) -> None:
    plain = write(tmp_path / "plain.csv", CSV)
    packed = tmp_path / "packed.txt"
    packed.write_bytes(gzip.compress(CSV.encode()))
    parquet = tmp_path / "table.data"
    pq.write_table(read(plain), parquet)
    assert read(plain).to_pydict() == {"a": [1, 2], "b": ["x", "y"]}
    assert read(packed).equals(read(plain))
    assert read(parquet).to_pydict() == read(plain).to_pydict()


def test_files_are_read_one_after_the_other_whatever_the_order_of_columns(tmp_path: Path) -> None:
    first = write(tmp_path / "1.csv", CSV)
    second = write(tmp_path / "2.csv", "b,a\nz,3.5\n")
    assert read(first, second).to_pydict() == {"a": [1, 2, 3.5], "b": ["x", "y", "z"]}


def test_a_column_of_numbers_here_and_words_there_is_text(tmp_path: Path) -> None:
    first = write(tmp_path / "1.csv", CSV)
    second = write(tmp_path / "2.csv", "a,b\nn,q\n")
    assert read(first, second)["a"].to_pylist() == ["1", "2", "n"]


def test_a_type_that_changes_late_in_the_file_is_no_obstacle(tmp_path: Path) -> None:
    path = write(tmp_path / "late.csv", "a,b\n" + "1,2\n" * 400_000 + "n.k.,3\n")
    table = read(path, max_rows=10**6, max_bytes=10**7)
    assert table["a"][-1].as_py() == "n.k."
    assert table.num_rows == 400_001


def test_names_lose_their_spaces_and_the_byte_order_mark_and_stay_distinct(tmp_path: Path) -> None:
    path = write(tmp_path / "names.csv", "\ufeffid, Label ,id\n1,2,3\n")
    assert read(path).column_names == ["id", "Label", "id (2)"]


def test_a_file_without_header_gets_the_names_given(tmp_path: Path) -> None:
    assert read(write(tmp_path / "n.csv", "1,2\n"), header=["p", "q"]).to_pydict() == {
        "p": [1],
        "q": [2],
    }


def test_missing_and_infinite_numbers_are_read_as_such(tmp_path: Path) -> None:
    table = read(write(tmp_path / "n.csv", "a,b\nNaN,1\nInfinity,2\n,3\n-inf,4\n"))
    assert table["a"].to_pylist() == [None, float("inf"), None, float("-inf")]


def bad_files(folder: Path) -> list[tuple[Path, str]]:
    half = gzip.compress(CSV.encode() * 1000)
    (folder / "half.csv.gz").write_bytes(half[: len(half) // 2])
    (folder / "text.csv.gz").write_text(CSV)
    (folder / "text.parquet").write_text(CSV)
    (folder / "cut.parquet").write_bytes(b"PAR1" + b"\0" * 50)
    (folder / "empty.csv.gz").write_bytes(gzip.compress(b""))
    (folder / "binary.csv").write_bytes(b"a,b\n\xff\xfe\x00,\x01\n\x02\n")
    return [
        (folder / "absent.csv", "cannot be read: No such file"),
        (folder, "a folder"),
        (write(folder / "empty.csv", ""), "the file is empty"),
        (folder / "empty.csv.gz", "the file is empty"),
        (write(folder / "head.csv", "a,b\n"), "a header but no rows"),
        (write(folder / "s.csv", "a:b\n1:2\n"), "only one column.*--separator"),
        (folder / "half.csv.gz", "not a readable gzip"),
        (folder / "text.csv.gz", "not a readable gzip"),
        (folder / "text.parquet", "not a readable Parquet"),
        (folder / "cut.parquet", "not a readable Parquet"),
        (write(folder / "ragged.csv", "a,b\n1,2\n1,2,3\n"), "not a readable CSV"),
        (folder / "binary.csv", "not a readable CSV"),
        (write(folder / "rows.csv", "a,b\n" + "1,2\n" * 1001), "1001 rows.*--max-rows"),
        (write(folder / "large.csv", "a,b\n" + "1,2\n" * 300_000), "--max-bytes"),
    ]


def test_each_bad_file_gets_one_clear_line(tmp_path: Path) -> None:
    for path, complaint in bad_files(tmp_path):
        with pytest.raises(DataError, match=complaint) as caught:
            read(path)
        assert str(caught.value).startswith(str(path))
        assert "\n" not in str(caught.value)


def test_ten_gigabytes_are_refused_before_any_is_read(tmp_path: Path) -> None:
    path = tmp_path / "sparse.csv"
    with path.open("wb") as file:
        file.truncate(10 * 10**9)  # takes no space on disk
    with pytest.raises(DataError, match="10 GB of data"):
        read(path, max_bytes=2 * 10**9)


def test_a_gzip_bomb_stops_at_the_guard(tmp_path: Path) -> None:
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 5_000_000))
    assert path.stat().st_size < 10**6
    with pytest.raises(DataError, match="--max-bytes"):
        read(path, max_rows=10**9)


def test_a_parquet_file_that_unpacks_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "zeros.parquet"
    pq.write_table(pa.table({"a": [0.0] * 500_000}), path, compression="gzip", use_dictionary=False)
    assert path.stat().st_size < 10**6
    with pytest.raises(DataError, match="--max-bytes"):
        read(path, max_rows=10**9)
    with pytest.raises(DataError, match="--max-rows"):
        read(path, max_bytes=10**9)


def test_files_with_other_columns_are_refused(tmp_path: Path) -> None:
    first, second = write(tmp_path / "1.csv", CSV), write(tmp_path / "2.csv", "a,c\n1,2\n")
    with pytest.raises(DataError, match=r"other columns than .*1\.csv: b, c"):
        read(first, second)


def test_utf16_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text(CSV, encoding="utf-16")
    with pytest.raises(DataError, match=r"wide\.csv: UTF-16 text: convert the file to UTF-8"):
        read(path)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(DataError, match="pipe: a pipe or a device"):
        read(path)


def test_a_row_with_too_few_or_too_many_fields_is_named_by_its_number(tmp_path: Path) -> None:
    for text in ("a,b\n1,x\n2\n", "a,b\n1,x\n2,y,z\n"):
        with pytest.raises(DataError, match=r"Row #3: Expected 2 columns, got [13]"):
            read(write(tmp_path / "ragged.csv", text))


def test_latin_1_is_named_as_such(tmp_path: Path) -> None:
    path = tmp_path / "latin.csv"
    path.write_bytes("a,b\n1,x\n2,José\n".encode("latin-1"))
    wanted = r"column 'b', row 2: not UTF-8 but probably Latin-1 \('José'\).*iconv -f latin1"
    with pytest.raises(DataError, match=wanted):
        read(path)


def test_a_small_file_of_long_texts_is_refused_before_it_fills_memory(tmp_path: Path) -> None:
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 50_000, pa.int32()), ["x" * 10**6])
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"a": text, "b": list(range(50_000))}), path, compression="zstd")
    assert path.stat().st_size < 10**6
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DataError, match="GB of data, more than"):
        read_tables([path], DataConfig(max_bytes=10**8))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 500_000  # kB; unpacked it has 50 GB


def test_rare_types_become_those_that_everything_else_knows(tmp_path: Path) -> None:
    path = tmp_path / "odd.parquet"
    columns = {
        "view": pa.array(["a", None], pa.string_view()),
        "fixed": pa.array([b"abc", b"def"], pa.binary(3)),
        "half": pa.array(np.array([1, 0], np.float16)),
        "word": pa.array(["x", "y"]),
    }
    pq.write_table(pa.table(columns), path)
    table = read_tables([path], DataConfig())
    types = [str(kind) for kind in table.schema.types]
    assert types == ["string", "binary", "float", "string"]
    assert table["view"].to_pylist() == ["a", None]


def test_more_columns_than_anybody_has_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"c{n}" for n in range(20_000)) + "\n" + ",".join("1" * 20_000) + "\n")
    with pytest.raises(DataError, match="20000 columns, more than"):
        read_tables([path], DataConfig())
