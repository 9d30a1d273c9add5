"""Every exception class of the project, and the exit code each one ends the command line with."""


class StandingOrdersError(Exception):
    """Base of every error that this project raises on purpose."""

    exit_code = 4


class ConfigError(StandingOrdersError, ValueError):
    """An argument, flag or configuration value is not acceptable."""

    exit_code = 2


class SimulationError(StandingOrdersError):
    """An environment was used in a way its rules do not allow, such as a step before a reset."""

    exit_code = 2


class DataError(StandingOrdersError):
    """A file or folder is missing, malformed or not what it claims to be."""

    exit_code = 3


class CheckpointError(StandingOrdersError):
    """A run folder, or a checkpoint in it, cannot be created, locked, written or read."""

    exit_code = 3


class NumericsError(StandingOrdersError):
    """A number that must be finite is not."""

    exit_code = 4


class VotingError(StandingOrdersError, ValueError):
    """A vote cannot be held: too few agents for the liars it must bear, or no ballots to count."""

    exit_code = 2


class WorkerError(StandingOrdersError):
    """A worker or the cluster that it belongs to is lost."""

    exit_code = 4


class ResourceError(StandingOrdersError):
    """The machine has too little memory for what is asked."""

    exit_code = 4


def is_memory_fault(err: BaseException) -> bool:
    """Whether an exception says that memory is used up; PyTorch has no class of its own for it."""
    words = ("can't allocate memory", "not enough memory", "Cannot allocate memory")
    is_torch = isinstance(err, RuntimeError) and any(word in str(err) for word in words)
    return isinstance(err, MemoryError) or is_torch
