"""`replay` shows what was asked for, and refuses what makes no sense."""

import pytest

from standing_orders.config import SimConfig
from standing_orders.errors import ConfigError
from standing_orders.report.replay import ReplayTask, find_replay, replay_document

GAME = SimConfig(horizon=20, head_start=12)


def test_episodes_by_number_keep_their_order_and_name() -> None:
    found = find_replay(ReplayTask("heuristic", GAME, numbers=(7, 2)))
    assert [episode.to_json()["number"] for episode in found] == [7, 2]


def test_a_scripted_defender_is_judged_by_an_order_without_being_told() -> None:
    (found,) = find_replay(ReplayTask("react_restore", GAME, numbers=(1,), order="reverse"))
    assert found.to_json()["order_text"] == "user>op_host>enterprise>op_server>defender"
    assert set(found.to_json()["verdict"]) & {2, 3}


def test_another_policy_takes_over_at_the_step() -> None:
    task = ReplayTask("sleep", GAME, numbers=(1,), fork_at=5, fork_policy="react_restore")
    (found,) = find_replay(task)
    (fork,) = found.to_json()["forks"]
    assert fork["at"] == 5
    assert fork["blue_text"][:5] == found.to_json()["blue_text"][:5]
    assert fork["blue_text"][5:] != found.to_json()["blue_text"][5:]


def test_both_futures_of_a_scripted_defender_are_judged_by_the_order() -> None:
    task = ReplayTask("heuristic", GAME, numbers=(1,), order="reverse", fork_at=5,
                      fork_policy="react_restore")  # fmt: skip
    shown = find_replay(task)[0].to_json()
    assert shown["order_text"] == shown["forks"][0]["order_text"] is not None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"fork_at": 3}, "name an order or a policy"),
        ({"fork_at": 3, "order": "reverse"}, "takes no order"),
        ({"fork_at": 99, "fork_policy": "sleep"}, "fork-at = 99"),
        ({"fork_policy": "sleep"}, "name the step"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        find_replay(ReplayTask("sleep", GAME, numbers=(1,), **options))  # type: ignore[arg-type]


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(ConfigError, match="nobody"):
        find_replay(ReplayTask("nobody", GAME))


def test_the_page_says_which_game_it_is() -> None:
    assert (
        "12 steps ahead" in replay_document(ReplayTask("sleep", GAME, num_episodes=3))["subtitle"]
    )
