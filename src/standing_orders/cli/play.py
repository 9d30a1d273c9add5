"""`standing-orders play`: watch one episode."""

import sys

from pydantic import Field

from standing_orders.cli.command import Command, Seed
from standing_orders.cli.evaluate import POLICIES
from standing_orders.config import SimConfig


class Play(Command, SimConfig):
    """Watch one episode in the terminal, step by step or at a speed."""

    EXAMPLES = (
        "play --policy heuristic --red meander",
        "play --policy runs/one --speed 2",
        "play --policy runs/any --order critical_first --plain",
    )
    BASIC = ("policy", "order", "red", "seed", "horizon", "speed", "plain")

    policy: str = Field("heuristic", description=f"Defender: {POLICIES}, or a run folder.")
    order: str | None = Field(
        None, description="Order that a trained policy is told; its own if left out."
    )
    seed: Seed = Field(0, description="Root seed; same seed, same episode.")
    speed: float | None = Field(
        None, gt=0, description="Steps per second; without it, Enter plays the next step."
    )
    plain: bool = Field(
        False, description="Plain text without waiting, for pipes (default if not a terminal)."
    )

    def run(self) -> int:
        """Run the command."""
        from standing_orders.api.policies import load_policy
        from standing_orders.cli.play_view import watch

        is_plain = self.plain or not (sys.stdin.isatty() and sys.stdout.isatty())
        policy = load_policy(self.policy, order=self.order)
        config = self.part(SimConfig)
        watch(policy, config, seed=self.seed, speed=self.speed, is_plain=is_plain)
        return 0
