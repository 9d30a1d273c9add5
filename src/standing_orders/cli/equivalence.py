"""`equivalence`: a policy in our simulator and in CybORG."""

from typing import Literal

from pydantic import Field

from standing_orders.cli.command import Reporting, Seed, tell
from standing_orders.cli.evaluate import POLICIES
from standing_orders.config import CollectConfig, CollectorName, GameConfig, SimulatorConfig
from standing_orders.errors import ConfigError


class Equivalent(Reporting, GameConfig, SimulatorConfig, CollectConfig):
    """Play a policy in our simulator and in your CybORG, and test that they are equivalent.

    For each red agent and 30, 50 and 100 steps: means, their difference with its 90 % interval,
    and the verdict of two one-sided tests against the margin; the Kolmogorov-Smirnov distance of
    returns; and for a trained policy its compliance in both. Exit code 0 only if all cells are
    equivalent.
    """

    EXAMPLES = (
        "equivalence --sim cyborg --policy heuristic",
        "equivalence --sim cyborg --cyborg-path ~/CybORG --policy runs/any --red b_line",
        "equivalence --sim cyborg --policy runs/one --episodes 500 --out same.csv",
    )
    BASIC = (
        "policy", "red", "order", "episodes", "own_episodes", "margin", "seed", "sim",
        "cyborg_path", "json_output", "out",
    )  # fmt: skip

    policy: str = Field("heuristic", description=POLICIES)
    red: Literal["b_line", "meander", "sleep", "all"] = Field("all", description="Red agent.")
    episodes: int = Field(
        200, ge=2, strict=True, description="Episodes in CybORG for each red agent."
    )
    own_episodes: int = Field(
        2_000, ge=2, strict=True, description="Episodes in our simulator for each red agent."
    )
    margin: float = Field(
        0.25,
        gt=0,
        description="Difference of means that counts as none, in standard deviations between "
        "episodes.",
    )
    seed: Seed = Field(0, description="Root seed.")
    order: str | None = Field(None, description="What a trained policy is told; its own if not.")
    greedy: bool = Field(False, description="Take the likeliest action instead of drawing one.")
    collect: CollectorName = Field(
        "episodes", description="Who plays in CybORG; see `standing-orders train --help`."
    )

    def run(self) -> int:
        """Run the command."""
        from standing_orders.cage2.scenario import RED_AGENTS
        from standing_orders.cli.tables import show_progress
        from standing_orders.evaluate.both import EquivalenceTask, compare_simulators

        if self.sim != "cyborg":
            raise ConfigError("sim: give --sim cyborg: ours is compared with it")
        if self.red_agent is not None:
            raise ConfigError(
                f"red_agent = {self.red_agent!r}: a red agent of your own is another one in each "
                "simulator; evaluate --red-agent scores a policy against it"
            )
        task = EquivalenceTask(
            policy=self.policy,
            game=self.part(GameConfig),
            simulator=self.part(SimulatorConfig),
            collect=self.part(CollectConfig),
            reds=RED_AGENTS if self.red == "all" else (self.red,),
            num_episodes=self.episodes,
            own_episodes=self.own_episodes,
            seed=self.seed,
            order=self.order,
            is_greedy=self.greedy,
            margin=self.margin,
        )
        with show_progress("episodes", task.total_episodes) as advance:
            result = compare_simulators(task, advance=advance, report=tell)
        self.report(result)
        return 0 if result.is_equivalent else 1
