"""`standing-orders evaluate`: a score card."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

import tyro
from pydantic import Field

from standing_orders.cage2.policy import NAMES
from standing_orders.cli.command import Reporting, Seed, tell
from standing_orders.config import CollectConfig, GameConfig, SimulatorConfig

if TYPE_CHECKING:
    from standing_orders.evaluate.elsewhere import Elsewhere

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
    show_all: Annotated[bool, tyro.conf.arg(name="all")] = Field(
        False, description="Print the figures of all orders, not only of the lowest six."
    )
    greedy: bool = Field(False, description="Take the likeliest action instead of drawing one.")

    def run(self) -> int:
        """Run the command."""
        from standing_orders.api.policies import TrainedPolicy, evaluate, load_policy
        from standing_orders.cage2.scenario import RED_AGENTS
        from standing_orders.cli.tables import show_progress

        find_cyborg(self.cyborg_path)
        policy = load_policy(self.policy, order=self.order, greedy=self.greedy)
        game = self.part(GameConfig)
        if isinstance(policy, TrainedPolicy):
            tell(policy.describe())
            game = policy.game.model_copy(update=self.given(GameConfig))
        red = "b_line" if self.red_agent is not None else self.red  # there is but one of one's own
        reds = RED_AGENTS if red == "all" else (red,)
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
        self.report(card, is_full=self.show_all)
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
