"""Each published option: off unless switched on, then the published setting at its trigger."""

from typing import Any

import pytest

from standing_orders.config import TrainConfig
from standing_orders.learn import schedules
from standing_orders.learn.schedules import Settings, is_plateau

BEGINNING = {
    "num_episodes": 100,
    "weight": 30.0,
    "learning_rate": 0.002,
    "epochs": 3,
    "entropy": 0.002,
    "mask_factor": None,
}


def config(**options: Any) -> TrainConfig:
    base = {"episodes": 10_000, "alignment": {"weight": 30.0}}
    ppo = {"final_learning_rate": None} | options.pop("ppo", {})
    return TrainConfig(**base, ppo=ppo, schedules=options)


def settings(config: TrainConfig, episode: int, compliance: float | None) -> Settings:
    return schedules.settings(config, episode, compliance, config.episodes - episode)


def near(value: Settings, **changed: Any) -> bool:
    wanted = BEGINNING | changed
    return all(getattr(value, name) == pytest.approx(one) for name, one in wanted.items())


@pytest.mark.parametrize("episode", [0, 999, 1_000, 3_000, 9_900])
@pytest.mark.parametrize("compliance", [None, 0.0, 0.85, 0.90, 1.0])
def test_every_option_is_off_by_default(episode: int, compliance: float | None) -> None:
    assert near(settings(config(), episode, compliance))
    assert not any(TrainConfig().schedules.model_dump().values())


@pytest.mark.parametrize(
    ("episode", "weight"), [(0, 30), (999, 30), (1_000, 45), (2_999, 45), (3_000, 75), (9_000, 75)]
)
def test_the_weight_rises_in_stages_by_episode(episode: int, weight: float) -> None:
    assert near(settings(config(weight_stages=True), episode, 1.0), weight=weight)


@pytest.mark.parametrize(("compliance", "size"), [(None, 100), (0.849, 100), (0.85, 50), (1, 50)])
def test_updates_are_half_as_large_from_085(compliance: float | None, size: int) -> None:
    assert near(settings(config(small_updates=True), 0, compliance), num_episodes=size)


@pytest.mark.parametrize(
    ("compliance", "factor"), [(None, None), (0.799, None), (0.80, 0.1), (1.0, 0.1)]
)
def test_the_soft_mask_is_a_tenth_from_080(compliance: float | None, factor: float | None) -> None:
    found = settings(config(soft_mask=True), 0, compliance)
    assert near(found, mask_factor=factor)
    assert found.mask_factor == factor


@pytest.mark.parametrize(("compliance", "epochs"), [(None, 3), (0.849, 3), (0.85, 6), (1.0, 6)])
def test_there_are_twice_the_epochs_from_085(compliance: float | None, epochs: int) -> None:
    assert near(settings(config(more_epochs=True), 0, compliance), epochs=epochs)


@pytest.mark.parametrize(
    ("compliance", "rate"),
    [(None, 2e-3), (0.799, 2e-3), (0.80, 1e-3), (0.899, 1e-3), (0.90, 5e-4), (1.0, 5e-4)],
)
def test_the_learning_rate_falls_in_steps_of_compliance(
    compliance: float | None, rate: float
) -> None:
    assert near(settings(config(learning_rate_steps=True), 0, compliance), learning_rate=rate)


def test_the_entropy_bonus_falls_geometrically_over_the_training_of_one_policy() -> None:
    falling = config(ppo={"entropy": 1e-2, "final_entropy": 1e-4})
    found = [settings(falling, episode, None).entropy for episode in (0, 5_000, 10_000, 20_000)]
    assert found == pytest.approx([1e-2, 1e-3, 1e-4, 1e-4])
    several = falling.model_copy(update={"starts": 5})  # of 1,000 episodes each, 4,000 given up
    assert settings(several, 3_000, None).entropy == pytest.approx(1e-3)
    assert settings(several, 6_000, None).entropy == pytest.approx(1e-4)


def test_the_learning_rate_falls_linearly_from_the_first_to_the_final_one() -> None:
    falling = config(ppo={"learning_rate": 2e-3, "final_learning_rate": 2e-4})
    rates = [settings(falling, episode, None).learning_rate for episode in (0, 2_500, 10_000)]
    assert rates == pytest.approx([2e-3, 2e-3 - 0.25 * 1.8e-3, 2e-4])


def test_all_options_together_each_keep_their_own_trigger() -> None:
    names = ("weight_stages", "small_updates", "soft_mask", "more_epochs", "learning_rate_steps")
    everything = config(**dict.fromkeys(names, True))
    assert near(settings(everything, 0, None))
    assert near(settings(everything, 1_000, 0.80), weight=45, mask_factor=0.1, learning_rate=1e-3)
    assert near(
        settings(everything, 3_000, 0.90), weight=75, mask_factor=0.1, learning_rate=5e-4,
        num_episodes=50, epochs=6,
    )  # fmt: skip


@pytest.mark.parametrize(("episode", "size"), [(9_900, 100), (9_930, 70), (9_999, 1)])
def test_an_update_never_goes_beyond_the_budget(episode: int, size: int) -> None:
    assert settings(config(), episode, None).num_episodes == size


def test_a_small_update_has_at_least_one_episode() -> None:
    tiny = TrainConfig(update_episodes=1, schedules={"small_updates": True})
    assert settings(tiny, 0, 1.0).num_episodes == 1


@pytest.mark.parametrize(
    ("history", "is_stuck"),
    [
        ([], False),
        ([0.5] * 12, False),  # eleven updates after the first
        ([0.5] * 13, True),
        ([0.5] + [0.509] * 12, True),
        ([0.5] + [0.509] * 11 + [0.511], False),
        ([0.5] + [0.511] + [0.4] * 11, False),
        ([0.5] + [0.511] + [0.4] * 12, True),
        ([0.9] + [0.1 + 0.05 * i for i in range(12)], True),  # rises, but not above the best
        ([0.1 * i for i in range(8)] + [0.7] * 11, False),
        ([0.1 * i for i in range(8)] + [0.7] * 12, True),
    ],
)
def test_a_plateau_is_twelve_updates_without_an_improvement_of_001(
    history: list[float], is_stuck: bool
) -> None:
    assert is_plateau(history) is is_stuck
