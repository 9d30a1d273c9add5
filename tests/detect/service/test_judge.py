"""The run folder alone judges as evaluate does, in any batches, whatever the table holds."""

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import standing_orders
from standing_orders.detect.config import RulesConfig
from standing_orders.detect.data.sessions import GAP
from standing_orders.detect.learn.run import load_team
from standing_orders.detect.service.judge import Follower, Judge, Options, open_team
from standing_orders.detect.service.rules import Watch
from standing_orders.detect.service.verdicts import Verdicts
from standing_orders.detect.team import make_book
from standing_orders.errors import CheckpointError
from tests.detect.service.conftest import make_rows


def table_of(folder: Path) -> pa.Table:
    return pa_csv.read_csv(folder / "test.csv")


def in_batches(judge: Judge, table: pa.Table, size: int, options: Options) -> list[Verdicts]:
    follower = Follower(judge, options)
    told = [follower.judge(table.slice(at, size)) for at in range(0, table.num_rows, size)]
    return [*told, follower.close()]


def joined(parts: list[Verdicts], name: str) -> np.ndarray:
    return np.concatenate([getattr(part, name) for part in parts])


@pytest.mark.parametrize("kind", ["records", "sessions"])
def test_without_the_training_files_verdicts_are_those_of_evaluate(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    folder: Path = request.getfixturevalue(kind)
    team, data = load_team(folder / "run")
    expected = team.judge(data.test)
    shutil.copytree(folder / "run", tmp_path / "run")
    table = table_of(folder)
    if kind == "sessions":  # session after session, as evaluate takes them
        first = {user: at for at, user in reversed(list(enumerate(table["user"].to_pylist())))}
        order = sorted(range(table.num_rows), key=lambda i: (first[table["user"][i].as_py()], i))
        table = table.take(order)
    told = standing_orders.load_team(tmp_path / "run").judge(table.drop_columns(["label"]))
    assert np.array_equal(told.scores, expected.scores)
    assert np.array_equal(told.votes, expected.votes)
    assert np.array_equal(told.actions, expected.actions)
    assert len(set(told.actions.tolist())) > 1


@pytest.mark.parametrize("kind", ["records", "sessions"])
@pytest.mark.parametrize("size", [1, 37])
def test_one_by_one_is_the_same_as_all_at_once(
    kind: str, size: int, request: pytest.FixtureRequest
) -> None:
    folder: Path = request.getfixturevalue(kind)
    judge, table = open_team(folder / "run"), table_of(folder).slice(0, 90)
    options = Options(max_sessions=7, why=1)  # so few that old sessions are closed on the way
    (whole, end), parts = (in_batches(judge, table, n, options) for n in (1000, size))
    for name in ("actions", "scores", "threat", "votes", "has_quorum", "certainty"):
        assert np.array_equal(joined([whole, end], name), joined(parts, name)), name
    for rule in whole.margins:
        found = np.concatenate([part.margins[rule] for part in parts])
        both = np.concatenate([whole.margins[rule], end.margins[rule]])
        assert np.array_equal(both, found, equal_nan=True)
    reasons = [one for part in parts for _, one in sorted(part.why.items())]
    assert reasons == [one for _, one in sorted(whole.why.items())]


def test_the_time_since_the_event_before_is_an_input_of_sessions(sessions: Path) -> None:
    judge = open_team(sessions / "run")
    assert GAP in judge.standard.schema.inputs and GAP not in judge.wanted()
    row = {name: [values[0]] * 2 for name, values in table_of(sessions).to_pydict().items()}
    scores = [judge.judge(row | {"ts": [0.0, gap]}).scores for gap in (1.0, 1.0, 900.0)]
    assert np.array_equal(scores[0], scores[1])
    assert scores[0][0] == scores[2][0] and scores[0][1] != scores[2][1]


def test_memory_and_monitors_go_on_from_a_snapshot(sessions: Path) -> None:
    judge, table = open_team(sessions / "run"), table_of(sessions)
    whole = Follower(judge, Options(max_sessions=9))
    first, second = (Follower(judge, Options(max_sessions=9)) for _ in range(2))
    whole.judge(table.slice(0, 100))
    first.judge(table.slice(0, 100))
    second.load_state(*first.to_state())
    expected, found = (one.judge(table.slice(100)) for one in (whole, second))
    assert np.array_equal(expected.scores, found.scores)
    assert np.array_equal(expected.actions, found.actions)
    assert whole.tally.to_json() == second.tally.to_json()


def test_a_shield_of_records_decides_by_tables_as_event_by_event(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    book = make_book(RulesConfig(mode="shield"), "records")
    proposed = np.random.default_rng(1).choice(4, size=600, p=[0.5, 0.2, 0.2, 0.1])
    doubts, counts = np.zeros(600), np.ones(600, dtype=np.bool_)

    def decide() -> np.ndarray:
        watch, parts = Watch(book, "records"), np.split(np.arange(600), [1, 7, 450])
        told = []
        for rows in parts:
            told.append(watch.decide(proposed[rows], doubts[rows], [])[0])
            watch.margins(told[-1], doubts[rows], [], counts[rows])
            other = Watch(book, "records")  # as after a kill
            other.load_arrays(watch.to_arrays())
            watch = other
        return np.concatenate(told)

    by_tables = decide()
    monkeypatch.setattr("standing_orders.detect.service.rules.fits_a_table", lambda rule: False)
    assert np.array_equal(by_tables, decide())
    assert not np.array_equal(by_tables, proposed)


def test_rows_that_do_not_fit_are_judged_by_the_rest_and_named(judge: Judge) -> None:
    rows = make_rows(4, 9)
    rows[1]["bytes"], rows[2]["proto"] = "many", "quic"
    del rows[3]["pkts"]
    names = list(make_rows(1, 9)[0])
    table = pa.table({name: [str(row[name]) if name in row else None for row in rows]
                      for name in names})  # fmt: skip
    told = judge.judge(table)
    assert told.unfit == {
        1: ["bytes: no number"], 2: ["proto: new value"], 3: ["pkts: missing"],
    }  # fmt: skip
    assert np.isfinite(told.threat).all()
    careful = judge.judge(table, Options(unfit="alert"))
    assert (careful.actions[1:] >= 1).all()
    assert careful.actions[0] == told.actions[0]


def test_a_table_without_any_known_column_is_answered(judge: Judge) -> None:
    told = judge.judge({"nonsense": [1, 2]})
    assert len(told.actions) == 2
    assert set(told.unfit) == {0, 1}
    assert judge.judge(pa.table({"bytes": pa.array([], pa.float64())})).actions.tolist() == []


def test_the_reasons_are_exact_ablations(judge: Judge, records: Path) -> None:
    table = table_of(records).slice(0, 60)
    told = judge.judge(table, Options(why=2))
    assert told.why and set(told.why) == set(np.flatnonzero(told.actions).tolist())
    standard = judge.standard
    features = standard.schema.read(table).features
    from standing_orders.detect.engine import Batch, suspicion_of

    lean = float(judge.team.network.lean)
    for index, reasons in told.why.items():
        effects = {}
        for column in dict.fromkeys(standard.sources):
            changed = features[index : index + 1].copy()
            of = [i for i, source in enumerate(standard.sources) if source == column]
            changed[:, of] = np.array(standard.typical, dtype=np.float32)[of]
            ballots = judge.engine().judge(Batch(changed, np.zeros(1, int), np.ones(1, bool)))
            score = suspicion_of(ballots.probs, ballots.doubts, lean)[0]
            effects[column] = told.scores[index] - score
        best = sorted(effects, key=lambda name: -effects[name])[:2]
        assert [one.column for one in reasons] == [name for name in best if effects[name] > 0]
        assert all(one.effect == effects[one.column] for one in reasons)


def test_the_probability_is_calibrated_on_the_validation_part(judge: Judge) -> None:
    line = judge.standard.calibration
    assert 0 <= line.probabilities[0] <= line.probabilities[-1] <= 1
    assert len(line.scores) > 2


def test_a_run_without_a_schema_says_so(tmp_path: Path) -> None:
    from standing_orders.detect.config import DetectConfig, LearnConfig, TeamConfig
    from standing_orders.detect.learn.run import train
    from tests.detect.learn.test_trainer import make_records

    config = DetectConfig(
        team=TeamConfig(hidden=(4,), trees=0), learn=LearnConfig(iterations=1, steps=64)
    )
    train(config, tmp_path / "run", data=make_records(), report=lambda _: None)
    with pytest.raises(CheckpointError, match="train again"):
        open_team(tmp_path / "run")
