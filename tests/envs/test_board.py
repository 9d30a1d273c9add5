"""The board fits any terminal, and the picture shows what the board says."""

from dataclasses import replace

import numpy as np
import pytest

from standing_orders.cage2.actions import encode
from standing_orders.cage2.scenario import HOSTS
from standing_orders.envs.board import to_text
from standing_orders.envs.frame import Frame
from standing_orders.envs.picture import HEIGHT, WIDTH, draw
from standing_orders.envs.single import Cage2Env


def late(steps: int = 1, action: str = "Restore", host: str = "User1", **options: object) -> Frame:
    env = Cage2Env(red="b_line", head_start=20, order="critical_first", belief=True, **options)
    env.reset(seed=0)
    for _ in range(steps):
        env.step(encode(action, host))
    return env.frame()


@pytest.mark.parametrize("width", [80, 110, 160])
def test_no_line_is_wider_than_the_terminal_and_every_host_has_one(width: int) -> None:
    lines = to_text(late(), width).splitlines()
    assert max(map(len, lines)) <= width
    hosts = [view.short_name if width < 100 else view.name for view in late().hosts]
    assert all(any(f" {host} " in f"{line} " for line in lines) for host in hosts)


def test_only_the_names_of_decoys_are_cut_where_there_is_no_room() -> None:
    env = Cage2Env(red="b_line", head_start=20, order="critical_first", belief=True)
    env.reset(seed=0)
    for kind in ("DecoyApache", "DecoyTomcat", "DecoyVsftpd", "DecoyHarakaSMPT"):
        env.step(encode(kind, "Op_Host0"))
    lines = to_text(env.frame(), 80).splitlines()
    head = next(line for line in lines if "blue believes" in line)
    assert "red holds" in head
    assert [line for line in lines if "…" in line and "Apache" not in line] == []
    assert any("ADMIN (foothold)" in line for line in lines)


def test_short_names_stay_different() -> None:
    names = [view.short_name for view in late().hosts]
    assert len(set(names)) == len(HOSTS)
    assert "Ent0" in names


def test_a_fix_that_breaks_the_order_is_said_to() -> None:
    frame = late()
    assert frame.verdict == "violation"
    text = to_text(frame)
    assert "VIOLATION: breaks the order" in text
    assert "1 fix: 0 compliant, 0 neutral, 1 violation" in text
    assert "held  op_server, enterprise" in text  # as they rank


def test_a_clean_start_has_no_verdict_and_no_compliance() -> None:
    text = to_text(late(0))
    assert "VIOLATION" not in text
    assert "compliance -, contested -; 0 fixes" in text


def test_what_blue_believes_is_shown_beside_the_truth() -> None:
    frame = late(3, "Analyse", "Op_Server0")
    certain = [v for v in frame.hosts if v.held_chance is not None and v.held_chance > 0.995]
    assert certain
    assert "100 %" in to_text(frame)


def test_the_picture_is_a_picture_that_changes() -> None:
    one, two = draw(late(0)), draw(late(1))
    assert one.shape == (HEIGHT, WIDTH, 3)
    assert one.dtype == np.uint8
    assert (HEIGHT % 2, WIDTH % 2) == (0, 0)  # what video encoders take
    assert (one != two).any()
    assert len(np.unique(one.reshape(-1, 3), axis=0)) > 20


def test_an_admin_is_red_in_the_truth_and_not_in_blues_view() -> None:
    picture = draw(late(0))
    is_admin = (picture == (0xF6, 0xC2, 0xBC)).all(axis=2)
    assert is_admin[:, : WIDTH // 2].any()
    assert not is_admin[:, WIDTH // 2 :].any()


def test_what_came_of_reds_action_is_never_cut() -> None:
    long = "ExploitRemoteService Enterprise2 (attacks a service) by HTTPSRFI: user shell"
    frame = replace(late(), red=long)
    assert long in to_text(frame, 100)
    assert "ExploitRemoteService Enterprise2 by HTTPSRFI: user shell" in to_text(frame, 80)
