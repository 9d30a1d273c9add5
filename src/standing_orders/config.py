"""Frozen configuration models: one definition gives flags, help, validation and defaults."""

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError

from standing_orders.errors import ConfigError, DataError
from standing_orders.runs.files import read_regular

_MAX_TOML_BYTES = 2**20
_MAX_INTEGER = 2**63 - 1  # what arrays and files can hold
_MAX_SHOWN = 200  # characters of a value in a message
RedAgent = Literal["b_line", "meander", "sleep"]
Opponent = Literal["b_line", "meander", "sleep", "mixed"]
RuleSet = Literal["head", "leaderboard-2022"]
Certainty = Annotated[float, Field(ge=0, le=1)] | Literal["none"]
# The lowest of those measured that keeps contested compliance at 0.95: benchmarks/belief.py lawful.
DEFAULT_CERTAINTY = 0.8
ANY_ORDER, NO_ORDER = "any", "none"  # what `TrainConfig.order` may say instead of an order
Simulator = Literal["own", "cyborg"]
CollectorName = Literal["batch", "sequential", "lockstep", "episodes", "ray"]
Strategy = Literal["ucb", "thompson", "ei", "random", "sweep"]
Start = Literal["scratch", "own", "nearest", "previous", "base"]
BetaSchedule = Literal["constant", "log"]
KernelName = Literal["mallows", "footrule"]
ObservationStyle = Literal["corrected", "stock"]


def read_toml(path: Path) -> dict[str, Any]:
    """Values of a preset.

    Raises:
        DataError: the file is missing, too large or not TOML.
    """
    try:
        content = read_regular(path, max_bytes=_MAX_TOML_BYTES, may_be_link=True)
        return tomllib.loads(content.decode())
    except OSError as err:
        raise DataError(f"{path}: cannot be read: {err.strerror}") from err
    except ValueError as err:  # no TOML, not UTF-8, or a number of more digits than Python takes
        raise DataError(f"{path}: cannot be read as TOML: {err}") from err
    except RecursionError as err:
        raise DataError(f"{path}: cannot be read as TOML: nested too deeply") from err


class Config(BaseModel):
    """Base of all configuration models: frozen, no unknown keys, errors of our own.

    Raises:
        ConfigError: a value is not acceptable; the message names it and what is.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def part(self, model: type["Part"]) -> "Part":
        """The fields of one of the models that this one is made of."""
        return model(**{name: getattr(self, name) for name in model.model_fields})

    @classmethod
    def of_run(cls, values: dict[str, Any]) -> Self:
        """The config of a run, from its values; an older run lacks options that came later."""
        return cls(**values)

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as err:
            raise ConfigError("; ".join(map(_explain, err.errors()))) from err
        for name in type(self).model_fields:
            value = getattr(self, name)
            for one in value if isinstance(value, tuple) else (value,):
                if isinstance(one, str | Path) and "\0" in str(one):
                    raise ConfigError(f"{name} = {_shown(value)}: holds a null byte")
                if isinstance(one, int) and abs(one) > _MAX_INTEGER:
                    raise ConfigError(f"{name} = {_shown(value)}: must be below 2**63")


Part = TypeVar("Part", bound=Config)


def _explain(error: Any) -> str:
    """One pydantic complaint in our words: what, the value seen, what is wanted."""
    name = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        return f"{name}: no such option"
    inner = error.get("ctx", {}).get("error")
    if isinstance(inner, ConfigError) and isinstance(inner.__cause__, ValidationError):
        # Of a model inside this one, which may have several complaints.
        return "; ".join(f"{name}.{_explain(one)}" for one in inner.__cause__.errors())
    message = str(error["msg"]).removeprefix("Value error, ")
    wanted = message.replace("Input should be", "must be", 1)
    return f"{name} = {_shown(error['input'])}: {wanted}"


def _shown(value: object) -> str:
    """A value as a message shows it: never too long, and never too long to be written at all."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # Python refuses to write integers of many digits
        return f"a {type(value).__name__} that is too long to show"
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


