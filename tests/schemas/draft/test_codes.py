import random

import pytest

from onward.schemas.draft.codes import codes_of
from onward.schemas.draft.columns import Column

RANDOM = random.Random(0)
AMOUNTS = [RANDOM.randrange(0, 9000, 50) for _ in range(300)]
COUNTS = [RANDOM.randrange(14) for _ in range(300)]
INCOMES = [round(RANDOM.lognormvariate(8, 1)) for _ in range(1000)]


def column(numbers) -> Column:
    return Column("x", tuple(map(str, numbers)))


@pytest.mark.parametrize(
    ("amounts", "codes"),
    [
        (AMOUNTS, (999999,)),
        (AMOUNTS, (99999, 999999)),
        (COUNTS, (-9, -8, -7)),
        (COUNTS, (-1,)),
        (COUNTS, (96, 98)),
        (COUNTS, (666,)),
        (COUNTS, (99,)),
        (COUNTS, (-1, 98)),
        ([number / 100 for number in range(100)], (-1,)),
        (range(300, 850), (-9, -8)),
    ],
)
def test_what_stands_apart_and_recurs_is_a_code(amounts, codes):
    assert codes_of(column([*amounts, *codes * 5])) == codes


@pytest.mark.parametrize(
    "amounts",
    [
        AMOUNTS,
        COUNTS,
        INCOMES,
        [*AMOUNTS, 50_000, 50_000, 50_000, 50_000, 50_000],
        [12, 24, 48] * 20,
        [-2, -1, 0, 1, 2] * 9,
        [-3, -2, -1, *range(11)] * 3,
        [number - 4500 for number in AMOUNTS],
        [0.5, 1.5, -1.5, 2.5] * 5,
        [0, 1] * 20,
        [-1, 1] * 20,
        [7] * 20,
        ["clerk", "nurse"] * 9,
    ],
)
def test_amounts_are_no_codes(amounts):
    assert codes_of(column(amounts)) == ()


@pytest.mark.parametrize("step", [1, 10, 40, 500])
@pytest.mark.parametrize(
    "codes",
    [(-9,), (-9, -8), (-9, -8, -7), (-9, -8, -7, -6), (-9, -8, -7, -6, -5), (-3, -2, -1), (-99, -98, -97)],
)
def test_a_few_numbers_below_large_amounts_are_codes_whatever_the_steps_of_these(step, codes):
    amounts = [RANDOM.randrange(0, 8000 if step > 10 else 100 * step, step) for _ in range(300)]
    assert codes_of(column([*amounts, *codes * 5])) == codes


@pytest.mark.parametrize("step", [40, 500])
@pytest.mark.parametrize("codes", [(9999,), (9997, 9998, 9999), (999997, 999998, 999999)])
def test_a_run_of_numbers_that_ends_in_nines_above_the_amounts_is_of_codes(step, codes):
    assert codes_of(column([*range(0, 8001, step), *codes * 5])) == codes


@pytest.mark.parametrize("codes", [(97, 98, 99), (96, 97, 98, 99)])
def test_a_run_of_numbers_that_ends_in_nines_above_counts_is_of_codes(codes):
    assert codes_of(column([*range(41), *codes * 5])) == codes


@pytest.mark.parametrize(
    "amounts",
    [
        [*range(-2000, 8001, 40)] * 2,
        [*range(-80, 8001, 40)] * 2,
        [*range(-25, 800)] * 2,
        [*range(-500, 8001, 500)] * 2,
        [RANDOM.randrange(-3000, 9000) for _ in range(300)],
        [*range(90), *range(91, 100)] * 2,
        [*range(18, 100)] * 2,
    ],
)
def test_spread_amounts_on_both_sides_of_0_or_up_to_99_are_no_codes(amounts):
    assert codes_of(column(amounts)) == ()


def test_a_column_without_its_codes_has_the_amounts_alone():
    cells = column([3, -9, 5, -9, 999])
    assert cells.without_codes((-9, 999)).values.tolist() == [3, 5]
    assert cells.without_codes((-9, 999)).given.tolist() == [True, False, True, False, False]
