import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.streams.ledger.checksum import ChecksumError, with_checksum, without_checksum


@given(content=st.binary(max_size=100))
def test_what_was_sealed_comes_back(content):
    assert bytes(without_checksum(with_checksum(content))) == content


@given(content=st.binary(max_size=100), data=st.data())
def test_a_changed_bit_is_noticed(content, data):
    kept = bytearray(with_checksum(content))
    kept[data.draw(st.integers(0, len(kept) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(ChecksumError):
        without_checksum(bytes(kept))


def test_what_is_shorter_than_a_checksum_is_broken():
    with pytest.raises(ChecksumError):
        without_checksum(b"x")
