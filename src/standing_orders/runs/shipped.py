"""Runs that come with the package: the zoo, `zoo/NAME` wherever a run is taken."""

from pathlib import Path

from standing_orders.errors import CheckpointError

PREFIX = "zoo"
ZOO = Path(__file__).parents[1] / PREFIX
CARD_NAME = "card.json"


def shipped_names() -> list[str]:
    """What is in the zoo, as it is typed: `zoo/any-b_line`."""
    return sorted(f"{PREFIX}/{path.parent.name}" for path in ZOO.glob("*/run.json"))


def locate(path: Path) -> Path:
    """Where a run is: `zoo/NAME` is in the package, everything else where it says.

    Raises:
        CheckpointError: there is nothing of that name in the zoo, nor here.
    """
    if len(path.parts) != 2 or path.parts[0] != PREFIX:
        return path
    if path.as_posix() in shipped_names():
        return ZOO / path.name
    if not path.exists():
        known = ", ".join(shipped_names()) or "nothing"
        raise CheckpointError(f"{path}: not in the zoo, which has {known}")
    return path


def check_writable(path: Path) -> None:
    """Refuse to write into a run that comes with the package.

    Raises:
        CheckpointError: it does.
    """
    if path.is_relative_to(ZOO.resolve()):
        raise CheckpointError(
            f"{PREFIX}/{path.name}: comes with the package and is never written: begin a run of "
            f"your own with --start {PREFIX}/{path.name}"
        )
