"""Side by side: what a team is worth against what anyone would try first, over several seeds."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from standing_orders.detect.assess.assess import Figures, Team, assess, assess_rules
from standing_orders.detect.assess.classifiers import Fitted, record_baselines
from standing_orders.detect.assess.stopping import fit_fixed_prefix, session_baselines
from standing_orders.detect.assess.uncertainty import Interval, seed_interval
from standing_orders.detect.config import DetectConfig
from standing_orders.detect.data.events import DataSet
from standing_orders.detect.data.load import load
from standing_orders.detect.learn.trainer import Trainer
from standing_orders.detect.rules import RuleBook
from standing_orders.learn.run import use_one_thread

OnStep = Callable[[str], None]
ONE_AGENT, AVERAGING = "one agent, all views", "plain averaging"
SAMPLED, TEAM = "PPO without rules", "team (as `train` makes it)"
UNPRICED = "team, rules only watched"
PRICED_BY_DEFAULT = "false_alarms"  # the rule that is priced where the config only watches
SAMPLED_ENTROPY = 0.15  # at most: a larger bonus drowns normalised advantages
EQUAL_PREFIX = "fixed prefix, same events seen"
MIN_UPDATES = 20  # a team of fewer has hardly left its initial weights
NEARLY_EQUAL = 0.05  # of the events that the team sees
COLUMNS = {
    "records": ("f1", "f1_at_threshold", "pr_auc", "prevalence", "recall_at_1_percent_fpr",
                "fpr_at_95_percent_recall", "alarms_per_1000_benign", "cost", "cost_gap",
                "unseen_recall"),
    "sessions": ("mean_cost", "mean_events_seen", "detection_rate", "unseen_detection",
                 "mean_delay", "false_alarm_rate", "false_alarms_per_1000", "early_stop_rate",
                 "pr_auc_event", "prevalence_event"),
}  # fmt: skip


@dataclass(frozen=True)
class Contest:
    """Figures of every contestant, one for each seed."""

    task: str
    updates: int  # of each team
    figures: dict[str, list[Figures]]
    rules: dict[str, list[Figures]]  # of each team: what the rules say about their decisions

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


def seeded(config: DetectConfig, index: int) -> DetectConfig:
    """The config of the contest's seed number `index`: another split, other weights and draws."""
    return config.model_copy(
        update={"seed": config.seed + index, "data_seed": config.data_seed + index}
    )


def teams_of(config: DetectConfig) -> dict[str, DetectConfig]:
    """The teams that are trained: the config's own, and others that differ in one thing each.

    Args:
        config: a settled one.
    """
    rules = config.rules
    is_held = rules.mode != "watch" or any("=" in text for text in rules.enforce)
    unheld = rules.model_copy(update={"mode": "watch", "enforce": ()})
    watched = config.model_copy(update={"rules": unheld})
    alone = {"agents": 1, "faults": 0, "views": "all", "vote": "none"}
    entropy = config.learn.entropy
    sampled = {
        "gradient": "sampled",
        "advantages": "agent",
        "entropy": SAMPLED_ENTROPY if entropy is None else min(entropy, SAMPLED_ENTROPY),
    }
    return {
        ONE_AGENT: watched.model_copy(update={"team": config.team.model_copy(update=alone)}),
        SAMPLED: watched.model_copy(update={"learn": config.learn.model_copy(update=sampled)}),
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
    held = rules.model_copy(update={"mode": "lagrange", "enforce": names})
    return {f"team, {' and '.join(names)} priced": config.model_copy(update={"rules": held})}


def train_team(config: DetectConfig, data: DataSet) -> Team:
    """Train without a run folder."""
    trainer = Trainer(config, data)
    while not trainer.is_done:
        trainer.step()
    return Team(trainer.network, config, RuleBook(config.rules.rules(data.task)))


def _contestants(
    config: DetectConfig, data: DataSet, on_step: OnStep
) -> Iterator[tuple[str, Fitted, DetectConfig | None]]:
    teams = teams_of(config)
    for own in teams.values():
        RuleBook(own.rules.rules(data.task))  # wrong rules are refused before the long work
    if data.task == "records":
        baselines = record_baselines(config.costs.table())
    else:
        baselines = session_baselines(config.session_costs)
    for name, fit in baselines.items():
        on_step(name)
        yield name, fit(data.train, data.validation, config.seed), None
    for name, own in teams.items():
        on_step(name)
        team = train_team(own, data)
        yield name, team, own
        if name == TEAM:
            averaged = own.team.model_copy(update={"vote": "average", "faults": 0})
            mean = own.model_copy(update={"team": averaged})
            yield AVERAGING, team.deciding_by(mean), mean


def hold_contest(
    config: DetectConfig, *, num_seeds: int, on_step: OnStep = lambda _: None
) -> Contest:
    """Fit, train and judge everybody on the same data, seed after seed.

    Args:
        config: of the team.
        num_seeds: splits and seeds, at least 1.
        on_step: told what is being worked on.
    """
    use_one_thread()
    contest: Contest | None = None
    for index in range(num_seeds):
        own = seeded(config, index)
        data = load(own.data_config())
        own = own.settled(data.task)
        contest = contest or Contest(data.task, own.learn.iterations, {}, {})

        def tell(what: str, number: int = index + 1) -> None:
            on_step(f"seed {number}/{num_seeds}: {what}")

        for name, decider, team in _contestants(own, data, tell):
            figures = assess(decider, data, own)
            contest.figures.setdefault(name, []).append(figures)
            if team is not None:
                actions, scores = decider.actions(data.test), decider.scores(data.test)
                found = assess_rules(actions, scores, data, team)
                contest.rules.setdefault(name, []).append(found)
        if data.task == "sessions":
            tell(EQUAL_PREFIX)
            seen = contest.figures[TEAM][-1]["mean_events_seen"]
            rule = fit_fixed_prefix(
                data.train, data.validation, own.seed, costs=own.session_costs, mean_events=seen
            )
            contest.figures.setdefault(EQUAL_PREFIX, []).append(assess(rule, data, own))
    assert contest is not None
    order = [name for name in contest.figures if name != TEAM] + [TEAM]
    return replace(contest, figures={name: contest.figures[name] for name in order})