class GameConfig(Config):
    """The rules of a CAGE-2 game, whoever attacks and however long it lasts."""

    rules: RuleSet = Field(
        "head",
        description="Rule set: the public code as it stands (head) or as it stood when the "
        "public leaderboard was computed (leaderboard-2022).",
    )
    observation: ObservationStyle = Field(
        "corrected",
        description="Blue's observation: 'stock' hides some scans on a host that gets a decoy in "
        "the same step, as the challenge's own wrapper does; 'corrected' shows them.",
    )
    head_start: int = Field(
        0,
        ge=0,
        le=10_000,
        strict=True,
        description="Steps that red plays before blue may act; their rewards do not count.",
    )
    red_tempo: int = Field(1, ge=1, le=5, strict=True, description="Red actions per step.")


class SimConfig(GameConfig):
    """Which CAGE-2 game is played."""

    red: RedAgent = Field("b_line", description="Red agent that attacks.")
    horizon: int = Field(100, ge=1, le=10_000, strict=True, description="Steps of an episode.")


class SimulatorConfig(Config):
    """What simulates the game."""

    sim: Simulator = Field(
        "own",
        description="Simulator: our own, or the CybORG v2.1 that you have installed (cyborg).",
    )
    cyborg_path: str | None = Field(
        None, description="cyborg: folder of a checkout; the installed module without it."
    )
    scenario: str | None = Field(
        None,
        description="cyborg: a scenario file of your own, with CAGE-2's hosts and actions.",
    )
    red_agent: str | None = Field(
        None,
        description="A red agent of your own instead of those known, module:attribute: a function "
        "decide(env, memory, word) in our simulator, a BaseAgent in CybORG.",
    )


class CollectConfig(Config):
    """Where episodes come from; with our simulator the results do not depend on it."""

    collect: CollectorName = Field(
        "batch",
        description="Who plays the episodes. batch: this process, all at once; sequential: one "
        "after the other; lockstep: worker processes with shared memory and one barrier a step; "
        "episodes: worker processes that play whole episodes; ray: the same on a Ray cluster.",
    )
    workers: int = Field(2, ge=1, le=1_000, strict=True, description="Workers of a collector.")
    address: str | None = Field(
        None,
        description="Ray cluster to use, such as 127.0.0.1:6379; one on this machine if left out.",
    )
    worker_timeout: float = Field(
        120.0, gt=0, description="Seconds without an answer after which a worker is replaced."
    )


class AlignmentConfig(Config):
    """How following the order is rewarded in training; scores never contain it."""

    weight: float = Field(0.0, ge=0, description="Lambda: bonus of a fully compliant episode.")
    shape: Literal["linear", "progressive", "progressive-continuous"] = Field(
        "linear", description="How compliance becomes bonus."
    )
    fix_bonus: float = Field(0.0, ge=0, description="Bonus of each compliant fix.")
    violation_cost: float = Field(0.0, ge=0, description="Cost of each violation.")
    idle_cost: float = Field(
        0.0, ge=0, description="Cost of an episode that never fixes although a type was held."
    )
    count_foothold: bool = Field(
        False,
        description="Count red's foothold on User0 as a compromise, as older results did: then "
        "nothing ranked after user can be repaired lawfully.",
    )


class PpoBase(Config):
    """What every PPO learner here has."""

    learning_rate: float = Field(2e-3, gt=0, le=1, description="Adam's step size.")
    final_learning_rate: float | None = Field(
        2e-4, gt=0, le=1, description="Fall linearly to this over the budget; constant without it."
    )
    epochs: int = Field(3, ge=1, strict=True, description="Passes over each batch.")
    minibatches: int = Field(4, ge=1, strict=True, description="Gradient steps per pass.")
    clip: float = Field(0.2, gt=0, lt=1, description="Clip range of the probability ratio.")
    gae_lambda: float = Field(0.95, ge=0, le=1, description="Lambda of GAE.")
    value: float = Field(0.5, ge=0, description="Coefficient of the value loss.")
    reward_scale: float = Field(0.1, gt=0, description="Rewards are multiplied by it for learning.")
    max_gradient: float = Field(0.5, gt=0, description="Norm that gradients are clipped to.")
    max_kl: float | None = Field(None, gt=0, description="Stop the passes at this KL divergence.")


