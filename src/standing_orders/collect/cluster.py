"""A Ray cluster: one of its own on this machine, or one that is there."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from standing_orders.errors import ConfigError, WorkerError

# Nothing is sent anywhere, and only the loopback interface is listened on.
_ON_THIS_MACHINE = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
_LOOPBACK = ("127.", "localhost")
_CONNECT_SECONDS = 5.0


@contextmanager
def open_cluster(address: str | None, num_workers: int) -> Iterator[Any]:
    """The module `ray`, connected; a cluster that was started ends with the block.

    Args:
        address: of an existing cluster, such as 127.0.0.1:6379; without it a local one is started.
        num_workers: of a cluster that is started.

    Raises:
        ConfigError: Ray is not installed.
        WorkerError: the cluster does not answer.
    """
    if address is None or address.startswith(_LOOPBACK):  # read by Ray as it is imported
        os.environ.update(_ON_THIS_MACHINE)
    if address is not None:
        _check_reachable(address)
    try:
        ray = import_module("ray")
    except ImportError as err:
        raise ConfigError("Ray is not installed: pip install ray") from err
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
    if address is None:
        options |= {"address": "local", "num_cpus": num_workers, "include_dashboard": False}
    else:
        options |= {"address": address}
    try:
        ray.init(**options)
    except (ConnectionError, ValueError, RuntimeError) as err:
        raise WorkerError(f"Ray cluster {address or 'on this machine'}: {err}") from err
    try:
        yield ray
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """Ray itself would wait for minutes.

    Raises:
        ConfigError: it is no address.
        WorkerError: nobody answers there.
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        raise ConfigError(f"address = {address!r}: must be HOST:PORT")
    try:
        socket.create_connection((host, int(port)), timeout=_CONNECT_SECONDS).close()
    except (OSError, OverflowError) as err:
        raise WorkerError(f"Ray cluster {address}: nobody answers there: {err}") from err
