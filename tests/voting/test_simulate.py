"""Whole agreements: no schedule breaks them, f + 1 liars do, a settled network ends them."""

import os
import subprocess
import sys
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from standing_orders.errors import VotingError
from standing_orders.voting import LIARS, MISSING, Agreement, Conditions, Patience, decide, lie
from standing_orders.voting import agree as agree_on
from standing_orders.voting.liars import withhold
from standing_orders.voting.pbft import Timer
from standing_orders.voting.simulate import Network
from tests.effort import effort
from tests.voting.schedules import NUM_CHOICES, draw_schedule, run_schedules

ALLOW, ALERT, BLOCK, QUARANTINE = range(NUM_CHOICES)

SIZES = [(4, 1), (7, 2)]
TWO_FACED = ("equivocate", "collude")
ROUGH = Conditions(settle_time=30.0, early_delay=20.0, loss_prob=0.4, slow_prob=0.2, deaf_prob=0.3)


def agree(votes: np.ndarray, f: int, **options: Any) -> Agreement:
    return agree_on(votes, f, num_choices=NUM_CHOICES, **options)


def ballots(*row: int) -> np.ndarray:
    return np.array([row], dtype=np.int8)


def check(report, least_view_changes: int) -> None:
    assert report.violations == ()
    assert report.out_of_range == ()
    assert report.num_undecided == 0
    assert report.num_view_changes >= least_view_changes