class PpoConfig(PpoBase):
    """The learner."""

    gamma: float = Field(0.99, ge=0, le=1, description="Discount.")
    advantages: Literal["gae", "monte-carlo"] = Field(
        "gae", description="GAE with the value beyond the horizon, or plain returns up to it."
    )
    entropy: float = Field(0.002, ge=0, description="Coefficient of the entropy bonus.")
    final_entropy: float | None = Field(
        None,
        gt=0,
        description="Fall geometrically to this over the budget; constant without it.",
    )
    hidden: tuple[PositiveInt, ...] = Field(
        (64, 64), min_length=1, description="Hidden layer sizes."
    )
    activation: Literal["tanh", "relu"] = Field("relu", description="Activation function.")
    belief: bool = Field(
        True, description="Inputs: the probability that red holds each host, by the exact belief."
    )
    full_belief: bool = Field(
        True,
        description="Inputs: the probability that red is privileged on each host, and of each red "
        "agent, by the exact belief.",
    )
    foresight: bool = Field(
        True,
        description="Inputs: the probability that red scans, exploits or escalates on each host "
        "next, by the exact belief, and which decoys stand there.",
    )
    memory: bool = Field(
        True, description="Inputs: scans, exploits and decoys so far, for each host."
    )
    useful_actions: bool = Field(
        True, description="Choose only among the 71 actions that can have an effect."
    )
    lean: float | None = Field(
        None,
        ge=0,
        le=10,
        description="Weights that all hosts share, from what is known of a host to what is done "
        "there. An untrained defender leans so much, in logits, towards Remove where it believes "
        "in a user-level session of red and towards Restore where in a privileged one; without a "
        "number there are no such weights.",
    )
    clock: bool = Field(False, description="Input: the step. It makes hardly any two rows equal.")


class ScheduleConfig(Config):
    """Published proposals for reaching 95 %, each off unless switched on.

    Where one speaks of compliance it means that of the update before.
    """

    weight_stages: bool = Field(
        False, description="Alignment weight x1, x1.5 from episode 1,000, x2.5 from 3,000."
    )
    small_updates: bool = Field(
        False, description="Halve update_episodes once compliance reaches 0.85."
    )
    soft_mask: bool = Field(
        False,
        description="Once compliance reaches 0.80, violations are 0.1 times as likely in training, "
        "in the stored and the recomputed probabilities alike; never in evaluation.",
    )
    more_epochs: bool = Field(False, description="Double the epochs once compliance reaches 0.85.")
    compliance_loss: float = Field(
        0.0,
        ge=0,
        description="Coefficient of a hinge on the probability of violations beyond 0.05.",
    )
    learning_rate_steps: bool = Field(
        False, description="Learning rate x1, x0.5 once compliance reaches 0.80, x0.25 from 0.90."
    )
    plateau_stop: bool = Field(
        False, description="Stop after 12 updates without an improvement of 0.01."
    )


class GateConfig(Config):
    """When an order counts as followed: measured on fresh episodes, never on a training batch."""

    kind: Literal["strict", "contested"] = Field(
        "contested",
        description="strict: compliance over all judged fixes; contested: also over those made "
        "while two or more types are held, by the lower end of its 90 % interval.",
    )
    threshold: float = Field(0.95, ge=0, le=1, description="Compliance to reach.")
    min_judged: int = Field(
        100, ge=1, strict=True, description="Judged fixes it takes at least; untested with fewer."
    )
    min_contested: int = Field(
        200, ge=1, strict=True, description="kind contested: contested fixes it takes at least."
    )
    contested_starts: int = Field(
        20,
        ge=0,
        le=10_000,
        strict=True,
        description="kind contested: in a game without a head start half of the episodes of a "
        "measurement start so many steps late, with several types held, and count for contested "
        "compliance alone; 0: none do.",
    )
    contested_floor: float = Field(0.0, ge=0, le=1, description="Contested compliance to reach.")
    response_floor: float = Field(0.0, ge=0, le=1, description="Response rate to reach.")
    episodes: int = Field(200, ge=2, strict=True, description="Fresh episodes of one measurement.")


class PriceConfig(Config):
    """How the price of a temporal rule is learned: dual ascent on validation episodes."""

    target: float = Field(
        0.97, gt=0, lt=1, description="Share of the episodes in which a rule is to be kept."
    )
    price: float = Field(
        1.0,
        ge=0,
        description="What a whole window of broken obligations costs at first, in points.",
    )
    price_rate: float = Field(
        5.0,
        gt=0,
        description="Rise of the price per update and unit of broken episodes beyond 1 - target.",
    )
    max_price: float = Field(100.0, gt=0, description="The price rises no higher.")
    episodes: int = Field(
        40, ge=1, strict=True, description="Validation episodes after each update; counted apart."
    )


