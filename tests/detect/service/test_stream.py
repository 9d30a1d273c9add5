"""A stream is judged as it comes: any format, any damage, killed and gone on."""

import gzip
import importlib
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest

from standing_orders.detect.service.judge import Judge, Options, open_team
from standing_orders.detect.service.source import LineSource
from standing_orders.detect.service.stream import Task, score
from standing_orders.errors import ConfigError, DataError
from tests.detect.service.conftest import make_rows, write_csv
from tests.effort import effort

FAST = Options(why=0)


def run(judge: Judge, data: Path, **options: Any) -> tuple[list[dict[str, Any]], Any]:
    out = data.parent / f"{data.name}.verdicts.jsonl"
    task = Task(data, out, **{"options": FAST, **options})
    summary = score(judge, task, report=lambda _: None)
    return [json.loads(line) for line in out.read_text().splitlines()], summary


def verdicts(lines: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(line["verdict"], line["threat"], tuple(line["votes"])) for line in lines]


def as_json(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def as_zeek(path: Path, rows: list[dict[str, Any]]) -> Path:
    types = {"ts": "time", "src_ip": "addr", "dest_port": "port", "bytes": "double",
             "pkts": "count"}  # fmt: skip
    names = [name for name in rows[0] if name != "label"]
    head = ["#separator \\x09", "#set_separator\t,", "#empty_field\t(empty)", "#unset_field\t-",
            "#path\tconn", "#fields\t" + "\t".join(names),
            "#types\t" + "\t".join(types.get(name, "string") for name in names)]  # fmt: skip
    body = ["\t".join(str(row[name]) for name in names) for row in rows]
    path.write_text("\n".join([*head, *body, "#close\t2026-01-01-00-00-00"]) + "\n")
    return path


def test_every_format_gives_the_same_verdicts(judge: Judge, tmp_path: Path) -> None:
    rows = make_rows(50, 5)
    plain = write_csv(tmp_path / "a.csv", rows)
    expected, _ = run(judge, plain)
    assert len(expected) == 50 and len({line["verdict"] for line in expected}) > 1
    zipped = tmp_path / "b.csv.gz"
    zipped.write_bytes(gzip.compress(plain.read_bytes()))
    tabs = tmp_path / "c.tsv"
    tabs.write_text(plain.read_text().replace(",", "\t"))
    parquet = tmp_path / "d.parquet"
    pa_parquet.write_table(pa_csv.read_csv(plain), parquet)
    unnamed = tmp_path / "e.csv"
    unnamed.write_text(plain.read_text().split("\n", 1)[1])
    made = [zipped, tabs, parquet, unnamed, as_json(tmp_path / "f.json", rows),
            as_zeek(tmp_path / "g.log", rows)]  # fmt: skip
    for path in made:
        lines, _ = run(judge, path)
        assert verdicts(lines) == verdicts(expected), path.name


def test_verdicts_can_be_csv_and_parquet(judge: Judge, tmp_path: Path) -> None:
    data = write_csv(tmp_path / "a.csv", make_rows(20, 6))
    lines, _ = run(judge, data)
    for name in ("v.csv", "v.parquet"):
        score(judge, Task(data, tmp_path / name, options=FAST), report=lambda _: None)
    read = pa_csv.read_csv(tmp_path / "v.csv")
    assert read["verdict"].to_pylist() == [line["verdict"] for line in lines]
    table = pa_parquet.read_table(tmp_path / "v.parquet")
    assert table["offset"].to_pylist() == [line["offset"] for line in lines]
    with pytest.raises(ConfigError, match="must end in"):
        score(judge, Task(data, tmp_path / "v.doc"), report=lambda _: None)
    with pytest.raises(ConfigError, match="cannot grow"):
        task = Task(data, tmp_path / "w.parquet", tmp_path / "state")
        score(judge, task, report=lambda _: None)


def test_broken_lines_are_answered_with_an_alert_and_counted(judge: Judge, tmp_path: Path) -> None:
    rows = [json.dumps(row) for row in make_rows(30, 7)]
    good, _ = run(judge, as_json(tmp_path / "good.json", make_rows(30, 7)))
    broken = ["{", "[]", '"text"', "{}" * 9, '{"bytes": 1', "\x00\x01", "null", '{"a":' * 3000]
    mixed = tmp_path / "mixed.json"
    lines = [part for pair in zip(rows, broken * 4, strict=False) for part in pair]
    mixed.write_bytes("\n".join(lines).encode() + b"\n\xff\xfe\n\n\n" + rows[0].encode())
    told, summary = run(judge, mixed)
    bad = [line for line in told if line.get("unfit", [""])[0].startswith("unreadable")]
    assert len(bad) == 31 and summary.tally.unreadable == 31
    assert {line["verdict"] for line in bad} == {"alert"}
    assert verdicts([line for line in told if line not in bad])[:30] == verdicts(good)
    assert any("do not fit" in warning for warning in summary.warnings)


def test_a_quoted_field_or_a_short_row_spoils_no_other(judge: Judge, tmp_path: Path) -> None:
    plain = write_csv(tmp_path / "a.csv", make_rows(12, 8))
    expected, _ = run(judge, plain)
    lines = plain.read_text().splitlines()
    lines[3:3] = ["1,2,3", '"never closed,1,2,3,4,5,6,7']
    torn = tmp_path / "torn.csv"
    torn.write_text("\n".join(lines) + "\n")
    told, _ = run(judge, torn)
    kept = [line for index, line in enumerate(told) if index not in (2, 3)]
    assert verdicts(kept) == verdicts(expected)
    assert all("unreadable" in told[index]["unfit"][0] for index in (2, 3))


@pytest.fixture(scope="module")
def streams() -> Any:
    sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
    yield importlib.import_module("streams")
    sys.path.pop(0)


def test_mangled_files_get_verdicts_or_one_clear_message(
    streams: Any, judge: Judge, tmp_path: Path
) -> None:
    once_wrong = (83, 153, 320, 322, 387)  # damaged pages of Parquet, a lone carriage return
    seeds = (*range(effort(60, 25)), *once_wrong)
    found = sum((streams.score_mangled(judge, tmp_path, seed) for seed in seeds), Counter())
    assert found["judged"] + found["refused"] == len(seeds)
    assert found["judged"] > len(seeds) / 3 and found["bad"] > len(seeds) / 3


def test_drift_is_measured_and_warned_of(judge: Judge, tmp_path: Path) -> None:
    same, summary = run(judge, write_csv(tmp_path / "same.csv", make_rows(800, 10)))
    assert len(same) == 800 and summary.drift["bytes"] < 0.1
    assert not [line for line in summary.warnings if line.startswith("drift")]
    rows = [row | {"bytes": row["bytes"] * 50} for row in make_rows(800, 10)]
    _, summary = run(judge, write_csv(tmp_path / "other.csv", rows))
    assert summary.drift["bytes"] > 1 and summary.warnings[0].startswith("drift")
    assert summary.alerts_an_hour == pytest.approx(
        (800 - summary.tally.verdicts["allow"]) / (799 / 3600)
    )


def test_a_stream_goes_on_where_it_stopped(sessions: Path, tmp_path: Path) -> None:
    judge = open_team(sessions / "run")
    rows = make_rows(120, 11, sessions=12)
    whole = as_json(tmp_path / "whole.json", rows)
    options = Options(why=0, max_sessions=5)
    expected, _ = run(judge, whole, options=options, state=tmp_path / "s1")
    growing = as_json(tmp_path / "growing.json", rows[:50])
    told, _ = run(judge, growing, options=options, state=tmp_path / "s2", batch=7)
    assert len([line for line in told if "end" not in line]) == 50
    as_json(growing, rows)
    with (tmp_path / "growing.json.verdicts.jsonl").open("a") as file:
        file.write('{"torn')  # what a killed process may leave
    told, summary = run(judge, growing, options=options, state=tmp_path / "s2", batch=7)
    assert told == expected
    assert summary.tally.events == 120
    again, _ = run(judge, growing, options=options, state=tmp_path / "s2")
    assert again == expected  # nothing new, nothing lost


def test_the_state_of_another_file_or_team_is_refused(
    judge: Judge, sessions: Path, tmp_path: Path
) -> None:
    data = write_csv(tmp_path / "a.csv", make_rows(9, 12))
    run(judge, data, state=tmp_path / "state")
    write_csv(data, make_rows(9, 13))
    with pytest.raises(DataError, match="is not the file that was judged"):
        run(judge, data, state=tmp_path / "state")
    with pytest.raises(DataError, match="another team"):
        run(open_team(sessions / "run"), data, state=tmp_path / "state")


def test_what_was_read_ahead_but_not_judged_is_not_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"".join(b"line %d\n" % number for number in range(30)))
    source = LineSource(path, most=10)
    first = source.read(1)
    assert first is not None and len(first.lines) == 10
    again = LineSource(path, most=100)
    assert source.head()["size"] > first.next_offset
    assert again.go_to(first.next_offset, source.head())
    rest = again.read(1)
    assert rest is not None and rest.lines == [b"line %d" % number for number in range(10, 30)]
    assert rest.offsets[0] == first.next_offset
    source.close()
    again.close()


@pytest.mark.slow
def test_killed_streams_lose_no_event(streams: Any, sessions: Path, tmp_path: Path) -> None:
    text = streams.as_json(make_rows(600, 14, sessions=60))
    data = tmp_path / "events.json"
    data.write_bytes(text)
    judge, options = open_team(sessions / "run"), Options(why=0, max_sessions=200)
    expected, _ = run(judge, data, options=options, state=tmp_path / "s")
    out, kills = streams.kill_and_go_on(sessions / "run", text, tmp_path, kills=4, seed=0)
    assert kills == 4
    assert [json.loads(line) for line in out.read_text().splitlines()] == expected
