"""More of a change moves what follows, too."""

from __future__ import annotations

import numpy as np
import pytest

from onward.agents.candidates.components.overshoot import RawChanges, ends, more_is_accepted
from onward.agents.candidates.contract import Ranges, Space
from onward.agents.consequences import Consequences, Encoding, Link
from onward.agents.tree_walk import Boxes

COLUMNS = 5
LOW, SCALE, DIGITS = np.zeros(COLUMNS), np.full(COLUMNS, 100.0), [0, 0, 1, 1, 2]


def bent(values: list[np.ndarray]) -> np.ndarray:
    """A feature that first rises and then falls with another."""
    return -np.abs(values[0] - 60.0)


LINKS = {
    "one parent": [Link(2, [0], [0.5], [0.1])],
    "a chain": [Link(2, [0], [0.5], [0.1]), Link(3, [2], [-0.4], [0.1])],
    "two parents": [Link(2, [0, 1], [0.5, -0.3], [0.1, 0.1])],
    "there and back": [Link(3, [0], formula=bent)],
    "a product": [Link(4, [0, 1], formula=lambda values: values[0] * values[1] / 100)],
}


def space_with(links: list[Link]) -> Space:
    consequences = Consequences(links, Encoding(np.arange(COLUMNS), LOW, SCALE, DIGITS))
    ranges = Ranges.from_bounds(np.full(COLUMNS, -1000.0), np.full(COLUMNS, 1000.0))
    ranges = ranges._replace(lowest=np.zeros(COLUMNS), highest=np.full(COLUMNS, 100.0))
    return Space(
        *(np.arange(COLUMNS), LOW, SCALE, ("any",) * COLUMNS, np.zeros(COLUMNS), DIGITS, None),
        *(lambda rows: np.ones(len(rows), np.bool_), tuple("abcde"), ranges, None, None, consequences),
    )


PERSON = np.array([0.4, 0.5, 0.3, 0.2, 0.2])


@pytest.mark.parametrize("links", LINKS.values(), ids=LINKS)
def test_every_point_that_is_probed_is_a_state_in_which_the_person_may_be(links: list[Link]) -> None:
    space = space_with(links)
    consequences, asked = space.consequences, list[np.ndarray]()
    assert consequences is not None
    told = PERSON.copy()
    told[[0, 1]] = 0.55, 0.6
    target = consequences.states_after(told[np.newaxis], PERSON[np.newaxis])

    def rejected(boxes: Boxes) -> np.ndarray:
        asked.append(boxes.points(np.arange(boxes.first[-1])))
        return np.full(len(boxes.owner), -1)

    option = RawChanges.from_targets(space, PERSON[np.newaxis], target)
    assert np.flatnonzero(option.changed[0]).tolist() == [0, 1]
    assert more_is_accepted(option, rejected).all()
    assert not ends(option, rejected)
    points = np.concatenate(asked)
    people = np.repeat(PERSON[np.newaxis], len(points), axis=0)
    alone = np.where(np.arange(COLUMNS) < 2, points, people)
    assert np.allclose(consequences.states_after(alone, people), points, atol=1e-12)
    assert len(np.unique(points[:, 0])) > 5
    assert len(np.unique(points[:, 1])) > 5


@pytest.mark.parametrize("links", LINKS.values(), ids=LINKS)
def test_the_end_is_where_what_follows_is_rejected(links: list[Link]) -> None:
    space = space_with(links)
    consequences = space.consequences
    assert consequences is not None
    target = consequences.states_after(np.array([[0.5, *PERSON[1:]]]), PERSON[np.newaxis])
    child = consequences.followers[-1]
    most = np.abs(target[0, child] - PERSON[child]) + 0.08

    def rejected(boxes: Boxes) -> np.ndarray:
        first, found = boxes.first, list[int]()
        for grid in range(len(boxes.owner)):
            rows = boxes.points(np.arange(first[grid], first[grid + 1]))
            hits = np.flatnonzero(np.abs(rows[:, child] - PERSON[child]) > most)
            found.append(hits[0] if len(hits) else -1)
        return np.array(found)

    option = RawChanges.from_targets(space, PERSON[np.newaxis], target)
    end = ends(option, rejected)
    values = np.arange(50, 101) / 100.0
    people = np.repeat(PERSON[np.newaxis], len(values), axis=0)
    states = consequences.states_after(np.column_stack([values, people[:, 1:]]), people)
    bad = np.flatnonzero(np.abs(states[:, child] - PERSON[child]) > most)
    if len(bad):
        assert 50 <= end[0] < 100.0 * values[bad[0]]
    else:
        assert end == {}