class LearnerConfig(GameConfig, SimulatorConfig, CollectConfig):
    """How a defender is trained, whatever it must follow and however long."""

    @classmethod
    def of_run(cls, values: dict[str, Any]) -> Self:
        """Older runs were told less and chose among all actions."""
        ppo = values.get("ppo")
        if isinstance(ppo, dict):
            older = {"full_belief": False, "foresight": False, "useful_actions": False}
            values = values | {"ppo": older | ppo}
        return super().of_run(values)

    red: Opponent = Field("b_line", description="Red agent that attacks; 'mixed': all in turn.")
    update_episodes: int = Field(100, ge=1, strict=True, description="Episodes an update.")
    orders_per_update: int = Field(
        10,
        ge=1,
        le=120,
        strict=True,
        description="Different orders told in one update of 'any'; fewer make more rows equal.",
    )
    certainty: Certainty = Field(
        DEFAULT_CERTAINTY,
        description="A fix is allowed only while the probability, by the exact belief, that it "
        "breaks the order is at most 1 - certainty; 'none': anything is allowed.",
    )
    attackers: Literal["own", "all"] = Field(
        "own",
        description="Red agents that the belief holds possible: the one that attacks, or all.",
    )
    stop_at_gate: bool = Field(
        False,
        description="One order: stop when the gate is passed, as published. An order that is kept "
        "by construction passes it at once, before the defender has learned to defend.",
    )
    seed: int = Field(0, ge=0, le=2**63 - 1, strict=True, description="Root seed.")
    alignment: AlignmentConfig = AlignmentConfig()
    ppo: PpoConfig = PpoConfig()
    schedules: ScheduleConfig = ScheduleConfig()
    gate: GateConfig = GateConfig()


class TrainConfig(LearnerConfig):
    """Train a defender that follows an order."""

    @classmethod
    def of_run(cls, values: dict[str, Any]) -> Self:
        """Older runs tried no decoys and planned no opening."""
        return super().of_run({"try_decoys": False, "opening": 0} | values)

    order: str = Field(
        "any",
        description="What the defender must follow: an order such as "
        "op_server,enterprise,defender,op_host,user (also os,e,d,oh,u), a named one "
        "(critical_first, enterprise_focus, user_priority, operational_focus, balanced, "
        "least_critical_first) or its number; "
        "'any': one policy for all orders, told a random one each episode; 'none': no order.",
    )
    rule: tuple[str, ...] = Field(
        (),
        description="Temporal rules, each 'name = formula', over held types and hosts, blue's "
        "actions and the reward. One about blue's own actions, that looks back only, is kept by "
        "construction; every other one has a price that is learned.",
    )
    prices: PriceConfig = PriceConfig()
    order_switch_rate: float = Field(
        0.0,
        ge=0,
        le=1,
        description="'any' order: share of the training episodes in which the order changes once, "
        "at a random step, to that of another episode.",
    )
    episodes: int = Field(40_000, ge=1, strict=True, description="Budget of training episodes.")
    try_decoys: bool = Field(
        True,
        description="In each training episode place a random decoy at a random step, whatever the "
        "policy would do there: what a decoy is worth shows late, and a policy that has stopped "
        "trying one never learns it. Not with rules about blue's own actions.",
    )
    opening: int = Field(
        3,
        ge=0,
        le=10,
        strict=True,
        description="First steps that are planned, at most: after 40 and 70 % of the "
        "budget every decoy is tried against the same attacks, and one that is clearly better is "
        "imitated from then on; these episodes are counted apart. Not with a head start, rules "
        "about blue's own actions or less than 5,000 episodes; 0: never.",
    )
    starts: int = Field(
        1,
        ge=1,
        le=1_000,
        strict=True,
        description="Short trainings from scratch, each with a tenth of the budget and together "
        "with at most half of it; the one that validates best goes on with the rest.",
    )
    validation_episodes: int = Field(
        900,
        ge=2,
        le=100_000,
        strict=True,
        description="Fresh episodes that each of several starts is validated on, the same attacks "
        "for all; counted apart.",
    )
    checkpoint_every: int = Field(20, ge=1, strict=True, description="Updates between checkpoints.")

    @property
    def start_episodes(self) -> int:
        """Budget of each of several starts."""
        return self.episodes // max(10, 2 * self.starts)

    @property
    def kept_episodes(self) -> int:
        """Training episodes of the policy that is kept."""
        return self.episodes - (self.starts - 1) * self.start_episodes


