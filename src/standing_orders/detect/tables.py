"""How a team and a contest of teams look, as tables."""

from collections.abc import Mapping, Sequence

from standing_orders.detect.assess.liars import LiarFigures
from standing_orders.detect.assess.report import Evaluation
from standing_orders.detect.assess.tampering import TamperFigures
from standing_orders.detect.compare import EQUAL_PREFIX, JUDGED_BY, Contest, Verdict
from standing_orders.detect.metrics import EXPECTED, Figures
from standing_orders.stats import Interval, seed_interval
from standing_orders.tables import Column, Table

COLUMNS = {  # of a contest: figures, and what they are called
    "records": {
        "f1": "F1",
        "f1_at_threshold": "F1 thr",
        "pr_auc": "PR-AUC",
        "prevalence": "prevalence",
        "recall_at_1_percent_fpr": "TPR@1%",
        "fpr_at_95_percent_recall": "FPR@95%",
        "alarms_per_1000_benign": "alarms/1000",
        "cost": "cost",
        "cost_gap": "gap",
        "unseen_recall": "unseen",
    },
    "sessions": {
        "mean_cost": "cost",
        "mean_events_seen": "events",
        "detection_rate": "detected",
        "unseen_detection": "unseen detected",
        "mean_delay": "delay",
        "false_alarm_rate": "false alarms",
        "false_alarms_per_1000": "alarms/1000",
        "early_stop_rate": "early",
        "pr_auc_event": "PR-AUC, events",
        "prevalence_event": "prevalence",
    },
}
_SHOWN_ATTACKS = 12  # of those seen in training
_COLUMNS_AT_ONCE = 5  # of a contest: no figure is cut at 120 characters
_FORM = ".4g"


def _columns(*names: str, drop: Mapping[str, int] | None = None) -> tuple[Column, ...]:
    """The first is text, the others are figures; `drop` says which go first without room."""
    drop = drop or {}
    figures = (Column(name, _FORM, drop.get(name, 0)) for name in names[1:])
    return (Column(names[0], is_text=True), *figures)


def _words(name: str) -> str:
    return name.replace("_", " ")


def evaluation_tables(found: Evaluation, where: str) -> list[Table]:
    """Every figure of one team."""
    trained = f"update {found.updates} of {found.iterations}"
    title = f"{where}, {trained}: test part of {found.data_name}"
    tables = figure_tables(title, found.figures)
    if found.liars:
        tables += liar_tables(found.liars, found.faults)
    if found.agreements:
        tables.append(_agreement_table(found.agreements))
    if found.tampering:
        tables.append(_tamper_table(found.tampering))
    return [*tables, _rule_table(found.rules, found.foresight, found.shielded)]


def figure_tables(title: str, figures: Figures) -> list[Table]:
    """Figures one a line; then, where they are known, attacks."""
    rows = tuple(
        (_words(name), value)
        for name, value in figures.items()
        if isinstance(value, int | float) or value is None
    )
    notes: tuple[str, ...] = ()
    if figures.get("interval"):
        low, high = figures["interval"]["low"], figures["interval"]["high"]
        notes = (
            f"95 % interval of the main figure over resampled sessions: {low:.4f} to {high:.4f}",
        )
    tables = [Table(title, _columns("figure", "value"), rows, notes)]
    if all(isinstance(figures.get(name), float) for name in EXPECTED):
        tables.append(_expected_table(figures))
    if figures.get("attacks"):
        tables.append(
            _attack_table(figures["attacks"], "events" if "recall" in figures else "sessions")
        )
    return tables


def _expected_table(figures: Figures) -> Table:
    """The ranges that the published system is expected to reach, beside what is measured."""
    rows = tuple((name, low, high, figures[name]) for name, (low, high) in EXPECTED.items())
    columns = _columns("published range", "from", "to", "measured")
    return Table("expected of the published settings", columns, rows)


def _tamper_table(rows: Sequence[TamperFigures]) -> Table:
    """What a compromised sensor takes, by attack, for the worst of all sensors."""
    lines = tuple(
        (f"{one.kind}, {one.when}, {one.attacker}", one.honest, one.worst, one.lost,
         one.worst_sensor)
        for one in rows
    )  # fmt: skip
    names = ("values, of which events, attacker", "honest", "worst", "lost", "worst sensor")
    return Table("one sensor compromised, the worst of all", _columns(*names), lines)


def _attack_table(attacks: Sequence[Figures], unit: str) -> Table:
    """Attacks unseen in training, all of them, and the most frequent others."""
    known = [one for one in attacks if not one["is_unseen"]]
    left_out = known[_SHOWN_ATTACKS:]
    share = "recall" if unit == "events" else "detection rate"
    listed = [one for one in attacks if one not in left_out]
    rows = tuple(
        (one["attack"], one["count"], one["recall"], "unseen" if one["is_unseen"] else "")
        for one in (*listed, *left_out)
    )
    columns = _columns("attack", unit, share, "in training")
    return Table(
        f"{share} by attack", columns, rows, shown=len(listed), more="--json, or --out FILE"
    )


def _rule_table(rules: Figures, foresight: Figures, shielded: Figures | None) -> Table:
    """What the rules say about decisions."""
    names = ("rule", "obligations", "broken", "rate", "margin mean", "margin min", "foreseen")
    rows = tuple(
        (
            name, found["obligations"], found["violations"], found["violation_rate"],
            found["margin_mean"], found["margin_min"], foresight.get(name),
        )
        for name, found in rules.items()
    )  # fmt: skip
    notes = ["foreseen: share of the margins' variance that the constraint heads explain"]
    if shielded is not None:
        notes.append(f"shield: {shielded['replaced']} of {shielded['decisions']} replaced")
    columns = _columns(*names, drop={"margin mean": 1})
    return Table("rules on the test part", columns, rows, tuple(notes))


