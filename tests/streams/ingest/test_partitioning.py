from __future__ import annotations

from aiokafka.partitioner import DefaultPartitioner
from hypothesis import given
from hypothesis import strategies as st

from onward.streams.ingest.partitioning import murmur2, partition_of


def test_known_hashes_of_the_java_client():
    known = {b"21": -973932308, b"foobar": -790332482, b"a-little-bit-long-string": -985981536}
    assert {key: murmur2(key) for key in known} == {key: value & 0xFFFFFFFF for key, value in known.items()}


@given(st.binary(max_size=64), st.integers(1, 200))
def test_agrees_with_aiokafka(key, n):
    assert partition_of(key, n) == DefaultPartitioner()(key, list(range(n)), list(range(n)))
