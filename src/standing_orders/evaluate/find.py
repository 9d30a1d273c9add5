"""A policy by name: a scripted defender, the folder of a training run or a search, or your own."""

from pathlib import Path

from standing_orders.cage2.policy import NAMES, Policy
from standing_orders.config import ANY_ORDER, NO_ORDER, GameConfig, SimConfig, TrainConfig
from standing_orders.errors import ConfigError
from standing_orders.rules.orders import NUM_ORDERS, Order
from standing_orders.runs.folder import is_run
from standing_orders.runs.loop import best_of_search

ALL_ORDERS = "all"
_BEST = "best"  # where a search keeps the policy of its best order


def find_policy(name: str, *, order: str | None = None, is_greedy: bool = False) -> Policy:
    """A policy by name.

    Args:
        name: of a scripted defender; or the path of a training run or of a search, whose best
            policy is taken; or module:attribute (see `cage2.own`); or a zip file of
            Stable-Baselines3.
        order: what a trained policy is told: an order or "all"; its own if left out.
        is_greedy: let a trained policy take the likeliest action.

    Raises:
        ConfigError: no such policy, or an order for a policy that takes none.
        CheckpointError: the run folder is damaged.
    """
    if name in NAMES:
        if order is not None:
            raise ConfigError(f"order = {order!r}: {name} takes no order")
        from standing_orders.cage2.defenders import ScriptedDefender  # noqa: PLC0415 (Numba)

        return ScriptedDefender(name)
    if is_own(name) or name.endswith(".zip"):
        if order is not None:
            raise ConfigError(f"order = {order!r}: {name} takes no order")
        return _own_policy(name)
    path = Path(name)
    if not path.is_dir():
        raise ConfigError(
            f"policy {name!r}: must be one of {', '.join(NAMES)}, a run folder, module:attribute, "
            "or a zip file of Stable-Baselines3"
        )
    # Torch takes a second: only trained policies need it.
    from standing_orders.learn.policy import LearnedDefender  # noqa: PLC0415
    from standing_orders.learn.run import load_network  # noqa: PLC0415

    network, config = load_network(best_of_search(path) if is_run(path / _BEST) else path)
    return LearnedDefender(
        network,
        name=f"{path.name} ({'greedy' if is_greedy else 'sampled'})",
        game=SimConfig(**config.part(GameConfig).model_dump()),
        orders=_orders(order, config),
        is_greedy=is_greedy,
    )


def is_own(name: str) -> bool:
    """Whether a name is one of module:attribute."""
    module, _, attribute = name.partition(":")
    return all(part.isidentifier() for part in (*module.split("."), *attribute.split(".")))


def _own_policy(name: str) -> Policy:
    if not name.endswith(".zip"):
        from standing_orders.cage2.own import load_policy  # noqa: PLC0415 (Numba)

        return load_policy(name)
    from standing_orders.learn.sb3_policy import load_sb3_policy  # noqa: PLC0415

    return load_sb3_policy(Path(name))


def _orders(order: str | None, config: TrainConfig) -> list[int]:
    """What the policy is told; nothing for a policy that takes no order."""
    if config.order == NO_ORDER:
        if order is not None:
            raise ConfigError(f"order = {order!r}: this policy was trained without orders")
        return []
    wanted = order or (ALL_ORDERS if config.order == ANY_ORDER else config.order)
    return list(range(NUM_ORDERS)) if wanted == ALL_ORDERS else [Order.parse(wanted).index]
