"""Keys: one for each agent and run, and nowhere but in its process."""

import sys

import pytest

from standing_orders.errors import ConfigError
from standing_orders.voting.keys import draw_key, public_notary, simulated_keys


def test_every_key_is_new_and_its_public_half_does_not_tell_it() -> None:
    (first, key), (second, other) = draw_key(0), draw_key(0)
    assert len(key) == len(other) == 32
    assert key != other
    notary = public_notary([key, other])
    assert notary.vouches(0, b"claim", first.sign(b"claim"))
    assert not notary.vouches(0, b"claim", second.sign(b"claim"))
    assert not notary.vouches(1, b"claim", first.sign(b"claim"))
    assert not notary.vouches(0, b"claims", first.sign(b"claim"))


def test_a_notary_that_remembers_is_not_fooled_by_a_known_tag() -> None:
    notary, signers = simulated_keys(2, seed=1)
    tag = signers[0].sign(b"claim")
    assert notary.vouches(0, b"claim", tag)
    assert not notary.vouches(0, b"other claim", tag)
    assert not notary.vouches(1, b"other claim", tag)


def test_without_the_package_the_message_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "cryptography.hazmat.primitives.asymmetric.ed25519"
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ConfigError, match=r"standing-orders\[ray\]"):
        draw_key(0)
