"""Side by side: what a team is worth against what anyone would try first, over several seeds."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from standing_orders.detect.assess.baselines import Baselines, Decider
from standing_orders.detect.assess.figures import LOWER_IS_BETTER, assess
from standing_orders.detect.assess.report import assess_rules
from standing_orders.detect.assess.tampering import HIDING, assess_tampering
from standing_orders.detect.config import DetectConfig
from standing_orders.detect.data.events import DataSet
from standing_orders.detect.data.load import load
from standing_orders.detect.learn.trainer import Trainer, budget_of
from standing_orders.detect.metrics import Figures
from standing_orders.detect.team import Team, make_book
from standing_orders.learn.ppo import use_one_thread
from standing_orders.stats import Interval, seed_interval

OnStep = Callable[[str], None]
ONE_AGENT, AVERAGING = "one agent, all views", "plain averaging"
SAMPLED, TEAM = "PPO without rules", "team (as `train` makes it)"
UNPRICED = "team, rules only watched"
PRICED_BY_DEFAULT = "false_alarms"  # the rule that is priced where the config only watches
SAMPLED_ENTROPY = 0.15  # at most: a larger bonus drowns normalised advantages
EQUAL_PREFIX = "fixed prefix, same events seen"
MIN_UPDATES = 20  # a team of fewer has hardly left its initial weights
NEARLY_EQUAL = 0.05  # of the events that the team sees
JUDGED_BY = {"records": ("f1", "cost"), "sessions": ("mean_cost",)}


@dataclass(frozen=True)
class Contest:
    """Figures of every contestant, one for each seed."""

    task: str
    updates: int  # of each team
    figures: dict[str, list[Figures]]
    rules: dict[str, list[Figures]]  # of each team: what the rules say about their decisions
    tampering: dict[str, list[list[Figures]]] = field(default_factory=dict)  # by attack, if asked

    @property
    def is_trial(self) -> bool:
        """Whether the teams have learned too little for their figures to mean anything."""
        return self.updates < MIN_UPDATES

    @property
    def num_seeds(self) -> int:
        """Number of splits and seeds."""
        return len(self.figures[TEAM])

    @property
    def baselines(self) -> tuple[str, ...]:
        """Contestants that are no teams."""
        return tuple(name for name in self.figures if name not in self.rules)

    def interval(self, name: str, column: str) -> Interval | None:
        """Mean and 95 % interval over the seeds; None if some seed has no such figure."""
        values = [figures[column] for figures in self.figures[name]]
        return None if None in values else seed_interval(values)

    def difference(self, name: str, other: str, column: str) -> Interval | None:
        """The same of the difference of two contestants, seed by seed."""
        pairs = zip(self.figures[name], self.figures[other], strict=True)
        values = [(one[column], two[column]) for one, two in pairs]
        if any(None in pair for pair in values):
            return None
        return seed_interval([one - two for one, two in values])

    @property
    def unequal_events(self) -> tuple[float, float] | None:
        """Events that the prefix and the team see, where they should be as many but are not."""
        if EQUAL_PREFIX not in self.figures:
            return None
        prefix, team = (
            float(np.mean([figures["mean_events_seen"] for figures in self.figures[name]]))
            for name in (EQUAL_PREFIX, TEAM)
        )
        return (prefix, team) if abs(prefix - team) > NEARLY_EQUAL * team else None

    def verdicts(self, figure: str) -> "list[Verdict]":
        """The team beside each baseline that has this figure, the best baseline first.

        Which one is best is known from the same test parts, so the first verdict rather favours the
        baselines.
        """
        found = []
        for name in self.baselines:
            mean, gap = self.interval(name, figure), self.difference(TEAM, name, figure)
            if mean is not None and gap is not None:
                found.append(Verdict(figure, name, mean.mean, gap))
        return sorted(found, key=lambda one: one.mean, reverse=figure not in LOWER_IS_BETTER)

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data, with the verdicts."""
        found = [one for figure in JUDGED_BY[self.task] for one in self.verdicts(figure)]
        return {
            "task": self.task,
            "updates": self.updates,
            "is_trial": self.is_trial,
            "contestants": self.figures,
            "rules": self.rules,
            "tampering": self.tampering,
            "verdicts": [one.to_json() for one in found],
        }


@dataclass(frozen=True)
class Verdict:
    """The team beside one baseline."""

    figure: str
    baseline: str
    mean: float  # of the baseline
    difference: Interval  # team minus baseline, seed by seed

    @property
    def outcome(self) -> Literal["better", "worse", "no difference", "one seed"]:
        """What the seeds show about the team."""
        gap = self.difference
        if gap.num == 1:
            return "one seed"
        if gap.low <= 0 <= gap.high:
            return "no difference"
        return "better" if (gap.mean < 0) == (self.figure in LOWER_IS_BETTER) else "worse"

    def to_json(self) -> dict[str, Any]:
        """Plain data; the interval of one seed is left out."""
        gap = self.difference
        return {
            "figure": self.figure,
            "baseline": self.baseline,
            "difference": gap.mean,
            "interval": None if gap.num == 1 else [gap.low, gap.high],
            "team": self.outcome,
        }


