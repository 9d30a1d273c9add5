"""Where an order's policy begins: real searches of the same orders, each trained as long."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from standing_orders.compare.aggregate import estimate, mean
from standing_orders.config import SearchConfig, SimConfig, Start
from standing_orders.runs.folder import is_run
from standing_orders.search.run import resume_search, search
from standing_orders.search.state import SearchState

VISITS = 8  # orders of a search
EVALUATION_EPISODES = 200
UPDATE_EPISODES = 100  # at most; fewer where an order is trained for fewer


def compare_starts(
    game: SimConfig,
    folder: Path,
    *,
    starts: Sequence[Start],
    order_episodes: int,
    num_seeds: int,
    seed: int,
    report: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """Search with each start; searches that are in the folder already go on.

    Args:
        game: what is played.
        folder: of the searches.
        starts: where policies begin.
        order_episodes: training of each order; a base policy has as many as all orders together.
        num_seeds: searches of each start.
        seed: of the first; a seed visits the same orders with every start.
        report: told what is going on.

    Returns:
        A row for each start, with the 95 % bootstrap interval of the mean over the searches.
    """
    rows = []
    for start in starts:
        states = []
        for one in range(seed, seed + num_seeds):
            report(f"start {start}, search {one - seed + 1} of {num_seeds}")
            config = _config(game, start, order_episodes, one)
            states.append(_search(config, folder / f"{start}-{game.red}-{one}"))
        rows.append(_row(start, states))
    return rows


def _config(game: SimConfig, start: Start, order_episodes: int, seed: int) -> SearchConfig:
    base_episodes = VISITS * order_episodes
    return SearchConfig(
        **game.model_dump(exclude={"horizon"}),
        start=start,
        acquisition="random",
        prior="none",
        max_orders=VISITS,
        order_episodes=order_episodes,
        update_episodes=min(order_episodes, UPDATE_EPISODES),
        evaluation_episodes=EVALUATION_EPISODES,
        final_episodes=2,
        base={"episodes": base_episodes},
        budget=base_episodes + (VISITS + 1) * (order_episodes + EVALUATION_EPISODES),
        seed=seed,
    )


def _search(config: SearchConfig, path: Path) -> SearchState:
    if is_run(path):
        return resume_search(path, report=lambda _: None)
    return search(config, path, report=lambda _: None)


def _row(start: Start, states: Sequence[SearchState]) -> dict[str, Any]:
    kept = [[one.measured for one in state.results if one.measured] for state in states]
    every = [one for search in kept for one in search]
    returns = [[np.mean([one.mean_return for one in search])] for search in kept]
    reached = estimate(mean, np.array(returns, dtype=np.float64))
    shares = {
        name: [getattr(one, name).value for one in every if getattr(one, name).value is not None]
        for name in ("strict", "contested")
    }
    return {
        "start": start,
        "orders": len(every),
        "passed": sum(one.gate.has_passed for one in every),
        "mean return": reached.value,
        "low": reached.low,
        "high": reached.high,
        "best return": float(np.mean([max(o.mean_return for o in search) for search in kept])),
        **{name: float(np.mean(values)) if values else None for name, values in shares.items()},
        "episodes": int(np.mean([state.used for state in states])),
    }
