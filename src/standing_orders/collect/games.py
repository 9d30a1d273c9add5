"""Which game is played, as plain data that any process can build it from."""

from dataclasses import dataclass

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.cyborg import CyborgBatch, CyborgSource
from standing_orders.collect.loop import Game
from standing_orders.config import GameConfig, Opponent, SimConfig, SimulatorConfig


@dataclass(frozen=True)
class GameSpec:
    """A game in our simulator, or in a CybORG of the user's own."""

    game: GameConfig
    red: Opponent = "b_line"
    horizon: int = 100
    cyborg: CyborgSource | None = None  # None: our simulator

    @classmethod
    def of(
        cls, game: GameConfig, simulator: SimulatorConfig, red: Opponent, horizon: int = 100
    ) -> "GameSpec":
        """The game that some options describe."""
        is_cyborg = simulator.sim == "cyborg"
        source = CyborgSource(simulator.cyborg_path, simulator.scenario) if is_cyborg else None
        return cls(game, red, horizon, source)

    def make(self, num_envs: int) -> Game:
        """Build some environments; who attacks is said at every reset.

        Raises:
            ConfigError: CybORG is missing or cannot play this game.
        """
        config = SimConfig(**self.game.model_dump(), horizon=self.horizon)
        if self.cyborg is None:
            return Cage2Batch(num_envs, config)
        return CyborgBatch(num_envs, config, source=self.cyborg)