def liar_tables(rows: Sequence[LiarFigures], faults: int) -> list[Table]:
    """Each figure of the vote by kind and number of liars."""
    counts = sorted({row.num_liars for row in rows})
    tables = []
    for name in rows[0].figures:
        title = f"{_words(name)} by number of liars, mean (worst choice of who lies)"
        lines = []
        for kind in dict.fromkeys(row.kind for row in rows):
            own = [row.figures[name] for row in rows if row.kind == kind]
            lines.append((kind, *(f"{_number(one.mean)} ({_number(one.worst)})" for one in own)))
        # As many liars as are tolerated are always shown.
        spare = {str(count): count for count in counts if count > faults}
        columns = _columns("liar", *map(str, counts), drop=spare)
        title = f"{title}; faulty agents tolerated: {faults}"
        tables.append(Table(title, columns, tuple(lines)))
    return tables


def _number(value: float | None) -> str:
    return "-" if value is None else format(value, _FORM)


def _agreement_table(rows: Sequence[Figures]) -> Table:
    """What an agreement without a trusted counter came to, by kind of liar."""
    return Table(
        "agreement by messages, as many liars as are tolerated",
        _columns(*rows[0]),
        tuple(tuple(row.values()) for row in rows),
    )


def _show(interval: Interval | None) -> str | None:
    if interval is None:
        return None
    if interval.low != interval.low:  # one seed has no interval
        return f"{interval.mean:.4g}"
    return f"{interval.mean:.4g} ± {interval.high - interval.mean:.2g}"


def contest_tables(contest: Contest) -> list[Table]:
    """Everybody side by side, then what the team is worth beside the baselines."""
    words = COLUMNS[contest.task]
    columns, tables = list(words), []
    for start in range(0, len(columns), _COLUMNS_AT_ONCE):
        shown = columns[start : start + _COLUMNS_AT_ONCE]
        rows = tuple(
            (name, *(_show(contest.interval(name, column)) for column in shown))
            for name in contest.figures
        )
        is_last = start + _COLUMNS_AT_ONCE >= len(columns)
        title = "" if start else _title(contest)
        notes = tuple(_remarks(contest)) if is_last else ()
        tables.append(Table(title, _columns("", *(words[name] for name in shown)), rows, notes))
    tables += _contest_tampering(contest)
    judged = [found for figure in JUDGED_BY[contest.task] if (found := contest.verdicts(figure))]
    verdicts = [_verdict_table(found, words) for found in judged]
    explained = tuple(_explain(found[0], words) for found in judged)
    return [*tables, *verdicts, *([Table("", (), (), explained)] if explained else [])]


def _contest_tampering(contest: Contest) -> list[Table]:
    """What a compromised sensor takes from everybody, by the attacker."""
    if not contest.tampering:
        return []
    attacks = [one["attacker"] for one in next(iter(contest.tampering.values()))[0]]
    rows = []
    for name, seeds in contest.tampering.items():
        cells = []
        for place in range(len(attacks)):
            cells += [
                _show(seed_interval([found[place][key] for found in seeds]))
                for key in ("worst", "lost")
            ]
        rows.append((name, *cells))
    names = [f"{attacker}: {what}" for attacker in attacks for what in ("worst", "lost")]
    title = (
        "one sensor hides the attacks behind benign values: the worst of all sensors, by attacker"
    )
    return [Table(title, _columns("", *names), tuple(rows))]


def _remarks(contest: Contest) -> list[str]:
    lines = [f"rules broken, {name}: {_broken(seeds)}" for name, seeds in contest.rules.items()]
    if contest.unequal_events:
        prefix, team = contest.unequal_events
        lines.append(
            f"note: `{EQUAL_PREFIX}` sees {prefix:.1f} events a session, the team {team:.1f}: no "
            "prefix comes nearer"
        )
    return lines


def _title(contest: Contest) -> str:
    num = contest.num_seeds
    seeds = f"mean over {num} seeds ± half of the 95 % interval" if num > 1 else "one seed"
    title = f"{contest.task}: test part, {seeds}"
    if not contest.is_trial:
        return title
    return (
        f"A TRIAL: teams of {contest.updates} updates have learned next to nothing, and their "
        f"figures mean nothing\n{title}"
    )


def _broken(found: Sequence[Figures]) -> str:
    rates = {rule: [one[rule]["violation_rate"] for one in found] for rule in found[0]}
    return ", ".join(
        f"{rule} {100 * sum(values) / len(values):.1f} %"
        for rule, values in rates.items()
        if None not in values
    )


def _verdict_table(found: Sequence[Verdict], words: Mapping[str, str]) -> Table:
    title = f"{words[found[0].figure]}, team minus each baseline, the best of these first"
    rows = tuple((one.baseline, _show(one.difference), one.outcome) for one in found)
    return Table(title, _columns("", "difference", "team"), rows)


def _explain(best: Verdict, words: Mapping[str, str]) -> str:
    outcomes = {
        "better": "the team is better",
        "worse": "the team is WORSE",
        "no difference": f"no difference that {best.difference.num} seeds show",
        "one seed": "one seed shows nothing",
    }
    return (
        f"{words[best.figure]}: the best baseline is {best.baseline} with {best.mean:.4g}; team "
        f"minus it {_show(best.difference)}: {outcomes[best.outcome]}"
    )
