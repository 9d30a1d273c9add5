import math

import numpy as np
import pytest
from numpy.typing import NDArray

from standing_orders.cage2.actions import encode
from standing_orders.cage2.defenders import ScriptedDefender
from standing_orders.config import GameConfig, SimConfig
from standing_orders.errors import ConfigError
from standing_orders.evaluate.card import HORIZONS, evaluate, play_returns


class RestoreEvery:
    """Restores User1 in every k-th step."""

    name = "restore-every"

    def __init__(self, k: int) -> None:
        self._k = k

    def reset(self, seeds: NDArray[np.uint64]) -> None:
        self._step, self._num_envs = 0, len(seeds)

    def act(self, observations: NDArray[np.int8]) -> NDArray[np.int64]:
        self._step += 1
        action = encode("Restore", "User1") if self._step % self._k == 0 else 0
        return np.full(self._num_envs, action)


def test_returns_are_sums_of_rewards_up_to_each_horizon() -> None:
    returns = play_returns(
        RestoreEvery(4), SimConfig(red="sleep"), horizons=HORIZONS, num_episodes=3, seed=0
    )
    assert returns.tolist() == [[-70, -120, -250]] * 3


def test_score_card_has_every_red_agent_horizon_and_their_sums() -> None:
    card = evaluate(
        ScriptedDefender("react_restore"), GameConfig(), reds=("b_line", "meander", "sleep"),
        num_episodes=50, seed=3,
    )  # fmt: skip
    assert [(score.red, score.horizon) for score in card.scores] == [
        (red, horizon)
        for red in ("b_line", "meander", "sleep", "total")
        for horizon in (30, 50, 100, None)
    ]
    parts = [card.score(red, 50) for red in ("b_line", "meander", "sleep")]
    assert card.score("total", 50).mean == pytest.approx(sum(part.mean for part in parts))
    assert card.score("total", 50).std_error == pytest.approx(
        math.hypot(*(part.std_error for part in parts))
    )
    lengths = [card.score("b_line", horizon).mean for horizon in HORIZONS]
    assert card.score("b_line", None).mean == pytest.approx(sum(lengths))


def test_mean_error_and_percentiles_are_those_of_the_returns() -> None:
    options = {"num_episodes": 200, "seed": 9}
    card = evaluate(ScriptedDefender("random"), GameConfig(), reds=("meander",), **options)
    returns = play_returns(
        ScriptedDefender("random"), SimConfig(red="meander"), horizons=(30,), **options
    )[:, 0] / 10  # fmt: skip
    score = card.score("meander", 30)
    assert score.mean == pytest.approx(returns.mean())
    assert score.std_error == pytest.approx(np.std(returns, ddof=1) / np.sqrt(200))
    assert score.interval[1] - score.interval[0] == pytest.approx(2 * 1.959964 * score.std_error)
    assert score.percentiles is not None
    assert score.percentiles[50] == pytest.approx(np.median(returns))


def test_same_seed_same_score_whatever_the_threads() -> None:
    cards = [
        evaluate(
            ScriptedDefender("useful-random"), GameConfig(), reds=("b_line", "meander"),
            num_episodes=1_500, seed=4, num_threads=threads,
        )
        for threads in (1, 2)
    ]  # fmt: skip
    assert cards[0] == cards[1]


def test_the_first_episodes_do_not_depend_on_how_many_follow() -> None:
    def returns(num_episodes: int) -> list[list[int]]:
        return play_returns(
            ScriptedDefender("random"), SimConfig(), horizons=(100,), num_episodes=num_episodes,
            seed=1,
        ).tolist()  # fmt: skip

    assert returns(1_200)[:20] == returns(20)


def test_another_seed_plays_other_episodes() -> None:
    first, second = (
        play_returns(
            ScriptedDefender("sleep"), SimConfig(red="meander"), horizons=(100,), num_episodes=20,
            seed=seed,
        )
        for seed in (0, 1)
    )  # fmt: skip
    assert first.tolist() != second.tolist()


def test_one_episode_has_no_standard_error() -> None:
    with pytest.raises(ConfigError, match="at least 2"):
        evaluate(ScriptedDefender("sleep"), GameConfig(), reds=("b_line",), num_episodes=1, seed=0)


def test_progress_adds_up_to_all_episodes() -> None:
    counts: list[int] = []
    evaluate(
        ScriptedDefender("sleep"), GameConfig(), reds=("b_line", "sleep"), num_episodes=1_500,
        seed=0, advance=counts.append,
    )  # fmt: skip
    assert sum(counts) == 3_000


@pytest.mark.parametrize("harder", [{"head_start": 30}, {"red_tempo": 2}])
def test_head_start_and_tempo_make_it_harder(harder: dict[str, int]) -> None:
    standard, hard = (
        evaluate(
            ScriptedDefender("react_restore"), game, reds=("meander",), num_episodes=1_000, seed=0
        ).score("meander", 100)
        for game in (GameConfig(), GameConfig(**harder))
    )
    assert hard.interval[1] < standard.interval[0]


class Told(ScriptedDefender):
    """A scripted defender that says it follows three orders."""

    orders = (0, 1, 2)

    def told(self, order: int) -> "Told":
        return self


@pytest.mark.parametrize(
    ("num_episodes", "said"),
    [
        (6, "told 3 orders in turn, each 2 times"),
        (8, "told 3 orders in turn, 2 of them 3 times and the others 2 times"),
        (2, "told 3 orders in turn, 2 of them 1 times and the others never"),
    ],
)
def test_a_card_of_several_orders_says_how_often_each_was_told(
    num_episodes: int, said: str
) -> None:
    card = evaluate(
        Told("sleep"), GameConfig(), reds=("b_line",), num_episodes=num_episodes, seed=0
    )
    assert said in str(card)
    assert ("a multiple of 3" in str(card)) == bool(num_episodes % 3)
