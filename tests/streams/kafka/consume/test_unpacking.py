"""Content is unpacked as aiokafka would, up to a limit and to the byte."""

from __future__ import annotations

import pytest
from aiokafka import codec
from hypothesis import given
from hypothesis import strategies as st

from onward.streams.kafka.consume.unpacking import NAMES, UnpackError, unpack

CONTENT = st.one_of(
    st.binary(max_size=200), st.builds(lambda part, n: part * n, st.binary(max_size=9), st.integers(0, 90_000))
)


@pytest.mark.parametrize("number", NAMES)
@given(content=CONTENT, room=st.integers(0, 70))
def test_what_is_packed_comes_back_when_it_is_within_the_limit(number, content, room):
    packed = getattr(codec, f"{NAMES[number]}_encode")(content)
    assert bytes(unpack(number, packed, len(content), room)) == bytes(room) + content
    if content:
        with pytest.raises(UnpackError, match=f"more than the limit of {len(content) - 1} bytes"):
            unpack(number, packed, len(content) - 1, room)


@given(content=CONTENT)
def test_snappy_without_a_header_comes_back_too(content):
    packed = bytes(codec.snappy_encode(content, xerial_compatible=False))
    assert bytes(unpack(2, packed, len(content))) == content


@given(number=st.integers(0, 7), packed=st.binary(max_size=300))
def test_anything_else_is_refused_by_a_reason(number, packed):
    reason, size = "", 0
    try:
        size = len(unpack(number, packed, 1000))
    except UnpackError as error:
        reason = error.reason
    assert reason in ("", "oversized_batch", "unreadable_batch")
    assert size <= 1000
