"""Train one defender that follows whichever order it is told, and score it: a few minutes.

Run: python examples/train_and_score.py            (--episodes 40 only shows that it works)
"""

from pathlib import Path

import tyro

from standing_orders import evaluate, load_policy, preset, train


def main(run: Path = Path("runs/example-any"), episodes: int = 40_000, scored: int = 500) -> None:
    """Train, then tell it one of the 120 orders and measure what it does."""
    trained = train(preset("fast", red="b_line", episodes=episodes, seed=1), run)
    print(trained)

    policy = load_policy(trained, order="operational_focus")
    card = evaluate(policy, red="b_line", episodes=scored, order_episodes=scored)
    print(card)  # returns, and how it follows the order
    print("return after 100 steps:", card.score("b_line", 100).mean)


if __name__ == "__main__":
    tyro.cli(main)
