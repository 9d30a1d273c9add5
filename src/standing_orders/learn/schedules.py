"""What changes while training: small functions of the episodes played and the compliance so far.

Compliance is that of the update before, None before there is one.
"""

from dataclasses import dataclass

from standing_orders.config import TrainConfig

WEIGHT_STAGES = ((0, 1.0), (1_000, 1.5), (3_000, 2.5))  # from episode, times
LEARNING_RATE_STEPS = ((0.0, 1.0), (0.80, 0.5), (0.90, 0.25))  # from compliance, times
SMALL_UPDATES_FROM, SMALL_UPDATES_TIMES = 0.85, 0.5
MORE_EPOCHS_FROM, MORE_EPOCHS_TIMES = 0.85, 2
SOFT_MASK_FROM, SOFT_MASK_FACTOR = 0.80, 0.1
PLATEAU_UPDATES, PLATEAU_IMPROVEMENT = 12, 0.01


@dataclass(frozen=True)
class Settings:
    """What one update uses."""

    num_episodes: int
    weight: float  # lambda of the alignment bonus
    learning_rate: float
    epochs: int
    entropy: float  # coefficient of its bonus
    mask_factor: float | None  # times the probability of a violation; None = no mask


def alignment_weight(config: TrainConfig, episode: int) -> float:
    """Lambda, in stages if asked for."""
    if not config.schedules.weight_stages:
        return config.alignment.weight
    return config.alignment.weight * _stage(WEIGHT_STAGES, episode)


def update_episodes(config: TrainConfig, remaining: int, compliance: float) -> int:
    """Episodes of the next update, never beyond those that remain."""
    size = config.update_episodes
    if config.schedules.small_updates and compliance >= SMALL_UPDATES_FROM:
        size = max(1, round(size * SMALL_UPDATES_TIMES))
    return min(size, remaining)


def learning_rate(config: TrainConfig, episode: int, compliance: float) -> float:
    """Adam's step size: linear fall over a start, then compliance steps, if asked for."""
    rate = config.ppo.learning_rate
    if config.ppo.final_learning_rate is not None:
        rate += _done(config, episode) * (config.ppo.final_learning_rate - rate)
    if config.schedules.learning_rate_steps:
        rate *= _stage(LEARNING_RATE_STEPS, compliance)
    return rate


def entropy(config: TrainConfig, episode: int) -> float:
    """Coefficient of the entropy bonus: geometric fall over a start, if asked for."""
    first, last = config.ppo.entropy, config.ppo.final_entropy
    if last is None:
        return first
    return float(first * (last / first) ** _done(config, episode))


def epochs(config: TrainConfig, compliance: float) -> int:
    """Passes over the next batch."""
    is_more = config.schedules.more_epochs and compliance >= MORE_EPOCHS_FROM
    return config.ppo.epochs * (MORE_EPOCHS_TIMES if is_more else 1)


def mask_factor(config: TrainConfig, compliance: float) -> float | None:
    """How much less likely a violation is made in training."""
    is_on = config.schedules.soft_mask and compliance >= SOFT_MASK_FROM
    return SOFT_MASK_FACTOR if is_on else None


def settings(
    config: TrainConfig, episode: int, compliance: float | None, remaining: int
) -> Settings:
    """All of it for the next update.

    Args:
        config: of the run.
        episode: episodes of this policy so far.
        compliance: of the update before.
        remaining: episodes that may still be played.
    """
    known = 0.0 if compliance is None else compliance
    return Settings(
        num_episodes=update_episodes(config, remaining, known),
        weight=alignment_weight(config, episode),
        learning_rate=learning_rate(config, episode, known),
        epochs=epochs(config, known),
        entropy=entropy(config, episode),
        mask_factor=mask_factor(config, known),
    )


def is_plateau(history: list[float]) -> bool:
    """Whether the last 12 values bring no improvement of 0.01 over the best before them."""
    if len(history) <= PLATEAU_UPDATES:
        return False
    before, recent = history[:-PLATEAU_UPDATES], history[-PLATEAU_UPDATES:]
    return max(recent) < max(before) + PLATEAU_IMPROVEMENT


def _done(config: TrainConfig, episode: int) -> float:
    return min(episode / config.kept_episodes, 1.0)


def _stage(stages: tuple[tuple[float, float], ...], value: float) -> float:
    return next(times for start, times in reversed(stages) if value >= start)
