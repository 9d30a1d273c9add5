"""How results look on a terminal."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from rich import box
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from standing_orders.cage2.parity import ParityReport
from standing_orders.evaluate.bench import Speed
from standing_orders.evaluate.card import PERCENTILES, ScoreCard

_SHOWN_PERCENTILES = (5, 25, 50, 75, 95)


def percent(value: float | None) -> str:
    """A share in per cent; a dash if there is none."""
    return "-" if value is None else f"{100 * value:.1f}"


def wide_console() -> Console:
    """Standard output, wide enough for a table where it is not a terminal."""
    console = Console(highlight=False)
    if not console.is_terminal:  # a pipe has no width: never cut a figure
        console.width = max(console.width, 140)
    return console


@contextmanager
def show_progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on standard error, gone when done; quiet if that is not a terminal."""
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=total)
        yield lambda count: progress.advance(task, count)


def print_parity(report: ParityReport) -> None:
    """Per field: steps compared and differences."""
    table = Table(
        title=f"{report.path}: {report.num_episodes} episodes x {report.num_steps} steps, "
        f"rules {report.rules}, red {report.red}",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("field")
    table.add_column("compared", justify="right")
    table.add_column("differences", justify="right")
    table.add_column("first difference")
    for name, count in report.fields.items():
        table.add_row(name, str(count.compared), str(count.differences), count.first)
    console = wide_console()
    console.print(table)
    for place in report.process_id_reuse:
        console.print(f"process-id re-use (a draw of the recording, followed): {place}\n")


def print_score_card(card: ScoreCard) -> None:
    """Returns for each red agent and horizon, and their sums."""
    game = card.game
    where = "" if card.simulator == "own" else f"simulator {card.simulator}, "
    table = Table(
        title=f"{card.policy}: {where}rules {game.rules}, observation {game.observation}, "
        f"head start {game.head_start}, red tempo {game.red_tempo}, n = {card.num_episodes} "
        f"episodes for each red agent, seed {card.seed}, version {card.version}",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    for name in ("red", "steps", "mean return", "std error", "95 % interval"):
        table.add_column(name, justify="left" if name == "red" else "right", no_wrap=True)
    for percentile in _SHOWN_PERCENTILES:
        table.add_column(f"p{percentile}", justify="right")
    for score in card.scores:
        low, high = score.interval
        shown = score.percentiles or dict.fromkeys(PERCENTILES)
        cells = [shown[p] for p in _SHOWN_PERCENTILES]
        table.add_row(
            score.red,
            "all" if score.horizon is None else str(score.horizon),
            f"{score.mean:.2f}",
            f"{score.std_error:.2f}",
            f"{low:.2f} to {high:.2f}",
            *("" if cell is None else f"{cell:.1f}" for cell in cells),
            end_section=score.horizon is None,
        )
    wide_console().print(table)


def print_speeds(speeds: Iterable[Speed], bytes_per_environment: int) -> None:
    """Speeds as they come, then what they are in multiples of the other simulators."""
    console = wide_console()
    console.print(f"{bytes_per_environment} bytes an environment; random blue; best of several\n")
    console.print(
        f"{'system':20} {'red':8} {'envs':>6} {'threads':>7} {'steps/s':>12} {'us/call':>9}"
    )
    best: dict[tuple[str, str], float] = {}
    for speed in speeds:
        microseconds = 1e6 * speed.num_envs / speed.steps_per_second
        console.print(
            f"{speed.system:20} {speed.red:8} {speed.num_envs:6} {speed.num_threads:7} "
            f"{speed.steps_per_second:12,.0f} {microseconds:9.1f}"
        )
        if speed.num_threads == 1:
            key = (speed.system, speed.red)
            best[key] = max(best.get(key, 0.0), speed.steps_per_second)
    for (system, red), theirs in best.items():
        if system in ("CybORG", "MiniCAGE"):
            ratio = best["standing-orders", red] / theirs
            console.print(f"one thread, best batch size, {red}: {ratio:,.0f} times {system}")
