"""Training while it runs."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from standing_orders.cli.tables import PlainConsole, percent

_WIDE = 120  # columns from which on all figures are in one line


def time_left(seconds: float) -> str:
    """A time in words."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s left" if minutes else f"{rest} s left"


class Pace:
    """How fast something goes, and how long it will take."""

    def __init__(self, total: int) -> None:
        self.total = total
        self._began: tuple[float, int] | None = None

    def describe(self, done: int) -> str:
        """n of N, the speed and the time left, once they are known."""
        now = time.perf_counter()
        if self._began is None:
            self._began = (now, done)
        seconds, more = now - self._began[0], done - self._began[1]
        text = f"{done:,} of {self.total:,}"
        if not more or seconds <= 0:
            return text
        speed = more / seconds
        return f"{text}, {speed:,.0f}/s, {time_left(max(self.total - done, 0) / speed)}"


def figures_text(record: dict[str, Any], width: int) -> str:
    """The figures of an update, in as few lines as there is room for."""
    reward, kept, loss = record["reward"], record["compliance"], record["loss"]
    first = (
        f"return {reward['environment']:.1f}  bonus {reward['alignment']:.1f}  compliance "
        f"{percent(kept['compliance'])}  strict {percent(kept['strict'])}  contested "
        f"{percent(kept['contested'])}"
    )
    second = (
        f"response {percent(kept['response'])}  aim {percent(kept['aim'])}  entropy "
        f"{loss['entropy']:.2f}  KL {loss['approx_kl']:.4f}  value loss {loss['value_loss']:.3f}"
    )
    return ("  " if width >= _WIDE else "\n").join((first, second))


@contextmanager
def watch_training(total: int) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A live view of a run of so many episodes; else a line for every tenth update."""
    console = PlainConsole(stderr=True)
    pace = Pace(total)
    if not console.is_terminal:
        yield _printing(console, pace)
        return
    bar = Progress(TextColumn("episodes"), BarColumn(), TextColumn("{task.description}"))
    task = bar.add_task("compiling and playing the first of them", total=total)
    with Live(bar, console=console, transient=True, refresh_per_second=4) as live:

        def on_update(record: dict[str, Any]) -> None:
            done = record["total_episodes"]
            bar.update(task, completed=done, description=pace.describe(done))
            live.update(Group(bar, Text(figures_text(record, console.width))))

        yield on_update


def _printing(console: Console, pace: Pace) -> Callable[[dict[str, Any]], None]:
    def on_update(record: dict[str, Any]) -> None:
        said = pace.describe(record["total_episodes"])
        if record["update"] % 10 == 1 or record["stopped"]:
            console.print(f"episodes {said}  {figures_text(record, _WIDE)}", soft_wrap=True)

    return on_update
