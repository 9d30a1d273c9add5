"""Who can be compared, by name: each is made into a policy, some after training."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from standing_orders.cage2.defenders import ScriptedDefender
from standing_orders.cage2.policy import NAMES, Policy
from standing_orders.compare.config import BASELINES, EACH, CompareConfig
from standing_orders.compare.greedy import GreedyDefender, OracleDefender
from standing_orders.config import (
    ANY_ORDER,
    NO_ORDER,
    GameConfig,
    RedAgent,
    SimConfig,
    TrainConfig,
    read_toml,
)
from standing_orders.errors import CheckpointError, ConfigError
from standing_orders.rules.lawful import LawfulPolicy
from standing_orders.rules.orders import Order
from standing_orders.runs.folder import is_run
from standing_orders.seeding import child_seed

LAWFUL = "lawful:"
PRESETS = Path(__file__).parent.parent / "presets"


@dataclass(frozen=True)
class Task:
    """One run of one contestant: which attacker, which seed, where it may train."""

    config: CompareConfig
    red: RedAgent
    run: int  # 0 to seeds - 1
    folder: Path  # of training runs

    @property
    def seed(self) -> int:
        """Of the run's training."""
        return child_seed(self.config.seed, "compare", "train", self.run)

    @property
    def game(self) -> SimConfig:
        """What is played."""
        return SimConfig(
            **self.config.model_dump(include=set(GameConfig.model_fields)), red=self.red
        )

    def training_values(self, config: TrainConfig) -> dict[str, Any]:
        """Values of a training config with this task's game, seed and budget."""
        values = config.model_dump() | self.game.model_dump(exclude={"horizon"})
        budget = {"episodes": self.config.train_episodes, "stop_at_gate": False}
        return values | budget | {"seed": self.seed}


@dataclass(frozen=True)
class Ready:
    """A contestant that can play."""

    policy: Policy
    episodes: int = 0  # of training
    seconds: float = 0.0  # of training


@dataclass(frozen=True)
class Contestant:
    """A name, the order that it is judged by, and how to get its policy."""

    name: str
    order: Order | None  # None: it has none of its own
    prepare: Callable[[Task], Ready]


def find_contestants(config: CompareConfig) -> list[Contestant]:
    """Everybody that a comparison names; `baselines` and `@each` stand for several.

    Raises:
        ConfigError: there is no such contestant, or the order is none or missing.

    Example:
        >>> config = CompareConfig(contestants=("sleep", "greedy@each"), orders=("0", "balanced"))
        >>> [one.name for one in find_contestants(config)]
        ['sleep', 'greedy@0', 'greedy@balanced']
    """
    names: list[str] = []
    for name in config.contestants:
        for one in BASELINES if name == "baselines" else (name,):
            what = one.removesuffix(EACH)
            names += [one] if what == one else [f"{what}@{order}" for order in config.orders]
    return [find_contestant(name) for name in dict.fromkeys(names)]


def find_contestant(text: str) -> Contestant:
    """A contestant by name, `WHAT` or `WHAT@ORDER`.

    Raises:
        ConfigError: there is no such contestant, or the order is none or missing.

    Example:
        >>> find_contestant("greedy@0").order
        Order(index=0)
    """
    what, _, told = text.partition("@")
    order = Order.parse(told) if told else None
    if what in NAMES:
        return Contestant(text, order, lambda _: Ready(ScriptedDefender(what)))
    if what in _GREEDY:
        if order is None:
            raise ConfigError(f"contestant {text!r}: name an order, such as {what}@critical_first")
        make = _GREEDY[what]
        return Contestant(text, order, lambda _: Ready(make(order)))
    if what in _LEARNERS:
        return _LEARNERS[what](text, order)
    if what.startswith(LAWFUL):
        return _lawful(text, what.removeprefix(LAWFUL), order)
    if is_run(Path(what)):
        return _of_folder(text, Path(what), order)
    if (PRESETS / f"{what}.toml").is_file() and "/" not in what:
        return _of_preset(text, what, order)
    if "/" in what:
        return _lost(text, Path(what), order)
    known = [*NAMES, *_GREEDY, *_LEARNERS, *sorted(path.stem for path in PRESETS.glob("*.toml"))]
    raise ConfigError(f"contestant {text!r}: must be a run folder or one of {', '.join(known)}")


