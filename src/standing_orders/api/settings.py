"""Configs by name."""

from typing import Any

from standing_orders.config import Config, SearchConfig, TrainConfig
from standing_orders.detect.config import DetectConfig
from standing_orders.presets import find_preset

# By kind, of presets and of run folders.
CONFIGS: dict[str, type[Config]] = {
    "train": TrainConfig,
    "search": SearchConfig,
    "detect": DetectConfig,
}


def preset(name: str, **changes: Any) -> Any:
    """The config of a preset, with some values changed.

    Args:
        name: see `standing-orders presets`.
        changes: values that override the preset's.

    Returns:
        A `TrainConfig`, `SearchConfig` or `DetectConfig`.

    Raises:
        ConfigError: there is no such preset or value.

    Example:
        >>> config = preset("fast", red="meander", seed=3)
        >>> config.episodes, config.red, config.ppo.memory
        (40000, 'meander', True)
    """
    found = find_preset(name)
    return CONFIGS[found.kind](**found.values | changes)
