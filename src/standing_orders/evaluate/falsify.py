"""The attack that a policy stands worst: a search through the attack's random draws.

An attack is a seed for each step (`cage2.attacks`), so everything that is found can happen in the
game. The search is genetic: attacks that hurt are cut and joined in time, and some of their draws
are made anew. Blue's own choices are greedy, or drawn with the same numbers in every episode: only
the attack differs. It is a search and not a proof: what it does not find may still exist.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.attacks import AttackBatch, AttackFile, random_attacks
from standing_orders.cage2.policy import Policy
from standing_orders.cage2.reward import TENTHS_PER_POINT
from standing_orders.config import SimConfig
from standing_orders.errors import ConfigError
from standing_orders.evaluate.measure import MAX_BATCH, play
from standing_orders.rules.compliance import VIOLATION
from standing_orders.rules.orders import Order
from standing_orders.rules.temporal import TemporalRule
from standing_orders.seeding import child_seed
from standing_orders.stats import standard_error
from standing_orders.tables import Column, Table

Aim = Literal["order", "return", "rule"]
# Chosen at 3,000 episodes on seeds that no figure is reported of.
GENERATION, ELITE, CROSSED, REFRESHED, REDRAWN = 250, 25, 0.5, 0.25, 2.0
_TIE = 1e-3  # of the return, where equally many fixes break the order
_COLUMNS = (
    Column("episode", is_text=True),
    Column("return", ".1f"),
    Column("violations", ".3g"),
    Column("margin", ".2f"),
)
Attacks = NDArray[np.uint64]  # (num_attacks, 1 + horizon)
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Played:
    """What came of some attacks."""

    returns: Floats  # (num_attacks,)
    violations: NDArray[np.int64] | None  # (num_attacks,): fixes that broke the order
    margins: Floats | None  # (num_attacks,): lowest margin of the rule
    harm: Floats  # (num_attacks,): what is sought, larger is worse

    def outcome(self, place: int) -> "Outcome":
        """What came of one of them."""
        violations = None if self.violations is None else int(self.violations[place])
        margin = None if self.margins is None else float(self.margins[place])
        return Outcome(float(self.returns[place]), violations, margin)


@dataclass(frozen=True)
class Outcome:
    """One episode, or the mean of many."""

    reward: float  # return
    violations: float | None = None
    margin: float | None = None

    def to_json(self) -> dict[str, float | None]:
        """Plain data."""
        return {"return": self.reward, "violations": self.violations, "margin": self.margin}


@dataclass(frozen=True)
class Target:
    """Who is attacked, in which game, and what is sought."""

    policy: Policy
    game: SimConfig
    aim: Aim
    order: int | None = None  # that the policy is told and judged by
    rule: TemporalRule | None = None
    policy_seed: int = 0

    def __post_init__(self) -> None:
        if self.aim == "order" and self.order is None:
            raise ConfigError("aim = 'order': name the order that is to be broken")
        if self.aim == "rule" and self.rule is None:
            raise ConfigError("aim = 'rule': name the rule that is to be broken")

    def play(self, attacks: Attacks) -> Played:
        """Let the policy meet each attack, with the same random choices of its own."""
        own = np.full(len(attacks), self.policy_seed, dtype=np.uint64)
        found = play(
            self.policy,
            lambda _: AttackBatch(self.game, attacks),
            attacks[:, 0],
            policy_seeds=own,
            judged_by=[] if self.order is None else [self.order],
            is_watched=self.rule is not None,
        )
        returns = found.returns[:, -1] / TENTHS_PER_POINT
        violations = None if self.order is None else found.tallies[0][:, VIOLATION]
        margins = None
        if self.rule is not None:
            assert found.trace is not None
            margins = np.minimum(self.rule.judge(found.trace).lowest, 1e6)
        harm = -returns
        if self.aim == "order" and violations is not None:
            harm = violations - _TIE * returns
        elif self.aim == "rule" and margins is not None:
            harm = -margins - _TIE * returns
        return Played(returns, violations, margins, harm)


@dataclass(frozen=True)
class Falsified:
    """The worst attack that was found, beside random ones."""

    target: Target
    attack: NDArray[np.uint64]  # (1 + horizon,)
    budget: int
    seed: int
    worst: Outcome
    worst_random: Outcome  # of as many random attacks
    mean: Outcome  # of these
    std_error: float | None  # of their mean return

    def tables(self) -> list[Table]:
        """The worst that was found, beside the worst and the mean of random attacks."""
        n, target = f"{self.budget:,}", self.target
        rows = [
            (f"worst of {n} searched", self.worst),
            (f"worst of {n} random", self.worst_random),
            (f"mean of {n} random", self.mean),
        ]
        told = "" if target.order is None else f", order {Order(target.order).typed}"
        ruled = "" if target.rule is None else f", rule {target.rule.name}: {target.rule.formula}"
        title = (
            f"{target.policy.name}: red {target.game.red}, head start {target.game.head_start}, "
            f"red tempo {target.game.red_tempo}{told}{ruled}, sought: {target.aim}, seed "
            f"{self.seed}; a search, not a proof"
        )
        cells = tuple((name, one.reward, one.violations, one.margin) for name, one in rows)
        return [Table(title, _COLUMNS, cells)]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "policy": self.target.policy.name,
            "aim": self.target.aim,
            "budget": self.budget,
            "seed": self.seed,
            "worst": self.worst.to_json(),
            "worst_random": self.worst_random.to_json(),
            "mean_random": self.mean.to_json(),
            "std_error": self.std_error,
        }

    def attack_file(self, policy: str, *, order: str | None, greedy: bool) -> AttackFile:
        """The attack as a file to play; the policy as it is typed."""
        return AttackFile(
            game=self.target.game,
            seeds=tuple(int(seed) for seed in self.attack),
            policy=policy,
            order=order,
            greedy=greedy,
            policy_seed=self.target.policy_seed,
            found=self.to_json(),
        )


def falsify(
    target: Target,
    *,
    budget: int,
    seed: int,
    advance: Callable[[int], None] = lambda _: None,
) -> Falsified:
    """Search for the worst attack, and play as many random ones to compare it with.

    Args:
        target: who is attacked and what is sought.
        budget: episodes of the search, and again of random attacks.
        seed: of both.
        advance: called with the number of episodes just finished.

    Raises:
        ConfigError: the budget is too small for one generation.
    """
    if budget < 2 * ELITE:
        raise ConfigError(f"budget = {budget}: must be at least {2 * ELITE}")
    generator = _generator(seed, "random")
    worst, parts = None, []
    for count in _batches(budget):
        part = target.play(random_attacks(generator, count, target.game.horizon))
        place = int(part.harm.argmax())
        if worst is None or part.harm[place] > worst[0]:
            worst = (float(part.harm[place]), part.outcome(place))
        parts.append(part)
        advance(count)
    assert worst is not None
    attack = search(target, budget=budget, seed=seed, advance=advance)
    # Alone, as it is replayed: in other company the last bits of a network may turn an action.
    found = target.play(attack[None]).outcome(0)
    returns = np.concatenate([part.returns for part in parts])
    return Falsified(
        target,
        attack,
        budget,
        seed,
        found,
        worst[1],
        _mean(parts, returns),
        standard_error(returns),
    )


def search(
    target: Target, *, budget: int, seed: int, advance: Callable[[int], None] = lambda _: None
) -> NDArray[np.uint64]:  # (1 + horizon,)
    """The worst attack that a genetic search finds."""
    generator = _generator(seed, "search")
    attacks = random_attacks(generator, min(2 * GENERATION, budget), target.game.horizon)
    harm = target.play(attacks).harm
    advance(len(attacks))
    used = len(attacks)
    while True:
        chosen = np.argsort(-harm, kind="stable")[:ELITE]
        attacks, harm = attacks[chosen], harm[chosen]
        if used == budget:
            return np.asarray(attacks[0])
        children = breed(attacks, min(GENERATION, budget - used), generator)
        harm = np.concatenate([harm, target.play(children).harm])
        attacks = np.concatenate([attacks, children])
        advance(len(children))
        used += len(children)


def breed(elite: Attacks, count: int, generator: np.random.Generator) -> Attacks:
    """New attacks from the worst ones so far.

    Each is one of them; from some step on, half of them go on as another one and a quarter as
    nobody before; and of each a few draws are made anew.
    """
    horizon = elite.shape[1] - 1
    first, second = (elite[generator.integers(0, len(elite), count)] for _ in range(2))
    fresh = random_attacks(generator, count, horizon)
    is_later = np.arange(horizon + 1) >= generator.integers(1, horizon + 1, count)[:, None]
    fate = generator.random(count)[:, None]
    children = np.where(is_later & (fate < CROSSED), second, first)
    children = np.where(is_later & (fate >= 1 - REFRESHED), fresh, children)
    is_redrawn = generator.random(children.shape) < REDRAWN / horizon
    return np.where(is_redrawn, fresh, children)


def _generator(seed: int, name: str) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(child_seed(seed, "falsify", name)))


def _batches(count: int) -> list[int]:
    return [min(MAX_BATCH, count - start) for start in range(0, count, MAX_BATCH)]


def _mean(parts: Sequence[Played], returns: Floats) -> Outcome:
    violations = [one.violations for one in parts if one.violations is not None]
    margins = [one.margins for one in parts if one.margins is not None]
    return Outcome(
        float(returns.mean()),
        float(np.concatenate(violations).mean()) if violations else None,
        float(np.concatenate(margins).mean()) if margins else None,
    )
