"""Training while it runs."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.live import Live

from standing_orders.cli.tables import PlainConsole, percent


@contextmanager
def watch_training(folder: Path) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A live view of a run; where there is no terminal, a line for every tenth update."""
    console = PlainConsole(stderr=True)
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
