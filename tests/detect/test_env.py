"""The PettingZoo environment, by PettingZoo's own checks and by its rules."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pettingzoo.test import parallel_api_test, parallel_seed_test

from standing_orders.detect.actions import ALLOW, BLOCK
from standing_orders.detect.config import DetectConfig, TeamConfig
from standing_orders.detect.costs import CostConfig, team_rewards
from standing_orders.detect.data.events import DataSet, Events
from standing_orders.detect.data.synthetic import make_sessions
from standing_orders.detect.env import DetectionEnv
from standing_orders.errors import ConfigError, SimulationError, VotingError


@pytest.fixture(scope="module")
def sessions() -> DataSet:
    return make_sessions(0, num_sessions=60)


@pytest.fixture(scope="module")
def records(sessions: DataSet) -> DataSet:
    """The same events, each judged by itself."""

    def cut(events: Events) -> Events:
        return replace(events, starts=np.arange(events.num_events + 1))

    return replace(
        sessions,
        task="records",
        train=cut(sessions.train),
        validation=cut(sessions.validation),
        test=cut(sessions.test),
    )


def team(**options: Any) -> DetectConfig:
    return DetectConfig(team=TeamConfig(**options))


@pytest.mark.parametrize("task", ["sessions", "records"])
@pytest.mark.parametrize("views", ["all", "split"])
def test_pettingzoo_accepts_it(
    task: str,
    views: str,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = request.getfixturevalue(task)
    env = DetectionEnv(data, team(views=views), horizon=20)
    parallel_api_test(env, num_cycles=60)
    assert "Passed Parallel API test" in capsys.readouterr().out
    parallel_seed_test(lambda: DetectionEnv(data, team(views=views), horizon=20), num_cycles=20)


@pytest.mark.parametrize("task", ["sessions", "records"])
@pytest.mark.parametrize("views", ["all", "split"])
def test_observations_are_in_their_spaces(
    task: str, views: str, request: pytest.FixtureRequest
) -> None:
    env = DetectionEnv(request.getfixturevalue(task), team(views=views), horizon=20)
    seen, _ = env.reset(seed=0)
    for _ in range(20):
        assert seen.keys() == set(env.agents)
        assert all(env.observation_space(agent).contains(view) for agent, view in seen.items())
        seen, *_ = env.step(dict.fromkeys(env.agents, ALLOW))
        if not env.agents:
            seen, _ = env.reset()


def test_a_block_by_the_vote_ends_the_session_and_a_lone_one_does_not(sessions: DataSet) -> None:
    env = DetectionEnv(sessions, team())
    env.reset(seed=3)
    votes = dict.fromkeys(env.agents, ALLOW) | {"agent_0": BLOCK}
    _, rewards, over, cut, infos = env.step(votes)
    assert not any(over.values())
    assert not any(cut.values())
    assert infos["agent_1"]["decision"] == ALLOW
    assert len(set(rewards.values())) == 1
    _, _, over, _, _ = env.step(dict.fromkeys(env.agents, BLOCK))
    assert all(over.values())
    assert env.agents == []


def test_records_pay_each_agent_for_its_own_action_and_the_team(records: DataSet) -> None:
    env = DetectionEnv(records, team(), horizon=2)
    env.reset(seed=1)
    votes = dict(zip(env.agents, (0, 1, 2, 3), strict=True))
    _, rewards, over, cut, infos = env.step(votes)
    is_threat = [infos["agent_0"]["is_threat"]] * 4
    own = CostConfig().rewards()[:, int(is_threat[0])]
    together = team_rewards(0.2, [[0, 1, 2, 3]], is_threat[:1])[0]
    assert list(rewards.values()) == pytest.approx(list(own + together))
    assert not any(over.values())
    _, _, over, cut, _ = env.step(dict.fromkeys(env.agents, 3))
    assert all(cut.values())
    assert not any(over.values())


def test_each_agent_sees_its_view(sessions: DataSet) -> None:
    env = DetectionEnv(sessions, team(views="split", network="mlp"))
    observations, _ = env.reset(seed=0)
    sizes = {agent: len(seen) for agent, seen in observations.items()}
    assert sizes == {agent: env.observation_space(agent).shape[0] for agent in env.agents}
    assert sum(sizes.values()) - 3 == 3 * sessions.train.num_features + 1


def test_misuse_is_named(sessions: DataSet) -> None:
    env = DetectionEnv(sessions, team())
    with pytest.raises(SimulationError, match="reset"):
        env.step({})
    env.reset(seed=0)
    with pytest.raises(VotingError, match="2f \\+ 1"):
        DetectionEnv(sessions, team(agents=2, faults=1))
    with pytest.raises(ConfigError, match="average"):
        DetectionEnv(sessions, team(vote="average", faults=0))


@pytest.mark.parametrize(
    ("actions", "complaint"),
    [
        ({"agent_1": 7}, "agent_1: 7: must be a whole number from 0 to 3"),
        ({"agent_3": 300}, "agent_3: 300: must be"),
        ({"agent_0": -1}, "agent_0: -1: must be"),
        ({"agent_0": None}, "agent_0: None: must be"),
        ({"agent_2": "x"}, "agent_2: 'x': must be"),
        ({"agent_2": 1.5}, "agent_2: 1.5: must be"),
        ({"agent_2": np.array([1, 2])}, "agent_2: .*must be"),
        ({"agent_9": 0}, "no agent is called 'agent_9'"),
    ],
)
def test_a_bad_action_is_named_and_changes_nothing(
    actions: dict[str, Any], complaint: str, sessions: DataSet
) -> None:
    env, other = DetectionEnv(sessions, team()), DetectionEnv(sessions, team())
    env.reset(seed=4)
    other.reset(seed=4)
    good = dict.fromkeys(env.agents, ALLOW)
    with pytest.raises(SimulationError, match=complaint):
        env.step(good | actions)
    assert str(env.step(good)) == str(other.step(good))


def test_every_agent_must_act(sessions: DataSet) -> None:
    env = DetectionEnv(sessions, team())
    env.reset(seed=0)
    with pytest.raises(SimulationError, match="no action of agent_1, agent_2, agent_3"):
        env.step({"agent_0": 0})
    with pytest.raises(SimulationError, match="None: must be a dict"):
        env.step(None)


def test_whole_numbers_of_any_type_are_actions(sessions: DataSet) -> None:
    env = DetectionEnv(sessions, team())
    env.reset(seed=0)
    votes = (1, np.int64(1), np.array(1), np.uint8(1))
    *_, infos = env.step(dict(zip(env.agents, votes, strict=True)))
    assert infos["agent_0"]["decision"] == 1
