"""How much a test repeats itself: less where slow tests are left out, as in `make test`."""

from typing import ClassVar


class Run:
    """What is known of this run of the tests before any of them is imported."""

    is_brief: ClassVar[bool] = False


def effort(full: int, brief: int) -> int:
    """Seeds, schedules or examples: the full number in `make test-all`, else the brief one."""
    return brief if Run.is_brief else full
