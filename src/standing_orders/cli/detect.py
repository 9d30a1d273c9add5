"""The commands of the detection team: parse, call, print. Heavy imports wait until they run."""

import json
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from pydantic import Field

from standing_orders.cli.command import (
    Command,
    Reporting,
    Resumable,
    Shown,
    WithPreset,
    resumable,
    say,
    tell,
)
from standing_orders.detect.config import DetectConfig, check_together, sensors_from
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


class TeamSettings(WithPreset, DetectConfig):
    """Settings of a team, from flags, a preset or files."""

    views: Path | None = Field(
        None,
        description="TOML file that says which columns come from which sensor, a line each: "
        'host = ["cpu", "process"]. Without it columns are dealt out.',
    )

    def settings(self) -> DetectConfig:
        """What the flags say of a team.

        Raises:
            ConfigError: `views` is no such file.
        """
        config = self.part(DetectConfig)
        return config.with_part("team", sensors=sensors_from(self.views)) if self.views else config


class TrainTeam(Resumable, TeamSettings, Reporting):
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
            check_inputs(self.settings())
        from standing_orders.api.teams import measure_team
        from standing_orders.api.training import resume, train
        from standing_orders.cli.detect_view import watch_team
        from standing_orders.cli.report import leave_report
        from standing_orders.detect.assess.report import collapses, rules_not_kept

        if self.resume:
            more = self.learn.iterations if self.was_given("--learn.iterations") else None
            with resumable("detect train", folder), watch_team(folder) as on_update:
                run = resume(folder, budget=more, on_update=on_update, report=tell)
        else:
            config = self.settings()
            data = self._look(config)
            with resumable("detect train", folder), watch_team(folder) as on_update:
                run = train(config, folder, data=data, on_update=on_update, report=tell)
        for line in (*collapses(run.records), *rules_not_kept(run.records)):
            tell(f"warning: {line}")
        self.report(measure_team(run))
        leave_report(folder)
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

        show = tell if self.json_output else say
        data = load(config.data_config())
        show("\n".join(describe_data(data)))
        make_book(config.rules, data.task)  # wrong rules are refused before the long work
        found = probe(data, config.seed)
        show(found.explain())
        if not (found.is_learnable or self.force):
            raise DataError("nothing to train on: see above; --force goes on nevertheless")
        part = data.train
        if data.task == "records":
            rows = describe_records(config.costs.rewards(), part.prevalence)
            lines = describe_earnings(rows, "record (team term left out)")
        else:
            rows = describe_sessions(part.is_threat, part.sessions, config.session_costs)
            lines = describe_earnings(rows, "session")
        show("\n".join(lines))
        return data


class EvaluateTeam(Reporting):
    """Every figure of a trained team on the test part of its data.

    Detection, costs, the vote with 0 to n liars of every kind, and what the rules say.
    """

    EXAMPLES = (
        "detect evaluate runs/team",
        "detect evaluate runs/team --messages 100",
        "detect evaluate runs/team --tamper",
        "detect evaluate runs/mine --data newer.csv",
        "detect evaluate runs/team --out team.md",
    )

    run_folder: tyro.conf.Positional[Path] = Field(description="Run folder of `detect train`.")
    data: tuple[Path, ...] = Field(
        (),
        description="Labelled files to judge it by instead of the test part of its own data; "
        "nothing but the run folder is needed then.",
    )
    messages: int = Field(
        0,
        ge=0,
        strict=True,
        description="Events on which the agents also agree by messages, without a trusted counter "
        "(PBFT-style; needs 3 f + 1 agents), in three networks, with every kind of liar; the "
        "outcome is scored.",
    )
    batch: int = Field(
        1, ge=1, strict=True, description="Events of --messages that are agreed on together."
    )
    tamper: bool = Field(
        False,
        description="Also with each sensor compromised: its values replaced by benign ones, "
        "replayed, frozen or shifted, on threats or always, at random or by an attacker who knows "
        "the agents.",
    )

    def run(self) -> int:
        """Run the command."""
        RunFolder.open(self.run_folder, kind="detect")
        from standing_orders.api.teams import evaluate_team

        found = evaluate_team(
            self.run_folder,
            data=self.data,
            messages=self.messages,
            batch=self.batch,
            tamper=self.tamper,
        )
        self.report(found)
        return 0


