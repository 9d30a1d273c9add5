"""What an honest agent believes: certificates, view changes and proposals that prove themselves."""

from collections.abc import Iterable
from itertools import pairwise

from standing_orders.voting.committee import Committee
from standing_orders.voting.messages import (
    BallotSet,
    Certificate,
    Notary,
    Phase,
    Proposal,
    ViewChange,
    digest_of,
    is_well_formed,
)


class Checker:
    """Judges messages by the rules of a committee; every honest agent judges alike."""

    def __init__(self, committee: Committee, notary: Notary) -> None:
        self.committee = committee
        self.notary = notary

    def is_authentic(self, message: object) -> bool:
        """Has a message its due form, and is it from its sender."""
        return is_well_formed(message, self.committee.n) and self.notary.holds(message)  # type: ignore[arg-type]

    def is_ballot_set(self, value: BallotSet, slot: int) -> bool:
        """Are these n - f or more signed ballots of different agents on this slot."""
        senders = [ballot.sender for ballot in value.ballots]
        return (
            len(senders) >= self.committee.num_ballots
            and all(first < second for first, second in pairwise(senders))
            and all(ballot.slot == slot for ballot in value.ballots)
            and digest_of(value.ballots) == value.digest
            and all(self.notary.holds(ballot) for ballot in value.ballots)
        )

    def is_certificate(self, certificate: Certificate, phase: Phase, slot: int) -> bool:
        """Did a quorum of agents support this valid ballot set in one phase of one view."""
        digest, view = certificate.value.digest, certificate.view
        return (
            certificate.phase == phase
            and self._is_quorum(vote.sender for vote in certificate.votes)
            and all(
                vote.phase == phase
                and vote.slot == slot
                and vote.view == view
                and vote.digest == digest
                and self.notary.holds(vote)
                for vote in certificate.votes
            )
            and self.is_ballot_set(certificate.value, slot)
        )

    def is_change(self, change: ViewChange) -> bool:
        """Does an authentic wish for a new view prove what it says was prepared before."""
        if change.prepared is None:
            return change.view > 0
        return change.prepared.view < change.view and self.is_certificate(
            change.prepared, "prepare", change.slot
        )

    def is_proposal(self, proposal: Proposal) -> bool:
        """May the primary propose this ballot set in this view.

        After view 0 a quorum must have asked for the view, and what the latest of their
        certificates says is the only ballot set allowed: it may have been decided already.
        """
        slot, view = proposal.slot, proposal.view
        if proposal.sender != self.committee.primary(slot, view):
            return False
        if not self.is_ballot_set(proposal.value, slot):
            return False
        if view == 0:
            return True
        if not self._is_quorum(change.sender for change in proposal.changes):
            return False
        if not all(
            change.slot == slot
            and change.view == view
            and self.notary.holds(change)
            and self.is_change(change)
            for change in proposal.changes
        ):
            return False
        latest = latest_prepared(proposal.changes)
        return latest is None or latest.value.digest == proposal.value.digest

    def _is_quorum(self, senders: Iterable[int]) -> bool:
        named = list(senders)
        return len(named) == len(set(named)) >= self.committee.quorum


def latest_prepared(changes: Iterable[ViewChange]) -> Certificate | None:
    """The certificate of the highest view among some wishes for a new view."""
    known = [change.prepared for change in changes if change.prepared is not None]
    return max(known, key=lambda certificate: certificate.view, default=None)
