"""Some CybORG simulations behind the interface of `cage2.batch.Cage2Batch`."""

import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from standing_orders.cage2.actions import HOST_OF_ACTION, KIND_OF_ACTION, KINDS, SLEEP
from standing_orders.cage2.batch import check_actions
from standing_orders.cage2.cyborg.install import CyborgSource, build, import_cyborg, installed_rules
from standing_orders.cage2.cyborg.table import BlueTable
from standing_orders.cage2.reward import TENTHS_PER_POINT
from standing_orders.cage2.scenario import (
    HOSTS,
    OBSERVATION_SIZE,
    OBSERVATION_STYLES,
    RED_AGENTS,
)
from standing_orders.cage2.state import allocate
from standing_orders.config import RedAgent, SimConfig
from standing_orders.errors import ConfigError, SimulationError
from standing_orders.seeding import check_seed, environment_seeds

_HOST_BIT = {host: 1 << i for i, host in enumerate(HOSTS)}
_FOOTHOLD = 0  # red's session on User0, which it never loses


@contextmanager
def outside_kept() -> Iterator[None]:
    """Leave Python's global generator as it was; around many calls, since a state is 20 KB."""
    outside = random.getstate()
    try:
        yield
    finally:
        random.setstate(outside)


class CyborgEnv:
    """One simulation of CybORG, built once and reset for each episode.

    All of CybORG draws from Python's global generator, whose state becomes the simulation's own
    for each call, so that simulations do not disturb each other; `outside_kept` is for all others.

    Args:
        config: the game; red_tempo must be 1.
        source: which CybORG.
        red: the red agent, if not the config's.

    Raises:
        ConfigError: CybORG is missing, plays other rules, or cannot play this game.
    """

    def __init__(
        self, config: SimConfig, source: CyborgSource, red: RedAgent | None = None
    ) -> None:
        if config.red_tempo != 1:
            raise ConfigError(f"red_tempo = {config.red_tempo}: CybORG's red acts once a step")
        module = import_cyborg(source.path)
        rules = installed_rules()
        if config.rules != rules:
            raise ConfigError(
                f"rules = {config.rules!r}: the CybORG in {module.__file__} plays {rules!r}"
            )
        self.config = config
        self._generator = random.Random(0).getstate()
        with outside_kept(), self._own_randomness():
            self.simulation = build(module, source, red or config.red)
        self.controller = self.simulation.environment_controller
        self._style = OBSERVATION_STYLES.index(config.observation)
        self._actions = sys.modules["CybORG.Shared.Actions"]
        self.table: BlueTable

    @contextmanager
    def _own_randomness(self) -> Iterator[None]:
        random.setstate(self._generator)
        try:
            yield
        finally:
            self._generator = random.getstate()

    def reset(self, seed: int) -> None:
        """Begin an episode; during the head start blue sleeps."""
        self._generator = random.Random(seed).getstate()
        with self._own_randomness():
            self.table = BlueTable(self.simulation.reset("Blue").observation)
        for _ in range(self.config.head_start):
            self.step(SLEEP)

    def step(self, action: int) -> int:
        """Play one step; the reward is in tenths of a point."""
        with self._own_randomness():
            result = self.controller.step("Blue", self.blue_action(action))
        self.table.update(action, result.observation)
        return round(result.reward * TENTHS_PER_POINT)

    def blue_action(self, action: int) -> Any:
        """An action of ours as an object of CybORG."""
        make = getattr(self._actions, KINDS[KIND_OF_ACTION[action]])
        if KIND_OF_ACTION[action] == SLEEP:
            return make()
        if HOST_OF_ACTION[action] < 0:
            return make(session=0, agent="Blue")
        return make(session=0, agent="Blue", hostname=HOSTS[HOST_OF_ACTION[action]])

    def observe(self, words: NDArray[np.uint32]) -> None:  # (13,)
        """Write blue's observation."""
        self.table.write(self._style, words)

    @property
    def held(self) -> int:
        """Mask of the hosts with a red session other than the foothold, read from the sessions."""
        mask = 0
        for ident, session in self.controller.state.sessions["Red"].items():
            if ident != _FOOTHOLD:
                mask |= _HOST_BIT[session.host]
        return mask


