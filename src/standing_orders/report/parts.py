"""Sections that reports of several kinds of run have in common."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from standing_orders.report import document as doc
from standing_orders.report.document import Block
from standing_orders.report.reading import (
    Run,
    flatten,
    repeat_command,
    setting_text,
    settings_of,
)

if TYPE_CHECKING:
    from standing_orders.evaluate.card import ScoreCard

# Mean return by red agent at 30, 50 and 100 steps. Cardiff: first of the CAGE Challenge 2
# leaderboard; best cell: the best published figure of each cell, whoever has it.
HORIZONS = (30, 50, 100)
PUBLISHED = {
    "Cardiff (leaderboard, 1st)": {
        "b_line": (-3.47, -6.41, -13.76),
        "meander": (-5.64, -8.69, -16.60),
    },
    "best published cell": {
        "b_line": (-3.47, -5.85, -11.39),
        "meander": (-5.64, -8.69, -16.60),
    },
}
REPLAY_NOTE = (
    "The same number is the same attack, draw for draw: a fork shows what would have come of it "
    "under another order. Truth is what red really holds; blue sees only the alerts of its sensors "
    "and its own table."
)


def how_to_repeat(runs: Sequence[Run]) -> Block:
    """Commands, versions, and settings that differ from the preset, or between the runs."""
    blocks: list[Block | None] = []
    for run in runs:
        settings = settings_of(run)
        blocks.append(doc.code(repeat_command(run, settings), title=run.name))
        if len(runs) == 1:
            blocks.append(_changes_table(settings.preset, settings.changed))
    if len(runs) > 1:
        blocks.append(_differences_table(runs))
    blocks.append(_versions_table(runs))
    return doc.section("How to repeat it", *blocks, short="Repeat")


def _changes_table(preset: str | None, changed: dict[str, tuple[Any, Any]]) -> Block:
    base = "the defaults" if preset is None else f"preset {preset}"
    if not changed:
        return doc.text(f"All settings are those of {base}.")
    return doc.table(
        [doc.column("setting"), doc.column("this run", wrap=True), doc.column(base, wrap=True)],
        [[name, setting_text(own), setting_text(other)] for name, (own, other) in changed.items()],
        title=f"Settings that differ from {base}",
    )


def _differences_table(runs: Sequence[Run]) -> Block:
    flat = [flatten(run.config) for run in runs]
    names = [
        name
        for name in dict.fromkeys(name for one in flat for name in one)
        if len({setting_text(one.get(name)) for one in flat}) > 1
    ]
    if not names:
        return doc.text("All settings of these runs are equal.")
    return doc.table(
        [doc.column("setting"), *(doc.column(run.name, wrap=True) for run in runs)],
        [[name, *(setting_text(one.get(name)) for one in flat)] for name in names],
        title="Settings in which the runs differ",
    )


def _versions_table(runs: Sequence[Run]) -> Block | None:
    flat = [flatten(run.versions) for run in runs]
    names = list(dict.fromkeys(name for one in flat for name in one))
    if not names:
        return None
    return doc.table(
        [doc.column("software"), *(doc.column(run.name, wrap=True) for run in runs)],
        [[name, *(setting_text(one.get(name)) for one in flat)] for name in names],
        title="Made with",
    )


def problems(runs: Sequence[Run]) -> list[Block]:
    """A warning for everything that a reader must know about the folders."""
    return [doc.warning(f"{run.name}: {problem}") for run in runs for problem in run.problems]


def score_cards(cards: Sequence["ScoreCard"]) -> Block | None:
    """Mean return by red agent and horizon, with the published records beside it."""
    rows: list[list[Any]] = []
    for card in cards:
        for red in dict.fromkeys(score.red for score in card.scores):
            row: list[Any] = [card.policy, red]
            for horizon in HORIZONS:
                score = card.score(red, horizon)
                low, high = score.interval
                row += [round(score.mean, 2), f"{low:.2f} to {high:.2f}"]
            rows.append(row)
    if not rows:
        return None
    game = cards[0].game
    is_standard = game.head_start == 0 and game.red_tempo == 1
    if is_standard:
        for name, cells in PUBLISHED.items():
            for red, values in cells.items():
                rows.append([name, red, *(cell for value in values for cell in (value, ""))])
    names = [name for h in HORIZONS for name in (f"{h} steps", "95 %")]
    columns = [doc.column("policy", wrap=True), doc.column("red")]
    columns += [doc.column(n, None if n == "95 %" else "two") for n in names]
    note = (
        f"Mean return over {cards[0].num_episodes} fresh episodes for each red agent, seed "
        f"{cards[0].seed}, rules {game.rules}; environment reward only."
    )
    if not is_standard:
        note += (
            f" Red begins {game.head_start} steps ahead and acts {game.red_tempo} "
            f"{'times' if game.red_tempo > 1 else 'time'} a step here, so that the published "
            "records, which are of the standard game, do not compare."
        )
    else:
        note += " The published records are of the challenge's own rules, leaderboard-2022."
    return doc.section("Score card", doc.table(columns, rows, note=note), short="Score")
