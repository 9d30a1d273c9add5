"""Which features each agent sees, and what an agent without memory is told of its session."""

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.data.events import Events
from standing_orders.errors import ConfigError

EVERYBODY = "*"  # source of features that every agent sees, whatever the split


def split_views(
    events: Events, num_agents: int, how: Literal["split", "all"]
) -> tuple[NDArray[np.int64], ...]:
    """Features that each agent sees.

    Columns are dealt out one by one, so that neighbours, which often say the same, go to different
    agents; all features of one input column go to the same agent.

    Raises:
        ConfigError: there are fewer columns than agents.

    Example:
        >>> from standing_orders.detect.data.events import Events
        >>> nothing = np.zeros(0, dtype=np.int64)
        >>> events = Events(np.zeros((0, 3), np.float32), ("a=x", "a=y", "b"), ("a", "a", "b"),
        ...                 np.zeros(0, bool), nothing, (), np.zeros(1, dtype=np.int64))
        >>> [view.tolist() for view in split_views(events, 2, "split")]
        [[0, 1], [2]]
    """
    if how == "all":
        return (np.arange(events.num_features),) * num_agents
    names = [name for name in dict.fromkeys(events.sources) if name != EVERYBODY]
    if len(names) < num_agents:
        raise ConfigError(
            f"team.views = 'split': {len(names)} columns for {num_agents} agents: take fewer "
            "agents or --team.views all"
        )
    owner = {name: index % num_agents for index, name in enumerate(names)}
    owners = np.array([owner.get(source, -1) for source in events.sources])
    return tuple(np.flatnonzero((owners == agent) | (owners < 0)) for agent in range(num_agents))


def with_summary(events: Events) -> Events:
    """Each event with what its session has shown so far: mean and highest values, and the count.

    Records have no history and stay as they are. The new features belong to the same sources as
    those they come from, so that a split of the views splits them too.
    """
    if events.num_sessions == events.num_events:
        return events
    features = events.with_history()
    features[:, -1] = np.log1p(features[:, -1]) / 3 - 1  # about -1 to 1 for up to 500 events
    return replace(
        events,
        features=features,
        columns=(
            *events.columns,
            *(f"mean of {name}" for name in events.columns),
            *(f"highest {name}" for name in events.columns),
            "events so far",
        ),
        sources=(*events.sources * 3, EVERYBODY),
    )