class ScoreTeam(Command):
    """Judge new events: a line for each, with the verdict, how sure it is, and why.

    The run folder is enough; labels are not needed. A file is judged as a whole. Standard input,
    or a file with --follow, is judged as it grows: sessions are remembered, the place reached is
    kept in --state, and after a crash or kill -9 the same command goes on there.
    """

    EXAMPLES = (
        "detect score runs/team --data new.csv --out verdicts.jsonl",
        "detect score runs/team --data eve.json --follow --out verdicts.jsonl",
        "detect score runs/team --data - --state runs/stream",
        "detect score runs/team --data new.csv --engine ray",
    )
    BASIC = ("run_folder", "data", "out", "follow", "state", "why", "engine", "json_output")

    run_folder: tyro.conf.Positional[Path] = Field(description="Run folder of `detect train`.")
    data: Path = Field(
        description="CSV, TSV, JSON lines (Suricata eve.json too), Zeek log, plain or .gz, or "
        "Parquet; - for standard input."
    )
    out: Path | None = Field(
        None, description="File for the verdicts, .jsonl, .csv or .parquet; else standard output."
    )
    follow: bool = Field(False, description="Wait for more at the end of the file.")
    state: Path | None = Field(
        None,
        description="Folder that keeps the place reached and the sessions' memory. Of a stream "
        "with --out it is OUT.state if left out; without one nothing is kept.",
    )
    batch: int = Field(10_000, ge=1, strict=True, description="Events judged at once, at most.")
    max_sessions: int = Field(
        10_000, ge=1, strict=True, description="Open sessions; the oldest is closed for a new one."
    )
    idle: float | None = Field(
        None, gt=0, description="Seconds without an event after which a session has ended."
    )
    why: int = Field(
        3, ge=0, strict=True, description="Columns told for each flagged event; 0 is faster."
    )
    unfit: Literal["vote", "alert"] = Field(
        "vote",
        description="An event that does not fit the training data (missing column, new value, text "
        "where a number was): what the vote says of the rest, or at least an alert.",
    )
    rules: bool = Field(True, description="Tell the margins of the rules.")
    engine: Literal["local", "ray"] = Field(
        "local",
        description="Where the agents vote: in this process, or each in a process of its own on a "
        "Ray cluster, where they agree by signed messages (PBFT; needs 3 f + 1 agents).",
    )
    address: str | None = Field(
        None,
        description="Existing Ray cluster, such as 127.0.0.1:6379; without it --engine ray starts "
        "one on this machine and stops it.",
    )
    json_output: Annotated[bool, tyro.conf.arg(name="json")] = Field(
        False, description="The summary as JSON."
    )

    def run(self) -> int:
        """Run the command."""
        RunFolder.open(self.run_folder, kind="detect")
        if str(self.data) != "-" and not self.data.exists():
            raise DataError(f"{self.data}: no such file")
        from standing_orders.detect.remote import open_engine
        from standing_orders.detect.service.judge import Options, open_team
        from standing_orders.detect.service.stream import Task, score

        is_stream = self.follow or str(self.data) == "-"
        state = self.state
        if state is None and is_stream and self.out is not None:
            state = self.out.with_name(f"{self.out.name}.state")
        options = Options(
            max_sessions=self.max_sessions, idle=self.idle, why=self.why, unfit=self.unfit,
            rules=self.rules,
        )  # fmt: skip
        task = Task(self.data, self.out, state, self.follow, self.batch, options)
        judge = open_team(self.run_folder)
        engine = open_engine(
            self.engine, judge.agents(), judge.config.team, address=self.address, report=tell
        )
        with closing(engine):
            summary = score(judge, task, engine=engine, report=tell)
        self._report(summary)
        return 0

    def _report(self, summary: Any) -> None:
        """Print the summary where the verdicts do not go."""
        from standing_orders.tables import to_text

        say = tell if self.out is None else print
        say(
            json.dumps(summary.to_json(), indent=1)
            if self.json_output
            else to_text(summary.tables())
        )
        for warning in summary.warnings:
            tell(f"warning: {warning}")


class CompareTeam(TeamSettings, Reporting):
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
    tamper: bool = Field(
        False,
        description="Also with each sensor compromised, which hides attacks behind benign values.",
    )

    def run(self) -> int:
        """Run the command."""
        config = self.settings()
        check_inputs(config)
        from standing_orders.cli.detect_view import watch_steps
        from standing_orders.detect.compare import hold_contest
        from standing_orders.detect.tables import contest_tables

        if self.quick:
            config = config.with_part("learn", iterations=5, steps=512)
        with watch_steps() as on_step:
            num_seeds = 1 if self.quick else self.seeds
            contest = hold_contest(
                config, num_seeds=num_seeds, with_tampering=self.tamper, on_step=on_step
            )
        self.report(Shown(contest_tables(contest), contest.to_json()))
        return 0
