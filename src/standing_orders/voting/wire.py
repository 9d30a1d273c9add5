"""Messages as bytes, and the signed envelopes that carry them between processes.

JSON and nothing that could run: what comes in is data, judged by `messages.Checker`. An envelope
says who sends it to whom and carries a number, all signed, so that its sender answers for whatever
is inside, and none is heard twice.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from standing_orders.voting.messages import FIELDS, Notary, Signer

MAX_BYTES = 4_000_000  # of an envelope
_BY_NAME = {kind.__name__: kind for kind in FIELDS}
_BYTES = ("choices", "digest", "tag")
_TUPLES = ("ballots", "votes", "changes")


@dataclass(frozen=True, slots=True)
class Envelope:
    """Messages from one agent to another."""

    sender: int
    recipient: int
    number: int  # larger with each envelope from this sender to this recipient
    letters: tuple[bytes, ...]  # encoded messages
    tag: bytes

    def claim(self) -> bytes:
        """What the sender signs."""
        inside = hashlib.sha256(b"".join(hashlib.sha256(one).digest() for one in self.letters))
        head = f"envelope {self.sender} {self.recipient} {self.number} "
        return head.encode() + inside.digest()


def encode(message: object) -> bytes:
    """A message, or anything that a liar sends in its place, as bytes.

    Example:
        >>> from standing_orders.voting.messages import Ballot
        >>> encode(Ballot(3, 1, bytes([0, 2]), b"x"))
        b'["Ballot",3,1,"0002","78"]'
    """
    return json.dumps(_plain(message), separators=(",", ":")).encode()


def _plain(part: object) -> Any:
    if type(part) in FIELDS:
        return [type(part).__name__, *(_plain(getattr(part, name)) for name in FIELDS[type(part)])]
    if isinstance(part, bytes):
        return part.hex()
    if isinstance(part, tuple):
        return [_plain(item) for item in part]
    return part


def decode(letter: bytes) -> object:
    """What bytes say; None if that is nothing. Its form and truth remain to be judged."""
    try:
        return _built(json.loads(letter))
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        return None


def _built(part: Any) -> Any:
    kind = _BY_NAME[part[0]]
    names = FIELDS[kind]
    if len(part) != len(names) + 1:
        raise ValueError("more or fewer fields than there are")
    built: Any = kind
    return built(*(_field(name, value) for name, value in zip(names, part[1:], strict=True)))


def _field(name: str, value: Any) -> Any:
    if name in _BYTES:
        return bytes.fromhex(value)
    if name in _TUPLES:
        return tuple(_built(item) for item in value)
    return _built(value) if isinstance(value, list) else value


def seal(signer: Signer, recipient: int, number: int, letters: tuple[bytes, ...]) -> bytes:
    """Put letters into a signed envelope."""
    bare = Envelope(signer.agent, recipient, number, letters, b"")
    texts = [letter.decode() for letter in letters]
    tag = signer.sign(bare.claim()).hex()
    return json.dumps([signer.agent, recipient, number, texts, tag]).encode()


def unseal(data: object, n: int, notary: Notary) -> Envelope | None:
    """The envelope in some bytes; None if it is none or not from the one of n it names."""
    if type(data) is not bytes or len(data) > MAX_BYTES:
        return None
    try:
        sender, recipient, number, texts, tag = json.loads(data)
        letters = tuple(text.encode() for text in texts)
        envelope = Envelope(sender, recipient, number, letters, bytes.fromhex(tag))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    if any(type(value) is not int or value < 0 for value in (sender, recipient, number)):
        return None
    if sender >= n or len(envelope.tag) != notary.tag_size:
        return None
    return envelope if notary.vouches(sender, envelope.claim(), envelope.tag) else None
