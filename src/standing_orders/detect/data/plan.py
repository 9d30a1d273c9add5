"""What each column of a table is for: a number, a category, a port, or nothing to learn from.

Names of hosts, of events and of moments tell a detector who was attacked when it was trained, not
what an attack looks like; so addresses, identifiers and times are recognised and left out, unless
the user says otherwise (`--columns NAME=KIND`).

| kind | what it becomes |
|---|---|
| `number` | its size and where it lies between training quantiles |
| `category` | an input for each frequent value |
| `port` | the same for port numbers below 32768; higher ones are drawn at random by most systems |
| `network` | an address as the kind of network: private, loopback, multicast, global, ... |
| `out` | no input |
"""

import ipaddress
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pa_compute  # type: ignore[import-untyped]

from standing_orders.detect.data.options import Kind

# Share of distinct words that must look like numbers, addresses or times to be taken for that.
MIN_SHARE = 0.99
# More different texts than both of these: rather an identifier than a category.
_MAX_WORDS, _MAX_WORD_SHARE = 50, 0.5
_LOOKED_AT = 1_000  # distinct texts
_MAX_PORT = 65_535
# Seconds since 1970 of the years 2000 to 2100; and the units that clocks count in.
_EPOCH, _TICKS = (946_684_800, 4_102_444_800), (1, 1_000, 1_000_000, 1_000_000_000)
_PORT_NAME = re.compile(
    r"(.*[ ._-])?(s|d|ds|src|dst|source|dest|destination|local|remote|orig|resp|client|server)?"
    r"[ ._-]?port|.*[._](orig|resp)_p",
    re.IGNORECASE,
)
_TIME_NAME = re.compile(
    r"(.*[ ._-])?(ts|time|timestamp|stime|ltime|start|end|first|last|epoch|date)", re.IGNORECASE
)
_ID_NAME = re.compile(r"(.*[ ._-])?(id|uid|uuid|guid|hash|sha256|sha1|md5)", re.IGNORECASE)
_ID_TEXT = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32,128}|C[0-9A-Za-z]{15,}",
    re.IGNORECASE,
)
_MAC_TEXT = re.compile(r"([0-9a-f]{2}[:-]){5}[0-9a-f]{2}", re.IGNORECASE)


@dataclass(frozen=True)
class Planned:
    """What becomes of one column."""

    name: str
    kind: Kind
    why: str = ""  # it is left out, or taken for more than it seems
    of_numbers: bool = False  # a category whose values are numbers: 80 and 80.0 are the same


def plan_column(name: str, values: pa.Array, told: Kind | None = None) -> Planned:
    """What a column is for."""
    kind = values.type
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if told == "out":
        return Planned(name, "out", "left out as told")
    if values.null_count == len(values):
        return Planned(name, "out", "no value in any row")
    if pa.types.is_nested(kind) or pa.types.is_binary(kind):
        return Planned(name, "out", f"values of type {kind} are neither numbers nor text")
    if told is not None:
        return Planned(name, told, "as told", of_numbers=not is_text)
    if pa.types.is_temporal(kind):
        return Planned(name, "out", "a time; order by it with --time")
    return _plan_text(name, values) if is_text else _plan_numbers(name, values)


def _plan_text(name: str, values: pa.Array) -> Planned:
    distinct = pa_compute.unique(values.drop_null())
    words = [str(word) for word in distinct.slice(0, _LOOKED_AT).to_pylist()]
    if _most(words, is_number):
        if _PORT_NAME.fullmatch(name) and all(0 <= number_of(word) <= _MAX_PORT for word in words):
            return Planned(name, "port", "a port", of_numbers=True)
        return Planned(name, "number", "text that reads as numbers")
    if _most(words, lambda word: bool(_MAC_TEXT.fullmatch(word)) or network_of(word) is not None):
        return Planned(name, "out", "an address: it names a host, not what the host does; "
                       f"--columns {name}=network keeps the kind of network")  # fmt: skip
    if _most(words, _is_time):
        return Planned(name, "out", "a time; order by it with --time")
    if _most(words, lambda word: bool(_ID_TEXT.fullmatch(word))) and len(distinct) > 2:
        return Planned(name, "out", "an identifier")
    if len(values) >= 3 and len(distinct) == len(values):
        return Planned(name, "out", "a different text in every row")
    if len(distinct) > max(_MAX_WORDS, _MAX_WORD_SHARE * len(values)):
        return Planned(name, "out", f"{len(distinct)} different texts in {len(values)} rows name "
                       f"the event; --columns {name}=category keeps the frequent ones")  # fmt: skip
    return Planned(name, "category")


def _plan_numbers(name: str, values: pa.Array) -> Planned:
    plain = values.drop_null()
    if pa.types.is_boolean(values.type):
        return Planned(name, "number")
    low, high = (float(one.as_py()) for one in pa_compute.min_max(plain).values())
    is_whole = pa.types.is_integer(values.type)
    if is_whole and not values.null_count and len(values) >= 3:
        steps = np.diff(values.to_numpy(zero_copy_only=False).astype(np.float64))
        if np.all(steps == 1):
            return Planned(name, "out", "numbers the rows")
    if is_whole and _PORT_NAME.fullmatch(name) and low >= 0 and high <= _MAX_PORT:
        return Planned(name, "port", "a port", of_numbers=True)
    first, last = _EPOCH
    if _TIME_NAME.fullmatch(name) and any(first * t <= low <= high <= last * t for t in _TICKS):
        return Planned(name, "out", "a time; order by it with --time")
    num_distinct = int(pa_compute.count_distinct(plain).as_py())
    if is_whole and _ID_NAME.fullmatch(name) and num_distinct > max(
        _MAX_WORDS, _MAX_WORD_SHARE * len(values)
    ):  # fmt: skip
        return Planned(name, "out", f"an identifier: {num_distinct} different ones in "
                       f"{len(values)} rows")  # fmt: skip
    return Planned(name, "number")


def _most(words: list[str], looks_so: Any) -> bool:
    return sum(map(looks_so, words)) >= MIN_SHARE * len(words)


def is_number(word: str) -> bool:
    """Whether a text reads as a finite number."""
    return bool(np.isfinite(number_of(word)))


def number_of(word: str) -> float:
    """A text as a number, a truth value as 0 or 1; NaN if it is neither."""
    try:
        return float(word)
    except ValueError:
        return {"true": 1.0, "false": 0.0}.get(word.strip().lower(), float("nan"))


def _is_time(word: str) -> bool:
    if not any(sign in word for sign in "-:"):
        return False
    try:
        datetime.fromisoformat(word.strip())
    except ValueError:
        return False
    return True


def network_of(word: str) -> str | None:
    """The kind of network that an address is of; None if it is no address.

    Example:
        >>> network_of("192.168.1.7"), network_of("8.8.8.8"), network_of("ff02::1"), network_of("x")
        ('private', 'global', 'multicast', None)
    """
    try:
        address = ipaddress.ip_address(word.strip())
    except ValueError:
        return None
    kinds = ("loopback", "link_local", "multicast", "unspecified", "private", "reserved")
    return next((kind for kind in kinds if getattr(address, f"is_{kind}")), "global")
