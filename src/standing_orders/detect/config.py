"""Everything about a detection run: data, costs, team, learner and rules.

Imports nothing heavy, so that the command line can show its flags at once.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field, PositiveInt

from standing_orders.config import Config, PpoBase, read_toml
from standing_orders.detect.costs import CostConfig, Game, SessionCosts, record_game, session_game
from standing_orders.detect.data.events import Events, Task
from standing_orders.detect.data.options import DataConfig
from standing_orders.errors import ConfigError

Mode = Literal["watch", "fine", "lagrange", "shield"]
MAX_AGENTS = 64
MAX_REACH = 10_000  # events that a rule may look back or ahead


class TeamConfig(Config):
    """Who judges: the agents, what each of them sees, and how they decide together."""

    agents: int = Field(4, ge=1, le=MAX_AGENTS, strict=True, description="Number of agents.")
    faults: int = Field(
        1, ge=0, strict=True, description="Faulty agents tolerated (f); needs 2 f + 1 agents."
    )
    views: Literal["all", "overlap", "split"] = Field(
        "all",
        description="What an agent sees: every column (all), all sensors but one (overlap), or one "
        "sensor (split: whatever a tampered sensor says, it changes one ballot).",
    )
    sensors: tuple[str, ...] = Field(
        (),
        description="Which columns come from which sensor, as in 'host=cpu,process "
        "network=bytes_out,port'; dealt out among the agents if left out.",
    )
    trees: int = Field(
        60,
        ge=0,
        strict=True,
        description="Boosted trees of an agent, fitted to its view; what they say, out of fold in "
        "training, is an input. Of records it is also the first decision, which the network "
        "corrects. 0: none.",
    )
    vote: Literal["quorum", "average", "none"] = Field(
        "quorum",
        description="How ballots become a decision: a Byzantine-fault-tolerant quorum vote, the "
        "average of the agents' probabilities, which tolerates no fault, or no vote (one agent).",
    )
    network: Literal["mlp", "lstm"] = Field(
        "mlp",
        description="mlp: judges by the event and a summary of its session so far. "
        "lstm: remembers the session itself, from its first event on; several times slower.",
    )
    hidden: tuple[PositiveInt, ...] = Field(
        (64, 64), min_length=1, description="Hidden layer sizes."
    )
    activation: Literal["tanh", "relu"] = Field("relu", description="Activation function.")
    initial_allow_bias: float | None = Field(
        None,
        description="Initial log-odds of allow over each other action: an untrained agent rather "
        "waits, and so gets to see whole sessions. 0 for records and 3 for sessions if left out.",
    )
    critic: Literal["own", "shared"] = Field(
        "own",
        description="own: each agent's critic sees what the agent sees (IPPO). shared: one critic "
        "sees everything, in training only (MAPPO).",
    )


class LearnConfig(PpoBase):
    """The learner: PPO for all agents at once. Only sampled gradients need critic and GAE."""

    iterations: int | None = Field(
        None,
        ge=1,
        strict=True,
        description="Updates at most; ten passes over the log and at least 60 if left out.",
    )
    patience: int = Field(
        3,
        ge=0,
        strict=True,
        description="Stop after so many looks at the validation part, one every ten updates, "
        "without a better team there, and keep the best. 0, or a rule with a price: never.",
    )
    tamper: float = Field(
        0.4,
        ge=0,
        le=1,
        description="Train with compromised sensors: this share of the attacks once more, with the "
        "values of one sensor, drawn, replaced or shifted; benign events far less often. A team "
        "then takes a sensor that contradicts the others as a sign. 0: never.",
    )
    steps: int = Field(
        4_096, ge=1, strict=True, description="Events an update, rounded to whole sessions."
    )
    gradient: Literal["expected", "sampled"] = Field(
        "expected",
        description="expected: the cost table says in training what each of the four actions would "
        "have earned, so all of them are weighed by their probability. sampled: plain PPO, which "
        "learns from the one action that was drawn.",
    )
    credit: Literal["own", "vote"] = Field(
        "own",
        description="own: an agent's reward is that of its own action, in sessions as if it alone "
        "decided. vote: that of the team's decision (sampled only).",
    )
    final_learning_rate: float | None = Field(
        1e-4, gt=0, le=1, description="Fall linearly to this over the budget; constant without it."
    )
    epochs: int = Field(4, ge=1, strict=True, description="Passes over each batch.")
    minibatches: int = Field(8, ge=1, strict=True, description="Gradient steps per pass.")
    gamma: float | None = Field(
        None, ge=0, le=1, description="Discount; 0 for records and 1 for sessions if left out."
    )
    entropy: float | None = Field(
        None,
        ge=0,
        description="Coefficient of the entropy bonus; 0.3 for records and 0.02 for sessions, "
        "where a policy that tries things out ends too many of them, if left out.",
    )
    foresight: float = Field(
        5e-3,
        ge=0,
        le=1,
        description="Adam's step size for the constraint heads, which foresee the rules' margins; "
        "falls to 0 over the budget. 0: they do not learn.",
    )
    advantages: Literal["none", "team", "agent"] = Field(
        "none",
        description="Normalise advantages over all agents (team), for each agent (agent), or not.",
    )


class RulesConfig(Config):
    """What the team is held to: the default rules, your own, or both."""

    mode: Mode = Field(
        "watch",
        description="watch: log violations and margins. fine: a violation costs `price` reward. "
        "lagrange: the price is learned, until the target is kept on the validation part. shield: "
        "the team's decision is replaced if it would break the rule for certain.",
    )
    enforce: tuple[str, ...] = Field(
        (),
        description="Rules that the mode holds for, by name, or NAME=MODE for another mode, as in "
        "'detection=lagrange blocking=shield'; the others are watched. All if left out.",
    )
    defaults: bool = Field(
        True,
        description="Answer threats in time, detection and false-alarm rates, rationed blocks, no "
        "flapping.",
    )
    own: tuple[str, ...] = Field(
        (),
        description="Your own rules, such as 'stopped: always (threat -> eventually[0,5] "
        "restrictive)': a name, a colon and a formula.",
    )
    scope: Literal["session", "stream"] = Field(
        "session", description="Where windows of your own rules end."
    )
    window: int = Field(
        200, ge=1, le=MAX_REACH, strict=True, description="Events of the rolling windows."
    )
    price: float = Field(1.0, ge=0, description="Reward that a violation costs, at first or ever.")
    target: float = Field(0.95, gt=0, lt=1, description="Share of the obligations to be kept.")
    price_rate: float = Field(
        1.0, gt=0, description="Rise of the price per update and unit of excess violations."
    )
    max_price: float = Field(100.0, gt=0, description="The price rises no higher.")


class DetectConfig(DataConfig):
    """Train a team that judges events."""

    seed: int = Field(0, ge=0, le=2**63 - 1, strict=True, description="Root seed.")
    device: Literal["cpu", "cuda"] = Field(
        "cpu", description="Where gradients are computed; a GPU gives other last bits than a CPU."
    )
    checkpoint_every: int = Field(20, ge=1, strict=True, description="Updates between checkpoints.")
    costs: CostConfig = CostConfig()
    session_costs: SessionCosts = SessionCosts()
    team: TeamConfig = TeamConfig()
    learn: LearnConfig = LearnConfig()
    rules: RulesConfig = RulesConfig()

    def with_part(self, part: str, **values: object) -> "DetectConfig":
        """The same but for some values of one of its parts, such as `team`."""
        return self.model_copy(update={part: getattr(self, part).model_copy(update=values)})

    def settled(self, task: Task) -> "DetectConfig":
        """With the values that depend on the task filled in."""
        is_records = task == "records"
        bias, entropy, gamma = (0.0, 0.3, 0.0) if is_records else (3.0, 0.02, 1.0)
        team, learn = self.team, self.learn
        if team.initial_allow_bias is not None:
            bias = team.initial_allow_bias
        entropy = entropy if learn.entropy is None else learn.entropy
        gamma = gamma if learn.gamma is None else learn.gamma
        filled = self.with_part("team", initial_allow_bias=bias)
        return filled.with_part("learn", entropy=entropy, gamma=gamma)

    def data_config(self) -> DataConfig:
        """What to read, alone."""
        return self.part(DataConfig)

    def game_of(self, events: Events, task: Task) -> Game:
        """What actions earn at events: by the table for records, by the prices for sessions."""
        if task == "records":
            return record_game(events.is_threat, self.costs.rewards())
        return session_game(events.is_threat, events.sessions, self.session_costs)


def parse_sensors(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Columns of each sensor, of texts such as NAME=COLUMN,COLUMN.

    Raises:
        ConfigError: it is something else, or a name comes twice.

    Example:
        >>> parse_sensors(("host=cpu,process", "network=port"))
        {'host': ('cpu', 'process'), 'network': ('port',)}
    """
    sensors: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, _, columns = text.partition("=")
        if not (name and columns) or name in sensors:
            raise ConfigError(
                f"team.sensors = {text!r}: must be NAME=COLUMN,COLUMN, each name once"
            )
        sensors[name] = tuple(columns.split(","))
    return sensors


