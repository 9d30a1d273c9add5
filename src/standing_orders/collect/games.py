"""Which game is played, as plain data that any process can build it from."""

from dataclasses import dataclass

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.cyborg import Built, CyborgBatch, CyborgSource
from standing_orders.cage2.own_red import OwnRedBatch
from standing_orders.cage2.scenario import RED_AGENTS
from standing_orders.collect.loop import Game
from standing_orders.config import GameConfig, Opponent, SimConfig, SimulatorConfig

# Some share the cost of asking the network; with many, steps of CybORG tend to take longer.
_CYBORGS_AT_ONCE = 4


@dataclass(frozen=True)
class GameSpec:
    """A game in our simulator, or in a CybORG of the user's own."""

    game: GameConfig
    red: Opponent = "b_line"
    horizon: int = 100
    cyborg: CyborgSource | None = None  # None: our simulator
    red_agent: str | None = None  # of the user's own, in our simulator

    @classmethod
    def of(
        cls, game: GameConfig, simulator: SimulatorConfig, red: Opponent, horizon: int = 100
    ) -> "GameSpec":
        """The game that some options describe."""
        own = simulator.red_agent
        if simulator.sim == "own":
            return cls(game, red, horizon, red_agent=own)
        source = CyborgSource(simulator.cyborg_path, simulator.scenario, own)
        return cls(game, red, horizon, source)

    @property
    def num_reds(self) -> int:
        """Red agents that attack in turn."""
        return len(RED_AGENTS) if self.red == "mixed" else 1

    @property
    def at_once(self) -> int | None:
        """Episodes that one process had best play side by side; None: as many as there are."""
        return None if self.cyborg is None else _CYBORGS_AT_ONCE

    def make(self, num_envs: int, built: Built | None = None) -> Game:
        """Build some environments; who attacks is said at every reset.

        Args:
            num_envs: how many.
            built: simulations of CybORG to use again; new ones are added.

        Raises:
            ConfigError: CybORG is missing or cannot play this game.
        """
        red = "b_line" if self.red == "mixed" else self.red
        config = SimConfig(**self.game.model_dump(), horizon=self.horizon, red=red)
        if self.cyborg is not None:
            return CyborgBatch(num_envs, config, source=self.cyborg, built=built)
        if self.red_agent is not None:
            return OwnRedBatch(num_envs, config, red=self.red_agent)
        return Cage2Batch(num_envs, config)


class Games:
    """The environments of one process: built when first needed, then reset for every plan.

    Args:
        spec: the game.
    """

    def __init__(self, spec: GameSpec) -> None:
        self._spec = spec
        self._made: dict[int, Game] = {}
        self._built: Built = {}  # a simulation of CybORG is dear: all numbers of them share it

    def of(self, num_envs: int) -> Game:
        """So many environments.

        Raises:
            ConfigError: CybORG is missing or cannot play this game.
        """
        if num_envs not in self._made:
            self._made[num_envs] = self._spec.make(num_envs, self._built)
        return self._made[num_envs]
