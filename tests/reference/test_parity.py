"""Our simulator equals CybORG, step for step, in every recorded episode."""

from pathlib import Path

import numpy as np
import pytest

from standing_orders.cage2.parity import compare_file, compare_recording
from standing_orders.cage2.traces import STATE_FIELDS, find_recordings, read_recording
from tests.conftest import REFERENCE

SELECTION = [
    (rules, path)
    for rules in ("head", "leaderboard-2022")
    for path in (REFERENCE / rules).iterdir()
]
COMPLETE = {"head": "traces", "leaderboard-2022": "traces-leaderboard-2022"}
STEP_FIELDS = {
    "reward10", "blue_success", "red_success", "exploit_port", "done", "red_choice", "red_legal",
    "exploit", "detect", "session_pick",
}  # fmt: skip


@pytest.mark.parametrize(
    ("rules", "path"), SELECTION, ids=[f"{rules}-{path.stem}" for rules, path in SELECTION]
)
def test_selected_recording_is_equal(rules: str, path: Path) -> None:
    report = compare_file(path, rules)
    assert {name: count.first for name, count in report.fields.items() if count.differences} == {}
    assert set(report.fields) >= STEP_FIELDS | set(STATE_FIELDS)
    steps = report.num_episodes * report.num_steps
    assert all(count.compared >= steps for count in report.fields.values())


@pytest.mark.slow
@pytest.mark.parametrize("rules", COMPLETE)
def test_every_complete_recording_is_equal(rules: str, shared: Path) -> None:
    reports = [compare_file(path, rules) for path in find_recordings([shared / COMPLETE[rules]])]
    assert sum(report.differences for report in reports) == 0
    assert sum(report.num_episodes * report.num_steps for report in reports) >= 28_000


@pytest.mark.slow
def test_only_the_known_process_id_reuse_is_followed_and_it_is_named(shared: Path) -> None:
    reports = [compare_file(path) for path in find_recordings([shared / "traces"])]
    found = [(report.path.stem, place) for report in reports for place in report.process_id_reuse]
    assert found == [("heuristic__saboteur", "episode 17, step 38, Enterprise1")]


def test_selection_holds_the_process_id_reuse(reference: Path) -> None:
    report = compare_file(reference / "head" / "heuristic__saboteur.npz")
    assert report.process_id_reuse == ["episode 0, step 38, Enterprise1"]


@pytest.mark.parametrize(
    ("recorded", "replayed", "name", "fields"),
    [
        ("leaderboard-2022", "head", "react_restore__meander", {"reward10", "mdr_exploited"}),
        ("leaderboard-2022", "head", "heuristic__bline", {"scan_ports", "exploit"}),
        ("head", "leaderboard-2022", "useful__bline", {"scan_ports"}),
    ],
)
def test_the_wrong_rule_set_shows(
    reference: Path, recorded: str, replayed: str, name: str, fields: set[str]
) -> None:
    report = compare_file(reference / recorded / f"{name}.npz", replayed)
    assert fields <= {name for name, count in report.fields.items() if count.differences}


@pytest.mark.parametrize(
    "field", ["reward10", "blue_success", "red_success", "exploit_port", "done", *STATE_FIELDS]
)
def test_one_wrong_value_is_counted_once_and_placed(reference: Path, field: str) -> None:
    recording = read_recording(reference / "head" / "useful__meander.npz")
    values = recording.arrays[field]
    values[(2, 40, *(0 for _ in values.shape[2:]))] ^= 1
    report = compare_recording(recording)
    step = 41 if values.ndim == 2 else 40  # step t leads to state t
    assert report.fields[field].differences == 1
    assert report.fields[field].first == f"episode 2, step {step}"
    assert report.differences == 1


@pytest.mark.parametrize("rules", COMPLETE)
def test_selection_holds_the_exception_in_the_plan_of_b_line(rules: str, reference: Path) -> None:
    index = read_recording(reference / rules / "cut_route__bline.npz").arrays["bline_state"]
    assert ((index[:, :-1] == 11) & (index[:, 1:] == 1)).any()


def test_a_removable_session_without_an_earlier_alert_is_a_difference(reference: Path) -> None:
    recording = read_recording(reference / "head" / "heuristic__saboteur.npz")
    recording.arrays["detect"][0, :37] = np.minimum(recording.arrays["detect"][0, :37], 0)
    report = compare_recording(recording)
    assert report.process_id_reuse == []
    assert report.fields["n_removable"].differences > 0


@pytest.mark.parametrize(
    ("name", "array", "value", "field"),
    [
        ("useful__bline", "red_target", 3, "red_choice"),
        ("useful__meander", "red_target", 0, "red_choice"),
        ("useful__bline", "exploit", 6, "exploit"),
    ],
)
def test_a_choice_that_red_could_not_make_is_a_difference(
    reference: Path, name: str, array: str, value: int, field: str
) -> None:
    recording = read_recording(reference / "head" / f"{name}.npz")
    exploits = np.argwhere(recording.arrays["red_action"] == 3)
    episode, step = exploits[-1]
    assert recording.arrays[array][episode, step] != value
    recording.arrays[array][episode, step] = value
    assert compare_recording(recording).fields[field].differences >= 1
