"""The training loop: repeatable, resumable, within its budget, honest at the gate."""

import json
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
import torch

from standing_orders.cage2.scenario import RED_AGENTS
from standing_orders.collect.local import BatchCollector
from standing_orders.collect.plan import deal_reds
from standing_orders.config import TrainConfig
from standing_orders.errors import CheckpointError, ConfigError, NumericsError
from standing_orders.learn import build
from standing_orders.learn import trainer as trainer_module
from standing_orders.learn.build import game_of, layout_of
from standing_orders.learn.rollout import collect
from standing_orders.learn.snapshot import network_arrays, optimiser_arrays
from standing_orders.learn.trainer import Trainer
from standing_orders.rules.orders import Order
from standing_orders.seeding import environment_seeds

SMALL = {
    "hidden": (16,), "epochs": 2, "belief": False, "full_belief": False, "foresight": False,
    "memory": False,
}  # fmt: skip
BELIEVING = {"certainty": 0.95, "ppo": {"belief": True, "memory": True}}
ALL_SCHEDULES = {
    "weight_stages": True, "small_updates": True, "soft_mask": True, "more_epochs": True,
    "compliance_loss": 1.0, "learning_rate_steps": True,
}  # fmt: skip


def config(**options: Any) -> TrainConfig:
    """A small run of the plain learner: no belief, anything allowed."""
    plain = {"order": "reverse", "episodes": 60, "update_episodes": 20, "seed": 4}
    options = plain | {"certainty": "none", "try_decoys": False} | options
    return TrainConfig(**(options | {"ppo": SMALL | options.get("ppo", {})}))


def train(trainer: Trainer, updates: int = 1_000) -> list[dict[str, Any]]:
    records = []
    while not trainer.is_done and len(records) < updates:
        records.append(trainer.step())
    return records


def same_arrays(first: Trainer, second: Trainer) -> bool:
    one, other = first.to_arrays(), second.to_arrays()
    return one.keys() == other.keys() and all(np.array_equal(one[k], other[k]) for k in one)


