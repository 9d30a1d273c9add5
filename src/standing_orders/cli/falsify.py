"""`standing-orders falsify`: the attack that breaks an order, or hurts most."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from standing_orders.cli.command import Reporting, Seed, tell
from standing_orders.cli.evaluate import POLICIES
from standing_orders.config import SimConfig
from standing_orders.errors import ConfigError


class Falsify(Reporting, SimConfig):
    """Search the attack's random draws for the episode that a policy stands worst.

    Every attack that is tried can happen in the game. The worst one is written into a file, for
    `play --draws` and `replay --draws`, and shown beside as many random attacks. A search is no
    proof: an attack that it does not find may still exist.
    """

    EXAMPLES: ClassVar[tuple[str, ...]] = (
        "falsify --policy zoo/any-b_line --order critical_first --budget 2000",
        "falsify --policy heuristic --red meander --aim return",
        'falsify --policy heuristic --rule "always (op_server -> eventually[0,5] not op_server)"',
    )
    BASIC = ("policy", "order", "rule", "aim", "red", "budget", "seed", "greedy", "draws",
             "json_output", "out")  # fmt: skip

    policy: str = Field(
        "heuristic", description=f"Defender: {POLICIES}, a run folder, or zoo/NAME."
    )
    order: str | None = Field(
        None, description="Order that the policy is told; its own if left out."
    )
    rule: str | None = Field(
        None,
        description="Temporal rule, such as 'always (op_server -> eventually[0,5] not op_server)'.",
    )
    aim: Literal["order", "return", "rule"] | None = Field(
        None,
        description="What is sought: the most fixes that break the order, the lowest return, or "
        "the lowest margin of the rule. Left out: the rule if there is one, or else the order, or "
        "else the return.",
    )
    budget: int = Field(
        20_000, ge=50, strict=True, description="Episodes of the search, and of random attacks."
    )
    seed: Seed = Field(0, description="Root seed; same seed, same attack.")
    greedy: bool = Field(
        False,
        description="Let the policy take the likeliest action; else it draws with the same numbers "
        "in every episode.",
    )
    draws: Path = Field(Path("worst.json"), description="Where to write the worst attack.")

    def run(self) -> int:
        """Run the command."""
        from standing_orders.api.policies import TrainedPolicy, load_policy
        from standing_orders.cage2.attacks import write_attack
        from standing_orders.cli.tables import show_progress
        from standing_orders.evaluate.falsify import Target, falsify
        from standing_orders.rules.temporal import TemporalRule

        policy = load_policy(self.policy, order=self.order, greedy=self.greedy)
        game = self.part(SimConfig)
        if isinstance(policy, TrainedPolicy):
            tell(policy.describe())
            game = policy.home().model_copy(update=self.given(SimConfig))
        orders = getattr(policy, "orders", ())
        if len(orders) > 1:
            raise ConfigError("order: this policy follows several: name one with --order")
        order = orders[0] if orders else None
        rule = None if self.rule is None else TemporalRule.read(self.rule)
        aim = self.aim or ("rule" if rule else "return" if order is None else "order")
        target = Target(policy, game, aim, order, rule)
        with show_progress("episodes", 2 * self.budget) as advance:
            found = falsify(target, budget=self.budget, seed=self.seed, advance=advance)
        write_attack(
            self.draws, found.attack_file(self.policy, order=self.order, greedy=self.greedy)
        )
        self.report(found)
        tell(f"written: {self.draws}; watch it: standing-orders play --draws {self.draws}")
        return 0
