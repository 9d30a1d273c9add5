"""A Ray cluster: one of its own on this machine, or one that is there.

Whoever reaches a Ray cluster can run code in it. One of ours listens on the loopback interface
only, lets nobody in without a token that is drawn for this process and never written down, and
keeps its sockets and logs in a folder that no other user can enter. Who may reach an existing
cluster is up to whoever started it.
"""

import os
import secrets
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from standing_orders.errors import ConfigError, WorkerError

# Nothing is sent anywhere, and Ray settles on the loopback interface. Its workers do the work here:
# at Ray's own priority (15) a busy machine would hardly ever let them run.
_ON_THIS_MACHINE = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_worker_niceness": "0",
}
# Drawn once: Ray reads it once in a process. Versions of Ray before 2.52 have none and ignore it.
_TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
_HERE = "127.0.0.1"
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
    if address is not None:
        _check_reachable(address)
    with ExitStack() as stack:
        if address is None or address.startswith(_LOOPBACK):  # read by Ray as it is imported
            os.environ.update(_ON_THIS_MACHINE)
        if address is None:
            stack.callback(_read_again)  # once the variables are as they were
            stack.enter_context(_in_environment(_TOKEN))
        try:
            ray = import_module("ray")
        except ImportError as err:
            raise ConfigError("Ray is not installed: pip install ray") from err
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
        if address is None:
            _read_again()
            folder = stack.enter_context(_private_folder())
            options |= {"address": "local", "num_cpus": num_workers, "include_dashboard": False}
            options |= {"_node_ip_address": _HERE, "_temp_dir": str(folder / "ray")}
        else:
            options |= {"address": address}
        try:
            ray.init(**options)
        except (OSError, ValueError, RuntimeError) as err:
            advice = ""
            if address is not None:
                advice = "; if it wants a token: RAY_AUTH_MODE=token, RAY_AUTH_TOKEN_PATH=FILE"
            where = address or "on this machine"
            raise WorkerError(f"Ray cluster {where}: {err}{advice}") from err
        stack.callback(ray.shutdown)
        where = ray.util.get_node_ip_address()
        if address is None and where != _HERE:
            raise WorkerError(f"Ray listens on {where}, beyond this machine: ended at once")
        yield ray


@contextmanager
def _in_environment(values: dict[str, str]) -> Iterator[None]:
    """Set variables for this process and those it starts, and put back what was there."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _read_again() -> None:
    """Have Ray read mode, token and interface anew, if it is imported."""
    if sys.modules.get("ray") is None:
        return
    try:
        raylet = import_module("ray._raylet")
        raylet.Config.initialize("")
        raylet.AuthenticationTokenLoader.instance().reset_cache()
    except (ImportError, AttributeError):  # a version without tokens
        pass
    constants: Any = import_module("ray._private.ray_constants")
    constants.ENABLE_RAY_CLUSTER = os.environ.get("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER") != "0"


@contextmanager
def _private_folder() -> Iterator[Path]:
    """A folder for the user alone; Ray opens its own to everybody, so it is put inside."""
    folder = Path(tempfile.mkdtemp(prefix="so-"))  # mode 0700; short, for socket paths are
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
