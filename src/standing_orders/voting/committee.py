"""Who agrees: the number of agents, of liars they must bear, and what follows from the two."""

from dataclasses import dataclass

from standing_orders.errors import VotingError
from standing_orders.voting.quorum import check_counts


@dataclass(frozen=True)
class Committee:
    """Agents that agree without trust: n >= 3f + 1, f >= 1.

    Raises:
        VotingError: too few agents for f liars, or f = 0; says which n is needed.

    Example:
        >>> Committee(n=4, f=1).quorum, Committee(n=6, f=1).quorum
        (3, 4)
    """

    n: int
    f: int

    def __post_init__(self) -> None:
        check_counts(self.n, self.f)
        if self.f == 0:
            bearable = (self.n - 1) // 3
            advice = f"n = {self.n} bears up to {bearable}" if bearable else "needs n >= 4 for one"
            raise VotingError(
                f"n = {self.n} agents, f = 0 liars: an agreement that bears no liar; {advice}"
            )
        if self.n < 3 * self.f + 1:
            raise VotingError(
                f"n = {self.n} agents, f = {self.f} liars: agreement without trust needs "
                f"n >= 3f + 1 = {3 * self.f + 1}"
            )

    @property
    def quorum(self) -> int:
        """Smallest number such that any two quorums share f + 1 agents, so an honest one.

        It is 2f + 1 for n = 3f + 1; for more agents 2f + 1 would not be enough.
        """
        return (self.n + self.f) // 2 + 1

    @property
    def num_ballots(self) -> int:
        """Number of ballots a proposal must hold: as many as are certain to come."""
        return self.n - self.f

    def primary(self, slot: int, view: int) -> int:
        """Agent that proposes in a view; the office goes round, from slot to slot as well."""
        return (slot + view) % self.n
