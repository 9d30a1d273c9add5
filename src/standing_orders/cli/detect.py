"""The commands of the detection team: parse, call, print. Heavy imports wait until they run."""

from pathlib import Path
from typing import Any

import tyro
from pydantic import Field

from standing_orders.cli.command import Reporting, Resumable, Shown, WithPreset, resumable, tell
from standing_orders.detect.config import DetectConfig, check_together
from standing_orders.errors import DataError
from standing_orders.runs.folder import RunFolder, check_unused


def check_inputs(config: DetectConfig) -> None:
    """Refuse what can be refused before anything heavy is imported.

    Raises:
        VotingError, ConfigError: see `check_together`.
        DataError: a file is missing.
    """
    check_together(config)
    for path in (*config.data, *config.test_data):
        if not path.exists():
            raise DataError(f"{path}: no such file or folder")


class TrainTeam(Resumable, WithPreset, Reporting, DetectConfig):
    """Train a team that judges events, into a run folder that can be resumed.

    Before that it says what was read, whether the label can be learned from it at all, and what
    simple policies would earn. It stops if the label cannot be learned.
    """

    KIND = "detect"
    WITH_RESUME = ("--learn.iterations",)
    EXAMPLES = (
        "detect train --run runs/team",
        "detect train --data events.csv --label is_attack --run runs/mine",
        "detect train --resume --run runs/team --learn.iterations 200",
    )
    BASIC = (
        "preset", "data", "label", "session", "format", "seed", "run_folder", "resume", "force",
        "json_output", "out",
    )  # fmt: skip

    force: bool = Field(False, description="Go on although the label cannot be learned.")

    def run(self) -> int:
        """Run the command."""
        folder = self.run_folder or Path("runs") / f"detect-{self.data_name}-{self.seed}"
        if self.resume:
            RunFolder.open(folder, kind=self.KIND)
        else:
            check_unused(folder)
            check_inputs(self.part(DetectConfig))
        from standing_orders.api.teams import measure_team
        from standing_orders.api.training import resume, train
        from standing_orders.cli.detect_view import watch_team
        from standing_orders.detect.assess.report import rules_not_kept

        if self.resume:
            more = self.learn.iterations if self.was_given("--learn.iterations") else None
            with resumable("detect train", folder), watch_team(folder) as on_update:
                run = resume(folder, budget=more, on_update=on_update, report=tell)
        else:
            config = self.part(DetectConfig)
            data = self._look(config)
            with resumable("detect train", folder), watch_team(folder) as on_update:
                run = train(config, folder, data=data, on_update=on_update, report=tell)
        self.report(measure_team(run))
        for line in rules_not_kept(run.records):
            tell(line)
        return 0

    def _look(self, config: DetectConfig) -> Any:
        """Read the data, and say what is to be known before training.

        Raises:
            DataError: the label cannot be learned from these inputs.
        """
        from standing_orders.cli.detect_view import describe_data, describe_earnings
        from standing_orders.detect.assess.probe import probe
        from standing_orders.detect.costs import describe_records, describe_sessions
        from standing_orders.detect.data.load import load
        from standing_orders.detect.team import make_book

        say = tell if self.json_output else print
        data = load(config.data_config())
        say("\n".join(describe_data(data)))
        make_book(config.rules, data.task)  # wrong rules are refused before the long work
        found = probe(data, config.seed)
        say(found.explain())
        if not (found.is_learnable or self.force):
            raise DataError("nothing to train on: see above; --force goes on nevertheless")
        part = data.train
        if data.task == "records":
            rows = describe_records(config.costs.rewards(), part.prevalence)
            lines = describe_earnings(rows, "record (team term left out)")
        else:
            rows = describe_sessions(part.is_threat, part.sessions, config.session_costs)
            lines = describe_earnings(rows, "session")
        say("\n".join(lines))
        return data


class EvaluateTeam(Reporting):
    """Every figure of a trained team on the test part of its data.

    Detection, costs, the vote with 0 to n liars of every kind, and what the rules say.
    """

    EXAMPLES = (
        "detect evaluate runs/team",
        "detect evaluate runs/team --messages 100",
        "detect evaluate runs/team --out team.md",
    )

    run_folder: tyro.conf.Positional[Path] = Field(description="Run folder of `detect train`.")
    messages: int = Field(
        0,
        ge=0,
        strict=True,
        description="Events on which the agents also agree by messages, without a trusted counter "
        "(PBFT-style; needs 3 f + 1 agents).",
    )

    def run(self) -> int:
        """Run the command."""
        RunFolder.open(self.run_folder, kind="detect")
        from standing_orders.api.teams import evaluate_team

        self.report(evaluate_team(self.run_folder, messages=self.messages))
        return 0


class CompareTeam(WithPreset, Reporting, DetectConfig):
    """The team beside baselines and its own parts, over several splits and seeds.

    Allow-all, block-all, classifiers at the optimal threshold, a sequential test, one agent with
    all views, sampled PPO without rules, plain averaging, and the team that `train` makes. Where
    rules are only watched, also one that is held to your own ones, or to that about false alarms,
    by a learned price; else also one whose rules are only watched.
    """

    KIND = "detect"
    EXAMPLES = (
        "detect compare --quick",
        "detect compare --data events.csv --label is_attack --seeds 5",
        "detect compare --preset detect-published --out contest.csv",
    )
    BASIC = ("preset", "data", "label", "session", "format", "seeds", "quick", "json_output", "out")

    seeds: int = Field(5, ge=1, strict=True, description="Number of splits and seeds.")
    quick: bool = Field(False, description="One seed and a few updates: does it run at all?")

    def run(self) -> int:
        """Run the command."""
        config = self.part(DetectConfig)
        check_inputs(config)
        from standing_orders.cli.detect_view import watch_steps
        from standing_orders.detect.compare import hold_contest
        from standing_orders.detect.tables import contest_tables

        if self.quick:
            config = config.with_part("learn", iterations=5, steps=512)
        with watch_steps() as on_step:
            num_seeds = 1 if self.quick else self.seeds
            contest = hold_contest(config, num_seeds=num_seeds, on_step=on_step)
        self.report(Shown(contest_tables(contest), contest.to_json()))
        return 0
