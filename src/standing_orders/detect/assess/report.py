"""Everything about a trained run: figures, liars, tampered sensors, rules, agreement."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from standing_orders.detect.actions import NUM_ACTIONS
from standing_orders.detect.assess.figures import assess, main_figure
from standing_orders.detect.assess.liars import LiarFigures, agree_by_messages, assess_liars
from standing_orders.detect.assess.tampering import TamperFigures, assess_tampering
from standing_orders.detect.config import DetectConfig
from standing_orders.detect.data.events import DataSet
from standing_orders.detect.data.load import load_more
from standing_orders.detect.learn.foresight import foreseen_shares, validation_batch
from standing_orders.detect.learn.run import KIND, config_of, load_alone, load_team
from standing_orders.detect.metrics import Figures, collapse_of
from standing_orders.detect.standard import Standard
from standing_orders.detect.team import Decisions, Judged, Team, as_streams, make_book
from standing_orders.errors import ConfigError
from standing_orders.runs.loop import latest_of
from standing_orders.voting import Committee

_LATELY = 20  # updates
_TOO_OFTEN = 1.5  # times what is allowed; a price that has settled swings about it


def assess_rules(found: Decisions, data: DataSet, config: DetectConfig) -> Figures:
    """Violation rates and margins of every rule on the test part."""
    book = make_book(config.rules, data.task)
    game = config.game_of(data.test, data.task)
    streams = as_streams(game, data.task, found.actions, np.clip(found.scores, 0, 1))
    # A price here would be the initial one, not the one that was learned.
    return {
        name: {key: value for key, value in metrics.items() if key != "price"}
        for name, metrics in book.judge(streams).metrics.items()
    }


def assess_foresight(team: Team, judged: Judged, data: DataSet) -> Figures:
    """How well the constraint heads foresee each rule's margin on the test part."""
    book = make_book(team.config.rules, data.task)
    if not book.rules:
        return {}
    game = team.config.game_of(data.test, data.task)
    batch = validation_batch(judged, game, data.task, book)
    return foreseen_shares(team.network.heads, batch, book)


@dataclass(frozen=True)
class Evaluation:
    """What a team is worth on the test part of its data."""

    data_name: str
    updates: int  # that the team has had
    iterations: int  # that it was to have
    main_figure: str
    faults: int  # faulty agents that the vote tolerates
    figures: Figures
    liars: list[LiarFigures]  # empty without a vote
    rules: Figures
    foresight: Figures
    shielded: Figures | None
    agreements: list[Figures]  # by kind of liar; empty unless asked for
    tampering: list[TamperFigures]  # by attack on a sensor; empty unless asked for

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"tampering": [one.to_json() for one in self.tampering]}


def evaluate_run(
    path: Path,
    *,
    files: Sequence[Path] = (),
    num_agreements: int = 0,
    batch: int = 1,
    with_tampering: bool = False,
) -> Evaluation:
    """Judge the team of a run folder.

    Args:
        path: the run folder.
        files: labelled events to judge it by instead of its test part; no other file is needed.
        num_agreements: events of the test part that the agents also agree on by messages.
        batch: events that they agree on together.
        with_tampering: judge the test part also with each sensor compromised, in every way.

    Raises:
        VotingError: too few agents for an agreement without trust.
        CheckpointError: the folder holds no such run, or its data have changed.
    """
    folder, checkpoint = latest_of(path, KIND)
    if num_agreements:
        told = config_of(folder).team
        Committee(told.agents, told.faults, NUM_ACTIONS)  # refused here, not after minutes of work
    team, data, standard = _open(path, config_of(folder), files)
    if standard is not None and with_tampering:
        raise ConfigError("tamper: what a sensor says of benign events is taken from the training "
                          "part, which is not there")  # fmt: skip
    config, judged = team.config, team.judge(data.test)
    has_vote, has_heads = config.team.vote == "quorum", config.learn.foresight > 0
    return Evaluation(
        data_name=data.name,
        updates=checkpoint.index,
        iterations=config.learn.iterations or checkpoint.index,
        main_figure=main_figure(data.task),
        faults=config.team.faults,
        figures=assess(team, data, config, judged=judged, standard=standard, with_intervals=True),
        liars=assess_liars(team, judged, data) if has_vote else [],
        rules=assess_rules(judged, data, config),
        foresight=assess_foresight(team, judged, data) if has_heads else {},
        shielded=judged.shielded,
        agreements=agree_by_messages(team, judged, data, num_events=num_agreements, batch=batch),
        tampering=assess_tampering(team, data, config) if with_tampering else [],
    )


def _open(
    path: Path, config: DetectConfig, files: Sequence[Path]
) -> tuple[Team, DataSet, Standard | None]:
    """The team and its events; from the folder alone, if only test files are there, or others."""
    is_there = all(file.exists() for file in config.data)
    if not files and (is_there or not config.test_data):
        return *load_team(path), None
    team, standard = load_alone(path)
    paths = tuple(files) or config.test_data
    test = load_more(config.data_config().model_copy(update={"data": paths}), standard.schema)
    if config.session_end and standard.schema.task == "sessions":
        test = test.with_ends()
    none, name = test.take_sessions([]), paths[0].name
    task = standard.schema.task
    return team, DataSet(name, task, train=none, validation=none, test=test, dropped={}), standard


def collapses(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line if the decisions of the last update are nearly all the same."""
    if not records or "actions" not in records[-1]:
        return []
    said = collapse_of(records[-1]["actions"], records[-1]["team"]["recall"])
    return [f"update {records[-1]['update']}: {said}"] if said else []


def rules_not_kept(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each rule that its learned price does not make the team keep, then advice."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for record in records[-_LATELY:]:
        for price in record["prices"]:
            found.setdefault(price["rule"], []).append(price)
    lines = []
    for name, prices in found.items():
        rates = [one["violation_rate"] for one in prices if one["violation_rate"] is not None]
        rate, allowed = float(np.mean(rates or [0.0])), prices[-1]["allowed"]
        if rate > _TOO_OFTEN * allowed:
            lines.append(
                f"rule `{name}` is not kept: {100 * rate:.1f} % broken on the validation part in "
                f"the last {len(prices)} updates, {100 * allowed:.1f} % allowed, at a price of "
                f"{prices[-1]['next_price']:.1f}"
            )
    advice = (
        "Perhaps it cannot be kept with these events, or beside the other rules: price fewer "
        "(--rules.enforce), lower --rules.target, or raise --rules.price-rate."
    )
    return [*lines, advice] if lines else []
