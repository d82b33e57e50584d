"""People apply on their days, carry options out, follow revisions, and come back."""

from __future__ import annotations

from itertools import chain

from onward.environments.retrained import ReadOption, RetrainedPeople, RetrainedSettings

NEWCOMERS = [{"income": 10 + number, "debts": 4} for number in range(40)]
OFFERS = {
    "1": ReadOption({"income": 90, "debts": 1}, 0.4),
    "2": ReadOption({"income": 80}, 0.1),
    "3": ReadOption({"debts": 0}, 0.2),
}
SURE = {"acts": 1.0, "complete": 1.0, "cheapest": 1.0, "heeds": 1.0}


def world(seed=3, **settings):
    return RetrainedPeople(RetrainedSettings(**{**SURE, **settings}), NEWCOMERS, seed=seed)


def play(people, days=200, offers=OFFERS, on_day=lambda people, day: None):
    """Reject everybody; return those who came back, with the day."""
    back = []
    for day in range(days):
        on_day(people, day)
        for arrival in people.arrivals(day):
            if arrival.previous is not None:
                back.append((day, arrival))
            people.answer(arrival, day, offers)
    return back


def test_newcomers_come_evenly_and_each_once():
    people = world()
    days = [[one.application for one in people.arrivals(day) if one.previous is None] for day in range(200)]
    assert [len(names) for names in days[:6]] == [1, 0, 0, 1, 0, 0]
    assert list(chain.from_iterable(days)) == [f"{number:05}-0" for number in range(40)]
    assert not any(days[120:])


def test_who_comes_back_has_the_target_values_and_names_application_and_option():
    back = play(world(attempts=1))
    assert len(back) == 40
    for day, arrival in back:
        person = int(arrival.application[:5])
        assert arrival.features == {**NEWCOMERS[person], "income": 80}
        assert (arrival.previous, arrival.taken, arrival.is_done) == (f"{person:05}-0", "2", True)
        assert arrival.applicant == f"person-{person}"
        assert day >= 2 * RetrainedSettings().soonest_days


def test_the_same_seed_gives_the_same_lives_and_another_one_others():
    assert play(world(complete=0.5, cheapest=0.5)) == play(world(complete=0.5, cheapest=0.5))
    assert play(world(complete=0.5)) != play(world(seed=4, complete=0.5))


def test_some_do_not_act_some_do_a_part_and_some_take_another_option():
    assert play(world(acts=0.0)) == []
    (_, partly), *_ = play(world(complete=0.0), offers={"1": OFFERS["1"]})
    assert not partly.is_done
    assert len({**NEWCOMERS[0], **partly.features}.items() - NEWCOMERS[0].items()) == 1
    assert {arrival.taken for _, arrival in play(world(cheapest=0.0))} == {"1", "2", "3"}


def test_who_has_no_option_does_not_come_back_and_nobody_acts_more_often_than_the_settings_say():
    assert play(world(), offers={}) == []
    assert {arrival.application[-1] for _, arrival in play(world(attempts=3))} == {"1", "2", "3"}


def test_who_comes_back_late_has_not_done_what_was_asked():
    assert not any(arrival.is_done for _, arrival in play(world(valid_for_days=1)))


def revised(day, offers):
    def on_day(people, now):
        if now == day:
            for number in range(40):
                people.revise(f"{number:05}-0", now, {"2"}, offers)

    return on_day


def test_a_revision_is_for_those_who_have_not_carried_the_option_out_yet():
    offers = {"2": ReadOption({"income": 95}, 0.3)}
    incomes = {
        arrival.application: arrival.features["income"]
        for _, arrival in play(world(attempts=1), on_day=revised(60, offers))
    }
    assert set(incomes.values()) == {80, 95}
    # The first have come back before it.
    assert incomes["00000-1"] == 80
    later = play(world(attempts=1, heeds=0.0), on_day=revised(60, offers))
    assert {arrival.features["income"] for _, arrival in later} == {80}


def test_who_is_told_that_nothing_replaces_their_option_gives_up():
    kept, left = play(world(attempts=1)), play(world(attempts=1), on_day=revised(60, {}))
    assert 0 < len(left) < len(kept)
    assert left == [one for one in kept if one in left]


def test_options_that_still_hold_are_carried_out_as_before():
    def other(people, now):
        people.revise("00000-0", now, {"1", "3"}, {"1": OFFERS["1"]})

    assert play(world(attempts=1), on_day=other) == play(world(attempts=1))
