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
LOSSES = {"policy_loss": "policy", "value_loss": "value", "entropy": "entropy", "kl": "KL"}


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
    with_records = [run for run in runs if run.records]
    if not with_records:
        return doc.section("Training", short="Training")
    many = len(with_records) > 1
    rewards = {"environment": "environment"} if many else REWARDS
    figures = {"strict": "strict", "contested": "contested"} if many else FIGURES
    marks = [] if many else _gate_marks(with_records[0].records)
    chart = doc.grid(
        doc.lines(
            "Reward of an episode",
            _curves(with_records, "reward", rewards),
            x="episodes", y="mean return of a batch", marks=marks,
            note="Environment reward is the score; the alignment bonus only teaches.",
        ),
        doc.lines(
            "Compliance",
            _curves(with_records, "compliance", figures),
            x="episodes", y="share of a batch", form="percent", value_range=(0, 1), marks=marks,
            levels=[("gate", with_records[0].config["gate"]["threshold"])],
            note="Contested: while two or more types are held, the only share that can tell orders "
            "apart. Vertical lines: the gate was measured on fresh episodes (solid: passed).",
        ),
        doc.lines(
            "Entropy of the policy",
            _curves(with_records, "loss", {"entropy": "entropy"}), x="episodes", y="nats",
        ),
        doc.lines(
            "Size of an update",
            _curves(with_records, "loss", {"kl": "KL divergence", "clip_fraction": "clipped"}),
            x="episodes", y="KL, share clipped",
        ),
    )  # fmt: skip
    return doc.section("Training", chart)


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
