"""Where results and progress are shown."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from standing_orders.tables import PLAIN_WIDTH, printable


def percent(value: float | None) -> str:
    """A share in per cent; a dash if there is none."""
    return "-" if value is None else f"{100 * value:.1f}"


class PlainConsole(Console):
    """A console that takes no markup, and no orders from the text that it shows."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Text as it is printed."""
        return super().render_str(printable(text), **options)


def wide_console() -> Console:
    """Standard output, wide enough for a table where it is not a terminal."""
    console = PlainConsole()
    if not console.is_terminal:  # a pipe has no width: never cut a figure
        console.width = max(console.width, PLAIN_WIDTH)
    return console


@contextmanager
def show_progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar with n of N and the time left, gone when done; quiet if there is no terminal."""
    console = PlainConsole(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(" of "),
               TimeRemainingColumn(), TextColumn("left"))  # fmt: skip
    is_quiet = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=is_quiet) as progress:
        task = progress.add_task(escape(printable(what)), total=total)
        yield lambda count: progress.advance(task, count)
