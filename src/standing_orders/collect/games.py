"""Which game is played, as plain data that any process can build it from."""

from dataclasses import dataclass

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.cyborg import CyborgBatch, CyborgSource
from standing_orders.cage2.own_red import OwnRedBatch
from standing_orders.collect.loop import Game
from standing_orders.config import GameConfig, Opponent, SimConfig, SimulatorConfig


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

    def make(self, num_envs: int) -> Game:
        """Build some environments; who attacks is said at every reset.

        Raises:
            ConfigError: CybORG is missing or cannot play this game.
        """
        config = SimConfig(**self.game.model_dump(), horizon=self.horizon)
        if self.cyborg is not None:
            return CyborgBatch(num_envs, config, source=self.cyborg)
        if self.red_agent is not None:
            return OwnRedBatch(num_envs, config, red=self.red_agent)
        return Cage2Batch(num_envs, config)
