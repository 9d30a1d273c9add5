"""Plain data (what JSON can hold) to bytes and back, always the same bytes, nothing lost."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from standing_orders.errors import DataError, NumericsError


def encode(value: Any, where: Path | str, *, indent: int | None = None) -> bytes:
    """Give the JSON text of plain data, in ASCII.

    Floats keep every bit, mappings their order; tuples come back as lists.

    Args:
        value: None, booleans, numbers, text, and lists and mappings of these.
        where: the file it goes to, for messages.
        indent: spaces per level for human readers; one line if left out.

    Raises:
        NumericsError: a number is not finite; the message names its key.
        DataError: a value or a key is of another type.

    Example:
        >>> encode({"episode": 3, "reward": {"mean": -0.1}}, "journal")
        b'{"episode":3,"reward":{"mean":-0.1}}'
    """
    plain = _plain(value, where, "")
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(plain, indent=indent, separators=separators, allow_nan=False)
    return text.encode("ascii")


def decode(data: bytes) -> Any:
    """Read what `encode` wrote.

    Raises:
        ValueError: it is not JSON, or holds a number that is not finite.
    """
    try:
        return json.loads(data.decode("ascii"), parse_constant=_refuse)
    except RecursionError as err:
        raise ValueError("nested too deeply") from err


def lookup(record: Mapping[str, Any], key: str) -> Any:
    """Find a value by a dotted key; None if there is none.

    Example:
        >>> lookup({"reward": {"environment": -3.5}}, "reward.environment")
        -3.5
    """
    value: Any = record
    for part in key.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(part)
    return value


def _plain(value: Any, where: Path | str, key: str) -> Any:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NumericsError(f"{where}: {key} = {value}: must be finite")
        return value
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item, where, f"{key}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise DataError(f"{where}: key {name!r} in {key or 'the record'}: must be text")
        return {
            name: _plain(item, where, f"{key}.{name}" if key else name)
            for name, item in value.items()
        }
    raise DataError(
        f"{where}: {key} = {value!r}: a {type(value).__name__}: must be None, bool, int, float, "
        "str, list or dict"
    )


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a finite number")
