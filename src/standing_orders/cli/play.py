"""`standing-orders play`: watch one episode."""

import sys

from pydantic import Field

from standing_orders.cli.command import Command, Seed, tell
from standing_orders.cli.evaluate import POLICIES, find_cyborg
from standing_orders.config import SimConfig


class Play(Command, SimConfig):
    """Watch one episode in the terminal, step by step or at a speed, back and forth.

    A trained policy plays the game that it was trained in unless another is given. It shows the
    truth, what blue sees and what it can know; of a policy that is told an order also the verdict
    on each fix, and how the order has been kept so far.
    """

    EXAMPLES = (
        "play --policy heuristic --red meander",
        "play --policy zoo/any-b_line --order critical_first --speed 2",
        "play --policy runs/any --order user_priority --plain",
    )
    BASIC = ("policy", "order", "red", "seed", "horizon", "greedy", "speed", "plain")

    policy: str = Field("heuristic", description=POLICIES)
    order: str | None = Field(
        None, description="Order that a trained policy is told; its own if left out."
    )
    greedy: bool = Field(False, description="Take the likeliest action instead of drawing one.")
    seed: Seed = Field(0, description="Root seed; same seed, same episode.")
    speed: float | None = Field(
        None,
        gt=0,
        description="Steps per second; without it, Enter plays the next step; h: the keys.",
    )
    red_agent: str | None = Field(
        None, description="A red agent of your own, module:attribute; also as --red."
    )
    cyborg_path: str | None = Field(
        None, description="Folder of a checkout of CybORG, for a policy that is written for it."
    )
    plain: bool = Field(
        False, description="Plain text without waiting, for pipes (default if not a terminal)."
    )

    def run(self) -> int:
        """Run the command."""
        from standing_orders.api.policies import TrainedPolicy, load_policy

        is_plain = self.plain or not (sys.stdin.isatty() and sys.stdout.isatty())
        find_cyborg(self.cyborg_path)
        policy = load_policy(self.policy, order=self.order, greedy=self.greedy)
        config = self.part(SimConfig)
        if isinstance(policy, TrainedPolicy):
            tell(policy.describe())
            config = policy.home().model_copy(update=self.given(SimConfig))
        from standing_orders.cli.play_view import watch

        watch(
            policy, config, red_agent=self.red_agent, seed=self.seed, speed=self.speed,
            is_plain=is_plain,
        )  # fmt: skip
        return 0
