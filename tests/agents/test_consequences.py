"""Tests of what follows from changes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.agents.consequences import Consequences, Encoding, Link

FEATURES = 5


class Case(NamedTuple):
    """A random acyclic graph over features with digits and bounds of their own, people, and what they do."""

    consequences: Consequences
    encoding: Encoding
    people: np.ndarray
    acted: np.ndarray


@st.composite
def cases(draw: st.DrawFn, computed: bool = True) -> Case:
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    digits = draw(st.lists(st.integers(0, 6), min_size=FEATURES, max_size=FEATURES))
    low = random.integers(-50, 50, FEATURES).astype(float)
    encoding = Encoding(np.arange(FEATURES), low, random.uniform(1, 500, FEATURES).round(1), digits)
    links = []
    for child in range(1, FEATURES):
        parents = [parent for parent in range(child) if draw(st.booleans())]
        if not parents:
            continue
        if computed and draw(st.booleans()):
            links.append(Link(child, parents, formula=lambda values: values[0] / values[-1]))
        else:
            slopes, deviations = random.normal(0, 2, len(parents)), random.uniform(0, 1, len(parents))
            links.append(Link(child, parents, slopes.tolist(), deviations.tolist()))
            if draw(st.booleans()):
                # Some people are beyond them.
                lowest, highest = np.sort(random.uniform(-100, 400, 2).round(2)).tolist()
                links[-1] = links[-1]._replace(stops=(lowest, highest))
    order = random.permutation(len(links))
    unit = 10.0 ** np.array(digits)
    raw = np.rint(random.uniform(0.5, 300, (20, FEATURES)) * unit) / unit
    moves = np.rint(random.normal(0, 30, raw.shape) * unit) / unit * random.integers(0, 2, raw.shape)
    moves[:, [link.child for link in links if link.formula is not None]] = 0.0
    people, acted = ((each - low) / encoding.scale for each in (raw, np.rint((raw + moves) * unit) / unit))
    return Case(
        Consequences([links[i] for i in order], encoding), encoding, people, np.where(moves == 0, people, acted)
    )


class TestTheInverse:
    @given(cases())
    def test_what_people_do_follows_from_the_state_in_which_they_will_be(self, case: Case) -> None:
        with np.errstate(all="ignore"):
            states = case.consequences.of_actions(case.acted, case.people)
            # Numbers of features have at most 12 digits.
            defined = (np.abs(states * case.encoding.scale) < 1e6).all(axis=1)
            actions = case.consequences.actions(states, case.people)
        assert np.array_equal(actions[defined], case.acted[defined])

    @given(cases(computed=False))
    def test_who_is_told_where_others_end_does_what_leads_there(self, case: Case) -> None:
        consequences, people = case.consequences, case.people
        states = consequences.of_actions(case.acted, people)
        does = consequences.stated_changes(states, people)
        # Whose action only undoes what follows is told no change, and is not sound.
        shown = (does == (does & (states != people))).all(axis=1)
        assert np.array_equal(consequences.states_after(np.where(does, states, people), people)[shown], states[shown])

    @given(cases())
    def test_who_does_nothing_stays_as_they_are(self, case: Case) -> None:
        states = case.consequences.states_after(case.people, case.people)
        assert np.array_equal(states, case.people)
        assert np.array_equal(case.consequences.actions(states, case.people), case.people)

    @settings(max_examples=20)
    @given(cases())
    def test_a_row_does_not_depend_on_the_others(self, case: Case) -> None:
        with np.errstate(all="ignore"):
            together = case.consequences.states_after(case.acted, case.people)
            alone = [
                case.consequences.states_after(case.acted[[i]], case.people[[i]])[0] for i in range(len(case.people))
            ]
        assert np.array_equal(together, np.array(alone))


class TestStops:
    @given(cases(computed=False))
    def test_what_follows_stops_at_the_bounds_and_else_is_as_without_them(self, case: Case) -> None:
        consequences, people, wide = case.consequences, case.people, np.full(FEATURES, 1e9)
        free = Consequences([link._replace(stops=(-np.inf, np.inf)) for link in consequences.links], case.encoding)
        told = np.where(np.isin(np.arange(FEATURES), consequences.followers), people, case.acted)
        states, freely = consequences.states_after(told, people), free.states_after(told, people)
        short = consequences.examined(states, people, -wide, wide).short
        own, *ends, without = (
            case.encoding.low + each * case.encoding.scale for each in (people, states, short, freely)
        )
        within = np.ones(len(people), np.bool_)
        for link in consequences.links:
            column, (lowest, highest) = link.child, link.stops
            for each in ends:
                assert (each[:, column] >= np.minimum(lowest, own[:, column]) - 1e-9).all()
                assert (each[:, column] <= np.maximum(highest, own[:, column]) + 1e-9).all()
            within &= (without[:, column] >= lowest) & (without[:, column] <= highest)
        assert np.array_equal(states[within], freely[within])

    def test_who_reaches_a_bound_by_what_follows_has_done_nothing_for_it(self) -> None:
        consequences = Consequences(
            [Link(1, [0], [-0.5], [0.1], stops=(0.0, 100.0)), Link(2, [1], [2.0], [0.0])], ENCODING
        )
        people = np.array([[1.0, 3.0, 50.0]])
        states = consequences.states_after(np.array([[21.0, 3.0, 50.0]]), people)
        # What follows of it follows from where it stops.
        assert states.tolist() == [[21.0, 0.0, 44.0]]
        assert consequences.actions(states, people).tolist() == [[21.0, 3.0, 50.0]]
        examined = consequences.examined(states, people, np.zeros(3), np.full(3, 100.0))
        assert examined.sound.all()
        # One deviation less of each of two, and it stops all the same.
        assert examined.short.tolist() == [[21.0, 0.0, 44.0]]

    def test_what_people_do_themselves_begins_where_it_stops(self) -> None:
        consequences = Consequences([Link(1, [0], [2.0], [0.0], stops=(0.0, 9.0))], ENCODING)
        people = np.array([[1.0, 5.0, 0.0]])
        # Without a stop 13 would follow.
        states = consequences.of_actions(np.array([[5.0, 6.0, 0.0]]), people)
        assert states.tolist() == [[5.0, 10.0, 0.0]]
        assert consequences.actions(states, people).tolist() == [[5.0, 6.0, 0.0]]

    @pytest.mark.parametrize("sign", [1, -1])
    def test_who_is_beyond_a_bound_goes_no_farther(self, sign: int) -> None:
        stops = (0.0, 9.0) if sign > 0 else (-9.0, 0.0)
        consequences = Consequences([Link(1, [0], [2.0], [0.0], stops=stops)], ENCODING)
        people = np.array([[0.0, 11.0 * sign, 0.0]])
        assert consequences.states_after(np.array([[5.0 * sign, 11.0 * sign, 0.0]]), people).tolist() == [
            [5.0 * sign, 11.0 * sign, 0.0]
        ]
        # Whoever comes back part of the way is still beyond it.
        people = np.array([[3.0 * sign, 15.0 * sign, 0.0]])
        assert consequences.states_after(np.array([[1.0 * sign, 15.0 * sign, 0.0]]), people).tolist() == [
            [1.0 * sign, 11.0 * sign, 0.0]
        ]

    def test_who_is_beyond_a_bound_stays_there_and_comes_back(self) -> None:
        consequences = Consequences([Link(1, [0], [2.0], [0.0], stops=(0.0, 9.0))], ENCODING)
        people = np.array([[1.0, 11.0, 0.0]] * 2)
        states = consequences.states_after(np.array([[5.0, 11.0, 0.0], [0.0, 11.0, 0.0]]), people)
        assert states.tolist() == [[5.0, 11.0, 0.0], [0.0, 9.0, 0.0]]


ENCODING = Encoding(np.arange(3), np.zeros(3), np.ones(3), [0, 1, 2])
WIDE = np.full(3, -100.0), np.full(3, 100.0)


class TestWhatIsSound:
    def test_a_follower_stays_within_its_bounds(self) -> None:
        consequences = Consequences([Link(1, [0], [2.0], [0.0])], ENCODING)
        people = np.array([[1.0, 5.0, 0.0]])
        states = consequences.states_after(np.array([[4.0, 5.0, 0.0]]), people)
        assert states.tolist() == [[4.0, 11.0, 0.0]]
        assert consequences.examined(states, people, *WIDE).sound.all()
        assert not consequences.examined(states, people, np.zeros(3), np.full(3, 10.0)).sound.any()

    def test_nobody_is_told_to_act_against_the_change_that_they_are_told(self) -> None:
        consequences = Consequences([Link(1, [0], [2.0], [0.0])], ENCODING)
        people = np.array([[1.0, 5.0, 0.0], [1.0, 5.0, 0.0]])
        # What follows alone leads to 11: 7 is reached by undoing some of it, 12 by doing more.
        states = consequences.states_after(np.array([[4.0, 7.0, 0.0], [4.0, 12.0, 0.0]]), people)
        examined = consequences.examined(states, people, *WIDE)
        assert examined.sound.tolist() == [False, True]
        assert examined.acted.tolist() == [[4.0, 1.0, 0.0], [4.0, 6.0, 0.0]]

    def test_what_is_computed_is_defined_and_moved_by_nobody(self) -> None:
        def ratio(values: list[np.ndarray]) -> np.ndarray:
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.where(values[1] == 0, np.nan, values[0] / values[1])

        consequences = Consequences([Link(2, [0, 1], formula=ratio)], ENCODING)
        people = np.array([[6.0, 3.0, 2.0]] * 3)
        told = np.array([[5.0, 3.0, 2.0], [6.0, 0.0, 2.0], [6.0, 3.0, 1.0]])
        states = consequences.states_after(told, people)
        assert states[0].tolist() == [5.0, 3.0, 1.67]
        assert consequences.examined(states, people, *WIDE).sound.tolist() == [True, False, False]


class TestShort:
    def test_what_follows_is_one_deviation_less_but_not_the_other_way(self) -> None:
        people = np.array([[1.0, 5.0, 0.0]])
        for deviations, short in ((0.5, 0.0), [3.0, 8.0, -3.0]), ((0.0, 3.0), [3.0, 9.0, 0.0]):
            links = [Link(1, [0], [2.0], [deviations[0]]), Link(2, [1], [-1.0], [deviations[1]])]
            consequences = Consequences(links, ENCODING)
            states = consequences.states_after(np.array([[3.0, 5.0, 0.0]]), people)
            assert states.tolist() == [[3.0, 9.0, -4.0]]
            assert consequences.examined(states, people, *WIDE).short.tolist() == [short]

    def test_of_several_that_follow_each_is_less_so_that_together_they_are_one_deviation_less(self) -> None:
        """Of k features with deviations of 0.5 that vary by themselves the sum varies by 0.5 sqrt(k)."""
        consequences = Consequences([Link(1, [0], [2.0], [0.5]), Link(2, [0], [-2.0], [0.5])], ENCODING)
        people, more = np.array([[10.0, 50.0, 50.0]] * 2), 20.0
        states = consequences.states_after(np.array([[10.0 + more, 50.0, 50.0], [10.0, 50.0, 40.0]]), people)
        states[1] = consequences.states_after(np.array([[10.0 + more, 50.0, 0.0]]), people[:1])
        short = consequences.examined(states, people, *WIDE).short
        assert short[0].tolist() == pytest.approx(
            [30.0, 90.0 - more * 0.5 / 2**0.5, 10.0 + more * 0.5 / 2**0.5], abs=0.06
        )
        # Who changes the other themselves has one feature that follows.
        assert short[1].tolist() == [30.0, 80.0, 0.0]

    def test_without_deviations_nothing_else_is_asked(self) -> None:
        consequences = Consequences([Link(1, [0], [2.0], [0.0])], ENCODING)
        people = np.array([[1.0, 5.0, 0.0]])
        states = consequences.states_after(np.array([[3.0, 5.0, 0.0]]), people)
        assert consequences.examined(states, people, *WIDE).short is states


class TestGraphs:
    def test_a_circle_is_refused(self) -> None:
        with pytest.raises(ValueError, match="in a cycle"):
            Consequences([Link(1, [0], [1.0], [0.0]), Link(0, [1], [1.0], [0.0])], ENCODING)

    def test_two_links_of_a_feature_are_refused(self) -> None:
        with pytest.raises(ValueError, match="two links"):
            Consequences([Link(1, [0], [1.0], [0.0]), Link(1, [2], [1.0], [0.0])], ENCODING)
