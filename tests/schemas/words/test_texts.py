"""Answers in words."""

from __future__ import annotations

import pickle
from datetime import date

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from onward.schemas.events import Change, Option, Step
from onward.schemas.specfile import parse_spec
from onward.schemas.words.sentences import own_sentences, placeholders
from onward.schemas.words.texts import NoWay, Texts
from onward.tests.schemas.words.test_words_files import ENGLISH, SPEC


def spec_with(*languages, more=""):
    own = "".join(f"    {line}\n" for line in (ENGLISH + more).splitlines())
    return parse_spec((SPEC + "words:\n" + "".join(f"  {tag}:\n{own}" for tag in languages)).encode())


TEXTS = Texts(spec_with("en", "de"))
MORE = Change("monthly_income", 1999.5, 2400, "EUR")


def english(*changes, steps=UNSET):
    return TEXTS.option(changes, steps)["en"]


def test_a_change_says_what_to_do_and_from_where_to_where():
    assert english(MORE) == "Earn more: from €1,999.50 to €2,400."
    assert english(replace(MORE, current=1234.5678)) == "Earn more: from €1,234.57 to €2,400."
    assert english(Change("housing", "rent", "own")) == "Move: from rented to your own."


def test_a_value_that_was_not_given_is_not_told_as_theirs():
    assert english(replace(MORE, current_given=False)) == ("Earn more: to €2,400. You did not tell us what it is now.")


def test_where_more_would_be_rejected_the_end_is_told():
    assert english(replace(MORE, at_most=3000)) == "Earn more: from €1,999.50 to €2,400. Not more than €3,000."
    less = replace(MORE, target=1500, at_most=1200)
    assert english(less) == "Your income: from €1,999.50 to €1,500. Not less than €1,200."


def test_steps_are_told_in_their_order():
    first = Step("monthly_income", 1000, 1500), Step("housing", "rent", "own"), Step("monthly_income", 1500, 2400)
    assert english(MORE, steps=first) == (
        "Do it in this order: 1. Earn more: from €1,000 to €1,500. 2. Move: from rented to your own. "
        "3. Earn more: from €1,500 to €2,400."
    )


def test_an_option_tells_itself_in_english_where_it_can():
    option = Option("3", (MORE,), 0.1, 0.9, 1.0, text=TEXTS.option([MORE]))
    assert option.actions == "Earn more: from €1,999.50 to €2,400."
    german = Option("3", (MORE,), 0.1, 0.9, 1.0, text={"de": "Mehr verdienen."})
    assert str(german) == "Mehr verdienen.  (cost 0.100)"


def test_nobody_reads_more_than_the_languages_of_the_spec():
    assert list(TEXTS.option([MORE])) == ["de", "en"]
    assert Texts(parse_spec(SPEC.encode())).option([MORE]) is UNSET


def test_who_has_no_way_reads_why_what_came_nearest_and_what_to_do():
    detail, text = TEXTS.none(NoWay("out_of_reach", (MORE, Change("housing", "rent", "own"))))
    assert (
        detail
        == text["en"]
        == (
            "We looked for changes that you could make. We found none that is enough today. "
            "This came nearest. Earn more. "
            "Move. You can apply again when your figures have changed."
        )
    )
    assert text["de"].startswith("Wir haben alles angesehen, was Sie ändern könnten.")


def test_what_the_organisation_does_is_told_where_it_has_given_its_name():
    spec = spec_with("en", more="organisation: {name: A bank}\n")
    assert (
        Texts(spec)
        .none(NoWay("out_of_reach"))[0]
        .endswith(
            "A person sees your whole case, and may find something that we did not. Is one of your figures wrong? "
            "Tell us, and we look again."
        )
    )


def test_who_need_only_come_again_reads_until_when():
    assert TEXTS.none(NoWay("apply_again", until=date(2026, 11, 30)))[1] == {
        "de": "Ihre Zahlen reichen in den nächsten Runden wahrscheinlich für einen Platz. "
        "Stellen Sie bis 30. November 2026 denselben Antrag noch einmal.",
        "en": "Your figures will probably win a place in the next rounds. "
        "Apply again as you are, by November 30, 2026.",
    }
    assert "by" not in TEXTS.none(NoWay("apply_again"))[0]
    in_pause = NoWay("apply_again", until=date(2026, 12, 31), since=date(2026, 12, 7))
    assert TEXTS.none(in_pause)[0].endswith("Do not apply before December 7, 2026: there are no places until then.")


def test_without_words_a_reason_is_english_with_readable_names():
    detail, text = Texts(parse_spec(SPEC.encode())).none(NoWay("would_not_help", (MORE,)))
    assert text is UNSET
    assert detail == (
        "We found changes. But we are not sure enough that they would help you. This came nearest. "
        "Raise monthly income. You can apply again when your figures have changed."
    )


def test_texts_can_be_pickled():
    assert pickle.loads(pickle.dumps(TEXTS)).option([MORE]) == TEXTS.option([MORE])


@pytest.mark.parametrize("tag", ["de", "ar"])
def test_every_language_of_ours_has_all_sentences_with_the_same_places(tag):
    ours, theirs = own_sentences("en"), own_sentences(tag)
    assert ours.keys() == theirs.keys()
    assert {name: set(placeholders(text)) for name, text in theirs.items()} == {
        name: set(placeholders(text)) for name, text in ours.items()
    }


def test_what_follows_is_a_sentence_of_its_own_and_what_has_no_words_is_left_out():
    follows = [replace(MORE, current=1999.5, target=2350.123456), Change("age", 40, 41)]
    alone = TEXTS.option([MORE])["en"]
    both = TEXTS.option([MORE], UNSET, follows)["en"]
    assert both.startswith(f"{alone} What follows: ")
    assert both.count("What follows") == 1
    assert "2,350.12" in both
