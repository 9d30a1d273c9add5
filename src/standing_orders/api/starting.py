"""Where the training of one order begins: at a policy that follows any order in the same game."""

from pathlib import Path
from typing import Any

from standing_orders.config import ANY_ORDER, NO_ORDER, GameConfig, SimulatorConfig, TrainConfig
from standing_orders.errors import StandingOrdersError
from standing_orders.presets import find_preset
from standing_orders.runs.folder import RunFolder, is_run
from standing_orders.runs.shipped import shipped_names

_NETWORK = ("hidden", "activation", "belief", "memory", "clock")  # of the learner: must be equal


def has_one_order(order: str) -> bool:
    """Whether what a defender must follow is a single order."""
    return order not in (ANY_ORDER, NO_ORDER)


def game_name(config: TrainConfig) -> str:
    """The game of a config, for the name of a folder: `b_line`, `meander-30-ahead-x2`."""
    parts: list[str] = [config.red]
    parts += [f"{config.head_start}-ahead"] if config.head_start else []
    parts += [f"x{config.red_tempo}"] if config.red_tempo > 1 else []
    parts += [config.rules] if config.rules != "head" else []
    parts += [config.observation] if config.observation != "corrected" else []
    parts += [config.sim] if config.sim != "own" else []
    return "-".join(parts)


def base_of(config: TrainConfig) -> TrainConfig:
    """How a policy that follows any order is trained in the game of a config."""
    kept = [*GameConfig.model_fields, "red", "attackers", "seed"]
    if config.scenario or config.red_agent:  # else our simulator plays CybORG's game, and faster
        kept += SimulatorConfig.model_fields
    ppo = {name: getattr(config.ppo, name) for name in _NETWORK}
    values: dict[str, Any] = find_preset("fast").values
    values |= {name: getattr(config, name) for name in kept}
    values["ppo"] = values["ppo"] | ppo
    return TrainConfig(**values)


def find_start(config: TrainConfig, here: Path) -> Path | None:
    """A finished policy that one order can begin with: of the zoo, else in a folder.

    Args:
        config: the order, the game and the network.
        here: where `base_of` would be trained.
    """
    wanted = _essence(base_of(config).model_dump(mode="json"))
    for path in (*map(Path, shipped_names()), here):
        if is_run(path) and _is_ended(path):
            found = RunFolder.open(path)
            if found.kind == "train" and _essence(found.config) == wanted:
                return path
    return None


def _essence(config: dict[str, Any]) -> dict[str, Any]:
    """What must be equal for one policy to begin with another."""
    ppo = {name: config["ppo"].get(name) for name in _NETWORK}
    names = (*GameConfig.model_fields, "red", "attackers", "order", "scenario", "red_agent")
    return {name: config.get(name) for name in names} | {"ppo": ppo}


def _is_ended(path: Path) -> bool:
    from standing_orders.runs.loop import latest_of

    try:
        _, checkpoint = latest_of(path, RunFolder.open(path).kind)
    except StandingOrdersError:
        return False
    return checkpoint.data.get("stopped") is not None
