"""Logs as people have them: told by their first lines, nested keys flattened, damage named."""

import json
from pathlib import Path

import pytest

from standing_orders.detect.data.lines import Dialect, find_dialect, read_events
from standing_orders.detect.data.options import DataConfig
from standing_orders.detect.data.tables import read_tables
from standing_orders.errors import DataError

EVE = [
    {"timestamp": "2026-03-01T10:00:00.000001+0000", "flow_id": 811, "event_type": "alert",
     "src_ip": "192.168.1.5", "src_port": 50522, "dest_ip": "10.0.0.9", "dest_port": 445,
     "proto": "TCP", "alert": {"action": "allowed", "signature_id": 2024, "severity": 1},
     "flow": {"pkts_toserver": 5, "bytes_toserver": 712}, "tags": ["smb", "lateral"]},
    {"timestamp": "2026-03-01T10:00:01.000001+0000", "flow_id": 812, "event_type": "dns",
     "src_ip": "192.168.1.6", "src_port": 50001, "dest_ip": "10.0.0.1", "dest_port": 53,
     "proto": "UDP", "dns": {"type": "query", "rrname": "example.org"}},
]  # fmt: skip
ZEEK = """#separator \\x09
#set_separator\t,
#empty_field\t(empty)
#unset_field\t-
#path\tconn
#fields\tts\tuid\tid.orig_h\tid.resp_p\tproto\tduration\torig_bytes\tlocal_orig
#types\ttime\tstring\taddr\tport\tenum\tinterval\tcount\tbool
1772359200.5\tCHhAvVGS1DHFjwGM9\t192.168.1.5\t443\ttcp\t1.5\t712\tT
1772359201.5\tC4J4Th3PJpwUYZZ6gc\t192.168.1.6\t53\tudp\t-\t-\tF
#close\t2026-03-01-11-00-00
"""


def table(path: Path) -> dict[str, list[object]]:
    columns: dict[str, list[object]] = read_tables([path], DataConfig()).to_pydict()
    return columns


def test_suricata_keys_are_flattened(tmp_path: Path) -> None:
    path = tmp_path / "eve.json"
    path.write_text("".join(json.dumps(event) + "\n" for event in EVE))
    columns = table(path)
    assert columns["alert.severity"] == [1, None]
    assert columns["flow.bytes_toserver"] == [712, None]
    assert columns["dns.rrname"] == [None, "example.org"]
    assert columns["tags"] == ["smb lateral", None]
    assert columns["dest_port"] == [445, 53]


def test_zeek_logs_are_read_by_their_own_header(tmp_path: Path) -> None:
    path = tmp_path / "conn.log"
    path.write_text(ZEEK)
    columns = table(path)
    assert columns["ts"] == [1772359200.5, 1772359201.5]
    assert columns["id.resp_p"] == [443, 53]
    assert columns["duration"] == [1.5, None]
    assert columns["local_orig"] == [True, False]


def test_zeek_json_keeps_its_dotted_names(tmp_path: Path) -> None:
    path = tmp_path / "conn.json"
    path.write_text('{"ts":1.5,"id.orig_h":"10.0.0.1","id.resp_p":22,"proto":"tcp"}\n')
    assert table(path)["id.resp_p"] == [22]


def test_tabs_semicolons_and_commas_are_found(tmp_path: Path) -> None:
    for separator in "\t;|,":
        path = tmp_path / "a.txt"
        path.write_text(f"a{separator}b\n1{separator}x\n")
        assert table(path) == {"a": [1], "b": ["x"]}


def test_a_log_that_is_damaged_is_refused_with_the_first_fault(tmp_path: Path) -> None:
    path = tmp_path / "eve.json"
    path.write_text('{"a": 1}\n{"a":\n{"a": 2}\n')
    with pytest.raises(DataError, match=r"1 of 3 events cannot be read.*event 2: not JSON"):
        table(path)
    path.write_text("[1, 2]\n")
    with pytest.raises(DataError, match="jq -c"):
        table(path)


def test_a_header_that_names_nothing_known_is_no_header() -> None:
    known = ("size", "port")
    assert find_dialect([b"size,port"], known=known)[1] == 1
    dialect, skipped = find_dialect([b"3,80"], known=known)
    assert (dialect.names, skipped) == (known, 0)
    with pytest.raises(DataError, match="names no column known from training"):
        find_dialect([b"rubbish"], known=known)


def test_a_dialect_comes_back_as_it_was() -> None:
    dialect = Dialect("zeek", "\t", ("a", "b"), ("count", "string"))
    assert Dialect.from_json(json.loads(json.dumps(dialect.to_json()))) == dialect
    block = read_events(dialect, [b"1\tx", b"1\tx\ty"])
    assert block.table.to_pydict() == {"a": [1, None], "b": ["x", None]}
    assert block.faults == {1: "3 fields: must be 2"}
