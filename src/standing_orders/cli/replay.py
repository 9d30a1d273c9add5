"""`standing-orders replay`: episodes as a page to play, and to fork."""

import json
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import tyro
from pydantic import Field

from standing_orders.cli.command import Command, say
from standing_orders.config import SimConfig


class Replay(Command):
    """Write episodes of a policy as a page: truth beside what blue sees, step by step.

    A fork is the same attack, draw for draw, from some step on under another order or policy.
    """

    EXAMPLES: ClassVar[tuple[str, ...]] = (
        "replay runs/search-b_line-0",
        "replay runs/any --seed 7 --fork-at 12 --order least_critical_first",
        "replay heuristic --red meander --seed 3 --fork-at 0 --policy sleep",
    )

    source: tyro.conf.Positional[str] = Field(
        description="Run folder of train or search, or a scripted defender."
    )
    seed: tuple[int, ...] = Field(
        (), description="Episodes by number, as `play --seed`; best, median and worst if left out."
    )
    episodes: int = Field(
        100, ge=1, strict=True, description="Episodes among which best and worst are found."
    )
    draws: Path | None = Field(
        None,
        description="Attack that `falsify` wrote, to show instead: its draws, its game and, unless "
        "another is given, its order.",
    )
    fork_at: int | None = Field(None, ge=0, description="Step from which the fork differs.")
    order: str | None = Field(
        None, description="Order that the policy is told; with --fork-at, that the fork is told."
    )
    policy: str | None = Field(
        None, description="Who takes over at --fork-at: a scripted defender or a run folder."
    )
    red: Literal["b_line", "meander", "sleep"] | None = Field(
        None, description="Red agent; the one that the policy was trained for if left out."
    )
    head_start: int | None = Field(
        None, ge=0, le=10_000, description="Steps red plays first; as trained if left out."
    )
    horizon: int = Field(100, ge=1, le=10_000, strict=True, description="Steps of an episode.")
    out: Path = Field(Path("replay.html"), description="Where to write the page.")
    json_output: Annotated[bool, tyro.conf.arg(name="json")] = Field(
        False, description="Print the episodes as JSON instead."
    )

    def run(self) -> int:
        """Run the command."""
        from standing_orders.cage2.attacks import read_attack
        from standing_orders.report.page import write_page
        from standing_orders.report.replay import (
            ReplayTask,
            find_replay,
            replay_document,
            source_of,
        )

        game = source_of(self.source).game.model_dump() | {"horizon": self.horizon}
        given = {"red": self.red, "head_start": self.head_start}
        attack = None if self.draws is None else read_attack(self.draws)
        game |= {name: value for name, value in given.items() if value is not None}
        task = ReplayTask(
            policy=self.source,
            game=SimConfig(**game) if attack is None else attack.game,
            numbers=self.seed,
            num_episodes=self.episodes,
            order=self.order,
            attack=attack,
            fork_at=self.fork_at,
            fork_policy=self.policy,
        )
        if self.json_output:
            print(json.dumps([episode.to_json() for episode in find_replay(task)]))
            return 0
        size = write_page(self.out, replay_document(task))
        say(f"{self.out} ({size / 1e6:.1f} MB)")
        return 0
