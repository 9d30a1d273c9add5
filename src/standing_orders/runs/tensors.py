"""Named numpy arrays to safetensors bytes and back, bit for bit."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from standing_orders.errors import DataError

Layouts = dict[str, Any]  # name of an array -> fields of its records, None for plain numbers

_NUMBERS = frozenset(
    np.dtype(name)
    for name in (
        "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
        "float16", "float32", "float64",
    )
)  # fmt: skip
_RESERVED = "__metadata__"


def pack(tensors: Mapping[str, NDArray[Any]]) -> tuple[bytes, Layouts]:
    """Serialise arrays; structured ones as bytes, with their layout beside them.

    Args:
        tensors: arrays of booleans, integers, floats or records of these, of any shape.

    Returns:
        Content of a safetensors file, and the layouts as plain data, in the order of the arrays.

    Raises:
        DataError: an array is of another type, or its name cannot be used.
    """
    plain: dict[str, NDArray[Any]] = {}
    layouts: Layouts = {}
    for name, tensor in tensors.items():
        array = np.asarray(tensor, order="C")
        if name == _RESERVED:
            raise DataError(f"tensor {name}: the name is reserved by the file format")
        if array.dtype.names and not array.dtype.hasobject:
            layouts[name] = layout_of(array.dtype)
            plain[name] = _records_as_bytes(array)
        elif array.dtype in _NUMBERS:
            layouts[name] = None
            plain[name] = array
        else:
            raise DataError(f"tensor {name} of type {array.dtype}: cannot be stored")
    return save(plain), layouts


def unpack(data: bytes, layouts: Layouts) -> dict[str, NDArray[Any]]:
    """Read the arrays that `pack` wrote; they are writable, structured ones are bytes.

    Raises:
        DataError: it is not the content of a safetensors file, or arrays are missing.
    """
    try:
        arrays = load(data)
        return {name: np.array(arrays[name]) for name in layouts}
    except (SafetensorError, KeyError, ValueError) as err:
        raise DataError(f"not a safetensors file: {err}") from err


def layout_of(dtype: np.dtype[Any]) -> Any:
    """Describe the fields of a record type as plain data, padding included."""
    return _as_lists(np.lib.format.dtype_to_descr(dtype))


def bytes_as_records(array: NDArray[np.uint8], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Give bytes, shape (..., itemsize), as records, shape (...)."""
    # A copy of records leaves the padding undefined; a view of the bytes keeps it zero.
    return np.frombuffer(bytearray(array.tobytes()), dtype).reshape(array.shape[:-1])


def _records_as_bytes(array: NDArray[Any]) -> NDArray[np.uint8]:  # (*array.shape, itemsize)
    # Padding between fields holds whatever was in memory; the same state must give the same bytes.
    clean = np.zeros(array.shape, array.dtype)
    for field in array.dtype.names or ():
        clean[field] = array[field]
    flat = np.frombuffer(clean.tobytes(), np.uint8)
    return flat.reshape(*array.shape, array.dtype.itemsize)


def _as_lists(value: Any) -> Any:
    return [_as_lists(item) for item in value] if isinstance(value, list | tuple) else value