def seeded(config: DetectConfig, index: int) -> DetectConfig:
    """The config of the contest's seed number `index`: another split, other weights and draws."""
    return config.model_copy(
        update={"seed": config.seed + index, "data_seed": config.data_seed + index}
    )


def teams_of(config: DetectConfig) -> dict[str, DetectConfig]:
    """The teams that are trained: a settled config's own, and others that differ in one thing."""
    rules = config.rules
    is_held = rules.mode != "watch" or any("=" in text for text in rules.enforce)
    watched = config.with_part("rules", mode="watch", enforce=())
    entropy = config.learn.entropy
    entropy = SAMPLED_ENTROPY if entropy is None else min(entropy, SAMPLED_ENTROPY)
    return {
        ONE_AGENT: watched.with_part("team", agents=1, faults=0, views="all", vote="none"),
        SAMPLED: watched.with_part(
            "learn", gradient="sampled", advantages="agent", entropy=entropy
        ),
        TEAM: config,
        **({UNPRICED: watched} if is_held else _priced(config)),
    }


def _priced(config: DetectConfig) -> dict[str, DetectConfig]:
    """The team with a learned price on rules that the config only watches, by name."""
    rules = config.rules
    # Rules that contradict each other drive their prices up for ever, so not all at once.
    own = tuple(text.partition(":")[0].strip() for text in rules.own)
    names = rules.enforce or own or (PRICED_BY_DEFAULT,) * rules.defaults
    if not names:
        return {}
    held = config.with_part("rules", mode="lagrange", enforce=names)
    return {f"team, {' and '.join(names)} priced": held}


def train_team(config: DetectConfig, data: DataSet) -> Team:
    """Train without a run folder; the team decides under its shield."""
    trainer = Trainer(config, data)
    while not trainer.is_done:
        trainer.step()
    book = make_book(trainer.config.rules, data.task)
    return Team(trainer.network, trainer.config, data.task, book)


def _contestants(
    config: DetectConfig, data: DataSet, on_step: OnStep
) -> Iterator[tuple[str, Decider]]:
    teams = teams_of(config)
    for own in teams.values():
        make_book(own.rules, data.task)  # wrong rules are refused before the long work
    baselines = Baselines(data, config)
    for name in baselines.names:
        on_step(name)
        yield name, baselines.fit(name)
    for name, own in teams.items():
        on_step(name)
        team = train_team(own, data)
        yield name, team
        if name == TEAM:
            mean = own.with_part("team", vote="average", faults=0)
            yield AVERAGING, Team(team.network, mean, data.task)


def hold_contest(
    config: DetectConfig,
    *,
    num_seeds: int,
    with_tampering: bool = False,
    on_step: OnStep = lambda _: None,  # told what is being worked on
) -> Contest:
    """Fit, train and judge everybody on the same data, split after split, seed after seed.

    Also with each sensor compromised, hiding attacks, if asked to.
    """
    use_one_thread()
    contest: Contest | None = None
    for index in range(num_seeds):
        own = seeded(config, index)
        data = load(own.data_config())
        own = own.settled(data.task)
        contest = contest or Contest(data.task, budget_of(own, data), {}, {})

        def tell(what: str, number: int = index + 1) -> None:
            on_step(f"seed {number}/{num_seeds}: {what}")

        for name, decider in _contestants(own, data, tell):
            judged = decider.judge(data.test)
            figures = assess(decider, data, own, judged=judged)
            contest.figures.setdefault(name, []).append(figures)
            if isinstance(decider, Team):
                found = assess_rules(judged, data, decider.config)
                contest.rules.setdefault(name, []).append(found)
            if with_tampering:
                tell(f"{name}, a sensor compromised")
                lost = assess_tampering(decider, data, own, attacks=HIDING)
                contest.tampering.setdefault(name, []).append([one.to_json() for one in lost])
        if data.task == "sessions":
            tell(EQUAL_PREFIX)
            seen = contest.figures[TEAM][-1]["mean_events_seen"]
            rule = Baselines(data, own).fixed_prefix(mean_events=seen)
            contest.figures.setdefault(EQUAL_PREFIX, []).append(assess(rule, data, own))
    assert contest is not None
    order = [name for name in contest.figures if name != TEAM] + [TEAM]
    return replace(contest, figures={name: contest.figures[name] for name in order})
