import pytest

from standing_orders import DetectConfig, SearchConfig, TrainConfig, preset
from standing_orders.errors import ConfigError
from standing_orders.presets import find_preset, list_presets


@pytest.mark.parametrize("name", [one.name for one in list_presets()])
def test_every_preset_is_a_config_of_its_kind(name: str) -> None:
    models = {"train": TrainConfig, "search": SearchConfig, "detect": DetectConfig}
    assert type(preset(name)) is models[find_preset(name).kind]


@pytest.mark.parametrize("one", list_presets(), ids=lambda one: one.name)
def test_every_preset_says_what_it_is(one) -> None:  # type: ignore[no-untyped-def]
    assert one.path.read_text().startswith("# ")
    assert len(one.summary) > 20


def test_changes_override_the_preset() -> None:
    config = preset("fast", episodes=10, seed=4)
    assert (config.episodes, config.seed, config.update_episodes) == (10, 4, 100)


def test_bad_names_and_values_are_refused() -> None:
    with pytest.raises(ConfigError, match="preset 'slow': must be one of detect, detect-"):
        preset("slow")
    with pytest.raises(ConfigError, match="preset of search 'fast': must be one of search,"):
        find_preset("fast", "search")
    with pytest.raises(ConfigError, match="episodes = 0"):
        preset("fast", episodes=0)
