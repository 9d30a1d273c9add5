"""Detection before and during training."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.live import Live

from standing_orders.cli.tables import PlainConsole
from standing_orders.detect.data.events import DataSet


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def describe_data(data: DataSet) -> list[str]:
    """What was read, and what was left out."""
    sizes = ", ".join(
        f"{name} {part.num_events} events in {part.num_sessions} sessions"
        if data.task == "sessions"
        else f"{name} {part.num_events}"
        for name, part in (
            ("training", data.train), ("validation", data.validation), ("test", data.test),
        )
    )  # fmt: skip
    share = f"{100 * data.train.prevalence:.2f} % of the events are threats"
    return [
        f"{data.name}: {data.task}; {sizes}; {data.train.num_features} inputs; {share}",
        *_describe_plan(data),
        *(f"  no input: {name}: {reason}" for name, reason in data.dropped.items()),
        *(f"  note: {note}" for note in data.notes),
    ]


def _describe_plan(data: DataSet) -> list[str]:
    """What each input column is taken for; `--columns NAME=KIND` overrules it."""
    if data.schema is None:
        return []
    by_kind: dict[str, list[str]] = {}
    for one in data.schema.inputs.values():
        by_kind.setdefault(one.kind, []).append(one.name)
    return [f"  {kind}: {', '.join(names)}" for kind, names in by_kind.items()]


def describe_earnings(rows: Mapping[str, float], unit: str) -> list[str]:
    """What simple policies earn, and the optimal thresholds."""
    head = f"what would be earned on average a {unit}, and thresholds:"
    return [head, *(f"  {name:50} {value:8.3f}" for name, value in rows.items())]


@contextmanager
def watch_team(folder: Path) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A live view of a run; where there is no terminal, a line for every 25th update."""
    console = PlainConsole(stderr=True)
    began: list[float] = []

    def describe(record: dict[str, Any]) -> str:
        now = time.perf_counter()
        began[:] = began or [now, float(record["total_events"])]
        speed = (record["total_events"] - began[1]) / max(now - began[0], 1e-9)
        team, loss = record["team"], record["loss"]
        text = (
            f"update {record['update']}  {record['total_events']} events  {speed:.0f}/s  "
            f"reward {team['reward']:.3f}  F1 {_number(team['f1'])}  no quorum "
            f"{100 * team['no_quorum']:.2f} %\n"
            f"  policy {loss['policy_loss']:.4f}  value {loss['value_loss']:.4f}  entropy "
            f"{loss['entropy']:.3f}  KL {loss['approx_kl']:.4f}"
        )
        for name, rule in record["rules"].items():
            price = f"  price {rule['price']:.2f}" if "price" in rule else ""
            broken = rule["violation_rate"]
            share = "no obligation" if broken is None else f"{100 * broken:.1f} % broken"
            text += f"\n  {name}: {share}{price}  foreseen {_number(record['foresight'].get(name))}"
        return text

    with Live(console=console, transient=True, auto_refresh=False) as live:

        def on_update(record: dict[str, Any]) -> None:
            if console.is_terminal:
                live.update(f"{folder}\n{describe(record)}", refresh=True)
            elif record["update"] % 25 == 1 or record["stopped"]:
                console.print(describe(record).splitlines()[0])

        yield on_update


@contextmanager
def watch_steps() -> Iterator[Callable[[str], None]]:
    """What is being worked on, on standard error; a line for each if that is not a terminal."""
    console = PlainConsole(stderr=True)
    if not console.is_terminal:
        yield console.print
        return
    with console.status("") as status:
        yield status.update
