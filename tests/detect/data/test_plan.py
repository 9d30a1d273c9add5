"""What columns are for: names of hosts, events and moments are left out, ports are categories."""

import pyarrow as pa
import pytest

from standing_orders.detect.data.columns import WordColumn, parse_columns, read_column
from standing_orders.detect.data.options import DataConfig, parse_told
from standing_orders.detect.data.plan import Planned, plan_column
from standing_orders.errors import ConfigError

COLUMNS = {
    "src_ip": (["10.0.0.1", "8.8.8.8", "10.0.0.1", "::1"], "out"),
    "mac": (["aa:bb:cc:dd:ee:ff", "aa:bb:cc:dd:ee:00"] * 2, "out"),
    "timestamp": (["2026-03-01T10:00:00Z", "2026-03-01T10:00:00Z"] * 2, "out"),
    "ts": ([1772359200.5, 1772359200.5, 1772359201.0, 1772359201.0], "out"),
    "uid": (["CHhAvVGS1DHFjwGM9", "C4J4Th3PJpwUYZZ6gc", "CmES5u32sYpV7JYN", None], "out"),
    "dest_port": ([443, 53, 443, 60000], "port"),
    "id.orig_p": (["443", "53", "443", "22"], "port"),
    "report": ([1, 5, 1, 9], "number"),
    "rate": ([0.5, 2.5, 0.5, 1.0], "number"),
    "proto": (["tcp", "udp", "tcp", "tcp"], "category"),
    "is_final": ([True, False, True, True], "number"),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_are_recognised(name: str) -> None:
    values, kind = COLUMNS[name]
    assert plan_column(name, pa.array(values)).kind == kind


def test_what_the_user_says_holds() -> None:
    told = DataConfig(columns=("src_ip=network", "dest_port=number", "proto=out")).told
    table = pa.table({name: COLUMNS[name][0] for name in ("src_ip", "dest_port", "proto")})
    parsed = parse_columns(table, told)
    network = parsed.columns[0]
    assert isinstance(network, WordColumn)
    assert [network.words[code] for code in network.values] == [
        "private", "global", "private", "loopback",
    ]  # fmt: skip
    assert [one.kind for one in parsed.plan] == ["network", "number", "out"]
    with pytest.raises(ConfigError, match="must be NAME=KIND"):
        parse_told(("proto",))


def test_ports_are_the_same_words_whatever_type_they_come_as() -> None:
    planned = Planned("dest_port", "port", of_numbers=True)
    for values in ([443, 60000, None], [443.0, 60000.0, None], ["443", "60000", None]):
        column, is_misfit = read_column(planned, pa.array(values))
        assert isinstance(column, WordColumn)
        words = [column.words[code] if code >= 0 else None for code in column.values]
        assert words == ["443", "high", None]
        assert not is_misfit.any()
