"""The command line: parse, call one function, print."""

import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro
from pydantic import Field

from standing_orders.cli.command import REGISTRY, Command, Seed, resumable, tell
from standing_orders.cli.detect import CompareTeam, TrainTeam, detect_commands
from standing_orders.cli.equivalence import EquivalenceCommand
from standing_orders.cli.parity import Parity
from standing_orders.config import (
    CollectConfig,
    GameConfig,
    SearchConfig,
    SimConfig,
    SimulatorConfig,
    TrainConfig,
    read_toml,
)
from standing_orders.errors import ConfigError, StandingOrdersError
from standing_orders.version import VERSION

if TYPE_CHECKING:
    from standing_orders.evaluate.elsewhere import Elsewhere

POLICIES = "sleep, random, useful-random, react_restore, react_remove, heuristic"
INTERRUPTED = 130


class Evaluate(Command, GameConfig, SimulatorConfig, CollectConfig):
    """Score card of a policy: its return at 30, 50 and 100 steps against each red agent.

    For a trained policy also how well it follows the order it is told: compliance figures with
    intervals, and the order swap, which shows whether it listens.
    """

    policy: str = Field("heuristic", description=f"Defender: {POLICIES}, or a run folder.")
    red: Literal["b_line", "meander", "sleep", "all"] = Field("all", description="Red agent.")
    episodes: int = Field(1_000, ge=2, strict=True, description="Episodes for each red agent.")
    seed: Seed = Field(0, description="Root seed; same seed, same score to the last digit.")
    threads: int = Field(1, ge=1, strict=True, description="Threads; the score is the same.")
    order: str | None = Field(
        None,
        description="What a trained policy is told: an order, or 'all' for each of the 120; its "
        "own if left out.",
    )
    order_episodes: int = Field(
        200, ge=2, strict=True, description="Episodes for each order and red agent."
    )
    greedy: bool = Field(False, description="Take the likeliest action instead of drawing one.")
    json_output: Annotated[bool, tyro.conf.arg(name="json")] = Field(
        False, description="Print JSON instead of tables."
    )

    def run(self) -> int:
        """Run the command."""
        from standing_orders.cage2.scenario import RED_AGENTS
        from standing_orders.cli.tables import print_score_card, show_progress
        from standing_orders.evaluate.card import evaluate
        from standing_orders.evaluate.find import find_policy

        policy = find_policy(self.policy, order=self.order, is_greedy=self.greedy)
        reds = RED_AGENTS if self.red == "all" else (self.red,)
        with (
            self._elsewhere() as elsewhere,
            show_progress("episodes", self.episodes * len(reds)) as advance,
        ):
            card = evaluate(
                policy,
                self.part(GameConfig),
                reds=reds,
                num_episodes=self.episodes,
                seed=self.seed,
                num_threads=self.threads,
                order_episodes=0 if elsewhere else self.order_episodes,
                elsewhere=elsewhere,
                advance=advance,
            )
        if self.json_output:
            print(json.dumps(card.to_json(), indent=1))
        else:
            print_score_card(card)
            if card.obedience:
                from standing_orders.cli.training_tables import print_obedience

                for red, measured in card.obedience.items():
                    print_obedience(red, measured)
        return 0

    @contextmanager
    def _elsewhere(self) -> "Iterator[Elsewhere | None]":
        """Who plays, if not this process in our simulator."""
        if self.sim == "own" and self.collect == "batch" and self.red_agent is None:
            yield None
            return
        from standing_orders.collect.choose import open_collector
        from standing_orders.collect.games import GameSpec
        from standing_orders.evaluate.both import policy_actor
        from standing_orders.evaluate.elsewhere import Elsewhere

        actor = policy_actor(self.policy, order=self.order, is_greedy=self.greedy)
        spec = GameSpec.of(self.part(GameConfig), self.part(SimulatorConfig), "b_line")
        with open_collector(spec, self.part(CollectConfig), tell) as collector:
            yield Elsewhere(collector, actor)


