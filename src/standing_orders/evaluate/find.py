"""A policy by name: a scripted defender, the folder of a training run or a search, or your own."""

from pathlib import Path

from standing_orders.cage2.policy import NAMES, Policy
from standing_orders.config import ANY_ORDER, NO_ORDER, GameConfig, SimConfig
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
            policy is taken; or zoo/NAME; or module:attribute (see `cage2.own`); or a zip file of
            Stable-Baselines3.
        order: what a trained policy is told: an order or "all"; its own if left out. A policy that
            takes none is held to it by the mask of `rules.lawful`.
        is_greedy: let a trained policy take the likeliest action.

    Raises:
        ConfigError: no such policy or order.
        CheckpointError: the run folder is damaged.
    """
    if order is not None:
        _indices(order)  # said at once, before anything is compiled or loaded
    if name in NAMES:
        from standing_orders.cage2.defenders import ScriptedDefender  # noqa: PLC0415 (Numba)

        return _held_to(order, ScriptedDefender(name))
    if is_own(name) or name.endswith(".zip"):
        return _held_to(order, _own_policy(name))
    path = Path(name)
    if not (is_run(path) or path.is_dir()):
        raise ConfigError(
            f"policy {name!r}: must be one of {', '.join(NAMES)}, a run folder, zoo/NAME (see "
            "`standing-orders zoo`), module:attribute, or a zip file of Stable-Baselines3"
        )
    # Torch takes a second: only trained policies need it.
    from standing_orders.learn.policy import LearnedDefender  # noqa: PLC0415
    from standing_orders.learn.run import load_network  # noqa: PLC0415

    network, config = load_network(best_of_search(path) if is_run(path / _BEST) else path)
    policy = LearnedDefender(
        network,
        name=f"{path.name} ({'greedy' if is_greedy else 'sampled'})",
        game=SimConfig(**config.part(GameConfig).model_dump()),
        orders=[] if config.order == NO_ORDER else _indices(order or config.order),
        is_greedy=is_greedy,
    )
    return _held_to(order, policy, policy.game) if config.order == NO_ORDER else policy


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


def _held_to(order: str | None, policy: Policy, game: SimConfig | None = None) -> Policy:
    """A policy that takes no order, made to keep one if there is one."""
    if order is None:
        return policy
    from standing_orders.rules.lawful import LawfulPolicy  # noqa: PLC0415 (Numba)

    return LawfulPolicy(policy, _indices(order), game or SimConfig())


def _indices(order: str) -> list[int]:
    """The orders that are meant, by index."""
    is_each = order in (ALL_ORDERS, ANY_ORDER)
    return list(range(NUM_ORDERS)) if is_each else [Order.parse(order).index]
