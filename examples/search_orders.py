"""Search the 120 orders for the best one where blue comes late: about ten minutes.

Run: python examples/search_orders.py (--budget 400 --base-episodes 20 only shows that it works)
"""

from pathlib import Path

import tyro

from standing_orders import evaluate, load_policy, preset, search


def main(
    run: Path = Path("runs/example-search"), budget: int = 120_000, base_episodes: int = 40_000
) -> None:
    """Search, then score the best policy in the game that it was found in."""
    config = preset("search-contested", budget=budget, base={"episodes": base_episodes}, seed=1)
    result = search(config, run)
    print(result)  # the leaderboard
    print("best:", result.best, "- not to be told apart from it:", len(result.ties))

    card = evaluate(
        load_policy(result), game=config, red="b_line", episodes=100, order_episodes=100
    )
    print(card)


if __name__ == "__main__":
    tyro.cli(main)
