"""Settings by name: each TOML file in this folder is a preset, found from anywhere.

A preset is for `search` or for the detection team if its name begins so, and else for `train`.
The first line of the file, a comment, says what it is.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from standing_orders.config import read_toml
from standing_orders.errors import ConfigError

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Preset:
    """A named set of values for one kind of config."""

    name: str
    path: Path

    @property
    def kind(self) -> str:
        """What it is for: train, search or detect."""
        prefix = self.name.partition("-")[0]
        return prefix if prefix in ("search", "detect") else "train"

    @property
    def summary(self) -> str:
        """What it is, in a line."""
        return self.path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")

    @property
    def values(self) -> dict[str, Any]:
        """What it sets; everything else has its default."""
        return read_toml(self.path)


def list_presets(kind: str | None = None) -> list[Preset]:
    """All presets by name, or those of one kind.

    Example:
        >>> [preset.name for preset in list_presets("search")]
        ['search', 'search-contested', 'search-published']
    """
    found = [
        Preset(path.stem, path)
        for path in sorted(_FOLDER.glob("*.toml"), key=lambda path: path.stem)
    ]
    return [preset for preset in found if kind in (None, preset.kind)]


def find_preset(name: str, kind: str | None = None) -> Preset:
    """A preset by name.

    Args:
        name: such as `fast`.
        kind: what it must be for, if that matters: train, search or detect.

    Raises:
        ConfigError: there is no such preset.
    """
    known = {preset.name: preset for preset in list_presets(kind)}
    if name not in known:
        what = "preset" if kind is None else f"preset of {kind}"
        raise ConfigError(f"{what} {name!r}: must be one of {', '.join(known)}")
    return known[name]
