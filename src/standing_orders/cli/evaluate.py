"""`standing-orders evaluate`: a score card."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

import tyro
from pydantic import Field

from standing_orders.cage2.policy import NAMES
from standing_orders.cli.command import Reporting, Seed, Shown, tell
from standing_orders.config import (
    CollectConfig,
    GameConfig,
    RedAgent,
    SimConfig,
    SimulatorConfig,
)
from standing_orders.errors import ConfigError

if TYPE_CHECKING:
    from standing_orders.cage2.policy import Policy
    from standing_orders.evaluate.elsewhere import Elsewhere
    from standing_orders.evaluate.satisfaction import Satisfaction

POLICIES = (
    f"Defender: {', '.join(NAMES)}, a run folder, zoo/NAME, module:attribute, or a zip file of "
    "Stable-Baselines3."
)


def find_cyborg(path: str | None) -> None:
    """Import the CybORG of a checkout, so that agents written for it can be loaded."""
    if path is not None:
        from standing_orders.cage2.cyborg.install import import_cyborg

        import_cyborg(path)


class Evaluate(Reporting, GameConfig, SimulatorConfig, CollectConfig):
    """Score card of a policy: its return at 30, 50 and 100 steps against each red agent.

    A trained policy plays the game that it was trained in unless another is given. For it also how
    well it follows the order it is told: compliance figures with intervals, and the order swap,
    which shows whether it listens.
    """

    EXAMPLES = (
        "evaluate --policy heuristic --order critical_first",
        "evaluate --policy zoo/any-b_line --order all --red b_line",
        "evaluate --policy runs/search --episodes 5000 --out card.csv",
        "evaluate --policy zoo/leaderboard --plan 2",
        "evaluate --policy zoo/any-b_line --order critical_first --order-switch 40 --red b_line",
    )
    BASIC = (
        "policy",
        "red",
        "order",
        "order_switch",
        "then_order",
        "rule",
        "keep",
        "episodes",
        "seed",
        "greedy",
        "plan",
        "show_all",
        "json_output",
        "out",
    )

    policy: str = Field("heuristic", description=POLICIES)
    red: Literal["b_line", "meander", "sleep", "all"] = Field("all", description="Red agent.")
    episodes: int = Field(1_000, ge=2, strict=True, description="Episodes for each red agent.")
    seed: Seed = Field(0, description="Root seed; same seed, same score to the last digit.")
    threads: int = Field(1, ge=1, strict=True, description="Threads; the score is the same.")
    order: str | None = Field(
        None,
        description="What a trained policy is told: an order, or 'all' for each of the 120; its "
        "own if left out. A defender that takes no order is held to it: a fix that probably breaks "
        "it is replaced.",
    )
    order_episodes: int = Field(
        200, ge=2, strict=True, description="Episodes for each order and red agent."
    )
    order_switch: int | None = Field(
        None,
        ge=0,
        strict=True,
        description="Instead: tell another order from this step on, and measure how the new one is "
        "followed and what the change costs; --episodes for each red agent.",
    )
    then_order: str | None = Field(
        None, description="The order that is told then; the first one backwards if left out."
    )
    rule: tuple[str, ...] = Field(
        (),
        description="Temporal rules, each 'name = formula': in how many of --episodes fresh "
        "episodes for each red agent they are broken.",
    )
    keep: tuple[str, ...] = Field(
        (),
        description="Temporal rules about blue's own actions that a trained policy is made to keep "
        "by construction; watched as well.",
    )
    show_all: Annotated[bool, tyro.conf.arg(name="all")] = Field(
        False, description="Print the figures of all orders, not only of the lowest six."
    )
    greedy: bool = Field(False, description="Take the likeliest action instead of drawing one.")
    plan: int = Field(
        0,
        ge=0,
        le=10,
        strict=True,
        description="First steps of a trained policy that are planned ahead: decoys replace its "
        "own actions as long as that is clearly better in episodes played on from there.",
    )

    def run(self) -> int:
        """Run the command."""
        from standing_orders.api.policies import (
            TrainedPolicy,
            evaluate,
            keep_rules,
            load_policy,
            plan_opening,
        )
        from standing_orders.cage2.scenario import RED_AGENTS
        from standing_orders.cli.tables import show_progress

        find_cyborg(self.cyborg_path)
        policy = load_policy(self.policy, order=self.order, greedy=self.greedy)
        if self.keep:
            policy = keep_rules(policy, self.keep)
        game = self.part(GameConfig)
        if isinstance(policy, TrainedPolicy):
            tell(policy.describe())
            game = policy.game.model_copy(update=self.given(GameConfig))
        red = "b_line" if self.red_agent is not None else self.red  # there is but one of one's own
        reds = RED_AGENTS if red == "all" else (red,)
        if self.plan:
            if not self._plays_here:
                raise ConfigError("plan: only in our own simulator, collect = batch")
            policy = plan_opening(
                policy, self.plan, game=game, red=red, seed=self.seed, report=tell
            )
        if self.order_switch is not None:
            return self._switch(policy, game, reds)
        total = self.episodes * len(reds)
        if self._plays_here:
            orders = len(getattr(policy, "orders", ()))
            total += self.order_episodes * orders * sum(one != "sleep" for one in reds)
        with self._elsewhere(game) as elsewhere, show_progress("episodes", total) as advance:
            card = evaluate(
                policy,
                game=game,
                red=red,
                episodes=self.episodes,
                seed=self.seed,
                threads=self.threads,
                order_episodes=0 if elsewhere else self.order_episodes,
                elsewhere=elsewhere,
                advance=advance,
            )
        kept = self._judge_rules(policy, game, reds)
        tables = [*card.tables(), *(table for one in kept for table in one.tables())]
        more = {"rules": [one.to_json() for one in kept]} if kept else {}
        self.report(Shown(tables, card.to_json() | more), is_full=self.show_all)
        return 0

    def _judge_rules(
        self, policy: "Policy", game: GameConfig, reds: tuple[RedAgent, ...]
    ) -> "list[Satisfaction]":
        """How the rules that are named are kept against each red agent."""
        from standing_orders.evaluate.satisfaction import measure_rules
        from standing_orders.rules.temporal import read_rules

        rules = read_rules((*self.keep, *self.rule))
        return [
            measure_rules(
                policy, SimConfig(**game.model_dump(), red=red), rules,
                num_episodes=self.episodes, seed=self.seed,
            )
            for red in reds
            if rules
        ]  # fmt: skip

    def _switch(self, policy: "Policy", game: GameConfig, reds: tuple[RedAgent, ...]) -> int:
        """Measure how an order that changes is followed."""
        from standing_orders.api.policies import switch_order
        from standing_orders.cli.tables import show_progress
        from standing_orders.evaluate.switching import Switchable, measure_switch

        assert self.order_switch is not None
        if not self._plays_here:
            raise ConfigError("order-switch: only in our own simulator, collect = batch")
        switched = switch_order(policy, self.order_switch, self.then_order)
        assert isinstance(policy, Switchable)
        attacking = [red for red in reds if red != "sleep"]
        with show_progress("episodes", 3 * self.episodes * len(attacking)) as advance:
            found = [
                measure_switch(
                    policy, SimConfig(**game.model_dump(), red=red),
                    orders=(switched.orders[0], switched.switch[1]), step=self.order_switch,
                    num_episodes=self.episodes, seed=self.seed, advance=advance,
                )
                for red in attacking
            ]  # fmt: skip
        tables = [table for one in found for table in one.tables()]
        self.report(Shown(tables, [one.to_json() for one in found]))
        return 0

    @property
    def _plays_here(self) -> bool:
        """Whether this process plays, in our simulator."""
        return self.sim == "own" and self.collect == "batch" and self.red_agent is None

    @contextmanager
    def _elsewhere(self, game: GameConfig) -> "Iterator[Elsewhere | None]":
        """Who plays, if not this process in our simulator."""
        if self._plays_here:
            yield None
            return
        from standing_orders.collect.choose import open_collector
        from standing_orders.collect.games import GameSpec
        from standing_orders.evaluate.both import policy_actor
        from standing_orders.evaluate.elsewhere import Elsewhere

        actor = policy_actor(
            self.policy, order=self.order, is_greedy=self.greedy, cyborg_path=self.cyborg_path
        )
        spec = GameSpec.of(game, self.part(SimulatorConfig), "b_line")
        with open_collector(spec, self.part(CollectConfig), tell) as collector:
            yield Elsewhere(collector, actor)
