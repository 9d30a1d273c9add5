"""What a report shows of training runs."""

from collections.abc import Sequence
from typing import Any

from standing_orders.config import ANY_ORDER, NO_ORDER
from standing_orders.report import document as doc
from standing_orders.report.document import Block
from standing_orders.report.reading import Record, Run, curve

REWARDS = {"environment": "environment", "alignment": "alignment bonus", "total": "total"}
FIGURES = {
    "strict": "strict", "contested": "contested", "compliance": "compliance",
    "response": "response rate", "aim": "aim",
}  # fmt: skip


def answer_section(runs: Sequence[Run]) -> Block:
    """What was asked and what came of it, for each run."""
    blocks: list[Block | None] = []
    for run in runs:
        blocks.append(doc.lead(_sentence(run)))
    if len(runs) == 1 and runs[0].records:
        blocks.append(_facts(runs[0]))
    return doc.section("The answer", *blocks, short="Answer")


def last_gate(records: Sequence[Record]) -> Record | None:
    """The last measurement on fresh episodes."""
    return next((r["gate"] for r in reversed(records) if r.get("gate")), None)


def _sentence(run: Run) -> str:
    asked = {
        NO_ORDER: "to defend without an order",
        ANY_ORDER: "to follow whichever of the 120 orders it is told",
    }.get(run.config["order"], f"to follow {run.config['order']}")
    if not run.records:
        return f"{run.name}: a defender was to learn {asked}; the run has no update yet."
    last, gate = run.records[-1], last_gate(run.records)
    ended = last["stopped"] or "the run has not ended"
    said = (
        f"{run.name}: a defender learned {asked} in {last['total_episodes']:,} episodes ({ended})"
    )
    if gate is None:
        kept = last["compliance"].get("strict")
        share = "" if kept is None else f", strict compliance {100 * kept:.1f} %"
        return (
            f"{said}. Its last training batch: return {last['reward']['environment']:.1f}{share}."
        )
    verdict = "passed" if gate["passed"] else "did not pass"
    kept = gate.get("strict")
    judged = gate.get("compliant", 0) + gate.get("violations", 0)
    share = "no judged fix" if kept is None else f"{100 * kept:.1f} % of {judged} judged fixes"
    return (
        f"{said}. On {gate['episodes']} fresh episodes it {verdict} the gate: {share} kept the "
        f"order; return {gate['return']:.1f}."
    )


def _facts(run: Run) -> Block:
    last, gate = run.records[-1], last_gate(run.records)
    figures = gate or last["compliance"]
    source = "fresh episodes" if gate else "last training batch"
    shown: list[tuple[str, Any, str | None]] = [
        ("Episodes", last["total_episodes"], f"and {last['gate_episodes']:,} for the gate"),
        ("Updates", last["update"], last["stopped"]),
        ("Return", gate["return"] if gate else last["reward"]["environment"], source),
    ]
    for name in ("strict", "contested", "response", "aim"):
        value = figures.get(name)
        text = None if value is None else f"{100 * value:.1f} %"
        shown.append((FIGURES[name].capitalize(), text, source))
    return doc.facts(*shown)


def _prefix(runs: Sequence[Run], run: Run) -> str:
    return f"{run.name}: " if len(runs) > 1 else ""


def training_section(runs: Sequence[Run]) -> Block:
    """Rewards, compliance and losses over episodes."""
    runs = [run for run in runs if run.records]
    if not runs:
        return doc.section("Training", short="Training")
    return doc.section(
        "Training",
        doc.grid(
            *(_overlaid(runs) if len(runs) > 1 else _alone(runs[0])),
            doc.lines(
                "Entropy of the policy",
                _curves(runs, "loss", {"entropy": "entropy"}), x="episodes", y="nats",
            ),
            doc.lines(
                "Size of an update",
                _curves(runs, "loss", {"approx_kl": "KL divergence", "clipfrac": "clipped"}),
                x="episodes", y="KL, share clipped",
            ),
        ),
    )  # fmt: skip


def reward_chart(series: Sequence[dict[str, Any]], title: str, **more: Any) -> Block:
    """Some rewards over episodes."""
    return doc.lines(
        title, series, x="episodes", y="mean return of a batch",
        note="Environment reward is the score; the alignment bonus only teaches.", **more,
    )  # fmt: skip


def share_chart(series: Sequence[dict[str, Any]], title: str, run: Run, **more: Any) -> Block:
    """Some compliance figures over episodes."""
    return doc.lines(
        title, series, x="episodes", y="share of a batch", form="percent", value_range=(0, 1),
        levels=[("gate", run.config["gate"]["threshold"])],
        note="Contested: while two or more types are held, the only share that can tell orders "
        "apart. Vertical lines: the gate was measured on fresh episodes (solid: passed).", **more,
    )  # fmt: skip


def _alone(run: Run) -> list[Block]:
    marks = _gate_marks(run.records)
    return [
        reward_chart(_curves([run], "reward", REWARDS), "Reward of an episode", marks=marks),
        share_chart(_curves([run], "compliance", FIGURES), "Compliance", run, marks=marks),
    ]


def _overlaid(runs: Sequence[Run]) -> list[Block | None]:
    """The same of several runs, one figure at a time; gates as marks are named by their run."""
    marks = [
        (place, f"{run.name}: {name}", good)
        for run in runs
        for place, name, good in _gate_marks(run.records)
    ]
    rewards = {
        name: reward_chart(
            _curves(runs, "reward", {key: name}), f"Reward of an episode: {name}", marks=marks
        )
        for key, name in REWARDS.items()
    }
    shares = {
        name: share_chart(
            _curves(runs, "compliance", {key: name}), f"Compliance: {name}", runs[0], marks=marks
        )
        for key, name in FIGURES.items()
    }
    return [doc.choice("Reward", rewards), doc.choice("Figure", shares)]


def _curves(runs: Sequence[Run], group: str, names: dict[str, str]) -> list[dict[str, Any]]:
    return [
        curve(run.records, "total_episodes", f"{group}.{key}", name=f"{_prefix(runs, run)}{name}")
        for run in runs
        for key, name in names.items()
    ]


def _gate_marks(records: Sequence[Record]) -> list[tuple[float, str, bool]]:
    return [
        (
            record["total_episodes"],
            f"gate {'passed' if record['gate']['passed'] else 'not passed'}",
            bool(record["gate"]["passed"]),
        )
        for record in records
        if record.get("gate")
    ][-200:]
