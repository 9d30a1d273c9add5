import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from standing_orders.errors import CheckpointError, DataError, NumericsError
from standing_orders.runs.journal import Journal
from tests.effort import effort

scalars = st.none() | st.booleans() | st.integers() | st.text()
numbers = st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    scalars | numbers,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
records = st.dictionaries(
    st.text().filter(lambda key: key != "seal"), values, min_size=1, max_size=5
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


def filled(path: Path, num_records: int) -> Journal:
    journal = Journal(path, origin="run")
    for i in range(num_records):
        journal.append({"i": i, "value": i / 7})
    journal.close()
    return journal


@given(st.lists(records, max_size=5))
@settings(max_examples=effort(60, 25), deadline=None, print_blob=True)
def test_any_records_come_back_exactly(
    tmp_path_factory: pytest.TempPathFactory, written: list[dict[str, Any]]
) -> None:
    path = tmp_path_factory.mktemp("journal") / "journal.jsonl"
    with Journal(path, origin="run") as journal:
        for record in written:
            journal.append(record)
    # As text, because 0.0 == -0.0, 1 == True, and mappings compare without their order.
    assert [repr(record) for record in Journal(path, origin="run").read()] == [
        repr(r) for r in written
    ]
    assert path.read_bytes().count(b"\n") == len(written) if written else not path.exists()


def test_the_same_records_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        filled(tmp_path / name, 20)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_new_object_appends_behind_the_old_records(path: Path) -> None:
    filled(path, 2)
    with Journal(path, origin="run") as journal:
        assert journal.head[0] == 2
        journal.append({"i": 2})
        assert journal.head[0] == 3
    assert [record["i"] for record in journal.read()] == [0, 1, 2]


def test_nan_is_refused_by_name_and_writes_nothing(path: Path) -> None:
    journal = filled(path, 1)
    with pytest.raises(NumericsError, match=r"journal\.jsonl: loss\.value = nan"):
        journal.append({"loss": {"value": math.nan}})
    assert len(journal.read()) == 1


@pytest.mark.parametrize("tail", ['{"i":3,"val', '{"i":3,"value":0.5}', "\0\0\0\0\n", "3\n", "\n"])
def test_a_torn_last_line_is_dropped_and_reported(path: Path, tail: str) -> None:
    filled(path, 3)
    with path.open("a") as file:
        file.write(tail)
    messages: list[str] = []
    journal = Journal(path, origin="run", report=messages.append)
    assert [record["i"] for record in journal.read()] == [0, 1, 2]
    assert len(messages) == 1
    assert "journal.jsonl: line 4" in messages[0]


def test_reports_go_to_the_log_unless_told_otherwise(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_text('{"i":')
    assert Journal(path, origin="run").read() == []
    assert "line 1" in caplog.text


def test_appending_after_a_torn_line_replaces_it(path: Path) -> None:
    filled(path, 3)
    complete = path.read_bytes()
    path.write_bytes(complete + b'{"i":3,"val')
    with Journal(path, origin="run", report=[].append) as journal:
        journal.append({"i": 3})
    assert path.read_bytes().startswith(complete + b'{"i":3,"seal":"')
    assert [record["i"] for record in journal.read()] == [0, 1, 2, 3]


@pytest.mark.parametrize("broken", [b"{]", b"", b"[1]", b"\xff", b'{"i":NaN}', b'{"i":1}\r{"i":2}'])
def test_a_broken_line_in_the_middle_is_an_error_that_names_it(path: Path, broken: bytes) -> None:
    filled(path, 4)
    lines = path.read_bytes().split(b"\n")
    lines[2] = broken
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(DataError, match=r"journal\.jsonl: line 3: "):
        Journal(path, origin="run").read()
    before = path.read_bytes()
    with pytest.raises(DataError):
        Journal(path, origin="run").append({"i": 9})
    assert path.read_bytes() == before


@pytest.mark.parametrize("num_kept", [0, 1, 4, 5])
def test_cutting_keeps_the_first_records_to_the_byte(path: Path, num_kept: int) -> None:
    journal = filled(path, 5)
    lines = path.read_bytes().splitlines(keepends=True)
    journal.truncate_after(num_kept)
    assert path.read_bytes() == b"".join(lines[:num_kept])
    journal.append({"next": True})
    journal.close()
    assert path.read_bytes().startswith(b"".join(lines[:num_kept]) + b'{"next":true,"seal":"')
    assert journal.read()[-1] == {"next": True}


def test_cutting_while_open_does_not_write_to_the_old_file(path: Path) -> None:
    with Journal(path, origin="run") as journal:
        for i in range(3):
            journal.append({"i": i})
        journal.truncate_after(1)
        journal.append({"i": 9})
        assert journal.head[0] == 2
    assert [json.loads(line)["i"] for line in path.read_text().splitlines()] == [0, 9]


def test_cutting_removes_a_torn_line(path: Path) -> None:
    journal = filled(path, 2)
    complete = path.read_bytes()
    path.write_bytes(complete + b'{"i"')
    journal.truncate_after(2)
    assert path.read_bytes() == complete


def test_more_records_than_there_are_cannot_be_kept(path: Path) -> None:
    journal = filled(path, 2)
    with pytest.raises(CheckpointError, match="has 2 records, cannot be cut after 3"):
        journal.truncate_after(3)


def test_no_file_is_an_empty_journal(path: Path) -> None:
    journal = Journal(path, origin="run")
    assert journal.read() == []
    assert journal.head == (0, "run")
    journal.truncate_after(0)
    assert not path.exists()


def test_any_flipped_bit_is_an_error_or_an_incomplete_last_line(path: Path) -> None:
    filled(path, 3)
    content = path.read_bytes()
    for position in range(len(content) * 8):
        changed = bytearray(content)
        changed[position // 8] ^= 1 << position % 8
        path.write_bytes(changed)
        dropped: list[str] = []
        try:
            read = Journal(path, origin="run", report=dropped.append).read()
        except DataError:
            continue
        assert [record["i"] for record in read] == [0, 1][: len(read)]
        assert len(dropped) == 1  # so it is said, and a checkpoint that needs the record is refused


@pytest.mark.parametrize("change", ["swap", "drop", "foreign"])
def test_lines_that_are_not_where_they_were_written_are_an_error(path: Path, change: str) -> None:
    filled(path, 4)
    lines = path.read_bytes().splitlines(keepends=True)
    if change == "swap":
        lines[1], lines[2] = lines[2], lines[1]
    elif change == "drop":
        del lines[1]
    path.write_bytes(b"".join(lines))
    origin = "another run" if change == "foreign" else "run"
    with pytest.raises(DataError, match="its seal does not fit"):
        Journal(path, origin=origin).read()


@pytest.mark.parametrize("num_lost", [1, 2, 4])
def test_records_that_were_noted_are_missed(path: Path, num_lost: int) -> None:
    journal = filled(path, 4)
    journal.note_head()
    journal.check_head()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-num_lost]))
    with pytest.raises(CheckpointError, match=f"has {4 - num_lost} records, but 4 were written"):
        Journal(path, origin="run").check_head()


def test_one_record_more_than_noted_is_what_a_kill_leaves(path: Path) -> None:
    journal = filled(path, 2)
    journal.note_head()
    journal.append({"i": 2})
    Journal(path, origin="run").check_head()
    journal.append({"i": 3})
    with pytest.raises(CheckpointError, match="not the records that were written"):
        Journal(path, origin="run").check_head()
