"""The batch interface: many environments, arrays in and out, nothing copied."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from standing_orders.cage2.actions import NUM_ACTIONS
from standing_orders.cage2.scenario import (
    NUM_HOSTS,
    OBSERVATION_SIZE,
    OBSERVATION_STYLES,
    RED_AGENTS,
    RULE_SETS,
)
from standing_orders.cage2.state import allocate
from standing_orders.cage2.step import first_bad_action, first_finished, reset_all, step_all
from standing_orders.config import RedAgent, SimConfig
from standing_orders.errors import ConfigError, SimulationError
from standing_orders.seeding import check_seed, environment_seeds


class Cage2Batch:
    """A batch of CAGE-2 environments in lock step.

    Args:
        num_envs: how many, at least 1.
        config: which game; the standard one if left out.
        reds: a red agent for each environment instead of the config's one for all.
        num_threads: threads that share the batch. The results do not depend on it.

    Example:
        >>> batch = Cage2Batch(3)
        >>> batch.reset(seed=0).shape
        (3, 52)
        >>> observations, rewards = batch.step(np.array([0, 1, 139]))
        >>> rewards.tolist()  # in tenths: Restore costs 1.0
        [0, 0, -10]
    """

    def __init__(
        self,
        num_envs: int,
        config: SimConfig | None = None,
        *,
        reds: Sequence[RedAgent] | None = None,
        num_threads: int = 1,
    ) -> None:
        if num_envs < 1:
            raise ConfigError(f"num_envs = {num_envs}: must be at least 1")
        if num_threads < 1:
            raise ConfigError(f"num_threads = {num_threads}: must be at least 1")
        self.config = config or SimConfig()
        self.num_envs = num_envs
        self.states = allocate(num_envs)
        if reds is not None and len(reds) != num_envs:
            raise ConfigError(f"{len(reds)} red agents for {num_envs} environments")
        self.states["red"] = RED_AGENTS.index(self.config.red)
        for i, red in enumerate(reds or ()):
            self.states["red"][i] = RED_AGENTS.index(SimConfig(red=red).red)
        self.observations = np.zeros((num_envs, OBSERVATION_SIZE), dtype=np.int8)
        self.rewards = np.zeros(num_envs, dtype=np.int32)  # tenths of a point
        self._rules = RULE_SETS.index(self.config.rules)
        self._style = OBSERVATION_STYLES.index(self.config.observation)
        self._everyone = np.ones(num_envs, dtype=np.bool_)
        self._is_begun = np.zeros(num_envs, dtype=np.bool_)
        self._all_begun = False
        bounds = np.linspace(0, num_envs, min(num_threads, num_envs) + 1).astype(int)
        self._slices = [slice(a, b) for a, b in pairwise(bounds)]
        self._pool = ThreadPoolExecutor(len(self._slices)) if len(self._slices) > 1 else None

    def reset(
        self,
        seed: int | ArrayLike | None = None,
        *,
        chosen: NDArray[np.bool_] | None = None,  # (num_envs,)
        reds: NDArray[np.int8] | None = None,  # (num_envs,)
    ) -> NDArray[np.int8]:  # (num_envs, 52)
        """Begin an episode in all environments, or in the chosen ones.

        Args:
            seed: one number s gives environment i the seed s + i; a list gives each its own.
                None keeps the seeds and goes on to the next episode of each (on the very first
                reset: fresh random seeds).
            chosen: which environments; all if left out.
            reds: who attacks each environment from now on, index into `scenario.RED_AGENTS`; as
                before if left out.

        Returns:
            The observations: the batch's own array, which the next call overwrites.

        Raises:
            ConfigError: a seed is not acceptable, or `chosen` has the wrong shape or type.
        """
        chosen = self._check_chosen(chosen)
        if seed is None and not self._is_begun[chosen].all():
            seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 1)
        if seed is None:
            self.states["episode"][chosen] += 1
        else:
            self.states["seed"][chosen] = self._seeds(seed)[chosen]
            self.states["episode"][chosen] = 0
        if reds is not None:
            self.states["red"] = reds
        words = self.observations.view(np.uint32)
        config = self.config
        self._run(
            lambda part: reset_all(
                self.states[part], chosen[part], self._rules, config.red_tempo, config.head_start,
                self._style, words[part],
            )
        )  # fmt: skip
        self._is_begun |= chosen
        self._all_begun = bool(self._is_begun.all())
        return self.observations

    def step(
        self,
        actions: ArrayLike,  # (num_envs,)
        *,
        chosen: NDArray[np.bool_] | None = None,  # (num_envs,)
        out: NDArray[np.int8] | None = None,  # (num_envs, 52)
    ) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
        """Play one step in all environments, or in the chosen ones.

        Args:
            actions: one action index, 0 to 144, for each environment.
            chosen: which environments play; of the others nothing changes.
            out: where to write the observations; the batch's own array if left out.

        Returns:
            Observations, shape (num_envs, 52), and rewards in tenths of a point, shape
            (num_envs,): arrays that the next call overwrites.

        Raises:
            ConfigError: an action is out of range or of the wrong type or shape, or `out` is not
                a contiguous int8 array of the right shape. Nothing has been played.
            SimulationError: an environment was never reset, or its episode is over.
        """
        checked = check_actions(actions, self.num_envs)
        chosen = self._check_chosen(chosen)
        self._check_playable(chosen)
        out = self.observations if out is None else self._check_out(out)
        words = out.view(np.uint32)
        self._run(
            lambda part: step_all(
                self.states[part], chosen[part], checked[part], self._rules,
                self.config.red_tempo, self._style, words[part], self.rewards[part],
            )
        )  # fmt: skip
        return out, self.rewards

    @property
    def truncated(self) -> NDArray[np.bool_]:  # (num_envs,)
        """Which environments have played all steps of their episode."""
        return np.asarray(self.states["step"] >= self.config.horizon)

    def close(self) -> None:
        """Stop the threads, if there are any."""
        if self._pool is not None:
            self._pool.shutdown()

    def _check_chosen(self, chosen: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        if chosen is None:
            return self._everyone
        if chosen.shape != (self.num_envs,) or chosen.dtype != np.bool_:
            raise ConfigError(f"chosen must be {self.num_envs} booleans, got {chosen!r}")
        return chosen

    def _check_out(self, out: NDArray[np.int8]) -> NDArray[np.int8]:
        wanted = self.observations.shape
        if out.shape != wanted or out.dtype != np.int8 or not out.flags.c_contiguous:
            raise ConfigError(
                f"out must be a contiguous int8 array of shape {wanted}, "
                f"got {out.dtype} {out.shape}"
            )
        return out

    def _check_playable(self, chosen: NDArray[np.bool_]) -> None:
        if not self._all_begun:
            raise SimulationError("step before reset: call reset first")
        finished = first_finished(self.states, chosen, self.config.horizon)
        if finished >= 0:
            raise SimulationError(
                f"environment {finished} has played all {self.config.horizon} steps of its "
                "episode: call reset"
            )

    def _seeds(self, seed: int | ArrayLike) -> NDArray[np.uint64]:
        if isinstance(seed, int | np.integer):
            return environment_seeds(seed, self.num_envs)
        seeds: NDArray[Any] = np.asarray(seed)
        if seeds.shape != (self.num_envs,) or seeds.dtype.kind not in "iu":
            raise ConfigError(f"seed must be a whole number or {self.num_envs} of them")
        for value in (seeds.min(), seeds.max()):
            check_seed(int(value))
        return seeds.astype(np.uint64)

    def _run(self, play: Callable[[slice], None]) -> None:
        if self._pool is None:
            play(self._slices[0])
        else:
            list(self._pool.map(play, self._slices))


def check_actions(actions: ArrayLike, num_envs: int) -> NDArray[np.int64]:  # (num_envs,)
    """Return the actions as 64-bit integers, the same array if they are already.

    Raises:
        ConfigError: wrong shape, type or range; the message names the first bad one.
    """
    array: NDArray[Any] = np.asarray(actions)
    if array.shape != (num_envs,):
        raise ConfigError(f"actions of shape {array.shape}: must be ({num_envs},)")
    if array.dtype.kind not in "iu":
        raise ConfigError(f"actions of type {array.dtype}: must be whole numbers")
    checked = np.ascontiguousarray(array, dtype=np.int64)
    bad = first_bad_action(checked)
    if bad >= 0:
        raise ConfigError(
            f"action {array[bad]} of environment {bad}: must be between 0 and {NUM_ACTIONS - 1}"
        )
    return checked


assert OBSERVATION_SIZE == 4 * NUM_HOSTS  # an observation is 13 words of four bytes
