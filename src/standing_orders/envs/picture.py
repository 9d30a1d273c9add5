"""A moment of an episode as a picture: the network twice, as it is and as blue sees it.

It is drawn as the replay draws it: the same places, colours and marks. Pillow is needed only here.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.scenario import (
    OP_SERVER0,
    SUBNET_OF_HOST,
    SUBNET_TARGET,
    SUBNETS,
    USER0,
    WAY_OF_RED,
)
from standing_orders.envs.board import compliance_text
from standing_orders.envs.frame import Frame, HostView
from standing_orders.errors import ConfigError

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

# Sizes in pixels, as in the page's network.js.
_CHIP_WIDTH, _CHIP_HEIGHT, _CHIP_GAP, _CHIP_LEFT, _CHIP_TOP = 124, 46, 9, 8, 32
_NET_WIDTH, _NET_HEIGHT, _COLUMN, _INNER = 454, 316, 157, 140
_MARGIN, _HEAD = 12, 112
WIDTH, HEIGHT = 2 * _NET_WIDTH + 3 * _MARGIN, _HEAD + _NET_HEIGHT + _MARGIN  # both even: for video
# The page's light colours.
_INK, _MUTED, _PAPER, _LINE = "#171b20", "#525b66", "#ffffff", "#d9dde2"
_BLUE, _RED, _GREEN, _AMBER, _VIOLET = "#1c5bb8", "#b3261e", "#1b6e43", "#8a5200", "#6d3bb0"
_SUBNET = "#eef1f5"
_TRUTH = (("#ffffff", "#b9c0c8"), ("#fde3b0", "#c98a12"), ("#f6c2bc", "#b3261e"))  # by access
_SEEN, _DOUBT = ("#e3d8f5", "#6d3bb0"), ("#e6e9ed", "#525b66")
_BELIEVED = {"No": "", "Unknown": "unclear", "User": "user?", "Privileged": "admin?"}
_VERDICT = {"compliant": _GREEN, "violation": _RED, "neutral": _MUTED}


def check_pillow() -> None:
    """Refuse a picture that cannot be drawn.

    Raises:
        ConfigError: Pillow is not installed.
    """
    if find_spec("PIL") is None:
        raise ConfigError(
            "render_mode 'rgb_array' draws with Pillow, which is not installed: "
            'pip install "standing-orders[video]"'
        )


def draw(frame: Frame) -> NDArray[np.uint8]:  # (HEIGHT, WIDTH, 3)
    """The moment as a picture."""
    from PIL import Image, ImageDraw  # noqa: PLC0415

    picture = Image.new("RGB", (WIDTH, HEIGHT), _PAPER)
    pen = _Pen(ImageDraw.Draw(picture))
    _draw_head(pen, frame)
    for place, kind in enumerate(("truth", "view")):
        left = _MARGIN + place * (_NET_WIDTH + _MARGIN)
        _draw_network(pen.moved(left, _HEAD), frame, is_truth=kind == "truth")
    return np.asarray(picture)


class _Pen:
    """Draws relative to a place."""

    def __init__(self, on: "ImageDraw", x: float = 0, y: float = 0) -> None:
        self._on, self._x, self._y = on, x, y

    def moved(self, x: float, y: float) -> "_Pen":
        return _Pen(self._on, self._x + x, self._y + y)

    def text(self, x: float, y: float, text: str, colour: str = _INK, *, size: int = 12,
             anchor: str = "ls") -> float:  # fmt: skip
        """Write on a base line; gives where it ends."""
        from PIL import ImageFont  # noqa: PLC0415

        font = ImageFont.load_default(size)
        self._on.text((self._x + x, self._y + y), text, colour, font, anchor=anchor)
        return x + float(self._on.textlength(text, font))

    def box(self, x: float, y: float, width: float, height: float, *, radius: float = 7,
            fill: str | None = None, line: str | None = None, thick: int = 1) -> None:  # fmt: skip
        corners = (self._x + x, self._y + y, self._x + x + width, self._y + y + height)
        self._on.rounded_rectangle(corners, radius, fill, line, thick)

    def area(self, points: list[tuple[float, float]], colour: str) -> None:
        self._on.polygon(self._moved(points), colour)

    def line(self, points: list[tuple[float, float]], colour: str) -> None:
        self._on.line(self._moved(points), colour, 2)

    def _moved(self, points: list[tuple[float, float]]) -> Any:
        return [(self._x + x, self._y + y) for x, y in points]


def _draw_head(pen: _Pen, frame: Frame) -> None:
    service = "up" if frame.is_service_up else "DOWN"
    pen.text(_MARGIN, 20, f"step {frame.step} of {frame.horizon}     reward {frame.reward:g}     "
             f"return {frame.total:g}     service {service}", size=15)  # fmt: skip
    end = pen.text(_MARGIN, 42, "blue", _BLUE, size=13)
    end = pen.text(_MARGIN + 40, 42, frame.blue, size=13)
    if frame.verdict:
        pen.text(end + 14, 42, frame.verdict, _VERDICT[frame.verdict], size=13)
    pen.text(_MARGIN, 62, "red", _RED, size=13)
    pen.text(_MARGIN + 40, 62, frame.red, size=13)
    if frame.order is not None and frame.kept is not None:
        end = pen.text(_MARGIN, 82, "order", _MUTED, size=13) + 8
        for name in frame.order.ranking:
            end = pen.text(end, 82, name, _RED if name in frame.held_types else _INK, size=13) + 12
        pen.text(WIDTH - _MARGIN, 82, compliance_text(frame.kept), _MUTED, anchor="rs")
    pen.text(_MARGIN, _HEAD - 8, "the truth", _MUTED)
    pen.text(2 * _MARGIN + _NET_WIDTH, _HEAD - 8, "what blue sees, and believes (bars)", _MUTED)


def _draw_network(pen: _Pen, frame: Frame, *, is_truth: bool) -> None:
    for place, subnet in enumerate(WAY_OF_RED):
        pen.box(place * _COLUMN, 1, _INNER, _NET_HEIGHT - 2, radius=10, fill=_SUBNET, line=_LINE)
        middle = place * _COLUMN + _INNER / 2
        pen.text(middle, 20, SUBNETS[subnet], _MUTED, anchor="ms")
    for view in frame.hosts:
        chip = pen.moved(*_place(view.index))
        (_draw_truth if is_truth else _draw_view)(chip, view, frame)
        chip.text(8, 18, view.name, size=13)
        if view.is_blue_target:
            chip.box(-3, -3, _CHIP_WIDTH + 6, _CHIP_HEIGHT + 6, radius=9, line=_BLUE, thick=3)
    if is_truth and frame.step:
        _draw_attack(pen, frame.red_target)


def _place(host: int) -> tuple[int, int]:
    """Upper left corner of a host's chip."""
    subnet = SUBNET_OF_HOST[host]
    row = int((SUBNET_OF_HOST[:host] == subnet).sum())
    column = WAY_OF_RED.index(int(subnet))
    return column * _COLUMN + _CHIP_LEFT, _CHIP_TOP + row * (_CHIP_HEIGHT + _CHIP_GAP)


