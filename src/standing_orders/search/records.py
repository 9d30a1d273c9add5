"""What a search writes down: one record for each event of its journal.

In this order: `Base` (if the search trains a base policy), `Prior` (if that is asked about every
order), then for each `Round`, whose choices are made together, a `Result` for every choice, and at
last `Final`.
"""

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin

from standing_orders.errors import CheckpointError
from standing_orders.evaluate.measure import Measured
from standing_orders.rules.gate import GateResult
from standing_orders.rules.orders import Order

Json = dict[str, Any]
_PLAYED_FOR = ("training", "gate", "evaluation")
_NOT_MEASURED = GateResult("untested", "no episodes were left to measure it with")


@dataclass(frozen=True)
class Counters:
    """What a policy has had so far."""

    updates: int = 0
    episodes: int = 0  # of training
    gate_episodes: int = 0

    @property
    def played(self) -> int:
        """All its episodes."""
        return self.episodes + self.gate_episodes


@dataclass(frozen=True)
class Base:
    """The base policy has been trained."""

    num_episodes: int

    @property
    def episodes(self) -> dict[str, int]:
        """Episodes by what they were played for."""
        return {"base": self.num_episodes}

    def to_json(self) -> Json:
        """Plain data for the journal."""
        return {"event": "base", "episodes": self.episodes, "total_episodes": self.num_episodes}

    @classmethod
    def from_json(cls, data: Json) -> "Base":
        """Read it back."""
        return cls(data["episodes"]["base"])


@dataclass(frozen=True)
class Prior:
    """What the base policy earns with each order."""

    returns: tuple[float, ...]  # (120,)
    std_errors: tuple[float, ...]  # (120,)
    num_episodes: int  # in all
    total_episodes: int

    @property
    def episodes(self) -> dict[str, int]:
        """Episodes by what they were played for."""
        return {"prior": self.num_episodes}

    def to_json(self) -> Json:
        """Plain data for the journal."""
        return {
            "event": "prior",
            "returns": list(self.returns),
            "std_errors": list(self.std_errors),
            "episodes": self.episodes,
            "total_episodes": self.total_episodes,
        }

    @classmethod
    def from_json(cls, data: Json) -> "Prior":
        """Read it back."""
        return cls(
            tuple(data["returns"]), tuple(data["std_errors"]), data["episodes"]["prior"],
            data["total_episodes"],
        )  # fmt: skip


@dataclass(frozen=True)
class Visit:
    """An order, why it was chosen, and where its policy begins."""

    iteration: int  # number of the visit, from 1
    round: int  # iteration of the first of the choices that were made together
    order: Order
    score: float | None  # what decided: no order that could be chosen had a higher one
    decided_by: str  # what the score is; see `acquisition`
    mean: float  # what the surrogate believed of the order
    std: float
    chance: float  # to pass the gate
    visit: int  # of this order, from 1
    policy: str  # name of its folder
    start: str  # kind of start, for `nearest` and `previous` with the other order

    def _visit_json(self) -> Json:
        values = {name: getattr(self, name) for name in _VISIT_FIELDS if name != "order"}
        return values | {"order_id": self.order.index, "order": str(self.order)}


_VISIT_FIELDS = tuple(Visit.__dataclass_fields__)
SomeVisit = TypeVar("SomeVisit", bound=Visit)


def _read_visit(cls: type[SomeVisit], data: Json, **rest: Any) -> SomeVisit:
    shared = {name: data[name] for name in _VISIT_FIELDS}
    return cls(**(shared | {"order": Order(data["order_id"])}), **rest)


@dataclass(frozen=True)
class Choice(Visit):
    """A visit that is to be made."""

    start_policy: str | None  # of `nearest` and `previous`: the other order's policy
    before: Counters
    limit: int  # of all episodes of the policy; see `Trainer.go_on`
    evaluation_episodes: int

    @property
    def start_name(self) -> str | None:
        """Name of the run that the policy begins with, in a first visit."""
        return self.start if self.start == "base" else self.start_policy

    def to_json(self) -> Json:
        """Plain data for the journal."""
        return self._visit_json() | {
            "start_policy": self.start_policy,
            "before": asdict(self.before),
            "limit": self.limit,
            "evaluation_episodes": self.evaluation_episodes,
        }

    @classmethod
    def from_json(cls, data: Json) -> "Choice":
        """Read it back."""
        return _read_visit(
            cls, data, start_policy=data["start_policy"], before=Counters(**data["before"]),
            limit=data["limit"], evaluation_episodes=data["evaluation_episodes"],
        )  # fmt: skip


@dataclass(frozen=True)
class Round:
    """Choices that were made together."""

    choices: tuple[Choice, ...]

    @property
    def episodes(self) -> dict[str, int]:
        """A choice costs nothing."""
        return {}

    def to_json(self) -> Json:
        """Plain data for the journal."""
        return {"event": "round", "choices": [choice.to_json() for choice in self.choices]}

    @classmethod
    def from_json(cls, data: Json) -> "Round":
        """Read it back."""
        return cls(tuple(Choice.from_json(choice) for choice in data["choices"]))


