"""What each agent sees, and what an agent without memory is told of its session."""

import numpy as np

from standing_orders.detect.config import DetectConfig, TeamConfig
from standing_orders.detect.data.synthetic import make_sessions
from standing_orders.detect.team import prepare
from standing_orders.detect.views import EVERYBODY, split_views, with_summary


def test_split_views_keep_one_hot_groups_together_and_cover_everything() -> None:
    events = with_summary(make_sessions(0, num_sessions=60).train)
    views = split_views(events, 4, "split")
    shared = {i for i, source in enumerate(events.sources) if source == EVERYBODY}
    sources = [{events.sources[i] for i in view if i not in shared} for view in views]
    assert set().union(*sources) == set(events.sources) - {EVERYBODY}
    assert sum(map(len, sources)) == len(set().union(*sources))
    assert all(shared <= set(view.tolist()) for view in views)
    assert set(np.concatenate(views).tolist()) == set(range(events.num_features))


def test_history_is_for_networks_without_memory() -> None:
    events = make_sessions(0, num_sessions=60).train
    told = prepare(events, DetectConfig())
    assert told.num_features == 3 * events.num_features + 1
    assert prepare(events, DetectConfig(team=TeamConfig(network="lstm"))) is events
    first = events.starts[:-1]
    mean = told.features[:, events.num_features : 2 * events.num_features]
    assert np.allclose(mean[first], events.features[first])
    assert np.allclose(mean[first[0] + 1], events.features[first[0] : first[0] + 2].mean(axis=0))