@pytest.mark.parametrize(("n", "f"), [(4, 1), pytest.param(7, 2, marks=pytest.mark.slow)])
def test_equivocation_breaks_no_agreement(n: int, f: int) -> None:
    num = effort(160, 60)
    check(run_schedules(num, n=n, f=f, seed=1, kinds=TWO_FACED), least_view_changes=num // 2)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "f"), SIZES)
def test_equivocation_breaks_no_agreement_in_ten_thousand_schedules(n: int, f: int) -> None:
    check(run_schedules(10_000, n=n, f=f, seed=2, kinds=TWO_FACED), least_view_changes=5_000)


@pytest.mark.parametrize(("n", "f"), [*SIZES, (6, 1)])
def test_no_mixture_of_liars_breaks_an_agreement(n: int, f: int) -> None:
    num = effort(45, 18)
    check(run_schedules(num, n=n, f=f, seed=3, num_slots=2), least_view_changes=num // 3)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "f"), [*SIZES, (6, 1)])
def test_no_mixture_of_liars_breaks_an_agreement_in_a_thousand_schedules(n: int, f: int) -> None:
    check(run_schedules(1_000, n=n, f=f, seed=4, num_slots=2), least_view_changes=330)


@pytest.mark.parametrize(("n", "f"), SIZES)
def test_one_liar_more_makes_honest_agents_decide_differently(n: int, f: int) -> None:
    """The check above can fail: f + 1 colluders, the first of them primary, split the honest."""
    votes = ballots(*[BLOCK] * n)
    liars = dict.fromkeys(range(f + 1), "collude")
    results = [agree(votes, f, liars=liars, seed=seed) for seed in range(20)]
    split = [result for result in results if not result.has_agreement.all()]
    assert split
    for result in split:
        decided = result.decisions[0, result.is_honest]
        assert len({ALLOW, QUARANTINE} & set(decided.tolist())) == 2
    report = run_schedules(effort(60, 20), n=n, f=f, seed=1, kinds=["collude"], num_liars=f + 1)
    assert report.violations
    assert draw_schedule(report.violations[0], n=n, f=f, kinds=["collude"], num_liars=f + 1).run(
    ).has_agreement.tolist() == [False]  # fmt: skip


@pytest.mark.parametrize("kind", LIARS)
@pytest.mark.parametrize(("n", "f"), SIZES)
@pytest.mark.parametrize("conditions", [Conditions(), ROUGH], ids=["settled", "rough"])
def test_every_honest_agent_decides_once_the_network_settles(kind, n, f, conditions) -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        votes = rng.integers(4, size=(2, n), dtype=np.int8)
        # The liars lead the first views of the first slot.
        liars = dict.fromkeys(range(f), kind)
        result = agree(votes, f, liars=liars, conditions=conditions, seed=seed)
        assert result.num_undecided == 0
        assert result.has_agreement.all()
        assert result.is_valid.all()
        # Views before it settles, f views led by liars, one to decide: waiting times double.
        bound = conditions.settle_time + 2 * Patience().at(3 + f)
        assert np.nanmax(result.times) < bound


@pytest.mark.parametrize("kind", LIARS)
def test_what_all_honest_agents_vote_is_decided(kind: str) -> None:
    for action in (ALLOW, ALERT, BLOCK, QUARANTINE):
        for seed in range(3):
            result = agree(ballots(*[action] * 4), 1, liars={seed: kind}, seed=seed)
            assert result.choices.tolist() == [action]
            assert (result.decisions[0, result.is_honest] == action).all()


def test_without_liars_it_takes_one_view_and_every_ballot_counts() -> None:
    result = agree(ballots(ALLOW, BLOCK, BLOCK, QUARANTINE), 1)
    assert result.decisions.tolist() == [[BLOCK] * 4]
    assert result.views.tolist() == [[0] * 4]
    assert result.has_quorum.tolist() == [True]
    # Ballots, proposal, prepares, commits; who decides on three other commits sends none.
    assert 12 + 3 + 12 + 9 <= result.num_messages <= 12 + 3 + 12 + 12
    assert np.nanmax(result.times) < 4.0


def test_a_tie_is_decided_as_alert_and_counted() -> None:
    result = agree(ballots(ALLOW, ALLOW, BLOCK, QUARANTINE), 1)
    assert result.decisions.tolist() == [[ALERT] * 4]
    assert result.num_fallbacks == 1
    assert result.num_undecided == 0


def test_no_decision_by_the_deadline_falls_back_to_alert_and_is_counted() -> None:
    lost = Conditions(settle_time=100.0, loss_prob=1.0)
    votes = np.full((3, 4), QUARANTINE, dtype=np.int8)
    result = agree(votes, 1, conditions=lost, deadline=50.0)
    assert result.choices.tolist() == [ALERT] * 3
    assert (result.decisions == MISSING).all()
    assert result.num_fallbacks == 3
    assert result.num_undecided == 12
    assert result.has_agreement.all()
    assert agree(votes, 1, conditions=lost).num_undecided == 0


def test_an_agent_without_a_vote_takes_part_and_too_few_votes_decide_nothing() -> None:
    result = agree(ballots(BLOCK, MISSING, BLOCK, BLOCK), 1)
    assert result.decisions.tolist() == [[BLOCK] * 4]
    result = agree(ballots(BLOCK, MISSING, 99, BLOCK), 1, deadline=500.0)
    assert result.num_undecided == 4
    assert result.choices.tolist() == [ALERT]


def test_more_than_3f_plus_1_agents_need_larger_quorums() -> None:
    num = effort(100, 40)
    check(run_schedules(num, n=6, f=1, seed=5, kinds=TWO_FACED), least_view_changes=num * 3 // 10)


@pytest.mark.parametrize("kind", [*LIARS, None])
def test_a_batch_is_agreed_on_at_once_and_every_event_comes_out_as_it_would(kind) -> None:
    votes = np.random.default_rng(3).integers(NUM_CHOICES, size=(23, 4), dtype=np.int8)
    liars = {1: kind} if kind else {}
    if not liars:
        votes[5, 2] = MISSING  # an agent without a vote is as good as a faulty one
    together = agree(votes, 1, batch=10, liars=liars, conditions=ROUGH, seed=4)
    assert together.has_agreement.tolist() == [True] * 3
    assert together.num_undecided == 0
    assert together.is_valid.all()
    counted = decide(together.ballots, 1, num_choices=NUM_CHOICES)
    assert np.array_equal(together.choices, counted.choices)
    assert np.array_equal(together.has_quorum, counted.has_quorum)
    if kind is None:
        settled = agree(votes, 1, batch=10)
        assert np.array_equal(settled.ballots, votes)
        assert np.array_equal(settled.choices, agree(votes, 1).choices)
        assert settled.num_messages < agree(votes, 1).num_messages / 5


@pytest.mark.parametrize("batch", [1, 7])
def test_the_worst_scheduler_has_its_way_and_no_more(batch: int) -> None:
    rng = np.random.default_rng(5)
    votes = rng.integers(NUM_CHOICES, size=(21, 4), dtype=np.int8)
    is_right = rng.random(21) < 0.5
    lies = lie("omniscient", votes, [2], rng, num_choices=NUM_CHOICES, is_right=is_right)
    absent = withhold(lies, [2], 1, num_choices=NUM_CHOICES, is_right=is_right, batch=batch)
    result = agree(
        votes, 1, batch=batch, liars={2: "omniscient"}, is_right=is_right, withheld=absent
    )
    assert result.num_undecided == 0
    assert result.has_agreement.all()
    assert result.is_valid.all()
    left = np.where(np.repeat(absent, batch, axis=0), MISSING, lies)
    assert np.array_equal(result.ballots, left)  # exactly what it wanted to be counted


def same(first, second) -> bool:
    return first.num_messages == second.num_messages and all(
        np.array_equal(getattr(first, name), getattr(second, name), equal_nan=name == "times")
        for name in ("choices", "decisions", "views", "times")
    )


@settings(max_examples=effort(25, 10), deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(SIZES))
def test_the_same_seed_gives_the_same_run(seed: int, size: tuple[int, int]) -> None:
    first, second = (draw_schedule(seed, n=size[0], f=size[1]).run() for _ in range(2))
    assert same(first, second)
    assert first.has_agreement.all()
    assert first.is_valid.all()
    assert first.num_undecided == 0


def test_another_seed_gives_another_run() -> None:
    votes = ballots(0, 1, 2, 3)
    assert not same(agree(votes, 1, seed=0), agree(votes, 1, seed=1))


def test_another_process_with_another_hash_seed_gives_the_same_run() -> None:
    code = (
        "from tests.voting.schedules import draw_schedule\n"
        "r = draw_schedule(11, n=7, f=2, num_slots=2).run()\n"
        "print(r.num_messages, r.decisions.tolist(), r.times.tolist())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_the_network_keeps_its_promise_once_settled() -> None:
    rough = Conditions(settle_time=10, early_delay=50, loss_prob=0.5, slow_prob=0.5, deaf_prob=0.5)
    network = Network(rough, 2, Random(0))
    for number in range(200):
        network.send(0, 1, number)
    early = []
    while (event := network.next(1e9)) is not None:
        early.append(event[1])
        assert network.now <= 11
    assert 50 < len(early) < 150, "half is lost"
    assert early != sorted(early), "messages overtake each other"
    network.now = 10.0
    for number in range(200):
        network.send(0, 1, number)
    late = []
    while (event := network.next(1e9)) is not None:
        late.append(event[1])
        assert 10 <= network.now <= 11
    assert sorted(late) == list(range(200))


def test_the_network_stops_at_the_deadline() -> None:
    network = Network(Conditions(), 2, Random(0))
    timer = Timer("view", 0, 0, after=5.0)
    network.remind(0, timer)
    assert network.next(4.9) is None
    assert network.next(5.0) == (0, timer)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"settle_time": -1.0}, "settle_time"),
        ({"settle_time": float("nan")}, "settle_time"),
        ({"delay": 0.0}, "delay"),
        ({"delay": 2.0, "early_delay": 1.0}, "early_delay"),
        ({"loss_prob": 1.5}, "loss_prob"),
        ({"deaf_prob": float("nan")}, "deaf_prob"),
    ],
)
def test_impossible_conditions_are_refused(bad: dict[str, float], message: str) -> None:
    with pytest.raises(VotingError, match=message):
        Conditions(**bad)


def test_bad_arguments_are_refused() -> None:
    votes = ballots(0, 0, 0, 0)
    with pytest.raises(VotingError, match="liar 4: 'silent': must be an agent from 0 to 3"):
        agree(votes, 1, liars={4: "silent"})
    with pytest.raises(VotingError, match="liar 0: 'honest'"):
        agree(votes, 1, liars={0: "honest"})
    with pytest.raises(VotingError, match="must be int8"):
        agree(votes.astype(float), 1)
    with pytest.raises(VotingError, match="deadline"):
        agree(votes, 1, deadline=float("nan"))
    with pytest.raises(VotingError, match=r"patience\.view"):
        Patience(view=0.0)
