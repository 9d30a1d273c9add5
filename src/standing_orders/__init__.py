"""Standing Orders: cyber-defence agents that follow orders.

Importing this package registers its Gymnasium environments and loads nothing heavy; each name of
the interface below is loaded when it is first used.

Example:
    >>> from standing_orders import TrainConfig, preset
    >>> isinstance(preset("fast", seed=7), TrainConfig)
    True
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import gymnasium

from standing_orders.version import VERSION

if TYPE_CHECKING:
    from standing_orders.api.policies import evaluate, load_policy
    from standing_orders.api.searching import SearchResult, resume_search, search
    from standing_orders.api.settings import preset
    from standing_orders.api.teams import TeamCard, evaluate_team, load_team
    from standing_orders.api.training import Run, load_run, resume, train
    from standing_orders.api.zoo import zoo
    from standing_orders.config import GameConfig, SearchConfig, SimConfig, TrainConfig
    from standing_orders.detect.config import DetectConfig
    from standing_orders.evaluate.card import ScoreCard
    from standing_orders.rules.orders import Order

__all__ = [
    "DetectConfig",
    "GameConfig",
    "Order",
    "Run",
    "ScoreCard",
    "SearchConfig",
    "SearchResult",
    "SimConfig",
    "TeamCard",
    "TrainConfig",
    "__version__",
    "evaluate",
    "evaluate_team",
    "load_policy",
    "load_run",
    "load_team",
    "preset",
    "register_environments",
    "resume",
    "resume_search",
    "search",
    "train",
    "zoo",
]

__version__ = VERSION
CAGE2_ID = "standing_orders/Cage2-v1"
# Where each name of the interface is.
_PLACES = {
    "api.policies": ("evaluate", "load_policy"),
    "api.searching": ("SearchResult", "resume_search", "search"),
    "api.settings": ("preset",),
    "api.teams": ("TeamCard", "evaluate_team", "load_team"),
    "api.training": ("Run", "load_run", "resume", "train"),
    "api.zoo": ("zoo",),
    "config": ("GameConfig", "SearchConfig", "SimConfig", "TrainConfig"),
    "detect.config": ("DetectConfig",),
    "evaluate.card": ("ScoreCard",),
    "rules.orders": ("Order",),
}


class _Package(ModuleType):
    """A package whose functions are not hidden by its rooms: `search` and `evaluate` are both."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in __all__ and isinstance(value, ModuleType)):  # as imports of a room do
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    place = next((place for place, names in _PLACES.items() if name in names), None)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{place}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def register_environments() -> None:
    """Register the environments with Gymnasium; more than once does no harm."""
    if CAGE2_ID not in gymnasium.registry:
        gymnasium.register(
            id=CAGE2_ID,
            entry_point="standing_orders.envs.single:Cage2Env",
            vector_entry_point="standing_orders.envs.vector:Cage2VectorEnv",
        )


register_environments()
