"""Run folders as a report reads them: config, journal, versions, and what is wrong with them."""

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from standing_orders.config import Config, SearchConfig, TrainConfig, read_toml
from standing_orders.errors import CheckpointError, ConfigError, StandingOrdersError
from standing_orders.runs.folder import RunFolder, kind_of_run
from standing_orders.runs.plain import lookup

Record = dict[str, Any]
# Kinds of run, and the command that makes each.
KINDS = {
    "train": "train",
    "search": "search",
    "detect": "detect train",
    "compare": "compare",
    "published": "compare --published",
}
MAX_POINTS = 400  # of a curve; more are put together
_MOMENT = 0.1  # seconds
# What a run's config holds besides the values of its model.
_ADDED = {"start", "base_run", "data_sha256"}


@dataclass(frozen=True)
class Run:
    """A run folder that has been read."""

    name: str  # that the report calls it by
    path: Path
    kind: str
    config: dict[str, Any]
    versions: dict[str, Any]
    records: list[Record]
    problems: list[str]  # what a reader must know

    @property
    def command(self) -> str:
        """The command that makes such runs."""
        return KINDS[self.kind]


def read_run(path: Path) -> Run:
    """Read a run of any kind.

    Raises:
        CheckpointError: it is no run, or its config cannot be read.
        DataError: its journal is broken.
    """
    folder = RunFolder.open(path, kind=kind_of(path))
    problems: list[str] = []
    records = folder.journal(problems.append).read()
    try:
        versions = folder.versions()
    except StandingOrdersError as err:
        versions = {}
        problems.append(str(err))
    return Run(path.name, folder.path, folder.kind, folder.config, versions, records, problems)


def kind_of(path: Path) -> str:
    """What made a run.

    Raises:
        CheckpointError: it is no run, or of no known kind.
    """
    kind = kind_of_run(path)
    if kind not in KINDS:
        raise CheckpointError(f"{path}: a run of kind {kind!r}: must be one of {', '.join(KINDS)}")
    return kind


def clock_seconds(path: Path) -> float | None:
    """Time between the first and the last record of a run, by its files; None if they do not say.

    A journal says nothing about the clock, so that a repeated run has the same bytes. The files of
    a copied folder may all be of one moment.
    """
    try:
        began, ended = ((path / name).lstat().st_mtime for name in ("run.json", "journal.jsonl"))
    except OSError:
        return None
    return round(ended - began, 1) if ended - began >= _MOMENT else None


def named_apart(runs: Sequence[Run]) -> list[Run]:
    """The same runs, each with a name of its own: as much of the path as it takes."""
    names = [run.name for run in runs]
    return [
        run
        if names.count(run.name) == 1
        else Run(str(run.path), run.path, run.kind, run.config, run.versions, run.records,
                 run.problems)
        for run in runs
    ]  # fmt: skip


# ------------------------------------------------------------------------------------ curves
def curve(
    records: Iterable[Mapping[str, Any]],
    x: str,
    y: str,
    *,
    name: str,
    key: str | None = None,
    max_points: int = MAX_POINTS,
) -> dict[str, Any]:
    """A line of a chart: one point for each record that has both numbers.

    Of many records, neighbours are put together: their mean, with the lowest and highest.

    Args:
        records: of a journal, x rising.
        x: dotted key.
        y: dotted key.
        name: of the line.
        key: what it is linked with.
        max_points: how many it has at most.
    """
    pairs = [(lookup(record, x), lookup(record, y)) for record in records]
    points = np.array([pair for pair in pairs if all(_is_number(v) for v in pair)]).reshape(-1, 2)
    line: dict[str, Any] = {"name": name}
    if key is not None:
        line["key"] = key
    if len(points) <= max_points:
        return line | {"x": _short(points[:, 0]), "y": _short(points[:, 1])}
    groups = np.array_split(points, max_points)
    return line | {
        "x": _short(np.array([group[-1, 0] for group in groups])),
        "y": _short(np.array([group[:, 1].mean() for group in groups])),
        "low": _short(np.array([group[:, 1].min() for group in groups])),
        "high": _short(np.array([group[:, 1].max() for group in groups])),
    }


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _short(values: Any) -> list[float]:
    """Six digits are more than a screen shows."""
    return [float(f"{value:.6g}") for value in values.tolist()]


# ---------------------------------------------------------------------------------- settings
def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by dotted name.

    Example:
        >>> flatten({"ppo": {"clip": 0.2}, "seed": 1})
        {'ppo.clip': 0.2, 'seed': 1}
    """
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def setting_text(value: Any) -> str:
    """A setting as a table shows it."""
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value)


@dataclass(frozen=True)
class Settings:
    """A run's settings beside those of the preset that is nearest to them."""

    preset: str | None
    changed: dict[str, tuple[Any, Any]]  # name -> (of the run, of the preset)


def settings_of(run: Run) -> Settings:
    """What a run was told differently from a preset, or from the defaults."""
    own = flatten({name: value for name, value in run.config.items() if name not in _ADDED})
    known: list[tuple[str | None, dict[str, Any]]] = [(None, _defaults(run.kind, {}))]
    for path in sorted(_preset_folder().glob("*.toml")):
        try:
            known.append((path.stem, _defaults(run.kind, read_toml(path))))
        except ConfigError:
            continue  # of another kind of run
    found = [Settings(name, _differences(own, values)) for name, values in known]
    return min(found, key=lambda one: (len(one.changed), one.preset is not None))


def _preset_folder() -> Path:
    from standing_orders import presets  # noqa: PLC0415

    return Path(presets.__file__).parent


def _defaults(kind: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """All settings of a kind of run, with some given."""
    model: type[Config]
    if kind == "detect":
        from standing_orders.detect.config import DetectConfig  # noqa: PLC0415

        model = DetectConfig
    elif kind in ("train", "search"):
        model = TrainConfig if kind == "train" else SearchConfig
    else:
        from standing_orders.compare.config import CompareConfig  # noqa: PLC0415

        model = CompareConfig
    return flatten(model(**values).model_dump(mode="json"))


def _differences(own: dict[str, Any], other: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {
        name: (own.get(name), other.get(name))
        for name in own
        if own.get(name) != other.get(name) and name in other
    }


def repeat_command(run: Run, settings: Settings) -> str:
    """What to type to get the same run again."""
    words = ["standing-orders", *run.command.split()]
    if settings.preset is not None:
        words += ["--preset", settings.preset]
    for name, (value, _) in settings.changed.items():
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            head, _, last = flag[2:].rpartition(".")
            words.append(flag if value else f"--{head + '.' if head else ''}no-{last}")
        elif isinstance(value, list):
            words += [flag, *map(str, value)]
        elif value is not None:
            words += [flag, str(value)]
    return shlex.join(words)
