"""Published claims about collecting episodes, beside what was measured here."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from standing_orders.evaluate.bench_collect import BARE, RAW, Cell

_STEPS = 100  # of an episode


@dataclass(frozen=True)
class Claim:
    """One claim."""

    what: str
    claimed: str
    measured: str
    why: str

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        return asdict(self)


def judge_claims(cells: Sequence[Cell], num_cores: int, pipe_seconds: float) -> list[Claim]:
    """Each claim beside the cells that speak of it; CybORG's where there are any.

    Args:
        cells: all that were measured.
        num_cores: of this machine.
        pipe_seconds: that a step of one environment would take if sent; see `pipe_seconds`.
    """
    is_cyborg = any(cell.simulator == "cyborg" and cell.rate for cell in cells)
    cells = [cell for cell in cells if (cell.simulator == "cyborg") == is_cyborg and cell.rate]
    claims = (
        _speed_up(cells, num_cores), _barrier(cells), _shared_memory(cells, pipe_seconds),
        _ray(cells), _memory(cells), _bare(cells),
    )  # fmt: skip
    return [claim for claim in claims if claim is not None]


def _best(cells: Sequence[Cell], name: str, workers: int | None = None) -> Cell | None:
    chosen = [cell for cell in cells if cell.collector == name and workers in (None, cell.workers)]
    return max(chosen, key=lambda cell: cell.rate or 0.0, default=None)


def _speed_up(cells: Sequence[Cell], num_cores: int) -> Claim | None:
    one, best = _best(cells, "sequential"), _best(cells, "episodes")
    if one is None or best is None or not one.rate or not best.rate:
        return None
    return Claim(
        "whole episodes on many processes beat one environment",
        "67 times with 100 workers",
        f"{best.rate / one.rate:.1f} times with {best.workers} workers",
        f"{num_cores} cores: more workers than cores only share them",
    )


def _barrier(cells: Sequence[Cell]) -> Claim | None:
    shown = [cell for cell in cells if cell.collector == "lockstep" and cell.workers > 1]
    if not shown:
        return None
    text = ", ".join(f"{cell.waiting:.0%} of {cell.workers} workers" for cell in shown)
    return Claim(
        "waiting at the barrier of a lock step",
        "30 to 60 % of the time",
        text,
        "every step waits for the slowest worker; grows with workers per core",
    )


def _shared_memory(cells: Sequence[Cell], pipe_seconds: float) -> Claim | None:
    best = _best(cells, "lockstep")
    if best is None or not best.rate:
        return None
    step = 1 / (best.rate * _STEPS)
    return Claim(
        "shared memory instead of pipes",
        "2 times faster",
        f"{1 + pipe_seconds / step:.2f} times with {best.workers} workers",
        f"a step takes {1e6 * step:.0f} us, to send it through a pipe {1e6 * pipe_seconds:.0f} us",
    )


def _ray(cells: Sequence[Cell]) -> Claim | None:
    pairs = [
        (cell, other)
        for cell in cells
        if cell.collector == "ray" and (other := _best(cells, "episodes", cell.workers))
    ]
    if not pairs:
        return None
    text = ", ".join(
        f"{(other.rate or 0) / (cell.rate or 1):.2f} times with {cell.workers}"
        for cell, other in pairs
    )
    return Claim(
        "a process pool beats Ray", "yes", text, "the same tasks; Ray copies results twice"
    )


def _memory(cells: Sequence[Cell]) -> Claim | None:
    shown = [cell for cell in cells if cell.memory_mb and cell.collector == "episodes"]
    alone = _best(cells, "sequential")
    if not shown or alone is None or not alone.memory_mb:
        return None
    text = ", ".join(f"{cell.memory_mb:.0f} MB with {cell.workers}" for cell in shown)
    return Claim(
        "the same memory as one process",
        "yes",
        f"{alone.memory_mb:.0f} MB alone, {text}",
        "workers share what was imported before they were forked, not what they build",
    )


def _bare(cells: Sequence[Cell]) -> Claim | None:
    shown = []
    for cell in cells:
        yardsticks = [_best(cells, name, cell.workers) for name in (BARE, RAW)]
        if cell.collector == "episodes" and all(yardsticks):
            shares = [(cell.rate or 0) / (one.rate or 1) for one in yardsticks if one is not None]
            shown.append(f"{shares[0]:.0%} ({shares[1]:.0%}) with {cell.workers}")
    if not shown:
        return None
    return Claim(
        "network, true state and compliance against bare loops (and loops without a wrapper)",
        "ours: at least 80 % with 2 workers",
        ", ".join(shown),
        "built once, sessions read directly, no text tables, one network call for some episodes",
    )
