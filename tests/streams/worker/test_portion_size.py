from hypothesis import given
from hypothesis import strategies as st

from onward.streams.worker.portion_size import PORTION_SECONDS, PortionSize


@given(st.lists(st.floats(1e-5, 0.02), min_size=20, max_size=20))
def test_a_portion_takes_about_its_time_whatever_an_entry_costs(costs: list[float]) -> None:
    size = PortionSize(2000)
    for cost in costs:
        size.folded(size.entries, size.entries * cost)
        assert 1 <= size.entries <= 2000
        assert size.entries * cost <= PORTION_SECONDS * 1.001


def test_cheap_entries_are_folded_in_large_portions() -> None:
    size = PortionSize(2000)
    for _ in range(5):
        size.folded(size.entries, size.entries * 1e-4)
    assert size.entries == 2000


def test_a_single_entry_is_folded_however_long_it_takes() -> None:
    size = PortionSize(2000)
    size.folded(1, 60.0)
    assert size.entries == 1
