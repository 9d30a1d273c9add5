"""Side by side: what a team is worth against what anyone would try first, over several seeds."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from standing_orders.detect.assess import Figures, Team, assess, assess_rules
from standing_orders.detect.classifiers import Fitted, record_baselines
from standing_orders.detect.data import load
from standing_orders.detect.enforcement import RuleBook
from standing_orders.detect.events import DataSet
from standing_orders.detect.settings import DetectConfig
from standing_orders.detect.stopping import fit_fixed_prefix, session_baselines
from standing_orders.detect.trainer import Trainer
from standing_orders.detect.uncertainty import Interval, seed_interval
from standing_orders.learn.run import use_one_thread

OnStep = Callable[[str], None]
ONE_AGENT, AVERAGING = "one agent, all views", "plain averaging"
NO_RULES, TEAM = "team without rules", "team"
PRICED_BY_DEFAULT = "false_alarms"  # the rule of the team where the config only watches
EQUAL_PREFIX = "fixed prefix, same events seen"
COLUMNS = {
    "records": ("f1", "f1_at_threshold", "pr_auc", "recall_at_1_percent_fpr",
                "fpr_at_95_percent_recall", "alarms_per_1000_benign", "cost", "cost_gap",
                "unseen_recall"),
    "sessions": ("mean_cost", "mean_events_seen", "detection_rate", "mean_delay",
                 "false_alarm_rate", "false_alarms_per_1000", "early_stop_rate", "pr_auc_event"),
}  # fmt: skip


@dataclass(frozen=True)
class Contest:
    """Figures of every contestant, one for each seed."""

    task: str
    figures: dict[str, list[Figures]]
    rules: dict[str, list[Figures]]  # of the teams: what the rules say about their decisions

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


def seeded(config: DetectConfig, index: int) -> DetectConfig:
    """The config of the contest's seed number `index`: another split, other weights and draws."""
    return config.model_copy(
        update={"seed": config.seed + index, "data_seed": config.data_seed + index}
    )


def teams_of(config: DetectConfig) -> dict[str, DetectConfig]:
    """The teams that are trained: one agent that sees all, and the team with and without rules."""
    watched = config.rules.model_copy(update={"mode": "watch"})
    alone = {"agents": 1, "faults": 0, "views": "all", "vote": "none"}
    held = config.rules
    if held.mode == "watch" and (held.own or held.defaults):
        # Rules that contradict each other drive their prices up for ever, so not all at once.
        names = tuple(text.partition(":")[0].strip() for text in held.own) or (PRICED_BY_DEFAULT,)
        update = {"mode": "lagrange", "enforce": held.enforce or names}
        held = held.model_copy(update=update)
    return {
        ONE_AGENT: config.model_copy(
            update={"team": config.team.model_copy(update=alone), "rules": watched}
        ),
        NO_RULES: config.model_copy(update={"rules": watched}),
        TEAM: config.model_copy(update={"rules": held}),
    }


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
        if name == NO_RULES:
            averaged = own.team.model_copy(update={"vote": "average", "faults": 0})
            mean = own.model_copy(update={"team": averaged})
            yield AVERAGING, team.deciding_by(mean), mean


def hold_contest(
    config: DetectConfig, *, num_seeds: int, on_step: OnStep = lambda _: None
) -> Contest:
    """Fit, train and judge everybody on the same data, seed after seed.

    Args:
        config: of the team. If its rules are only watched, the team is the one with a learned
            price on those of the user's own, or on the default rule about false alarms.
        num_seeds: splits and seeds, at least 1.
        on_step: told what is being worked on.
    """
    use_one_thread()
    contest: Contest | None = None
    for index in range(num_seeds):
        own = seeded(config, index)
        data = load(own.data_config())
        own = own.settled(data.task)
        contest = contest or Contest(data.task, {}, {})

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