@dataclass(frozen=True)
class Result(Visit):
    """What came of a visit."""

    measured: Measured | None  # None if there were no episodes to measure with
    stopped: str | None  # why training ended
    updates: tuple[int, int]  # of the policy, before and after
    episodes: dict[str, int]  # by _PLAYED_FOR
    total_episodes: int  # of the whole search up to here

    @classmethod
    def of(
        cls, choice: Choice, measured: Measured | None, progress: Json, *, used: int
    ) -> "Result":
        """What a choice came to.

        Args:
            choice: what was to be done.
            measured: the evaluation.
            progress: counters of the policy afterwards.
            used: episodes of the search before it.
        """
        before = choice.before
        counts = (
            progress["episodes"] - before.episodes,
            progress["gate_episodes"] - before.gate_episodes,
            choice.evaluation_episodes,
        )
        episodes = dict(zip(_PLAYED_FOR, counts, strict=True))
        return cls(
            **{name: getattr(choice, name) for name in _VISIT_FIELDS},
            measured=measured,
            stopped=progress["stopped"],
            updates=(before.updates, progress["updates"]),
            episodes=episodes,
            total_episodes=used + sum(episodes.values()),
        )

    @property
    def gate(self) -> GateResult:
        """What the gate said of the evaluation."""
        return _NOT_MEASURED if self.measured is None else self.measured.gate

    @property
    def has_passed(self) -> bool:
        """Whether the order is followed."""
        return self.gate.has_passed

    @property
    def observed(self) -> tuple[float, float] | None:
        """Return and its standard error, if the surrogate learns from them.

        The return of a policy that does not follow its order says nothing about the order.
        """
        measured = self.measured
        if measured is None or measured.std_error is None or not self.has_passed:
            return None
        return measured.mean_return, measured.std_error

    def to_json(self) -> Json:
        """Plain data for the journal."""
        measured = self.measured
        return {
            "event": "result",
            **self._visit_json(),
            **self.gate.to_json(),
            "reward": None if measured is None else measured.mean_return,
            "std_error": None if measured is None else measured.std_error,
            "compliance": {} if measured is None else measured.compliance_json(),
            "gp_updated": self.observed is not None,
            "stopped": self.stopped,
            "updates": list(self.updates),
            "episodes": self.episodes,
            "total_episodes": self.total_episodes,
        }

    @classmethod
    def from_json(cls, data: Json) -> "Result":
        """Read it back."""
        figures = {"return": data["reward"], **data, **data["compliance"]}
        return _read_visit(
            cls, data, measured=Measured.from_json(figures) if data["compliance"] else None,
            stopped=data["stopped"], updates=tuple(data["updates"]),
            episodes={name: data["episodes"][name] for name in _PLAYED_FOR},
            total_episodes=data["total_episodes"],
        )  # fmt: skip


@dataclass(frozen=True)
class Final:
    """The best order, and its score on episodes that chose nothing."""

    order: Order
    policy: str
    start: str
    has_passed: bool  # when it was chosen as the best
    measured: Measured | None
    num_episodes: int
    total_episodes: int

    @property
    def episodes(self) -> dict[str, int]:
        """Episodes by what they were played for."""
        return {"final": self.num_episodes}

    def to_json(self) -> Json:
        """Plain data for the journal."""
        return {
            "event": "final",
            "order_id": self.order.index,
            "order": str(self.order),
            "policy": self.policy,
            "start": self.start,
            "passed": self.has_passed,
            "episodes": self.episodes,
            "measured": None if self.measured is None else self.measured.to_json(),
            "total_episodes": self.total_episodes,
        }

    @classmethod
    def from_json(cls, data: Json) -> "Final":
        """Read it back."""
        measured = data["measured"]
        return cls(
            order=Order(data["order_id"]),
            policy=data["policy"],
            start=data["start"],
            has_passed=data["passed"],
            measured=None if measured is None else Measured.from_json(measured),
            num_episodes=data["episodes"]["final"],
            total_episodes=data["total_episodes"],
        )


Record = Base | Prior | Round | Result | Final
_KINDS: dict[str, type[Record]] = {
    "base": Base, "prior": Prior, "round": Round, "result": Result, "final": Final,
}  # fmt: skip


def read_record(data: Json) -> Record:
    """A record of a journal.

    Raises:
        CheckpointError: it is none of this version.
    """
    try:
        record = _KINDS[data["event"]].from_json(data)
        for part in (record, *getattr(record, "choices", ())):
            _check_types(part)
    except (LookupError, TypeError, ValueError, AttributeError) as err:
        raise CheckpointError(
            f"not a record of a search of this version: {err!r} is amiss"
        ) from err
    return record


def _check_types(part: Record | Choice | Counters) -> None:
    """Look whether each value is of its field's type, as far as a plain look can tell.

    Raises:
        TypeError: one is not, or the name of a policy is not a plain name.
    """
    for field in fields(part):
        value = getattr(part, field.name)
        if not _is_of(value, field.type):
            raise TypeError(f"{field.name} = {value!r:.60}")
        is_folder = field.name in ("policy", "start_policy") and value is not None
        is_name = value not in ("", "..") and Path(str(value)).name == value
        if is_folder and not is_name:  # a folder that may be removed
            raise TypeError(f"{field.name} = {value!r:.60}")
        if isinstance(value, Counters):
            _check_types(value)


def _is_of(value: Any, kind: Any) -> bool:
    """Whether a value is of a type, with all that is inside it; whole numbers will do as others."""
    origin, inside = get_origin(kind) or kind, get_args(kind)
    if origin is UnionType:
        return any(_is_of(value, one) for one in inside)
    if origin in (int, float):
        return isinstance(value, int | origin) and not isinstance(value, bool)
    if not isinstance(value, origin):
        return False
    if origin is tuple:
        is_whole = inside[-1] is Ellipsis or len(value) == len(inside)
        return is_whole and all(_is_of(one, inside[0]) for one in value)
    return origin is not dict or all(_is_of(one, inside[1]) for one in value.values())
