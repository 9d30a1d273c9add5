"""How results look on a terminal."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.live import Live
from rich.progress import Progress
from rich.table import Table

from standing_orders.bench import Speed, TrainingSpeed
from standing_orders.cage2.parity import ParityReport
from standing_orders.evaluate import PERCENTILES, ScoreCard
from standing_orders.learn.obedience import Obedience, summarise
from standing_orders.rules.orders import describe_order

_SHOWN_ORDERS = 6
_SHOWN_PERCENTILES = (5, 25, 50, 75, 95)


def _console() -> Console:
    console = Console(highlight=False)
    if not console.is_terminal:  # a pipe has no width: never cut a figure
        console.width = max(console.width, 120)
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
    console = _console()
    console.print(table)
    for place in report.process_id_reuse:
        console.print(f"process-id re-use (a draw of the recording, followed): {place}\n")


def print_score_card(card: ScoreCard) -> None:
    """Returns for each red agent and horizon, and their sums."""
    game = card.game
    table = Table(
        title=f"{card.policy}: rules {game.rules}, observation {game.observation}, head start "
        f"{game.head_start}, red tempo {game.red_tempo}, n = {card.num_episodes} episodes for each "
        f"red agent, seed {card.seed}, version {card.version}",
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
    _console().print(table)


def print_speeds(speeds: Iterable[Speed], bytes_per_environment: int) -> None:
    """Speeds as they come, then what they are in multiples of the other simulators."""
    console = _console()
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


def print_training_speeds(speeds: Iterable[TrainingSpeed]) -> None:
    """Episodes per second of the learner, and where the time goes."""
    console = _console()
    console.print("one order from scratch, 77 inputs, 6 epochs, 100 episodes an update, one thread")
    for speed in speeds:
        console.print(
            f"{speed.red:8} {speed.episodes_per_second:6.0f} episodes/s over {speed.num_episodes} "
            f"episodes: {speed.collect_seconds:.1f} s playing, {speed.update_seconds:.1f} s "
            f"learning; last return {speed.last_return:.1f}"
        )


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def print_obedience(red: str, measured: Sequence[Obedience]) -> None:
    """How each order is followed; of many orders a summary and the five worst."""
    num_episodes = measured[0].counts.episodes
    table = Table(
        title=f"orders told, against {red}, n = {num_episodes} episodes each, per cent",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    for name in ("order", "strict", "95 %", "contested", "swapped", "response", "aim", "return"):
        table.add_column(name, justify="left" if name == "order" else "right", no_wrap=True)
    worst = sorted(measured, key=lambda one: one.strict.value or 0.0)
    for one in worst[:_SHOWN_ORDERS]:
        table.add_row(
            describe_order(one.order),
            _percent(one.strict.value),
            f"{_percent(one.strict.low)} to {_percent(one.strict.high)}",
            _percent(one.contested.value),
            _percent(one.swapped_contested.value),
            _percent(one.counts.response_rate),
            _percent(one.counts.aim),
            f"{one.mean_return:.1f} ± {one.std_error:.1f}",
        )
    console = _console()
    console.print(table)
    summary = summarise(measured)
    console.print(", ".join(f"{name} {value:.4g}" for name, value in summary.items()) + "\n")


@contextmanager
def watch_training(folder: Path) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A live view of a run; where there is no terminal, a line for every tenth update."""
    console = Console(stderr=True, highlight=False)
    began: list[float] = []

    def describe(record: dict[str, Any]) -> str:
        now = time.perf_counter()
        began[:] = began or [now, float(record["total_episodes"])]
        speed = (record["total_episodes"] - began[1]) / max(now - began[0], 1e-9)
        reward, kept, loss = record["reward"], record["compliance"], record["loss"]
        return (
            f"episode {record['total_episodes']}  {speed:.0f}/s  "
            f"environment {reward['environment']:.1f}  alignment {reward['alignment']:.1f}  "
            f"total {reward['total']:.1f}\n"
            f"  compliance {_percent(kept['compliance'])}  strict {_percent(kept['strict'])}  "
            f"contested {_percent(kept['contested'])}  response {_percent(kept['response'])}  "
            f"aim {_percent(kept['aim'])}\n"
            f"  policy {loss['policy_loss']:.4f}  value {loss['value_loss']:.4f}  "
            f"entropy {loss['entropy']:.2f}  KL {loss['kl']:.4f}  distinct {loss['num_rows']}"
        )

    with Live(console=console, transient=True, auto_refresh=False) as live:

        def on_update(record: dict[str, Any]) -> None:
            text = describe(record)
            if console.is_terminal:
                live.update(f"{folder}\n{text}", refresh=True)
            elif record["update"] % 10 == 1 or record["stopped"]:
                console.print(text)

        yield on_update