def sensors_from(path: Path) -> tuple[str, ...]:
    """The sensors that a TOML file declares: a line `name = ["column", "column"]` for each.

    Raises:
        ConfigError: the file holds something else.
    """
    sensors = []
    for name, columns in read_toml(path).items():
        is_list = isinstance(columns, list) and all(isinstance(one, str) for one in columns)
        if not (is_list and columns) or "=" in name or any("," in one for one in columns):
            raise ConfigError(
                f"{path}: {name}: must be a list of columns, as in {name} = ['a', 'b']; no = in "
                "the name, no comma in a column"
            )
        sensors.append(f"{name}={','.join(columns)}")
    return tuple(sensors)


def check_together(config: DetectConfig) -> None:
    """Refuse a team that cannot vote, and options that would do nothing.

    Raises:
        VotingError, ConfigError: see `check_team`; or an option needs another one.
    """
    check_team(config.team)
    needing = {
        "learn.credit = 'vote'": config.learn.credit == "vote",
        "team.critic = 'shared'": config.team.critic == "shared",
    }
    for option, is_set in needing.items():
        if is_set and config.learn.gradient == "expected":
            raise ConfigError(
                f"{option}: needs learn.gradient = 'sampled'; the expected gradient draws no "
                "action and has no critic"
            )


def check_team(config: TeamConfig) -> None:
    """Refuse a team whose vote cannot tolerate its faulty agents.

    Raises:
        VotingError: too few agents; says how many are needed.
        ConfigError: the kind of vote does not suit the team.
    """
    from standing_orders.voting.quorum import check_quorum_bound  # noqa: PLC0415

    if config.vote == "quorum":
        check_quorum_bound(config.agents, config.faults)
    elif config.faults:
        raise ConfigError(f"team.vote = {config.vote!r} tolerates no fault: set team.faults = 0")
    elif config.vote == "none" and config.agents > 1:
        raise ConfigError(f"team.vote = 'none': {config.agents} agents must vote")
