"""What a comparison is of."""

from pydantic import Field, PositiveInt

from standing_orders.config import GameConfig, RedAgent

CANONICAL = (
    "critical_first", "enterprise_focus", "user_priority", "operational_focus", "balanced",
    "least_critical_first",
)  # fmt: skip
EACH = "@each"  # in a name: one contestant for each of the orders
# Every baseline; `baselines` stands for them.
BASELINES = (
    "sleep", "random", "react_restore", "react_remove", "heuristic", "greedy@each", "oracle@each",
    "unconstrained", "sac", "lagrangian@critical_first", "lawful:heuristic@critical_first",
    "fast-order@each", "fast@each",
)  # fmt: skip
DEFAULT = (
    "sleep", "random", "react_restore", "react_remove", "heuristic",
    "greedy@critical_first", "oracle@critical_first",
)  # fmt: skip


class CompareConfig(GameConfig):
    """Defenders side by side: same attacks, same budget."""

    contestants: tuple[str, ...] = Field(
        DEFAULT,
        min_length=1,
        description="Who is compared: scripted defenders (sleep, random, useful-random, "
        "react_restore, react_remove, heuristic), greedy@ORDER, oracle@ORDER (sees the true "
        "state), presets to train (fast, unconstrained, ...; @ORDER tells one), sac, "
        "lagrangian@ORDER, run folders (@ORDER tells one), or lawful: before any of these "
        "(lawful:heuristic@ORDER), which masks fixes that probably break the order. WHAT@each is "
        "one contestant for each of --orders; 'baselines' stands for all baselines.",
    )
    reds: tuple[RedAgent, ...] = Field(
        ("b_line", "meander"), min_length=1, description="Red agents, each a task."
    )
    seeds: PositiveInt = Field(3, description="Runs of each contestant and task.")
    episodes: int = Field(
        500, ge=2, strict=True, description="Fresh episodes that measure each run."
    )
    train_episodes: PositiveInt = Field(
        10_000, description="Training episodes of each run of a contestant that learns."
    )
    judged_by: str = Field(
        "critical_first",
        description="Order that contestants without one of their own are judged by.",
    )
    orders: tuple[str, ...] = Field(
        CANONICAL,
        min_length=1,
        description="Orders that --published trains, and that @each stands for.",
    )
    seed: int = Field(0, ge=0, le=2**63 - 1, strict=True, description="Root seed.")
