"""An attack as its random draws: one seed for the start of an episode and one for each step.

All that red draws in a step is a function of the environment's seed (see `rng`), so a seed for each
step is enough to name any course of an attack, and every one of them can happen in the game itself:
an ordinary episode is the same seed throughout. Attacks can be searched, kept in a file, and played
against any defender.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.config import Config, SimConfig
from standing_orders.errors import ConfigError, DataError
from standing_orders.runs.files import MAX_TEXT_BYTES, read_regular, write_atomically
from standing_orders.seeding import MAX_SEED, check_seed

FORMAT = 1


class AttackBatch(Cage2Batch):
    """A batch in which each environment meets an attack of its own.

    Args:
        config: which game.
        attacks: (num_envs, 1 + horizon) seeds: of the start with its head start, then of each step.

    Raises:
        ConfigError: an attack does not have a seed for each step.

    Example:
        >>> batch = AttackBatch(SimConfig(horizon=2), np.array([[7, 7, 7], [7, 8, 9]]))
        >>> batch.reset().shape
        (2, 52)
    """

    def __init__(self, config: SimConfig, attacks: ArrayLike) -> None:
        self._attacks = np.asarray(attacks, dtype=np.uint64)
        if self._attacks.ndim != 2 or self._attacks.shape[1] != 1 + config.horizon:
            raise ConfigError(
                f"attacks of shape {self._attacks.shape}: an attack is {1 + config.horizon} seeds "
                f"in a game of {config.horizon} steps"
            )
        super().__init__(len(self._attacks), config)

    def reset(
        self,
        seed: int | ArrayLike | None = None,  # noqa: ARG002 (the attacks have their own)
        *,
        chosen: NDArray[np.bool_] | None = None,
        reds: NDArray[np.int8] | None = None,
    ) -> NDArray[np.int8]:  # (num_envs, 52)
        """Begin an episode; see `Cage2Batch.reset`. The seeds are those of the attacks."""
        return super().reset(self._attacks[:, 0], chosen=chosen, reds=reds)

    def step(
        self,
        actions: ArrayLike,
        *,
        chosen: NDArray[np.bool_] | None = None,
        out: NDArray[np.int8] | None = None,
    ) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
        """Play one step; see `Cage2Batch.step`."""
        now = np.minimum(self.states["step"].astype(np.int64), self.config.horizon - 1)
        self.states["seed"] = self._attacks[np.arange(self.num_envs), 1 + now]
        return super().step(actions, chosen=chosen, out=out)


class AttackFile(Config):
    """One attack, and the defender that met it."""

    game: SimConfig
    seeds: tuple[int, ...]  # 1 + horizon of them; see `AttackBatch`
    policy: str  # as it is typed
    order: str | None = None  # that it is told; None: its own, or none
    greedy: bool = False
    policy_seed: int = 0  # of its own random choices
    found: dict[str, Any] = {}  # noqa: RUF012 (frozen): what came of it, for people

    def check(self) -> "AttackFile":
        """The same attack.

        Raises:
            ConfigError: its seeds are not those of an attack in its game.
        """
        if len(self.seeds) != 1 + self.game.horizon:
            raise ConfigError(f"seeds: {len(self.seeds)} of them: must be {1 + self.game.horizon}")
        for seed in (*self.seeds, self.policy_seed):
            check_seed(seed)
        return self


def write_attack(path: Path, attack: AttackFile) -> None:
    """Write an attack, whole or not at all.

    Raises:
        ConfigError: the name does not end in .json.
        CheckpointError: it cannot be written.
    """
    if path.suffix != ".json":
        raise ConfigError(f"draws = {path}: must end in .json")
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"format": FORMAT} | attack.model_dump(mode="json"))
    write_atomically(path.parent.resolve() / path.name, f"{text}\n".encode())


def read_attack(path: Path) -> AttackFile:
    """Read an attack that `write_attack` wrote.

    Raises:
        DataError: the file cannot be read or holds no attack.
    """
    try:
        data = json.loads(read_regular(path, max_bytes=MAX_TEXT_BYTES, may_be_link=True))
        if not isinstance(data, dict) or data.pop("format", None) != FORMAT:
            raise DataError(f"{path}: not an attack of format {FORMAT}")
        return AttackFile(**data).check()
    except OSError as err:
        raise DataError(f"{path}: cannot be read: {err.strerror}") from err
    except (ValueError, RecursionError, TypeError, ConfigError) as err:
        raise DataError(f"{path}: not an attack that can be read: {err}") from err


def random_attacks(
    generator: np.random.Generator, count: int, horizon: int
) -> NDArray[np.uint64]:  # (count, 1 + horizon)
    """Attacks as the game itself draws them: every seed anew."""
    return generator.integers(0, MAX_SEED, (count, 1 + horizon), dtype=np.uint64, endpoint=True)