Built = dict[tuple[int, RedAgent], CyborgEnv]  # by place and red agent


class CyborgBatch:
    """Simulations of CybORG in lock step, one after the other in this process.

    An episode depends on its seed and red agent alone, whatever else is played. Of `states` only
    what judging an action needs is kept up to date: the hosts that red holds, and the step.

    Args:
        num_envs: how many, at least 1.
        config: which game; red_tempo must be 1.
        source: which CybORG.
        built: simulations of the same game to use again; those that are missing are added. Of
            batches that share them only the one that was reset last can be played.

    Raises:
        ConfigError: CybORG is missing, plays other rules, or cannot play this game.
    """

    def __init__(
        self,
        num_envs: int,
        config: SimConfig | None = None,
        *,
        source: CyborgSource | None = None,
        built: Built | None = None,
    ) -> None:
        if num_envs < 1:
            raise ConfigError(f"num_envs = {num_envs}: must be at least 1")
        self.config = config or SimConfig()
        self.num_envs = num_envs
        self.states = allocate(num_envs)
        self.observations = np.zeros((num_envs, OBSERVATION_SIZE), dtype=np.int8)
        self.rewards = np.zeros(num_envs, dtype=np.int32)  # tenths of a point
        self._source = source or CyborgSource()
        self._built: Built = {} if built is None else built
        self.envs = self._envs([self.config.red] * num_envs)
        self._is_begun = False

    def _envs(self, reds: Sequence[RedAgent]) -> list[CyborgEnv]:
        """A simulation for each place; what was built before is used again."""
        for key in enumerate(reds):
            if key not in self._built:
                self._built[key] = CyborgEnv(self.config, self._source, key[1])
        return [self._built[key] for key in enumerate(reds)]

    def reset(
        self,
        seed: int | ArrayLike,
        *,
        reds: NDArray[np.int8] | None = None,  # (num_envs,)
    ) -> NDArray[np.int8]:  # (num_envs, 52)
        """Begin an episode in all environments.

        Args:
            seed: one number s gives environment i the seed s + i; a list gives each its own.
            reds: who attacks each environment from now on, index into `scenario.RED_AGENTS`; as
                before if left out.

        Returns:
            The observations: the batch's own array, which the next call overwrites.
        """
        if isinstance(seed, int | np.integer):
            seed = environment_seeds(seed, self.num_envs)
        seeds = np.asarray(seed)
        if seeds.shape != (self.num_envs,):
            raise ConfigError(f"seed must be a whole number or {self.num_envs} of them")
        if reds is not None:
            self.envs = self._envs([RED_AGENTS[red] for red in reds])
        with outside_kept():
            for env, value in zip(self.envs, seeds, strict=True):
                env.reset(check_seed(value))
        self.states["step"] = 0
        self._is_begun = True
        self._look()
        return self.observations

    def step(
        self,
        actions: ArrayLike,  # (num_envs,)
    ) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
        """Play one step in all environments.

        Returns:
            Observations, shape (num_envs, 52), and rewards in tenths of a point, shape
            (num_envs,): arrays that the next call overwrites.

        Raises:
            ConfigError: an action is out of range or of the wrong type or shape.
            SimulationError: the environments were never reset, or their episode is over.
        """
        checked = check_actions(actions, self.num_envs)
        if not self._is_begun:
            raise SimulationError("step before reset: call reset first")
        if self.truncated.any():
            raise SimulationError(
                f"all {self.config.horizon} steps of the episode are played: call reset"
            )
        with outside_kept():
            for i, env in enumerate(self.envs):
                self.rewards[i] = env.step(int(checked[i]))
        self.states["step"] += 1
        self._look()
        return self.observations, self.rewards

    @property
    def truncated(self) -> NDArray[np.bool_]:  # (num_envs,)
        """Which environments have played all steps of their episode."""
        return np.asarray(self.states["step"] >= self.config.horizon)

    def close(self) -> None:
        """Nothing is open."""

    def _look(self) -> None:
        words = self.observations.view(np.uint32)
        for i, env in enumerate(self.envs):
            env.observe(words[i])
            self.states["held"][i] = env.held
