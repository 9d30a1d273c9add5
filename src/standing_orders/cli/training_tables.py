"""How training and what came of it look on a terminal."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table

from standing_orders.cli.tables import percent, wide_console
from standing_orders.evaluate.bench import TrainingSpeed
from standing_orders.evaluate.obedience import Obedience, summarise

_SHOWN_ORDERS = 6


def print_training_speeds(speeds: Iterable[TrainingSpeed]) -> None:
    """Episodes per second of the learner, and where the time goes."""
    console = wide_console()
    console.print("one order from scratch, 77 inputs, 6 epochs, 100 episodes an update, one thread")
    for speed in speeds:
        console.print(
            f"{speed.red:8} {speed.episodes_per_second:6.0f} episodes/s over {speed.num_episodes} "
            f"episodes: {speed.collect_seconds:.1f} s playing, {speed.update_seconds:.1f} s "
            f"learning; last return {speed.last_return:.1f}"
        )


def print_obedience(red: str, measured: Sequence[Obedience]) -> None:
    """How each order is followed; of many orders a summary and the five worst."""
    num_episodes = measured[0].measured.kept.episodes
    table = Table(
        title=f"orders told, against {red}, n = {num_episodes} episodes each, per cent",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    for name in ("order", "strict", "95 %", "contested", "swapped", "response", "aim", "return"):
        table.add_column(name, justify="left" if name == "order" else "right", no_wrap=True)
    worst = sorted(measured, key=lambda one: one.measured.strict.value or 0.0)
    for one in worst[:_SHOWN_ORDERS]:
        found = one.measured
        table.add_row(
            str(one.order),
            percent(found.strict.value),
            f"{percent(found.strict.low)} to {percent(found.strict.high)}",
            percent(found.contested.value),
            percent(one.swapped_contested.value),
            percent(found.kept.response_rate),
            percent(found.kept.aim),
            f"{found.mean_return:.1f} ± {found.std_error:.1f}",
        )
    console = wide_console()
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
            f"  compliance {percent(kept['compliance'])}  strict {percent(kept['strict'])}  "
            f"contested {percent(kept['contested'])}  response {percent(kept['response'])}  "
            f"aim {percent(kept['aim'])}\n"
            f"  policy {loss['policy_loss']:.4f}  value {loss['value_loss']:.4f}  "
            f"entropy {loss['entropy']:.2f}  KL {loss['approx_kl']:.4f}  "
            f"distinct {loss['num_rows']}"
        )

    with Live(console=console, transient=True, auto_refresh=False) as live:

        def on_update(record: dict[str, Any]) -> None:
            text = describe(record)
            if console.is_terminal:
                live.update(f"{folder}\n{text}", refresh=True)
            elif record["update"] % 10 == 1 or record["stopped"]:
                console.print(text)

        yield on_update
