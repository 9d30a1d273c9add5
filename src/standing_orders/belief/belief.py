"""The belief of a batch of environments, from blue's observations and own actions alone."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from standing_orders.belief.branch import make_bench
from standing_orders.belief.hypothesis import NUM_WORDS
from standing_orders.belief.prior import make_prior
from standing_orders.belief.update import (
    FORESEEN,
    NUM_TYPE_SETS,
    Desk,
    Memory,
    Picture,
    Rules,
    begin_all,
    foresee_all,
    update_all,
)
from standing_orders.belief.weighted import make_states
from standing_orders.cage2.batch import check_actions
from standing_orders.cage2.scenario import (
    NUM_HOSTS,
    NUM_UNIT_TYPES,
    OBSERVATION_SIZE,
    OBSERVATION_STYLES,
    RED_AGENTS,
    RULE_SETS,
)
from standing_orders.cage2.state import allocate
from standing_orders.config import RedAgent, SimConfig
from standing_orders.errors import ConfigError, SimulationError

_ROOM = 16  # states that one step may lead to, times the cap
# (32, 5): whether a type belongs to a set of types
_IN_SET = (np.arange(NUM_TYPE_SETS)[:, None] >> np.arange(NUM_UNIT_TYPES) & 1).astype(np.float64)


class Belief:
    """What the defender of each environment can know of the true state.

    Every state that red can have reached is carried with its probability: blue's action is
    played, red's draws branch, what contradicts the observation goes, and equal states become one.

    Args:
        config: the game that is played; of its red agent nothing is known but `reds`.
        num_envs: how many environments.
        reds: the red agents that are possible, equally likely at first; the config's if left out.
        cap: states kept for an environment, the likeliest ones.
        least: a state that makes up less than this share of a belief is left out.

    Attributes:
        held: (num_envs, 13), probability that red holds the host, the foothold aside.
        privileged: (num_envs, 13), that it holds a privileged session there, the foothold aside.
        malware: (num_envs, 13), that Analyse would find something there.
        held_types: (num_envs, 32), of each set of held unit types; bit t of the index is type t.
        likelihood: (num_envs,), probability that what was just seen would be seen.
        cut: (num_envs,), share of the belief that was left out in this step.
        is_lost: (num_envs,), nothing explains what was seen, so the belief is blue's own table:
            another red agent attacks, or another game is played.
        num_lost: steps without an explanation so far, in all environments.

    Example:
        >>> belief = Belief(SimConfig(red="b_line"), 1)
        >>> belief.reset(np.zeros((1, 52), np.int8))
        >>> belief.update([0], np.zeros((1, 52), np.int8))
        >>> float(belief.held.sum())
        0.0
    """

    def __init__(
        self,
        config: SimConfig,
        num_envs: int,
        *,
        reds: Sequence[RedAgent] | None = None,
        cap: int = 1024,
        least: float = 1e-9,
    ) -> None:
        if num_envs < 1:
            raise ConfigError(f"num_envs = {num_envs}: must be at least 1")
        if cap < 1:
            raise ConfigError(f"cap = {cap}: must be at least 1")
        self.config = config
        self.num_envs = num_envs
        self.reds: tuple[RedAgent, ...] = (config.red,) if reds is None else tuple(reds)
        if not self.reds or set(self.reds) - set(RED_AGENTS):
            raise ConfigError(f"reds = {self.reds}: must be some of {', '.join(RED_AGENTS)}")
        self._prior = make_prior(config, self.reds)
        self._rules = Rules(
            RULE_SETS.index(config.rules),
            OBSERVATION_STYLES.index(config.observation),
            config.red_tempo,
            least,
        )
        self._memory = _make_memory(num_envs, cap)
        self._desk = Desk(make_bench(), make_states(_ROOM * cap), make_states(_ROOM * cap))
        self._picture = _make_picture(num_envs)
        self._everyone = np.ones(num_envs, dtype=np.bool_)
        self._is_begun = np.zeros(num_envs, dtype=np.bool_)
        self.num_lost = 0
        self.held = self._picture.held
        self.privileged = self._picture.privileged
        self.malware = self._picture.malware
        self.held_types = self._picture.held_types
        self.likelihood = self._picture.likelihood
        self.cut = self._picture.cut
        self.is_lost = self._picture.is_lost

    @property
    def decoys(self) -> NDArray[np.int16]:  # (num_envs, 13)
        """Mask of the kinds of decoy that stand on each host, which blue knows for certain."""
        standing: NDArray[np.int16] = self._memory.frames["decoys"]
        return standing

    @property
    def types(self) -> NDArray[np.float64]:  # (num_envs, 5)
        """Probability that red holds a host of each unit type."""
        return self.held_types @ _IN_SET

    @property
    def agent(self) -> NDArray[np.float64]:  # (num_envs, len(reds))
        """Probability of each of the red agents that are possible."""
        return self._picture.agent[:, [RED_AGENTS.index(red) for red in self.reds]]

    @property
    def surprise(self) -> NDArray[np.float64]:  # (num_envs,)
        """How unlikely what was just seen was: minus the logarithm of its probability."""
        with np.errstate(divide="ignore"):
            return -np.log(self.likelihood)

    @property
    def num_states(self) -> NDArray[np.int64]:  # (num_envs,)
        """States that are carried for each environment."""
        return self._memory.sizes

    @property
    def num_branches(self) -> int:
        """Ways to go on that were played so far, in all environments."""
        return int(self._desk.bench.num_played[0])

    def reset(
        self,
        observations: NDArray[Any],  # (num_envs, 52)
        *,
        chosen: NDArray[np.bool_] | None = None,  # (num_envs,)
    ) -> None:
        """Begin an episode in all environments, or in the chosen ones.

        Args:
            observations: the first of the episode, 0 and 1.
            chosen: which environments; all if left out.

        Raises:
            ConfigError: an array has another shape.
        """
        chosen = self._check_chosen(chosen)
        words = self._read(observations)
        begin_all(self._prior, self._rules, chosen, words, self._memory, self._picture)
        self._is_begun |= chosen
        self.num_lost += int((self.is_lost & chosen).sum())

    def update(
        self,
        actions: ArrayLike,  # (num_envs,)
        observations: NDArray[Any],  # (num_envs, 52)
        *,
        chosen: NDArray[np.bool_] | None = None,  # (num_envs,)
    ) -> None:
        """Take in one step: the action that blue played, and what it saw then.

        Args:
            actions: 0 to 144, one for each environment.
            observations: 0 and 1.
            chosen: which environments played; all if left out.

        Raises:
            ConfigError: an array has another shape, or an action is out of range.
            SimulationError: an environment was never reset.
        """
        checked = check_actions(actions, self.num_envs)
        chosen = self._check_chosen(chosen)
        if not self._is_begun[chosen].all():
            raise SimulationError("update before reset: call reset first")
        words = self._read(observations)
        update_all(self._rules, chosen, checked, words, self._memory, self._desk, self._picture)
        self.num_lost += int((self.is_lost & chosen).sum())

    def foresee(self) -> NDArray[np.float64]:  # (num_envs, 3, 13)
        """Probability that red's next action is a scan, an exploit, an escalation on each host.

        Red decides before it sees what blue does, so blue can know this before it acts. All zero
        where nothing explains what was seen.
        """
        upcoming = np.empty((self.num_envs, len(FORESEEN), NUM_HOSTS))
        foresee_all(self._memory, self._desk, upcoming)
        return upcoming

    def copy_from(
        self,
        source: "Belief",
        rows: NDArray[np.int64],  # (n,)
        into: NDArray[np.int64],  # (n,)
    ) -> None:
        """Go on with beliefs of another batch, for episodes that begin in the middle of others.

        Args:
            source: of the same game, with the same cap.
            rows: its environments.
            into: the environments of this batch that go on with them.

        Raises:
            ConfigError: the game or the cap is another.
        """
        same = (self._rules, self.reds, self._memory.weights.shape[1])
        if same != (source._rules, source.reds, source._memory.weights.shape[1]):
            raise ConfigError("a belief can only be copied to one of the same game and cap")
        for mine, theirs in zip(self._memory, source._memory, strict=True):
            mine[into] = theirs[rows]
        for mine, theirs in zip(self._picture, source._picture, strict=True):
            mine[into] = theirs[rows]
        self._is_begun[into] = source._is_begun[rows]

    def _check_chosen(self, chosen: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        if chosen is None:
            return self._everyone
        if chosen.shape != (self.num_envs,) or chosen.dtype != np.bool_:
            raise ConfigError(f"chosen must be {self.num_envs} booleans, got {chosen!r}")
        return chosen

    def _read(self, observations: NDArray[Any]) -> NDArray[np.uint32]:  # (num_envs, 13)
        wanted = (self.num_envs, OBSERVATION_SIZE)
        if observations.shape != wanted:
            raise ConfigError(f"observations of shape {observations.shape}: must be {wanted}")
        return np.ascontiguousarray(observations, dtype=np.int8).view(np.uint32)


def _make_memory(num_envs: int, cap: int) -> Memory:
    return Memory(
        allocate(num_envs),
        np.zeros((num_envs, cap, NUM_WORDS), dtype=np.int64),
        np.zeros((num_envs, cap)),
        np.zeros(num_envs, dtype=np.int64),
    )


def _make_picture(num_envs: int) -> Picture:
    return Picture(
        np.zeros((num_envs, NUM_HOSTS)),
        np.zeros((num_envs, NUM_HOSTS)),
        np.zeros((num_envs, NUM_HOSTS)),
        np.zeros((num_envs, NUM_TYPE_SETS)),
        np.zeros((num_envs, len(RED_AGENTS))),
        np.zeros(num_envs),
        np.zeros(num_envs),
        np.zeros(num_envs, dtype=np.bool_),
    )
