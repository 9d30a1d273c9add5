"""The agents' trees: fitted to their views before the networks learn, out of fold for these."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from standing_orders.detect.data.events import Events
from standing_orders.detect.network import OPINION_SCALE, TeamNetwork
from standing_orders.detect.trees import best_rounds, boost, draw_folds, fit_line, held_out
from standing_orders.detect.views import is_for_trees

LEARNING_RATE = 0.25
NUM_FOLDS = 2
MAX_EVENTS = 200_000  # that trees are fitted to: more hardly make them better
Labelled = tuple[Events, NDArray[np.bool_]]  # prepared; has the attack of its session begun?


def fit_trees(
    network: TeamNetwork,
    train: Labelled,
    validation: Labelled,
    *,
    origins: NDArray[np.int64],  # (num_sessions,): equal for a session and its copies
    seed: int,
) -> Tensor:  # (num_events, num_features + num_agents)
    """Fit each agent's trees to its view, and tell the training events what they say.

    The opinion about a training event is that of trees which have not seen its session: the network
    would else trust them far too much. Agents with the same view have the same trees. With too few
    sessions of a class there are none, and the opinion is 0.
    """
    events, has_begun = train
    opinions = np.zeros((network.num_agents, events.num_events), dtype=np.float32)
    is_threat = events.session_is_threat[: int(origins.max()) + 1]  # of the sessions themselves
    if min(is_threat.sum(), (~is_threat).sum()) >= NUM_FOLDS:
        folds = draw_folds(is_threat, NUM_FOLDS, seed)[origins][events.sessions.index]
        kept = _some_events(is_threat, origins, events, seed)
        for view in {view.tobytes(): view for view in network.views}.values():
            agents = [i for i, own in enumerate(network.views) if np.array_equal(own, view)]
            opinions[agents] = _fit_view(
                network, agents, (events, has_begun, folds, kept), validation, seed
            )
    scaled = torch.from_numpy(opinions.T * np.float32(OPINION_SCALE))
    return torch.cat([torch.from_numpy(events.features), scaled], dim=1)


def _fit_view(
    network: TeamNetwork,
    agents: list[int],
    train: tuple[Events, NDArray[np.bool_], NDArray[np.int64], NDArray[np.bool_]],
    validation: Labelled,
    seed: int,
) -> NDArray[np.float32]:  # (num_events,)
    """Fit the trees of agents with the same view; what trees of other folds say."""
    forest, view = network.forest, network.views[agents[0]]
    assert forest is not None
    events, has_begun, folds, kept = train
    places = np.flatnonzero(is_for_trees(events)[view])
    inputs, judged = (part.features[:, view[places]] for part in (events, validation[0]))
    rounds = forest.column.shape[1]
    model = boost(
        inputs[kept], has_begun[kept], rounds=rounds, seed=seed, learning_rate=LEARNING_RATE
    )
    used, log_odds = best_rounds(model, judged, validation[1])
    slope, shift = fit_line(log_odds, validation[1])
    for agent in agents:
        forest.put(agent, model, columns=places, rounds=used, line=(slope, shift))
    told = held_out(
        inputs, has_begun, folds, kept, rounds=used, seed=seed, learning_rate=LEARNING_RATE
    )
    return told * np.float32(slope) + np.float32(shift)


def _some_events(
    is_threat: NDArray[np.bool_], origins: NDArray[np.int64], events: Events, seed: int
) -> NDArray[np.bool_]:  # (num_events,)
    """Events of some sessions, about `MAX_EVENTS` at most."""
    num_parts = -(-events.num_events // MAX_EVENTS)
    chosen = draw_folds(is_threat, num_parts, seed + 1) == 0
    return chosen[origins][events.sessions.index]
