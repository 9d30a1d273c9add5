"""Memory before work: what a command will need is compared with what the machine has."""

import resource
from pathlib import Path

from standing_orders.errors import ResourceError

EPISODE_BYTES = 400  # seed, returns and counts of an episode that is measured
_GROUP = Path("/sys/fs/cgroup")


def free_bytes() -> int | None:
    """Memory that this process may still take; None where the system does not say.

    The least of what the machine has free, what its control group leaves, and the limit of the
    process (`ulimit -v`).
    """
    known = [_machine(), _control_group(), _limit()]
    return min((number for number in known if number is not None), default=None)


def require_memory(num_bytes: float, what: str) -> None:
    """Refuse work that does not fit into memory, before it begins.

    Args:
        num_bytes: that it takes, about.
        what: it is, and the option to lower.

    Raises:
        ResourceError: there is less; the message has both numbers.
    """
    free = free_bytes()
    if free is not None and num_bytes > free:
        raise ResourceError(
            f"{what}: takes about {num_bytes / 1e9:,.1f} GB of memory, but {free / 1e9:,.1f} GB "
            "are free: ask for less, or use a machine with more"
        )


def _machine() -> int | None:
    return _field(Path("/proc/meminfo"), "MemAvailable:")


def _control_group() -> int | None:
    try:
        limit, used = (
            (_GROUP / name).read_text(encoding="ascii").strip()
            for name in ("memory.max", "memory.current")
        )
        return int(limit) - int(used)
    except (OSError, ValueError):  # there is none, or no limit
        return None


def _limit() -> int | None:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    return max(limit - (_field(Path("/proc/self/status"), "VmSize:") or 0), 0)


def _field(path: Path, name: str) -> int | None:
    """A number of kilobytes, in bytes."""
    try:
        lines = path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name)), None)
