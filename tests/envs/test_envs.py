from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.env_checker import check_env as check_env_sb3

from standing_orders import CAGE2_ID
from standing_orders.belief import Belief
from standing_orders.cage2 import actions
from standing_orders.envs.single import Cage2Env
from standing_orders.envs.vector import Cage2VectorEnv
from standing_orders.errors import ConfigError, SimulationError

RESTORE_SERVER = actions.encode("Restore", "Op_Server0")


@pytest.mark.parametrize("red", ["b_line", "meander", "sleep"])
def test_gymnasium_and_sb3_checkers_pass_without_a_warning(red: str) -> None:
    check_env(gymnasium.make(CAGE2_ID, red=red).unwrapped)
    check_env_sb3(Cage2Env(red=red))  # type: ignore[arg-type]


def test_make_takes_every_option() -> None:
    env = gymnasium.make(
        CAGE2_ID, red="meander", rules="leaderboard-2022", observation="stock", horizon=7,
        head_start=2, red_tempo=3,
    ).unwrapped  # fmt: skip
    assert env.config.model_dump() == {
        "red": "meander", "rules": "leaderboard-2022", "observation": "stock", "horizon": 7,
        "head_start": 2, "red_tempo": 3,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"red": "bline"}, "red = 'bline': must be 'b_line', 'meander' or 'sleep'"),
        ({"rules": "2022"}, "rules = '2022': must be 'head' or 'leaderboard-2022'"),
        ({"observation": "raw"}, "observation = 'raw': must be 'corrected' or 'stock'"),
        ({"head_start": -1}, "head_start = -1: must be greater than or equal to 0"),
        ({"horizon": 0}, "horizon = 0"),
        ({"horizon": 10.5}, "horizon = 10.5"),
        ({"red_tempo": 0}, "red_tempo = 0"),
        ({"red_tempo": True}, "red_tempo = True"),
    ],
)
def test_a_bad_option_is_named_with_its_choices(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Cage2Env(**options)


@pytest.mark.parametrize("action", [145, -1, 1.0, True, "Sleep", None, [0], np.array([0])])
def test_a_bad_action_is_refused_and_the_state_untouched(action: object) -> None:
    env = Cage2Env(red="meander")
    env.reset(seed=1)
    env.step(0)
    with pytest.raises(ConfigError, match="action"):
        env.step(action)
    after, *_ = env.step(0)
    other = Cage2Env(red="meander")
    other.reset(seed=1)
    other.step(0)
    assert (after == other.step(0)[0]).all()


@pytest.mark.parametrize("action", [3, np.int64(3), np.uint8(3), np.array(3)])
def test_any_kind_of_integer_is_an_action(action: object) -> None:
    env = Cage2Env()
    env.reset(seed=1)
    assert env.step(action)[1] == 0


def test_step_before_reset_is_refused() -> None:
    with pytest.raises(SimulationError, match="step before reset"):
        Cage2Env().step(0)


def test_reset_refuses_options_it_does_not_know() -> None:
    with pytest.raises(ConfigError, match="turbo"):
        Cage2Env().reset(options={"turbo": 1})


def test_an_episode_is_truncated_at_the_horizon_and_never_terminated() -> None:
    env = Cage2Env(horizon=5)
    env.reset(seed=0)
    ends = [env.step(0)[2:4] for _ in range(5)]
    assert ends == [(False, False)] * 4 + [(False, True)]
    with pytest.raises(SimulationError, match="all 5 steps"):
        env.step(0)


def test_reward_is_in_points() -> None:
    env = Cage2Env(red="sleep")
    env.reset(seed=0)
    assert env.step(RESTORE_SERVER)[1] == -1.0
    assert isinstance(env.step(0)[1], float)


def test_info_offers_the_true_state() -> None:
    env = Cage2Env(red="b_line", horizon=20)
    _, info = env.reset(seed=0)
    assert info["red_access"].tolist() == [0] * 8 + [2] + [0] * 4
    assert info["held_types"].tolist() == [0] * 5
    env.step(actions.encode("DecoyApache", "Op_Host0"))
    for _ in range(19):
        *_, info = env.step(0)
    assert info["decoys"][4] == 1
    assert info["red_access"][7] == 2
    assert info["red_sessions"][7] == 1
    assert info["held_types"].tolist() == [0, 1, 1, 0, 1]
    assert (info["red_action"], info["red_target"], info["red_success"]) == (5, 7, 1)


def test_info_is_not_overwritten_by_the_next_step() -> None:
    env = Cage2Env(red="b_line")
    env.reset(seed=0)
    observation, *_, info = env.step(0)
    kept = (observation.copy(), info["red_access"].copy())
    for _ in range(14):
        env.step(0)
    assert (observation == kept[0]).all()
    assert (info["red_access"] == kept[1]).all()


# ---------------------------------------------------------------------- orders, belief, pictures
def test_a_fix_that_breaks_the_order_costs_one() -> None:
    env = Cage2Env(head_start=20, order="critical_first")
    _, info = env.reset(seed=0)
    assert info["cost"] == 0.0
    assert env.step(actions.encode("Restore", "User1"))[4]["cost"] == 1.0
    assert env.step(actions.encode("Restore", "Op_Server0"))[4]["cost"] == 0.0
    assert env.step(0)[4]["cost"] == 0.0
    free = Cage2Env(head_start=20)
    free.reset(seed=0)
    assert free.step(actions.encode("Restore", "User1"))[4]["cost"] == 0.0


def test_an_order_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="order 'first'"):
        Cage2Env(order="first")


