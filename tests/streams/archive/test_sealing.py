"""Sealed files: what is read is what was written under the same key at the same place, or an error."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.streams.archive import sealing
from onward.streams.archive.sealing import SealError, seal, unseal

KEY, OTHER = bytes(32), bytes([1]) * 32
PLACE = "journal-0/a file"
HEAD, TAG = 65, 16


@pytest.fixture(autouse=True, scope="module")
def small_blocks():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sealing, "BLOCK_BYTES", 8)
        yield


def sealed(*blocks):
    return b"".join(seal(blocks, KEY, PLACE))


def opened(content, key=KEY, place=PLACE):
    return b"".join(unseal(io.BytesIO(content), key, place))


@given(st.lists(st.binary(max_size=20), max_size=5))
def test_what_is_opened_is_what_was_sealed(blocks):
    assert opened(sealed(*blocks)) == b"".join(blocks)


@pytest.mark.attack
@given(st.binary(max_size=40), st.data())
def test_a_changed_byte_is_refused(plain, data):
    content = bytearray(sealed(plain))
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(SealError):
        opened(bytes(content))


@pytest.mark.attack
@pytest.mark.parametrize("size", [0, 7, 8, 9, 16, 24])
def test_what_is_cut_anywhere_is_refused(size):
    content = sealed(bytes(size))
    for end in range(len(content)):
        with pytest.raises(SealError):
            opened(content[:end])
    with pytest.raises(SealError):
        opened(content + b"\0")


@pytest.mark.attack
def test_blocks_cannot_change_places_or_come_from_another_writing():
    content, another = sealed(bytes(16)), sealed(bytes(16))
    first, second = content[HEAD : HEAD + 8 + TAG], content[HEAD + 8 + TAG :]
    for forged in (
        content[:HEAD] + second + first,
        content[:HEAD] + first + first,
        content[:HEAD] + second,
        content[:HEAD] + first + another[HEAD + 8 + TAG :],
        another[:HEAD] + first + second,
    ):
        with pytest.raises(SealError, match="damaged, or another file's"):
            opened(forged)


@pytest.mark.attack
def test_a_file_does_not_pass_for_another():
    with pytest.raises(SealError, match="damaged, or another file's"):
        opened(sealed(b"a"), place="journal-0/another file")


def test_another_key_is_named():
    with pytest.raises(SealError, match="another key of its month"):
        opened(sealed(b"a"), key=OTHER)
    with pytest.raises(SealError, match="not a sealed file"):
        opened(b"SQLite format 3")


def test_no_two_writings_are_alike():
    contents = {sealed(b"the same") for _ in range(100)}
    assert len({content[HEAD - 32 : HEAD] for content in contents}) == len(contents) == 100
