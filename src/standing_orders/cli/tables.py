"""Where results and progress are shown."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from standing_orders.tables import PLAIN_WIDTH


def percent(value: float | None) -> str:
    """A share in per cent; a dash if there is none."""
    return "-" if value is None else f"{100 * value:.1f}"


def wide_console() -> Console:
    """Standard output, wide enough for a table where it is not a terminal."""
    console = Console(highlight=False)
    if not console.is_terminal:  # a pipe has no width: never cut a figure
        console.width = max(console.width, PLAIN_WIDTH)
    return console


@contextmanager
def show_progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar with n of N and the time left, gone when done; quiet if there is no terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(" of "),
               TimeRemainingColumn(), TextColumn("left"))  # fmt: skip
    is_quiet = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=is_quiet) as progress:
        task = progress.add_task(what, total=total)
        yield lambda count: progress.advance(task, count)