def test_info_offers_the_belief_of_blues_own_history() -> None:
    env = Cage2Env(red="b_line", head_start=10, belief=True)
    observation, info = env.reset(seed=0)
    other = Belief(env.config, 1)
    other.reset(observation[None])
    for _ in range(3):
        assert (info["belief_held"] == other.held[0]).all()
        assert (info["belief_types"] == other.types[0]).all()
        observation, *_, info = env.step(RESTORE_SERVER)
        other.update([RESTORE_SERVER], observation[None])
    assert "belief_held" not in Cage2Env().reset(seed=0)[1]


def test_vector_and_single_environments_know_the_same() -> None:
    options = {"head_start": 15, "horizon": 6, "order": "user_priority", "belief": True}
    many = vector(**options)
    _, infos = many.reset(seed=4)
    singles = [Cage2Env(red="meander", **options) for _ in range(3)]
    info = [env.reset(seed=seed)[1] for env, seed in zip(singles, range(4, 7), strict=True)]
    choices = np.random.default_rng(1).integers(132, 145, size=(9, 3))
    for chosen in choices:
        for name in ("cost", "belief_held", "belief_types", "belief_privileged"):
            assert (infos[name] == np.stack([one[name] for one in info])).all()
            assert infos[f"_{name}"].all()
        *_, truncated, infos = many.step(chosen)
        info = [_step_or_reset(env, action) for env, action in zip(singles, chosen, strict=True)]
    assert truncated.tolist() == [False] * 3


def _step_or_reset(env: Cage2Env, action: int) -> dict[str, object]:
    """As the vector environment does on the step after the last."""
    is_over = env.unwrapped._batch.truncated[0]
    return env.reset()[1] if is_over else env.step(action)[4]


def test_same_step_mode_keeps_the_cost_of_the_step_it_ends_with() -> None:
    env = vector(AutoresetMode.SAME_STEP, horizon=1, head_start=20, red="b_line",
                 order="critical_first")  # fmt: skip
    env.reset(seed=0)
    *_, info = env.step(np.full(3, actions.encode("Restore", "User1")))
    assert info["cost"].tolist() == [1.0] * 3
    assert info["final_info"]["cost"].tolist() == [1.0] * 3


def test_text_and_picture_are_rendered_and_other_modes_refused() -> None:
    env = gymnasium.make(CAGE2_ID, render_mode="ansi")
    env.reset(seed=0)
    assert "step 0/100" in env.render()
    assert Cage2Env().render() is None
    with pytest.raises(ConfigError, match="render_mode = 'human'"):
        Cage2Env(render_mode="human")  # type: ignore[arg-type]
    with pytest.raises(SimulationError, match="render before reset"):
        Cage2Env(render_mode="ansi").render()


