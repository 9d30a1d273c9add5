"""Frozen configuration models: one definition gives flags, help, validation and defaults."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from standing_orders.errors import ConfigError

RedAgent = Literal["b_line", "meander", "sleep"]
RuleSet = Literal["head", "leaderboard-2022"]
ObservationStyle = Literal["corrected", "stock"]


class Config(BaseModel):
    """Base of all configuration models: frozen, no unknown keys, errors of our own.

    Raises:
        ConfigError: a value is not acceptable; the message names it and what is.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as err:
            raise ConfigError("; ".join(map(_explain, err.errors()))) from err


def _explain(error: Any) -> str:
    """One pydantic complaint in our words: what, the value seen, what is wanted."""
    name = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        return f"{name}: no such option"
    wanted = str(error["msg"]).replace("Input should be", "must be", 1)
    return f"{name} = {error['input']!r}: {wanted}"


class GameConfig(Config):
    """The rules of a CAGE-2 game, whoever attacks and however long it lasts."""

    rules: RuleSet = Field(
        "head",
        description="Rule set: the public code as it stands (head) or as it stood when the "
        "public leaderboard was computed (leaderboard-2022).",
    )
    observation: ObservationStyle = Field(
        "corrected",
        description="Blue's observation: 'stock' hides some scans on a host that gets a decoy in "
        "the same step, as the challenge's own wrapper does; 'corrected' shows them.",
    )
    head_start: int = Field(
        0,
        ge=0,
        le=10_000,
        strict=True,
        description="Steps that red plays before blue may act; their rewards do not count.",
    )
    red_tempo: int = Field(1, ge=1, le=5, strict=True, description="Red actions per step.")


class SimConfig(GameConfig):
    """Which CAGE-2 game is played."""

    red: RedAgent = Field("b_line", description="Red agent that attacks.")
    horizon: int = Field(100, ge=1, le=10_000, strict=True, description="Steps of an episode.")
