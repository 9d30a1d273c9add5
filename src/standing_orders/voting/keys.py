"""Who can sign in whose name: Ed25519 between processes, keyed hashes in a simulation.

An agent in a process of its own draws its key there; it stays in memory and ends with the process.
Only the public half is ever passed on. In a simulation everybody lives in one process, and
HMAC-SHA256 under keys made from a seed stands for signatures: the notary knows all keys, the agents
only their own.
"""

import hmac
from collections.abc import Sequence

from standing_orders.errors import ConfigError
from standing_orders.seeding import child_seed
from standing_orders.voting.messages import Notary, Sign, Signer

_ED25519_TAG, _SHA256_TAG = 64, 32  # bytes


def simulated_keys(n: int, seed: int) -> tuple[Notary, list[Signer]]:
    """A notary and the agents' signers, for a simulation."""
    keys = [str(child_seed(seed, "key", agent)).encode() for agent in range(n)]

    def sign_as(agent: int) -> Sign:
        return lambda claim: hmac.digest(keys[agent], claim, "sha256")

    def verify(agent: int, claim: bytes, tag: bytes) -> bool:
        return hmac.compare_digest(sign_as(agent)(claim), tag)

    return Notary(verify, _SHA256_TAG), [Signer(agent, sign_as(agent)) for agent in range(n)]


def draw_key(agent: int) -> tuple[Signer, bytes]:
    """A new Ed25519 key of an agent: what signs with it, and its public half.

    Raises:
        ConfigError: the package `cryptography` is not installed.
    """
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415
            Ed25519PrivateKey,
        )
    except ImportError as err:
        raise ConfigError(
            'signed votes need the package cryptography: pip install "standing-orders[ray]"'
        ) from err
    key = Ed25519PrivateKey.generate()
    return Signer(agent, key.sign), key.public_key().public_bytes_raw()


def public_notary(keys: Sequence[bytes]) -> Notary:
    """Checks signatures by the public keys of all agents, in their order."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415
        Ed25519PublicKey,
    )

    known = [Ed25519PublicKey.from_public_bytes(key) for key in keys]

    def verify(agent: int, claim: bytes, tag: bytes) -> bool:
        try:
            known[agent].verify(tag, claim)
        except InvalidSignature:
            return False
        return True

    return Notary(verify, _ED25519_TAG)