class BaseConfig(Config):
    """The policy that every order starts from (`start = "base"`), trained once."""

    order: Literal["any", "none"] = Field(
        "any", description="What it is trained with: any order it is told, or none."
    )
    episodes: int = Field(20_000, ge=1, strict=True, description="Its training episodes.")
    learning_rate: float = Field(2e-3, gt=0, le=1, description="Adam's step size for it.")
    final_learning_rate: float | None = Field(
        2e-4, gt=0, le=1, description="Fall linearly to this; constant without it."
    )


class SearchConfig(LearnerConfig):
    """Search the 120 orders for the best one."""

    @property
    def begins_anew(self) -> bool:
        """Whether an order that is visited again does not go on with its own policy."""
        return self.start in ("scratch", "previous")

    @property
    def has_prior(self) -> bool:
        """Whether the base policy is asked about every order first."""
        return self.prior == "base" and self.start == "base" and self.base.order == ANY_ORDER

    budget: int = Field(
        120_000,
        ge=1,
        strict=True,
        description="Episodes of the whole search, used exactly: base policy, training, gate "
        "checks and evaluations.",
    )
    order_episodes: int = Field(
        1_000,
        ge=1,
        strict=True,
        description="Training episodes of one visit of an order, gate checks included.",
    )
    evaluation_episodes: int = Field(
        200, ge=2, strict=True, description="Fresh episodes that measure an order after training."
    )
    final_episodes: int = Field(
        1_000,
        ge=2,
        strict=True,
        description="Further fresh episodes, at the end, that score the best policy; at most a "
        "tenth of what the base policy leaves of the budget.",
    )
    acquisition: Strategy = Field(
        "ucb", description="How the next order is chosen; random and sweep ignore the surrogate."
    )
    beta: float = Field(2.0, ge=0, le=1_000, description="ucb: standard deviations of optimism.")
    schedule: BetaSchedule = Field(
        "log", description="ucb: beta as it is, or times sqrt(log(1 + t)) at the t-th choice."
    )
    kernel: KernelName = Field(
        "mallows", description="What near means: Kendall distance (mallows) or footrule."
    )
    spread: int = Field(
        6,
        ge=0,
        strict=True,
        description="First picks, far from each other, before the surrogate; the very first is the "
        "best by the prior, if there is one.",
    )
    contrast_every: int = Field(
        6,
        ge=0,
        strict=True,
        description="ucb, thompson, ei: after the first picks, one in so many is of the order "
        "that tells most about what each precedence is worth, so that the answer can say what "
        "matters; 0: none.",
    )
    max_visits: int | None = Field(
        1,
        ge=1,
        strict=True,
        description="An order visited this often is not chosen again while others are left.",
    )
    continue_failed: bool = Field(
        False, description="An order that has just failed the gate may be chosen again at once."
    )
    start: Start = Field(
        "base",
        description="Where an order's policy begins. scratch: always afresh; own: afresh, but a "
        "re-chosen order goes on with its own; nearest: as own, first time from the nearest "
        "trained order; previous: always from the order visited before, so that one agent is "
        "handed on; base: as own, first time from one base policy, equal for all.",
    )
    prior: Literal["base", "none"] = Field(
        "base",
        description="Prior mean of the surrogate: what the base policy earns with each of the 120 "
        "orders (start base, trained with any order), or the same for all.",
    )
    prior_episodes: int = Field(
        50,
        ge=2,
        strict=True,
        description="prior base: fresh episodes for each order, the same attacks for all.",
    )
    stop_chance: float = Field(
        0.05,
        ge=0,
        lt=1,
        description="prior base: stop when the chance that an order not visited yet is better than "
        "the best by more than stop_margin falls below this; 0: use the whole budget.",
    )
    stop_margin: float = Field(
        0.02, ge=0, description="Improvement worth a visit, as a share of the best return."
    )
    parallel: int = Field(
        1, ge=1, le=120, strict=True, description="Orders chosen at once and then run together."
    )
    max_orders: int | None = Field(
        None, ge=1, strict=True, description="Stop after so many visits, also before the budget."
    )
    candidates: int | None = Field(
        None,
        ge=1,
        le=120,
        strict=True,
        description="ucb, thompson, ei: choose among so many random orders instead of all 120.",
    )
    base: BaseConfig = BaseConfig()
    ppo: PpoConfig = PpoConfig(learning_rate=3e-4, final_learning_rate=None)