def _lost(text: str, path: Path, order: Order | None) -> Contestant:
    """A run folder that is not there: named as failed, so that the others can go on."""

    def prepare(_: Task) -> Ready:
        raise CheckpointError(f"{path}: no run folder is there")

    return Contestant(text, order, prepare)


def _of_folder(text: str, path: Path, order: Order | None) -> Contestant:
    def prepare(_: Task) -> Ready:
        from standing_orders.evaluate.find import find_policy  # noqa: PLC0415

        return Ready(find_policy(str(path), order=None if order is None else str(order)))

    return Contestant(text, order, prepare)


def _of_preset(text: str, name: str, order: Order | None) -> Contestant:
    values = read_toml(PRESETS / f"{name}.toml")
    try:
        preset = TrainConfig(**values)
    except ConfigError as err:
        raise ConfigError(f"contestant {text!r}: {name} is no preset of `train`") from err
    if order is None and preset.order not in (ANY_ORDER, NO_ORDER):
        order = Order.parse(preset.order)

    def prepare(task: Task) -> Ready:
        told = preset.order if order is None or preset.order == ANY_ORDER else str(order)
        return train_in_folder(task, f"{name}-{told}", preset, {"order": told}, order)

    return Contestant(text, order, prepare)


def _lawful(text: str, what: str, order: Order | None) -> Contestant:
    """Another contestant, whose fixes are masked while they probably break the order."""
    if order is None:
        raise ConfigError(f"contestant {text!r}: name an order, such as {text}@critical_first")
    inner = find_contestant(what)

    def prepare(task: Task) -> Ready:
        ready = inner.prepare(task)
        policy = LawfulPolicy(ready.policy, [order.index], task.game)
        return Ready(policy, ready.episodes, ready.seconds)

    return Contestant(text, order, prepare)


def _sac(text: str, order: Order | None) -> Contestant:
    def prepare(task: Task) -> Ready:
        from standing_orders.compare.sac import Sac  # noqa: PLC0415
        from standing_orders.learn.policy import LearnedDefender  # noqa: PLC0415

        began = time.perf_counter()
        learner = Sac(task.game, seed=task.seed)
        episodes = learner.train(task.config.train_episodes)
        policy = LearnedDefender(learner.network, name="sac")
        return Ready(policy, episodes, time.perf_counter() - began)

    return Contestant(text, order, prepare)


def _lagrangian(text: str, order: Order | None) -> Contestant:
    if order is None:
        raise ConfigError(f"contestant {text!r}: name an order, such as {text}@critical_first")

    def prepare(task: Task) -> Ready:
        from standing_orders.compare.lagrangian import LagrangianTrainer  # noqa: PLC0415
        from standing_orders.learn.policy import LearnedDefender  # noqa: PLC0415

        began = time.perf_counter()
        values = task.training_values(TrainConfig(certainty="none"))
        trainer = LagrangianTrainer(TrainConfig(**(values | {"order": str(order)})))
        while not trainer.is_done:
            trainer.step()
        policy = LearnedDefender(trainer.network, name=text, orders=[order.index])
        return Ready(policy, trainer.progress.episodes, time.perf_counter() - began)

    return Contestant(text, order, prepare)


_GREEDY: dict[str, Callable[[Order], Policy]] = {"greedy": GreedyDefender, "oracle": OracleDefender}
_LEARNERS: dict[str, Callable[[str, Order | None], Contestant]] = {
    "sac": _sac,
    "lagrangian": _lagrangian,
}


def train_in_folder(
    task: Task, name: str, config: TrainConfig, changes: dict[str, object], order: Order | None
) -> Ready:
    """Train in a folder of the comparison, or go on there, and give the policy.

    Args:
        task: says which game, seed and budget.
        name: of the folder.
        config: how.
        changes: values that differ from it.
        order: that the policy is told.
    """
    from standing_orders.evaluate.find import find_policy  # noqa: PLC0415
    from standing_orders.learn.run import resume, train  # noqa: PLC0415

    values = task.training_values(config) | changes
    path = task.folder / f"{name.replace('>', '-')}-{task.red}-{task.run}"
    began = time.perf_counter()
    if (path / "run.json").is_file():
        trainer = resume(path, report=lambda _: None)
    else:
        trainer = train(TrainConfig(**values), path, report=lambda _: None)
    seconds = time.perf_counter() - began
    policy = find_policy(str(path), order=None if order is None else str(order))
    return Ready(policy, trainer.progress.episodes, seconds)