def test_a_picture_without_pillow_is_refused_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("standing_orders.envs.picture.find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"standing-orders\[video\]"):
        Cage2Env(render_mode="rgb_array")


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_gymnasiums_own_recorder_makes_a_video(tmp_path: Path) -> None:
    pytest.importorskip("moviepy")
    made = gymnasium.make(CAGE2_ID, render_mode="rgb_array", horizon=3, order="balanced")
    env = gymnasium.wrappers.RecordVideo(made, str(tmp_path / "videos"))
    env.reset(seed=0)
    for _ in range(3):
        env.step(0)
    env.close()
    (video,) = tmp_path.glob("videos/*.mp4")
    assert video.stat().st_size > 1_000


# --------------------------------------------------------------------------------------- vector
def vector(
    mode: AutoresetMode | str = AutoresetMode.NEXT_STEP, **options: object
) -> Cage2VectorEnv:
    settings = {"red": "meander", "horizon": 4} | options
    return gymnasium.make_vec(CAGE2_ID, num_envs=3, autoreset_mode=mode, **settings)


def test_make_vec_gives_our_own_vector_environment() -> None:
    env = gymnasium.make_vec(CAGE2_ID, num_envs=3)
    assert isinstance(env.unwrapped, Cage2VectorEnv)
    observations, info = env.reset(seed=0)
    assert env.observation_space.contains(observations)
    assert info["red_access"].shape == (3, 13)


def test_vector_and_single_environments_play_the_same_episode() -> None:
    many = vector(horizon=50)
    observations, _ = many.reset(seed=10)
    singles = [Cage2Env(red="meander", horizon=50) for _ in range(3)]
    choices = np.random.default_rng(0).integers(145, size=(50, 3))
    for env, seed, row in zip(singles, range(10, 13), observations, strict=True):
        assert (env.reset(seed=seed)[0] == row).all()
    for chosen in choices:
        observations, rewards, *_, info = many.step(chosen)
        for i, env in enumerate(singles):
            observation, reward, *_, single_info = env.step(chosen[i])
            assert (observation == observations[i]).all()
            assert reward == rewards[i]
            assert (single_info["red_access"] == info["red_access"][i]).all()


def test_next_step_mode_resets_on_the_step_after_the_last() -> None:
    env = vector(horizon=4)
    env.reset(seed=0)
    restores = np.full(3, RESTORE_SERVER)
    steps = [env.step(restores) for _ in range(6)]
    assert [truncated.tolist() for *_, truncated, _ in steps] == [
        [False] * 3, [False] * 3, [False] * 3, [True] * 3, [False] * 3, [False] * 3,
    ]  # fmt: skip
    assert [rewards.max() for _, rewards, *_ in steps] == [-1, -1, -1, -1, 0, -1]
    assert not steps[4][0].any()


def test_next_step_mode_copes_with_environments_out_of_step() -> None:
    env = vector(horizon=4)
    env.reset(seed=0)
    restores = np.full(3, RESTORE_SERVER)
    env.step(restores)
    env.reset(options={"reset_mask": np.array([False, True, False])})
    truncations = [env.step(restores)[3].tolist() for _ in range(5)]
    assert truncations == [
        [False] * 3, [False] * 3, [True, False, True], [False, True, False], [False] * 3,
    ]  # fmt: skip


def test_same_step_mode_resets_at_once_and_keeps_the_last_observation() -> None:
    env = vector(AutoresetMode.SAME_STEP, horizon=4)
    env.reset(seed=0)
    twin = vector(AutoresetMode.DISABLED, horizon=4)
    twin.reset(seed=0)
    for _ in range(4):
        observations, _, _, truncated, info = env.step(np.zeros(3, dtype=np.int64))
        last, *_, last_info = twin.step(np.zeros(3, dtype=np.int64))
    assert truncated.all()
    assert not observations.any()
    assert (np.stack(info["final_obs"]) == last).all()
    assert (info["final_info"]["red_target"] == last_info["red_target"]).all()
    assert info["_final_obs"].all()


def test_disabled_mode_refuses_to_step_past_the_end() -> None:
    env = vector("Disabled", horizon=2)
    env.reset(seed=0)
    env.step(np.zeros(3, dtype=np.int64))
    env.step(np.zeros(3, dtype=np.int64))
    with pytest.raises(SimulationError, match="call reset"):
        env.step(np.zeros(3, dtype=np.int64))


def test_a_list_of_seeds_may_leave_some_environments_to_go_on() -> None:
    env = vector()
    env.reset(seed=[5, 6, 7])
    env.reset(seed=[5, None, 9])
    assert env.batch.states["seed"].tolist() == [5, 6, 9]
    assert env.batch.states["episode"].tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vector("Sometimes"), "autoreset_mode = 'Sometimes'"),
        (lambda: vector().reset(seed=[1, 2]), "2 seeds for 3 environments"),
        (lambda: vector().reset(options={"mask": 1}), "mask"),
        (lambda: vector(red="blue"), "red = 'blue'"),
    ],
)
def test_bad_vector_input_is_named(call: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        call()