class Spy:
    """Notes every call of `collect`, and every measurement at the gate."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[dict[str, Any]] = []
        self.gates: list[dict[str, Any]] = []
        monkeypatch.setattr(trainer_module, "collect", self)

        def spy(collector: Any, network: Any, orders: Any, **options: Any) -> Any:
            seeds = environment_seeds(options["seed"], len(orders))
            head_start = collector.spec.game.head_start
            self.gates.append({"orders": orders, "seeds": seeds, "head_start": head_start})
            return collect(collector, network, orders, **options)

        monkeypatch.setattr(build, "collect", spy)

    def __call__(self, batch: Any, network: Any, orders: Any, **options: Any) -> Any:
        self.calls.append({"num_envs": len(orders), "orders": orders.copy(), **options})
        return collect(batch, network, orders, **options)


# -------------------------------------------------------------------------------- repeatability
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"order": "any", "red": "mixed"},
        {"order": "none"},
        BELIEVING,
        BELIEVING | {"order": "any", "red": "mixed", "attackers": "all"},
        {"alignment": {"weight": 30.0, "violation_cost": 2.0}, "schedules": ALL_SCHEDULES},
    ],
)
def test_the_same_config_gives_the_same_records_and_weights(options: dict[str, Any]) -> None:
    first, second = Trainer(config(**options)), Trainer(config(**options))
    assert train(first) == train(second)
    assert same_arrays(first, second)


def test_another_seed_gives_another_run() -> None:
    first, second = Trainer(config()), Trainer(config(seed=5))
    assert train(first, 1) != train(second, 1)


@pytest.mark.parametrize("order", ["reverse", "any"])
@pytest.mark.parametrize("learner", [{}, BELIEVING], ids=["plain", "believing"])
def test_a_run_restored_in_the_middle_goes_on_bit_for_bit(
    order: str, learner: dict[str, Any]
) -> None:
    options = {"order": order, "episodes": 80, "schedules": ALL_SCHEDULES, **learner}
    whole, broken = Trainer(config(**options)), Trainer(config(**options))
    records = train(whole)
    train(broken, 2)
    stored = json.loads(json.dumps(asdict(broken.progress)))  # as a checkpoint keeps it
    resumed = Trainer(config(**options))
    resumed.restore(broken.to_arrays(), stored)
    assert train(resumed) == records[2:]
    assert same_arrays(resumed, whole)
    assert asdict(resumed.progress) == asdict(whole.progress)


def test_a_record_is_plain_data() -> None:
    record = Trainer(config()).step()
    assert json.loads(json.dumps(record)) == record


# --------------------------------------------------------------------------------------- budget
@pytest.mark.parametrize(("budget", "sizes"), [(60, [20, 20, 20]), (50, [20, 20, 10]), (7, [7])])
def test_the_budget_is_used_exactly(budget: int, sizes: list[int]) -> None:
    trainer = Trainer(config(order="none", episodes=budget))
    records = train(trainer)
    assert [record["episodes"] for record in records] == sizes
    assert [record["total_episodes"] for record in records] == np.cumsum(sizes).tolist()
    assert [record["update"] for record in records] == list(range(1, len(sizes) + 1))
    assert [record["compliance"]["episodes"] for record in records] == sizes
    assert trainer.progress.episodes == budget
    assert trainer.progress.stopped == records[-1]["stopped"] == "budget used"


def test_the_plateau_stops_only_if_asked_for() -> None:
    for is_asked in (False, True):
        trainer = Trainer(config(schedules={"plateau_stop": is_asked}, stop_at_gate=False))
        trainer.progress.history = [1.0] * 13
        trainer.step()
        assert (trainer.progress.stopped == "plateau") is is_asked


# ---------------------------------------------------------------------------------- what is told
def test_one_order_is_told_in_every_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    spy = Spy(monkeypatch)
    train(Trainer(config(order="balanced")))
    told = {int(order) for call in spy.calls for order in call["orders"]}
    assert told == {Order.parse("balanced").index}


def test_any_tells_other_orders_in_every_update(monkeypatch: pytest.MonkeyPatch) -> None:
    spy = Spy(monkeypatch)
    train(Trainer(config(order="any", episodes=400, orders_per_update=5, ppo={"epochs": 1})))
    told = [set(call["orders"].tolist()) for call in spy.calls]
    assert all(len(orders) == 5 for orders in told)
    assert len(set().union(*told)) > 50
    for call in spy.calls:
        assert set(np.bincount(call["orders"], minlength=120).tolist()) == {0, 4}


@pytest.mark.parametrize(
    ("options", "size"),
    [
        ({"order": "none"}, 52),
        ({"order": "any"}, 77),
        ({"order": "reverse", "certainty": 0.95}, 82),
        ({"order": "none", "certainty": 0.95}, 52),  # nothing can be unlawful
        ({"order": "none", "ppo": {"belief": True}}, 65),
        ({"order": "any", **BELIEVING}, 52 + 25 + 5 + 13 + 39),
    ],
)
def test_a_network_is_shown_an_order_only_if_it_has_one(options: dict[str, Any], size: int) -> None:
    assert layout_of(config(**options)).size == size


def test_mixed_gives_each_red_agent_its_share() -> None:
    names = [RED_AGENTS[red] for red in deal_reds(game_of(config(red="mixed")).red, 7)]
    assert sorted(map(names.count, RED_AGENTS)) == [2, 2, 3]


def test_the_game_is_that_of_the_config() -> None:
    game = game_of(config(rules="leaderboard-2022", head_start=3, red_tempo=2)).make(1)
    wanted = ("leaderboard-2022", 3, 2, 100)
    found = game.config
    assert (found.rules, found.head_start, found.red_tempo, found.horizon) == wanted


# -------------------------------------------------------------------------------------- rewards
def test_without_an_order_there_is_no_alignment_and_the_total_is_the_environment() -> None:
    alignment = {"weight": 100.0, "violation_cost": 5.0, "idle_cost": 3.0, "fix_bonus": 1.0}
    for record in train(Trainer(config(order="none", alignment=alignment))):
        assert record["reward"]["alignment"] == 0
        assert record["reward"]["total"] == record["reward"]["environment"] < 0


@pytest.mark.parametrize(
    "options",
    [
        {"schedules": {"compliance_loss": 5.0}},
        {"schedules": {"soft_mask": True}},
    ],
)
def test_without_an_order_what_needs_one_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="needs an order"):
        Trainer(config(order="none", **options))


def test_the_three_rewards_are_those_of_the_episodes(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = Trainer(config(alignment={"weight": 30.0, "violation_cost": 2.0}))
    seed = trainer.config.seed
    record = trainer.step()
    reward, counts = record["reward"], record["compliance"]
    assert reward["total"] == reward["environment"] + reward["alignment"]
    played = collect(
        BatchCollector(game_of(trainer.config)), Trainer(config()).network,
        np.full(20, Order.parse("reverse").index),
        seed=trainer_module.child_seed(seed, "update", 0),
    )  # fmt: skip
    assert reward["environment"] == pytest.approx(played.rewards.sum() / 20)
    is_good = np.isin(played.verdicts, (1, 2)).sum(axis=0)
    is_bad = (played.verdicts == 3).sum(axis=0)
    wanted = (30 * is_good / (is_good + is_bad) - 2 * is_bad).mean()
    assert reward["alignment"] == pytest.approx(wanted)
    assert counts["violations"] == is_bad.sum()


# -------------------------------------------------------------------------------------- schedules
def test_settings_follow_the_episodes_played_and_the_compliance_of_the_update_before() -> None:
    alignment = {"weight": 30.0}
    constant = {"final_learning_rate": None}
    trainer = Trainer(
        config(schedules=ALL_SCHEDULES, alignment=alignment, episodes=5_000, ppo=constant)
    )
    first = trainer.step()
    wanted = {"num_episodes": 20, "weight": 30.0, "learning_rate": 2e-3, "epochs": 2}
    assert first["settings"] == wanted | {"entropy": 0.002, "mask_factor": None}
    assert first["loss"]["num_epochs"] == 2
    assert trainer.progress.compliance == first["compliance"]["compliance"]
    trainer.progress.compliance, trainer.progress.episodes = 0.91, 3_000
    second = trainer.step()
    wanted = {"num_episodes": 10, "weight": 75.0, "learning_rate": 5e-4, "epochs": 4}
    assert second["settings"] == wanted | {"entropy": 0.002, "mask_factor": 0.1}
    assert (second["loss"]["num_epochs"], second["episodes"]) == (4, 10)
    assert [group["lr"] for group in trainer.optimiser.param_groups] == [5e-4]


def test_a_masked_update_begins_with_the_probabilities_it_played_with() -> None:
    trainer = Trainer(config(schedules={"soft_mask": True}, ppo={"epochs": 1, "minibatches": 1}))
    trainer.progress.compliance = 0.9
    record = trainer.step()
    assert record["settings"]["mask_factor"] == 0.1
    assert record["loss"]["approx_kl"] == pytest.approx(0.0, abs=1e-6)
    assert record["loss"]["clipfrac"] == 0


# ------------------------------------------------------------------------------------------- gate
EASY = {"kind": "strict", "threshold": 0.0, "min_judged": 1, "episodes": 30}


def test_the_gate_is_measured_on_fresh_episodes_without_a_mask(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spy = Spy(monkeypatch)
    trainer = Trainer(
        config(
            gate=EASY | {"min_judged": 10**6}, schedules={"soft_mask": True}, episodes=40,
            stop_at_gate=True,
        )
    )  # fmt: skip
    trainer.progress.compliance = 0.9
    records = train(trainer)
    assert spy.calls[0]["mask_factor"] == 0.1
    assert len(spy.gates) == 2
    ranges = [range(call["seed"], call["seed"] + call["num_envs"]) for call in spy.calls]
    ranges += [gate["seeds"].tolist() for gate in spy.gates]
    for i, one in enumerate(ranges):
        for other in ranges[:i]:
            assert not set(one) & set(other)
    for gate, record in zip(spy.gates, records, strict=True):
        assert set(gate["orders"]) == {Order.parse("reverse").index}
        assert record["gate"]["episodes"] == 30
        assert record["gate"]["verdict"] == "untested"
    assert [record["gate_episodes"] for record in records] == [30, 60]
    assert trainer.progress.episodes == 40  # counted apart


def test_passing_the_gate_stops_the_run() -> None:
    records = train(Trainer(config(gate=EASY, stop_at_gate=True)))
    assert len(records) == 1
    assert records[0]["gate"]["passed"]
    assert records[0]["stopped"] == "gate passed"


@pytest.mark.parametrize("options", [{"order": "any"}, {"order": "none"}, {"stop_at_gate": False}])
def test_there_is_no_gate_without_one_order_or_if_switched_off(options: dict[str, Any]) -> None:
    records = train(Trainer(config(**({"gate": EASY, "stop_at_gate": True} | options))))
    assert [record["gate"] for record in records] == [None] * 3
    assert records[-1]["stopped"] == "budget used"


def test_a_failed_gate_does_not_stop_the_run() -> None:
    records = train(Trainer(config(gate=EASY | {"response_floor": 1.0}, stop_at_gate=True)))
    assert [record["gate"]["passed"] for record in records] == [False] * 3


def test_the_contested_gate_plays_half_of_its_episodes_from_a_late_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spy = Spy(monkeypatch)
    gate = EASY | {"kind": "contested", "min_contested": 1}
    (record,) = train(Trainer(config(gate=gate, stop_at_gate=True)))
    assert record["stopped"] == "gate passed"
    assert record["gate_episodes"] == 30
    assert record["gate"]["episodes"] == 15
    assert [call["head_start"] for call in spy.gates] == [0, 20]
    first, late = (set(call["seeds"].tolist()) for call in spy.gates)
    assert (len(first), len(late), len(first | late)) == (15, 15, 30)


def test_an_order_kept_by_construction_is_kept_before_anything_is_learned() -> None:
    free, bound = (Trainer(config(head_start=20, **learner)).step() for learner in ({}, BELIEVING))
    assert free["compliance"]["contested"] < 0.6
    assert bound["compliance"]["contested"] > 0.9
    assert bound["compliance"]["strict"] > 0.9


# --------------------------------------------------------------------------------------- numerics
@pytest.mark.parametrize("name", ["actor.0.weight", "actor.2.bias", "critic.0.bias"])
def test_a_nan_in_the_weights_stops_the_run_naming_what_and_the_update(name: str) -> None:
    trainer = Trainer(config(order="none"))
    trainer.step()
    with torch.no_grad():
        dict(trainer.network.named_parameters())[name].view(-1)[0] = float("nan")
    with pytest.raises(NumericsError, match=r"update \d+: .*(policy|value|actor|critic).* nan"):
        trainer.step()
    assert trainer.progress.updates == 1


def test_the_update_named_is_the_one_that_the_journal_would_have_shown_next() -> None:
    trainer = Trainer(config(order="none"))
    assert trainer.step()["update"] == 1
    with torch.no_grad():
        trainer.network.actor[0].bias[0] = float("nan")
    with pytest.raises(NumericsError, match="update 2"):
        trainer.step()


# ----------------------------------------------------------------------------------- several starts
STARTS = {"starts": 3, "episodes": 55, "validation_episodes": 10, "order": "none", "seed": 5}


def test_the_start_that_validates_best_is_gone_on_with() -> None:
    trainer = Trainer(config(**STARTS))
    made, ends = [], []
    while not trainer.is_done and len(ends) < 3:
        network, optimiser = trainer.network, trainer.optimiser
        record = trainer.step()
        if record["validation"]:
            made.append(network_arrays(network) | optimiser_arrays(optimiser))
            ends.append(record["validation"])
            if len(ends) == 2:
                last = trainer.network
    assert [end["start"] for end in ends] == [0, 1, 2]
    best = max(range(3), key=lambda i: ends[i]["return"])
    assert best != 2  # whose arrays are overwritten by those of the best
    assert trainer.network is last
    ours = trainer.to_arrays()
    assert ours.keys() == made[best].keys()
    assert all(np.array_equal(ours[name], made[best][name]) for name in ours)
    assert trainer.progress.best_return == ends[best]["return"]
    assert trainer.progress.aside == 10
    assert not trainer.is_done
    train(trainer)
    assert trainer.progress.stopped == "budget used"


def test_all_episodes_of_several_starts_count() -> None:
    trainer = Trainer(config(**STARTS))
    records = train(trainer)
    assert [record["episodes"] for record in records] == [5, 5, 5, 20, 20]
    assert records[-1]["total_episodes"] == 55
    assert [bool(record["validation"]) for record in records] == [True, True, True, False, False]
    assert trainer.progress.validation_episodes == 30


def test_starts_differ_and_the_rate_falls_over_what_the_kept_one_plays() -> None:
    trainer = Trainer(config(**STARTS))
    begun, rates = [], []
    while not trainer.is_done:
        begun.append(network_arrays(trainer.network)["network.actor.0.weight"])
        rates.append(trainer.settings().learning_rate)
        trainer.step()
    first, last = trainer.config.ppo.learning_rate, trainer.config.ppo.final_learning_rate
    assert last is not None
    played = np.array([0, 0, 0, 5, 25]) / 45
    assert rates == pytest.approx(first + played * (last - first))
    assert not np.array_equal(begun[0], begun[1])
    assert not np.array_equal(begun[1], begun[2])


@pytest.mark.parametrize("starts", [1, 2, 4, 5, 9, 100])
def test_starts_leave_half_of_the_budget_to_the_best(starts: int) -> None:
    one = TrainConfig(episodes=1_000, starts=starts)
    if starts > 1:
        assert starts * one.start_episodes <= 500
        assert one.start_episodes <= 100
    assert one.kept_episodes == 1_000 - (starts - 1) * one.start_episodes


@pytest.mark.parametrize("updates", [1, 2, 3, 4])
def test_several_starts_go_on_from_a_checkpoint_to_the_same_bits(updates: int) -> None:
    whole, first = Trainer(config(**STARTS)), Trainer(config(**STARTS))
    train(whole)
    train(first, updates)
    second = Trainer(config(**STARTS))
    second.restore(first.to_arrays(), json.loads(json.dumps(first.to_json())))
    train(second)
    assert same_arrays(whole, second)
    assert whole.progress == second.progress


def test_more_starts_than_there_are_episodes_for_are_refused() -> None:
    with pytest.raises(ConfigError, match="starts = 6: leave each of them no episode"):
        Trainer(config(starts=6, episodes=11))


def test_one_start_validates_nothing() -> None:
    trainer = Trainer(config(order="none"))
    assert all(record["validation"] is None for record in train(trainer))
    assert trainer.progress.validation_episodes == 0


def test_a_checkpoint_of_before_there_were_starts_is_gone_on_with() -> None:
    first = Trainer(config(order="none"))
    train(first, 1)
    data = first.to_json()
    for name in ("start", "best_return", "validation_episodes", "aside", "planned", "opening"):
        del data[name]
    second = Trainer(config(order="none"))
    second.restore(first.to_arrays(), data)
    assert second.progress == first.progress
    del data["episodes"]
    with pytest.raises(CheckpointError, match="episodes"):
        second.restore(first.to_arrays(), data)


@pytest.mark.parametrize("rate", [0.0, 0.5, 1.0])
def test_orders_change_in_the_share_of_training_episodes_that_is_asked_for(rate: float) -> None:
    trainer = Trainer(config(order="any", order_switch_rate=rate, update_episodes=200))
    rollout = trainer.play(trainer.settings())
    told = rollout.inputs[:, :, trainer.network.layout.blocks["order"]]
    changes = (told[1:] != told[:-1]).any(axis=2).sum(axis=0)
    assert changes.max() <= 1
    # One in ten is told the same order again, and a step is one of 99: four standard errors.
    assert changes.mean() == pytest.approx(0.9 * rate, abs=0.14 if rate else 0)


def test_one_order_alone_cannot_change() -> None:
    with pytest.raises(ConfigError, match="needs order = 'any'"):
        Trainer(config(order_switch_rate=0.5))
