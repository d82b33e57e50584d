import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.streams.sealing import BrokenSealError, sealed, unsealed


@given(content=st.binary(max_size=100))
def test_what_was_sealed_comes_back(content):
    assert bytes(unsealed(sealed(content))) == content


@given(content=st.binary(max_size=100), data=st.data())
def test_a_changed_bit_is_noticed(content, data):
    kept = bytearray(sealed(content))
    kept[data.draw(st.integers(0, len(kept) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(BrokenSealError):
        unsealed(bytes(kept))


def test_what_is_shorter_than_a_checksum_is_broken():
    with pytest.raises(BrokenSealError):
        unsealed(b"x")
