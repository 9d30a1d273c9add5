"""`standing-orders play`: watch one episode."""

import sys
from pathlib import Path

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
        "play --policy zoo/any-b_line --order critical_first --order-switch 40",
    )
    BASIC = (
        "policy", "order", "order_switch", "then_order", "rule", "keep", "draws", "red", "seed",
        "horizon", "greedy", "speed", "plain",
    )  # fmt: skip

    policy: str = Field("heuristic", description=POLICIES)
    order: str | None = Field(
        None, description="Order that a trained policy is told; its own if left out."
    )
    order_switch: int | None = Field(
        None, ge=0, strict=True, description="Step from which another order is told."
    )
    then_order: str | None = Field(
        None, description="The order that is told then; the first one backwards if left out."
    )
    rule: tuple[str, ...] = Field((), description="Temporal rules to watch, each 'name = formula'.")
    keep: tuple[str, ...] = Field(
        (),
        description="Temporal rules about blue's own actions that a trained policy is made to keep "
        "by construction.",
    )
    draws: Path | None = Field(
        None,
        description="Attack that `falsify` wrote: its draws, its game, and its policy and order "
        "unless others are given.",
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
        from standing_orders.api.policies import (
            TrainedPolicy,
            keep_rules,
            load_policy,
            switch_order,
        )

        is_plain = self.plain or not (sys.stdin.isatty() and sys.stdout.isatty())
        find_cyborg(self.cyborg_path)
        attack, name, order, greedy = None, self.policy, self.order, self.greedy
        if self.draws is not None:
            from standing_orders.cage2.attacks import read_attack

            attack = read_attack(self.draws)
            if not self.was_given("--policy"):
                name, greedy = attack.policy, attack.greedy
            order = order or attack.order
        policy = load_policy(name, order=order, greedy=greedy)
        if self.keep:
            policy = keep_rules(policy, self.keep)
        if self.order_switch is not None:
            policy = switch_order(policy, self.order_switch, self.then_order)
        config = self.part(SimConfig)
        if isinstance(policy, TrainedPolicy):
            tell(policy.describe())
            config = policy.home().model_copy(update=self.given(SimConfig))
        from standing_orders.cli.play_view import watch

        watch(
            policy, config if attack is None else attack.game, red_agent=self.red_agent,
            seed=self.seed, speed=self.speed, is_plain=is_plain, attack=attack,
            rules=(*self.keep, *self.rule),
        )  # fmt: skip
        return 0
