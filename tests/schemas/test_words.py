"""What people read of a recourse."""

from __future__ import annotations

import msgspec
import pytest

from onward.streams.worded_answers import Change, Option, Recourse

CHANGE = Change("income", 59.0, 63.0)


@pytest.mark.parametrize(
    ("promise", "words"),
    [
        (None, "(cost 0.100)"),
        (
            {"share": 0.859, "bound": 0.431, "models_of_other_rows": 80.0},
            "(cost 0.100; accepted by about 85% of models trained on other rows of the same population, of which "
            "80 were asked; for 19 of 20 such options at least 43% accept)",
        ),
        (
            {"share": 0.859, "bound": 0.031, "models_of_other_rows": 80.0},
            "(cost 0.100; accepted by about 85% of models trained on other rows of the same population, of which "
            "80 were asked; for one option it may be far fewer)",
        ),
        (
            {"share": 0.58, "bound": 0.29, "models_of_other_rows": 80.0},
            "(cost 0.100; accepted by about 58% of models trained on other rows of the same population, of which "
            "80 were asked; for 19 of 20 such options at least 29% accept)",
        ),
        (
            {"share": 0.9999, "bound": 0.5, "models_of_later_rows": 5.0},
            "(cost 0.100; accepted by about 99% of models trained on later rows of such data, of which 5 were asked; "
            "for 19 of 20 such options at least 50% accept)",
        ),
        (
            {"share": 1.0, "bound": 1.0, "models_of_other_rows": 5.0},
            "(cost 0.100; accepted by about 99% of models trained on other rows of the same population, of which "
            "5 were asked; for 19 of 20 such options at least 99% accept)",
        ),
        (
            {"share": 1.0, "bound": 0.549, "models_of_resamples": 5.0},
            "(cost 0.100; accepted by at least 54% of models of resamples of its own data; "
            "5 were asked, and of other data none)",
        ),
        (
            {"share": 1.0, "bound": 0.549},
            "(cost 0.100; accepted by at least 54% of models of resamples of its own data; "
            "of other data none was asked)",
        ),
        (
            {"radius": 0.1, "margin": 0.2, "alpha_max": 0.1234},
            "(cost 0.100; holds while the model changes by less than 0.123)",
        ),
    ],
)
def test_an_option_says_what_is_promised_of_later_models(promise, words):
    assert str(Option("0", (CHANGE,), 0.1, 0.9, 1.0, promise=promise)).endswith(words)


def test_a_promise_without_words_is_told_by_its_numbers():
    option = Option("0", (CHANGE,), 0.1, 0.9, 1.0, promise={"score": 0.9, "distance": 1 / 3})
    assert str(option).endswith("(cost 0.100; score 0.9, distance 0.333)")


def test_a_recourse_says_until_when_it_holds():
    option = Option("0", (CHANGE,), 0.1, 0.9, 1.0)
    recourse = Recourse("loans", 0, "ada", 0, (option,), "linucb", "1", "s", "m", expires_at="2027-02-21T00:00:00.000Z")
    assert str(recourse).startswith("ada: 1 way forward until 2027-02-21 00:00 UTC\n")


@pytest.mark.parametrize(
    ("answers", "words"),
    [((None, None), ", which may not suit: none of the plans asked about did"), ((None, 2), ""), ((), "")],
)
def test_who_would_take_none_of_the_plans_reads_that_these_may_not_suit_either(answers, words):
    option = Option("0", (CHANGE,), 0.1, 0.9, 1.0)
    recourse = Recourse("loans", 0, "ada", 0, (option,), "linucb", "1", "s", "m", answers=answers)
    assert str(recourse).startswith(f"ada: 1 way forward{words}\n")


def test_an_option_that_is_to_help_says_how_probably_it_does():
    option = Option("3", (Change("income", 59, 63),), 0.15, 0.96, 1.0, improvement_probability=0.714)
    assert option.in_words("told").endswith(
        "(cost 0.150, carried out with probability 0.96, wanted outcome with probability 0.71)"
    )
    assert option.in_words().endswith("(cost 0.150, wanted outcome with probability 0.71)")


def test_of_several_ways_one_is_enough_and_each_says_for_how_many_it_is_the_easiest():
    options = tuple(Option(str(at), (CHANGE,), 0.1, 0.9, 0.5, id=str(at), suits=0.22 + at) for at in range(2))
    recourse = Recourse("loans", 0, "ada", 0, options, "emc", "1", "s", "m", satisfied=0.4)
    heading, first, _ = str(recourse).splitlines()
    assert heading == (
        "ada: 2 ways forward (one is enough), easy enough for 40% of the kinds of people that the program assumes"
    )
    assert first.endswith("(cost 0.100, the easiest for 22%)")
    assert str(msgspec.structs.replace(recourse, options=options[:1])).endswith("(cost 0.100)")


def test_a_person_s_own_number_is_said_with_few_digits_but_never_as_the_target_or_beyond_it():
    assert str(Change("bmi", 31.99257813, 27.2)) == "lower bmi from 31.99 to 27.2"
    assert str(Change("share", 0.750001, 0.75)) == "lower share from 0.750001 to 0.75"
    assert str(Change("bmi", 27.206, 27.208)) == "raise bmi from 27.206 to 27.208"
