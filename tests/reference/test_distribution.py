"""Free-running returns agree with those of the real simulator."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from standing_orders.cage2.defenders import ScriptedDefender
from standing_orders.config import SimConfig
from standing_orders.evaluate.card import HORIZONS, play_returns

BLUE = {
    "sleep": "sleep",
    "random145": "random",
    "useful": "useful-random",
    "react_restore": "react_restore",
    "react_remove": "react_remove",
    "heuristic": "heuristic",
}
RED = {"bline": "b_line", "meander": "meander"}
GROUPS = [f"{blue}__{red}" for blue in BLUE for red in RED]
NUM_COMPARISONS = len(GROUPS) * len(HORIZONS)
NUM_EPISODES = 20_000


def our_returns(group: str, seed: int) -> NDArray[np.int64]:
    blue, red = group.split("__")
    return play_returns(
        ScriptedDefender(BLUE[blue]),
        SimConfig(red=RED[red]),
        horizons=HORIZONS,
        num_episodes=NUM_EPISODES,
        seed=seed,
    )


def assert_agree(ours: NDArray[np.int64], theirs: NDArray[np.int64]) -> None:
    """Means within three standard errors; Kolmogorov-Smirnov p > 0.01 after Bonferroni."""
    for column in range(len(HORIZONS)):
        a, b = ours[:, column], theirs[:, column]
        std_error = np.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b))
        assert abs(a.mean() - b.mean()) < 3 * std_error
        assert stats.ks_2samp(a, b).pvalue > 0.01 / NUM_COMPARISONS


@pytest.mark.parametrize("group", GROUPS)
def test_returns_agree_with_the_selection(group: str, reference: Path) -> None:
    with np.load(reference / "returns.npz") as theirs:
        assert_agree(our_returns(group, seed=11), theirs[group].astype(np.int64))


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_returns_agree_with_all_that_were_recorded(group: str, shared: Path) -> None:
    with np.load(shared / "distribution" / "distribution_returns.npz") as theirs:
        tenths = np.rint(theirs[group].astype(np.float64) * 10).astype(np.int64)
    assert_agree(our_returns(group, seed=12), tenths)


def test_the_comparison_notices_another_rule_set(reference: Path) -> None:
    ours = play_returns(
        ScriptedDefender("react_restore"),
        SimConfig(red="meander", rules="leaderboard-2022"),
        horizons=HORIZONS,
        num_episodes=NUM_EPISODES,
        seed=11,
    )
    with np.load(reference / "returns.npz") as theirs, pytest.raises(AssertionError):
        assert_agree(ours, theirs["react_restore__meander"].astype(np.int64))
