"""Which sensor delivers what, which features each agent sees, and what it is told of a session."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.config import TeamConfig, parse_sensors
from standing_orders.detect.data.events import Events
from standing_orders.errors import ConfigError

_MEAN, _HIGHEST = "mean of ", "highest "
SENSORS_OF_ONE = 4  # that columns are dealt to where there is one agent
EVERYBODY = "*"  # source of features that every agent sees, whatever the split


def sensors_of(events: Events, config: TeamConfig) -> dict[str, NDArray[np.int64]]:
    """Features that each sensor delivers: declared by the user, or dealt out among the agents.

    Columns are dealt out one by one, so that neighbours, which often say the same, come from
    different sensors. Columns that no declared sensor names are trusted: every agent sees them.

    Raises:
        ConfigError: a sensor names a column that is no input, or one that another sensor has.
    """
    names = [name for name in dict.fromkeys(events.sources) if name != EVERYBODY]
    number = min(config.agents if config.agents > 1 else SENSORS_OF_ONE, len(names))
    declared = parse_sensors(config.sensors) or {
        f"sensor {index}": tuple(names[index::number]) for index in range(number)
    }
    owner: dict[str, str] = {}
    for sensor, columns in declared.items():
        for column in columns:
            if column not in names:
                raise ConfigError(
                    f"team.sensors: {sensor}: {column!r} is no input; there are: {', '.join(names)}"
                )
            if owner.setdefault(column, sensor) != sensor:
                raise ConfigError(f"team.sensors: {column!r} is of {owner[column]} and {sensor}")
    owners = np.array([owner.get(source, "") for source in events.sources])
    return {sensor: np.flatnonzero(owners == sensor) for sensor in declared}


def split_views(events: Events, config: TeamConfig) -> tuple[NDArray[np.int64], ...]:
    """Features that each agent sees: all, its own sensors, or all but its own sensors.

    All features of one input column belong together; sensor number k is that of agent k modulo
    the number of agents.

    Raises:
        ConfigError: there are fewer sensors than agents.

    Example:
        >>> from standing_orders.detect.data.events import Events
        >>> nothing = np.zeros(0, dtype=np.int64)
        >>> events = Events(np.zeros((0, 3), np.float32), ("a=x", "a=y", "b"), ("a", "a", "b"),
        ...                 nothing, (), np.zeros(1, dtype=np.int64))
        >>> [view.tolist() for view in split_views(events, TeamConfig(agents=2, views="split"))]
        [[0, 1], [2]]
    """
    if config.views == "all":
        return (np.arange(events.num_features),) * config.agents
    sensors = list(sensors_of(events, config).values())
    if len(sensors) < config.agents:
        raise ConfigError(
            f"team.views = {config.views!r}: {len(sensors)} sensors for {config.agents} agents: "
            "take fewer agents or --team.views all"
        )
    seen = np.ones((config.agents, events.num_features), dtype=np.bool_)
    for number, features in enumerate(sensors):
        agents = np.arange(config.agents) == number % config.agents
        seen[np.ix_(agents if config.views == "overlap" else ~agents, features)] = False
    return tuple(np.flatnonzero(one) for one in seen)


def with_summary(events: Events) -> Events:
    """Each event with what its session has shown so far: mean and highest values, and the count.

    Records have no history and stay as they are. The new features belong to the same sources as
    those they come from, so that a split of the views splits them too.
    """
    if events.before is None and events.num_sessions == events.num_events:
        return events
    features = events.with_history()
    features[:, -1] = np.log1p(features[:, -1]) / 3 - 1  # about -1 to 1 for up to 500 events
    return replace(
        events,
        features=features,
        columns=(
            *events.columns,
            *(f"{_MEAN}{name}" for name in events.columns),
            *(f"{_HIGHEST}{name}" for name in events.columns),
            "events so far",
        ),
        sources=(*events.sources * 3, EVERYBODY),
    )


def with_end_mark(events: Events) -> Events:
    """Events of sessions with a feature that says whether the session has ended."""
    if events.is_end is None:
        return events
    mark = events.is_end.astype(np.float32)[:, None]
    return replace(
        events,
        features=np.concatenate([events.features, mark], axis=1),
        columns=(*events.columns, "session has ended"),
        sources=(*events.sources, EVERYBODY),
    )


def is_for_trees(events: Events) -> NDArray[np.bool_]:  # (num_features,)
    """Features of prepared events that say something to trees, which need no number in pieces."""
    named = zip(events.columns, events.sources, strict=True)
    return np.array(
        [
            not column.removeprefix(_MEAN).removeprefix(_HIGHEST).startswith(f"{source}[")
            for column, source in named
        ]
    )