class Train(Command, TrainConfig):
    """Train a defender that follows an order, into a run folder that can be resumed.

    The folder holds the resolved config, journal.jsonl (the source of every table),
    training_log.csv, TensorBoard files and checkpoints.
    """

    config: Path | None = Field(
        None,
        description="Preset (TOML), such as fast.toml; flags come before it.",
    )
    run_folder: Annotated[Path | None, tyro.conf.arg(name="run")] = Field(
        None, description="Run folder; runs/ORDER-RED-SEED if left out."
    )
    start: Path | None = Field(None, description="Run whose policy to begin with.")
    resume: bool = Field(
        False, description="Go on with the run in --run; its own config holds, flags do not."
    )

    def run(self) -> int:
        """Run the command."""
        from standing_orders.cli.training_tables import watch_training
        from standing_orders.learn.run import resume, train

        config = self.part(TrainConfig)
        name = f"{self.order.replace('>', '-')}-{self.red}-{self.seed}"
        folder = self.run_folder or Path("runs") / name
        with resumable("train", folder), watch_training(folder) as on_update:
            if self.resume:
                trainer = resume(folder, on_update=on_update, report=tell)
            else:
                trainer = train(config, folder, start=self.start, on_update=on_update, report=tell)
        print(f"{trainer.progress.stopped} after {trainer.progress.episodes} episodes: {folder}")
        return 0


class Search(Command, SearchConfig):
    """Find the best of the 120 repair orders, and the policy that follows it.

    Chooses an order by a Gaussian process and UCB, trains a policy until it passes the compliance
    gate (or its limit is reached), measures it on fresh episodes, and so on until the budget is
    used. The run folder holds journal.jsonl, gp_sampling_log.csv, leaderboard.csv,
    training_log.csv, TensorBoard files, a policy for each order visited, and the best one.
    """

    config: Path | None = Field(
        None,
        description="Preset (TOML), such as search.toml; flags come before it.",
    )
    run_folder: Annotated[Path | None, tyro.conf.arg(name="run")] = Field(
        None, description="Run folder; runs/search-RED-SEED if left out."
    )
    base_run: Path | None = Field(
        None,
        description="Training run whose policy every order starts from, instead of training one; "
        "its episodes are not counted.",
    )
    resume: bool = Field(
        False, description="Go on with the search in --run; its own config holds, flags do not."
    )
    engine: Literal["local", "ray"] = Field(
        "local", description="Where orders are trained: in this process, or on a Ray cluster."
    )
    address: str | None = Field(
        None,
        description="Ray cluster to use, such as 127.0.0.1:6379; one on this machine if left out.",
    )

    def run(self) -> int:
        """Run the command."""
        from standing_orders.cli.search_tables import print_search, watch_search
        from standing_orders.search.engines import open_engine
        from standing_orders.search.run import resume_search, search, stored_config

        folder = self.run_folder or Path("runs") / f"search-{self.red}-{self.seed}"
        config = stored_config(folder) if self.resume else self.part(SearchConfig)
        with (
            resumable("search", folder),
            open_engine(self.engine, self.address, config.parallel) as engine,
            watch_search(folder) as watch,
        ):
            if self.resume:
                state = resume_search(folder, engine=engine, watch=watch, report=tell)
            else:
                state = search(
                    config, folder, base=self.base_run, engine=engine, watch=watch, report=tell
                )
        print_search(state, folder)
        return 0


class Play(Command, SimConfig):
    """Watch one episode in the terminal, step by step or at a speed."""

    policy: str = Field("heuristic", description=f"Defender: {POLICIES}, or a run folder.")
    order: str | None = Field(
        None, description="Order that a trained policy is told; its own if left out."
    )
    seed: Seed = Field(0, description="Root seed; same seed, same episode.")
    speed: float | None = Field(
        None, gt=0, description="Steps per second; without it, Enter plays the next step."
    )
    plain: bool = Field(
        False, description="Plain text without waiting, for pipes (default if not a terminal)."
    )

    def run(self) -> int:
        """Run the command."""
        from standing_orders.cli.play_view import watch
        from standing_orders.evaluate.find import find_policy

        config = self.part(SimConfig)
        is_plain = self.plain or not (sys.stdin.isatty() and sys.stdout.isatty())
        policy = find_policy(self.policy, order=self.order)
        watch(policy, config, seed=self.seed, speed=self.speed, is_plain=is_plain)
        return 0


