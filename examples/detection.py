"""A team of agents that judges events, on the synthetic stream that needs no files: a minute.

Run: python examples/detection.py            (--iterations 3 only shows that it works)
"""

from pathlib import Path

import tyro

from standing_orders import DetectConfig, evaluate_team, train


def main(run: Path = Path("runs/example-team"), iterations: int = 120, steps: int = 4_096) -> None:
    """Train a team and see what it is worth on events that it has not seen."""
    config = DetectConfig(learn={"iterations": iterations, "steps": steps}, seed=1)
    print(train(config, run))

    card = evaluate_team(run)
    print(card)  # detection and costs, the vote with liars in it, the rules
    print("mean cost on the test part:", card.figures["mean_cost"])


if __name__ == "__main__":
    tyro.cli(main)
