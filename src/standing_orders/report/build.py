"""From run folders to the page: which sections a report has."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from standing_orders.cage2.policy import Policy
from standing_orders.config import ANY_ORDER, NO_ORDER, GameConfig, SimConfig
from standing_orders.errors import ConfigError, DataError, StandingOrdersError
from standing_orders.report import document as doc
from standing_orders.report import parts
from standing_orders.report.document import Block
from standing_orders.report.page import write_page
from standing_orders.report.reading import Run, named_apart, read_run
from standing_orders.report.replays import PolicyMaker, find_episodes, told_otherwise
from standing_orders.rules.orders import Order

Tell = Callable[[str], None]
DEFAULT_ORDER = "critical_first"  # told to a policy that follows any, if nothing else is said
REPORT_NAME = "report.html"


def build_report(
    paths: Sequence[Path],
    *,
    num_episodes: int = 200,
    tell: Tell = lambda _: None,
) -> dict[str, Any]:
    """The document of one or more runs of one kind.

    A run that cannot be read is named on the page, and the others go on.

    Args:
        paths: run folders.
        num_episodes: fresh episodes for the score card and the replay; 0 plays none.
        tell: told what takes a while.

    Raises:
        ConfigError: no run at all, or runs of different kinds.
        CheckpointError, DataError: none of the runs can be read.
    """
    runs, lost = [], []
    for path in paths:
        try:
            runs.append(read_run(path))
        except StandingOrdersError as err:
            lost.append(err)
    if not runs:
        raise lost[0] if lost else ConfigError("name at least one run folder")
    kinds = sorted({run.kind for run in runs})
    if len(kinds) > 1:
        raise ConfigError(f"runs of kinds {' and '.join(kinds)}: one report shows one kind")
    runs = named_apart(runs)
    try:
        sections = _SECTIONS[kinds[0]](runs, num_episodes, tell)
    except (LookupError, TypeError, AttributeError) as err:
        raise DataError(
            f"{', '.join(str(run.path) for run in runs)}: config or journal lack what a report "
            f"needs, or hold something else there ({type(err).__name__}: {err})"
        ) from err
    warnings = [doc.warning(f"left out: {err}") for err in lost] + parts.problems(runs)
    if warnings:
        sections[0]["blocks"][:0] = warnings
    title = " and ".join(run.name for run in runs) if len(runs) < 4 else f"{len(runs)} runs"
    return doc.document(
        f"{_TITLES[kinds[0]]}: {title}",
        "Every figure is from the run folders or from fresh episodes, as said beside it.",
        sections,
    )


def write_report(
    paths: Sequence[Path],
    out: Path,
    *,
    num_episodes: int = 200,
    tell: Tell = lambda _: None,
) -> int:
    """Write the report of some runs and give its size in bytes; see `build_report`."""
    return write_page(out, build_report(paths, num_episodes=num_episodes, tell=tell))


def _train(runs: Sequence[Run], num_episodes: int, tell: Tell) -> list[Block]:
    from standing_orders.report import train  # noqa: PLC0415

    sections = [train.answer_section(runs), train.training_section(runs)]
    if num_episodes:
        sections += _play(runs, [run.path for run in runs], num_episodes, tell)
    return [*sections, parts.how_to_repeat(runs)]


def _search(runs: Sequence[Run], num_episodes: int, tell: Tell) -> list[Block]:
    from standing_orders.report import course, overlay, search  # noqa: PLC0415  # takes seconds

    founds, sections = [], []
    for run in runs:
        try:
            founds.append(search.read_search(run))
        except StandingOrdersError as err:
            sections.append(doc.section(run.name, doc.warning(str(err))))
    if len(founds) > 1:
        sections.append(overlay.overlay_section(founds))
    for found in founds:
        made = [
            search.answer_section(found),
            search.matters_section(found),
            search.board_section(found),
            course.surrogate_section(found),
            course.training_section(found),
        ]
        sections += _titled(made, found.run.name if len(runs) > 1 else None)
    ended = [run for run in runs if (run.path / "best" / "run.json").is_file()]
    if num_episodes and ended:
        sections += _play(ended, [run.path / "best" for run in ended], num_episodes, tell)
    return [*sections, parts.how_to_repeat(runs)]


def _titled(sections: Sequence[Block], name: str | None) -> list[Block]:
    """The same sections, each with the name of its run if there are several.

    The bar at the top then has one entry for each run.
    """
    if name is None:
        return list(sections)
    return [
        section | {"title": f"{section['title']}: {name}", "short": "" if place else name}
        for place, section in enumerate(sections)
    ]


def _detect(runs: Sequence[Run], num_episodes: int, tell: Tell) -> list[Block]:
    from standing_orders.detect.assess.report import evaluate_run  # noqa: PLC0415
    from standing_orders.report import detect  # noqa: PLC0415

    evaluations = {}
    for run in runs if num_episodes else []:
        tell(f"{run.name}: judging the test part")
        try:
            evaluations[run.name] = evaluate_run(run.path).to_json()
        except StandingOrdersError as err:
            run.problems.append(str(err))
    return [
        detect.answer_section(runs, evaluations),
        detect.training_section(runs),
        detect.rules_section(runs),
        detect.test_section(evaluations.get(runs[0].name)),
        parts.how_to_repeat(runs),
    ]


def _compare(runs: Sequence[Run], _num_episodes: int, _tell: Tell) -> list[Block]:
    from standing_orders.report import compare  # noqa: PLC0415

    make = compare.published_sections if runs[0].kind == "published" else compare.sections
    made = [compare.overlay(runs)] if len(runs) > 1 and runs[0].kind == "compare" else []
    for run in runs:
        made += _titled(make(run), run.name if len(runs) > 1 else None)
    return [*made, parts.how_to_repeat(runs)]


def _play(runs: Sequence[Run], policies: Sequence[Path], count: int, tell: Tell) -> list[Block]:
    """Score cards and replays from fresh episodes."""
    from standing_orders.evaluate.card import evaluate  # noqa: PLC0415

    cards, episodes = [], []
    for run, path in zip(runs, policies, strict=True):
        tell(f"{run.name}: playing {count} episodes against each red agent")
        try:
            policy = read_run(path)
            config, order, make = game_of(policy), order_of(policy), policy_maker(path)
            game = GameConfig(**config.model_dump(include=set(GameConfig.model_fields)))
            cards.append(
                evaluate(
                    make(order), game, reds=("b_line", "meander"), num_episodes=max(count, 2),
                    seed=0,
                )
            )  # fmt: skip
            others = [] if order is None else [told_otherwise(make, Order(order).backwards().index)]
            episodes += find_episodes(
                make, config, order=order, num_episodes=min(count, 200), others=others
            )
        except StandingOrdersError as err:
            run.problems.append(f"its policy cannot be played: {err}")
    score = parts.score_cards(cards)
    replay = doc.section("Replay", doc.text(parts.REPLAY_NOTE), doc.replay(episodes))
    return [*([score] if score else []), *([replay] if episodes else [])]


def policy_maker(path: Path, *, is_greedy: bool = False) -> PolicyMaker:
    """What makes the policy of a run, told an order."""
    from standing_orders.evaluate.find import find_policy  # noqa: PLC0415

    def make(told: int | None) -> Policy:
        order = None if told is None else str(Order(told))
        return find_policy(str(path), order=order, is_greedy=is_greedy)

    return make


def game_of(policy: Run) -> SimConfig:
    """The game that a policy was trained for; of a mixed one, that against the first red agent."""
    values = {
        name: policy.config[name] for name in GameConfig.model_fields if name in policy.config
    }
    red = policy.config.get("red", "b_line")
    return SimConfig(**values, red="b_line" if red == "mixed" else red)


def order_of(policy: Run) -> int | None:
    """What a policy is told if nothing else is said; None for one that takes no order."""
    told = policy.config["order"]
    if told == NO_ORDER:
        return None
    return Order.parse(DEFAULT_ORDER if told == ANY_ORDER else told).index


_SECTIONS: dict[str, Callable[[Sequence[Run], int, Tell], list[Block]]] = {
    "train": _train,
    "search": _search,
    "detect": _detect,
    "compare": _compare,
    "published": _compare,
}
_TITLES = {
    "train": "Training",
    "search": "Search for the best order",
    "detect": "Detection team",
    "compare": "Comparison",
    "published": "Published settings",
}
