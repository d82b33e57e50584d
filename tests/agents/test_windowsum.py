import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.agents.choices.windowsum import SHORT, WindowSum


@pytest.mark.parametrize("window", [1, 3, SHORT + 1])
@given(numbers=st.lists(st.floats(-1e300, 1e300), max_size=8))
def test_it_is_the_correctly_rounded_sum_of_the_last(window, numbers):
    last = WindowSum([1e-320] * window)
    for number in numbers:
        last.push(number)
    kept = ([1e-320] * window + numbers)[-window:]
    assert last.numbers == kept
    assert last.value == math.fsum(kept)
