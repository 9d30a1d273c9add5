"""A moment of an episode as a board of text: truth on the left, what blue knows on the right."""

import io
import re
from collections.abc import Callable
from dataclasses import dataclass

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from standing_orders.cage2.reward import TENTHS_PER_POINT
from standing_orders.cage2.scenario import HOST_VALUE_TENTHS, SUBNET_OF_HOST, SUBNETS
from standing_orders.envs.frame import Frame, HostView
from standing_orders.rules.compliance import OrderCompliance

TEXT_WIDTH = 110  # of a board that goes into a string or a pipe
_WIDE, _WIDEST = 100, 140  # columns from which on there is room for more
_TALL = 30  # lines from which on there is room between subnets
_BAR = 10  # cells of a probability of 1
_GAP, _TALL_GAP = 2, 3  # columns between the board's own
_LEAST = 4  # columns for decoys
_HEAD = 6  # columns of the word that begins a line
_SHOWN = 0.005  # a smaller probability would be shown as 0 %
_ACCESS_STYLE = ("dim", "yellow", "bold red")
_VERDICT_STYLE = {"compliant": "bold green", "violation": "bold red", "neutral": "dim"}
_MEANING = {"violation": "VIOLATION: breaks the order", "neutral": "neutral: nothing is held"}


def to_text(frame: Frame, width: int = TEXT_WIDTH) -> str:
    """The board as plain text."""
    text = io.StringIO()
    Console(file=text, width=width, color_system=None).print(render(frame, width, _TALL))
    return "\n".join(line.rstrip() for line in text.getvalue().rstrip("\n").split("\n"))


def render(frame: Frame, width: int, height: int) -> RenderableType:
    """The board for rich, in so many columns and lines; 80 x 23 is enough.

    Args:
        frame: the moment.
        width: columns; the fewer, the more of the board's own columns go: subnet, worth and the
            probability of an administrator first; the names of hosts and decoys are cut short.
        height: lines; without room the lines between subnets go.
    """
    service = ("up", "green") if frame.is_service_up else ("DOWN", "bold red")
    figures = f"   reward {frame.reward:g}   return {frame.total:g}   service "
    lines = [Text.assemble((f"step {frame.step}/{frame.horizon}", "bold"), figures, service)]
    if frame.order is not None:
        lines.append(_line("order", "bold", *_ranking(frame)))
    lines += [_line("rule", "bold", rule) for rule in frame.rules]
    lines.append(_line("held", "bold", ", ".join(frame.held_types) or "nothing"))
    verdict = _verdict(frame.verdict) if frame.verdict else ("", "")
    lines.append(_line("blue", "bold blue", frame.blue, "   ", verdict))
    # What came of it matters more than what it was meant for.
    is_short = len(frame.red) + _HEAD > width
    red = re.sub(r" \([^)]*\)", "", frame.red) if is_short else frame.red
    lines.append(_line("red", "bold red", red))
    foot = [] if frame.kept is None else [Text(compliance_text(frame.kept), no_wrap=True)]
    return Group(*lines, _table(frame, width, height), *foot)


def compliance_text(kept: OrderCompliance) -> str:
    """How an order has been kept so far, in a line."""

    def share(value: float | None) -> str:
        return "-" if value is None else f"{100 * value:.0f} %"

    return (
        f"compliance {share(kept.compliance)}, contested {share(kept.contested_compliance)}; "
        f"{_count(kept.fixes, 'fix', 'fixes')}: {kept.compliant} compliant, {kept.neutral} "
        f"neutral, {_count(kept.violations, 'violation', 'violations')}"
    )


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _line(head: str, style: str, *parts: str | tuple[str, str]) -> Text:
    return Text.assemble((f"{head:{_HEAD}}", style), *parts, no_wrap=True, overflow="ellipsis")


def _verdict(verdict: str) -> tuple[str, str]:
    return _MEANING.get(verdict, verdict.upper()), _VERDICT_STYLE[verdict]


def _ranking(frame: Frame) -> list[tuple[str, str]]:
    """The order, with what is held marked."""
    assert frame.order is not None
    parts: list[tuple[str, str]] = []
    for name in frame.order.ranking:
        parts += [(name, "bold red" if name in frame.held_types else ""), (",", "")]
    return parts[:-1]


@dataclass(frozen=True)
class _BoardColumn:
    name: str
    cell: Callable[[HostView], Text]
    from_width: int = 0  # of the terminal


def _host(view: HostView, is_short: bool) -> Text:
    name = view.short_name if is_short else view.name
    style = "bold" if view.is_red_target else "blue" if view.is_blue_target else ""
    return Text(f"{name} <" if view.is_red_target else name, style)


def _chance(chance: float | None, has_bar: bool) -> Text:
    if chance is None or chance < _SHOWN:
        return Text("")
    bar = "#" * round(_BAR * chance) if has_bar else ""
    return Text(f"{100 * chance:3.0f} % {bar}".rstrip(), "magenta")


def _columns(width: int) -> list[_BoardColumn]:
    has_bar = width >= _WIDEST

    def worth(view: HostView) -> Text:
        return Text(f"{HOST_VALUE_TENTHS[view.index] / TENTHS_PER_POINT:g}")

    every = [
        _BoardColumn("host", lambda view: _host(view, width < _WIDE)),
        _BoardColumn("worth", worth, _WIDE),
        _BoardColumn("red holds", lambda view: Text(view.held, _ACCESS_STYLE[view.access])),
        _BoardColumn("decoys", lambda view: Text(", ".join(view.decoys), "green")),
        _BoardColumn("blue sees", lambda view: Text(view.activity.replace("None", ""), "yellow")),
        _BoardColumn("table", lambda view: Text("" if view.table == "No" else view.table, "cyan")),
        _BoardColumn("blue believes", lambda view: _chance(view.held_chance, has_bar)),
        _BoardColumn("as admin", lambda view: _chance(view.admin_chance, has_bar), _WIDEST),
    ]
    return [column for column in every if width >= column.from_width]


def _table(frame: Frame, width: int, height: int) -> Table:
    has_belief = frame.hosts[0].held_chance is not None
    columns = [
        column
        for column in _columns(width)
        if has_belief or column.name not in ("blue believes", "as admin")
    ]
    is_tall = height >= _TALL
    gap = _TALL_GAP if is_tall else _GAP
    table = Table(box=box.SIMPLE_HEAD if is_tall else None, pad_edge=False, padding=(0, 2, 0, 0))
    if width >= _WIDE:
        table.add_column("subnet", no_wrap=True)
    needed = {
        column.name: max(len(column.name), *(len(column.cell(view)) for view in frame.hosts))
        for column in columns
    }
    # Where there is no room the names of decoys are cut, and nothing else.
    spare = width - sum(needed.values()) - gap * (len(columns) + 1)
    if width >= _WIDE:
        spare -= max(map(len, SUBNETS)) + gap
    needed["decoys"] = max(needed["decoys"] + min(spare, 0), _LEAST)
    for name, cells in needed.items():
        table.add_column(name, no_wrap=True, overflow="ellipsis", width=cells)
    before = ""
    for view in frame.hosts:
        subnet = SUBNETS[SUBNET_OF_HOST[view.index]]
        if before and subnet != before:
            table.add_section()
        first = [Text("" if subnet == before else subnet)] if width >= _WIDE else []
        table.add_row(*first, *(column.cell(view) for column in columns))
        before = subnet
    return table