def _draw_truth(chip: _Pen, view: HostView, frame: Frame) -> None:
    is_foothold = view.index == USER0 and view.sessions <= 1
    fill, line = _TRUTH[1 if is_foothold else view.access]
    chip.box(0, 0, _CHIP_WIDTH, _CHIP_HEIGHT, fill=fill, line=line)
    text = "foothold" if is_foothold else view.held.lower()
    if view.index == OP_SERVER0 and not frame.is_service_up:
        text = "service down"
    chip.text(8, 35, text, size=11)
    for number in range(len(view.decoys)):
        x = _CHIP_WIDTH - 9 - number * 11
        chip.area([(x, 8), (x + 4.5, 12.5), (x, 17), (x - 4.5, 12.5)], _GREEN)


def _draw_view(chip: _Pen, view: HostView, _: Frame) -> None:
    is_seen, is_doubt = view.table in ("User", "Privileged"), view.table == "Unknown"
    fill, line = _SEEN if is_seen else _DOUBT if is_doubt else _TRUTH[0]
    chip.box(0, 0, _CHIP_WIDTH, _CHIP_HEIGHT, fill=fill, line=line)
    chip.text(8, 35, _BELIEVED[view.table], size=11)
    if view.activity != "None":
        colour = _RED if view.activity == "Exploit" else _AMBER
        chip.text(_CHIP_WIDTH - 8, 35, view.activity.lower(), colour, anchor="rs")
    if view.held_chance is not None:
        whole = _CHIP_WIDTH - 16
        chip.box(8, 39.5, whole, 3.5, radius=1, fill=_LINE)
        if round(whole * view.held_chance):
            chip.box(8, 39.5, whole * view.held_chance, 3.5, radius=1, fill=_VIOLET)


def _draw_attack(pen: _Pen, target: int) -> None:
    """A ring around red's target, and an arrow to it from the foothold, where its actions start."""
    if target < 0:
        return
    if target >= SUBNET_TARGET:
        column = WAY_OF_RED.index(target - SUBNET_TARGET)
        pen.box(column * _COLUMN + 3, 4, _INNER - 6, _NET_HEIGHT - 8, radius=8, line=_RED, thick=2)
        return
    x, y = _place(target)
    pen.box(x - 6, y - 6, _CHIP_WIDTH + 12, _CHIP_HEIGHT + 12, radius=11, line=_RED, thick=2)
    if target == USER0:
        return
    from_x, from_y = _place(USER0)
    start = (from_x + _CHIP_WIDTH + 3, from_y + _CHIP_HEIGHT / 2)
    middle = y + _CHIP_HEIGHT / 2
    if x == from_x:
        edge = x + _CHIP_WIDTH + 6
        pen.line([start, (edge + 6, start[1]), (edge + 6, middle), (edge, middle)], _RED)
        pen.area([(edge, middle), (edge + 7, middle - 4), (edge + 7, middle + 4)], _RED)
    else:
        pen.line([start, (x - 6, middle)], _RED)
        pen.area([(x - 6, middle), (x - 14, middle - 5), (x - 14, middle + 5)], _RED)