class Bench(Command, SimulatorConfig):
    """Speed on this machine; CybORG and MiniCAGE beside ours if they can be imported."""

    what: tyro.conf.Positional[Literal["sim", "train", "collect"]] = Field(
        description="sim: the simulator. train: the learner, end to end. collect: every collector."
    )
    seconds: float = Field(1.0, gt=0, description="sim, collect: seconds for each measurement.")
    workers: tuple[int, ...] = Field(
        (1, 2, 4, 8, 25, 100), description="collect: numbers of workers."
    )
    limit: float = Field(
        120.0, gt=0, description="collect: seconds after which a measurement is given up."
    )
    episodes: int = Field(10_000, ge=1, strict=True, description="train: episodes played.")
    json_output: Annotated[bool, tyro.conf.arg(name="json")] = Field(
        False, description="Print JSON instead of a table."
    )

    def run(self) -> int:
        """Run the command."""
        if self.what == "collect":
            return self._collectors()
        return self._simulator() if self.what == "sim" else self._learner()

    def _collectors(self) -> int:
        from standing_orders.cli.collect_tables import print_cells, print_claims
        from standing_orders.evaluate.bench_collect import games, measure_cells
        from standing_orders.evaluate.claims import judge_claims
        from standing_orders.learn.ppo import use_one_thread

        use_one_thread()
        options: dict[str, Any] = {
            "workers": self.workers, "seconds": self.seconds, "limit": self.limit
        }  # fmt: skip
        cells = (
            cell
            for spec in games(self.part(SimulatorConfig))
            for cell in measure_cells(spec, **options)
        )
        if self.json_output:
            measured = list(cells)
            claims = judge_claims(measured, os.cpu_count() or 1)
            result = {"cells": [c.to_json() for c in measured]}
            print(json.dumps({**result, "claims": [c.to_json() for c in claims]}, indent=1))
        else:
            print_claims(judge_claims(print_cells(cells), os.cpu_count() or 1))
        return 0

    def _simulator(self) -> int:
        from standing_orders.cli.tables import print_speeds
        from standing_orders.evaluate.bench import bytes_per_environment, measure_all

        if self.json_output:
            speeds = [speed.to_json() for speed in measure_all(self.seconds)]
            result = {"bytes_per_environment": bytes_per_environment(), "speeds": speeds}
            print(json.dumps(result, indent=1))
        else:
            print_speeds(measure_all(self.seconds), bytes_per_environment())
        return 0

    def _learner(self) -> int:
        from standing_orders.cli.training_tables import print_training_speeds
        from standing_orders.evaluate.bench import measure_training

        speeds = (measure_training(red, self.episodes) for red in ("b_line", "meander"))
        if self.json_output:
            print(json.dumps([speed.to_json() for speed in speeds], indent=1))
        else:
            print_training_speeds(speeds)
        return 0


PRESETS: dict[str, type[Train | Search | TrainTeam | CompareTeam]] = {
    "train": Train,
    "search": Search,
    "detect train": TrainTeam,
    "detect compare": CompareTeam,
}


def _commands(presets: dict[str, Any]) -> Any:
    """All commands; `presets` gives the defaults of those that take one."""
    return (
        Annotated[Search, tyro.conf.subcommand("search", default=presets["search"])]
        | Annotated[Train, tyro.conf.subcommand("train", default=presets["train"])]
        | Annotated[Evaluate, tyro.conf.subcommand("evaluate")]
        | Annotated[Play, tyro.conf.subcommand("play")]
        | Annotated[Parity, tyro.conf.subcommand("parity")]
        | Annotated[EquivalenceCommand, tyro.conf.subcommand("equivalence")]
        | Annotated[Bench, tyro.conf.subcommand("bench")]
        | detect_commands(presets)
    )


def _presets(words: list[str]) -> dict[str, Any]:
    """Defaults of commands: for the one called, those of the file that --config names."""
    defaults: dict[str, Any] = {name: model() for name, model in PRESETS.items()}
    called = next((name for name in PRESETS if words[: name.count(" ") + 1] == name.split()), None)
    given = [word.partition("=")[2] for word in words if word.startswith("--config=")]
    given += [word for flag, word in pairwise(words) if flag == "--config"]
    if called and given:
        path = Path(given[-1])
        try:
            defaults[called] = PRESETS[called](**read_toml(path), config=path)
        except ConfigError as err:
            raise ConfigError(f"{path}: {err}") from err
    return defaults


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and give its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    if words == ["--version"]:
        print(f"standing-orders {VERSION}")
        return 0
    try:
        command: Callable[[], Command] = tyro.cli(
            _commands(_presets(words)),
            prog="standing-orders",
            description="Cyber-defence agents that follow orders.",
            args=words,
            config=(tyro.conf.FlagCreatePairsOff,),
            registry=REGISTRY,
        )
        return command().run()
    except StandingOrdersError as err:
        if "--debug" in words:
            traceback.print_exc()
        print(f"error: {err}", file=sys.stderr)
        return err.exit_code
    except KeyboardInterrupt as stop:
        tell(str(stop) or "interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return 0


if __name__ == "__main__":
    sys.exit(main())
