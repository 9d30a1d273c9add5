"""`standing-orders evaluate`: a score card."""

from typing import Annotated, Literal

import tyro
from pydantic import Field

from standing_orders.cli.command import Reporting, Seed
from standing_orders.config import GameConfig

POLICIES = "sleep, random, useful-random, react_restore, react_remove, heuristic"


class Evaluate(Reporting, GameConfig):
    """Score card of a policy: its return at 30, 50 and 100 steps against each red agent.

    For a trained policy also how well it follows the order it is told: compliance figures with
    intervals, and the order swap, which shows whether it listens.
    """

    EXAMPLES = (
        "evaluate --policy heuristic",
        "evaluate --policy runs/any --order all --red meander",
        "evaluate --policy runs/search --episodes 5000 --out card.csv",
    )
    BASIC = (
        "policy",
        "red",
        "order",
        "episodes",
        "seed",
        "greedy",
        "show_all",
        "json_output",
        "out",
    )

    policy: str = Field("heuristic", description=f"Defender: {POLICIES}, or a run folder.")
    red: Literal["b_line", "meander", "sleep", "all"] = Field("all", description="Red agent.")
    episodes: int = Field(1_000, ge=2, strict=True, description="Episodes for each red agent.")
    seed: Seed = Field(0, description="Root seed; same seed, same score to the last digit.")
    threads: int = Field(1, ge=1, strict=True, description="Threads; the score is the same.")
    order: str | None = Field(
        None,
        description="What a trained policy is told: an order, or 'all' for each of the 120; its "
        "own if left out.",
    )
    order_episodes: int = Field(
        200, ge=2, strict=True, description="Episodes for each order and red agent."
    )
    show_all: Annotated[bool, tyro.conf.arg(name="all")] = Field(
        False, description="Print the figures of all orders, not only of the lowest six."
    )
    greedy: bool = Field(False, description="Take the likeliest action instead of drawing one.")

    def run(self) -> int:
        """Run the command."""
        from standing_orders.api.policies import evaluate, load_policy
        from standing_orders.cage2.scenario import RED_AGENTS
        from standing_orders.cli.tables import show_progress

        policy = load_policy(self.policy, order=self.order, greedy=self.greedy)
        total = self.episodes * (len(RED_AGENTS) if self.red == "all" else 1)
        with show_progress("episodes", total) as advance:
            card = evaluate(
                policy,
                game=self.part(GameConfig),
                red=self.red,
                episodes=self.episodes,
                seed=self.seed,
                threads=self.threads,
                order_episodes=self.order_episodes,
                advance=advance,
            )
        self.report(card, is_full=self.show_all)
        return 0
