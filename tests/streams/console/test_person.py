"""What applicants read, in every state of a case and every language."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from onward.environments.people import PACKAGED_SPECS
from onward.schemas.events import Answer, Change
from onward.schemas.headers import format_time
from onward.schemas.kinds import kinds
from onward.schemas.specfile import load_spec
from onward.streams.console.cases import AnnouncedModel
from onward.streams.console.page_words import PageWords, lacks_of_pages
from onward.streams.console.pages import Pages
from onward.streams.console.person import PersonPage, person_page
from onward.streams.replay.happenings import Happening
from onward.testing.pipeline import START_MS
from onward.tests.streams.console.states import (
    BROKEN,
    DAY_MS,
    EARN,
    EXPIRES,
    LATE,
    LEARN,
    OWE,
    SAVE,
    STATES,
    TERM,
    TWO,
    option,
    told,
)

SPEC = load_spec(PACKAGED_SPECS / "loan.yaml").spec
WORDS = {tag: PageWords(SPEC, tag) for tag in SPEC.words}
APPLIED, OPEN = STATES["open"][1]
ASKED = STATES["question"][1][1]


def happenings(events: list[Any]) -> list[Happening]:
    return [
        Happening(
            START_MS + DAY_MS * place, kinds.by_struct[type(event)].name, "t", 0, place, str(place), "loan", event
        )
        for place, event in enumerate(events)
    ]


def page_of(name: str, tag: str = "en") -> PersonPage:
    return person_page(happenings(STATES[name][1]), WORDS[tag], "a")


class Text(HTMLParser):
    """The visible texts of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.found.append(" ".join(data.split()))


@pytest.mark.parametrize("tag", sorted(WORDS))
@pytest.mark.parametrize("name", STATES)
def test_every_state_has_a_page_in_every_language(name: str, tag: str) -> None:
    page = page_of(name, tag)
    assert page.state == STATES[name][0]
    html = Pages().person(
        page, WORDS[tag], reference='A"<b>', today_ms=START_MS, languages=list(WORDS.values()), once="x"
    )
    assert f'lang="{tag}" dir="{WORDS[tag].direction}"' in html
    assert "<script" not in html
    assert "<i>" not in html
    letter = Pages().person(page, WORDS[tag], reference="A", today_ms=START_MS, is_letter=True)
    assert "<form" not in letter
    assert 'href="/static' not in letter


@pytest.mark.parametrize("name", STATES)
def test_an_english_text_has_short_sentences_and_no_column_score_or_percent(name: str) -> None:
    text = Text()
    text.feed(Pages().person(page_of(name), WORDS["en"], reference="A-1", today_ms=START_MS, once="x"))
    for line in text.found:
        assert "%" not in line
        assert not any(feature.name in line for feature in SPEC.features if "_" in feature.name), line
        for sentence in re.split(r"(?<=[.?!])\s", line):
            assert len(sentence.split()) <= 15 or sentence.startswith("Example Savings Bank"), sentence


def test_ways_say_from_where_to_where_and_never_invent_what_was_not_told() -> None:
    first, second = page_of("ways").ways
    assert first.heading == "Save more and owe less on your cards"
    assert [(change.now, change.to) for change in first.changes] == [
        ("€1,700", "€7,200"),
        ("€54 of each €100", "€24 of each €100"),
    ]
    earn, learn, term = second.changes
    assert (earn.now, earn.to, earn.notes[0]) == (None, "€3,190", "You did not tell us what it is now.")
    assert (learn.now, learn.to) == ("School", "Bachelor's degree")
    assert (term.now, term.to, term.notes) == ("24 months", "48 months", ("Not more than 60 months.",))
    assert (first.which, second.which) == ("Way 1 of 2", "Way 2 of 2")
    assert page_of("one").ways[0].which == "Your way"


def test_an_answer_without_a_text_in_this_language_says_why_by_its_reason() -> None:
    [applied, none] = STATES["none"][1]
    none = replace(none, detail="income 12 scores .31", text={"en": "We found none that is enough."})
    texts = {tag: person_page(happenings([applied, none]), WORDS[tag], "a").text[1] for tag in WORDS}
    assert texts["en"] == "We found none that is enough."
    assert texts["de"].startswith("Wir haben ")
    assert "income" not in texts["ar"]
    [applied, again] = STATES["apply again"][1]
    assert person_page(happenings([applied, again]), WORDS["en"], "a").text[0] == (
        "Your figures will probably win a place in the next rounds. Apply again as you are, by December 19, 2026."
    )


def test_ways_that_nobody_promised_may_not_be_enough_under_a_newer_model() -> None:
    def notice(name: str, version: str) -> tuple[str, ...]:
        model = AnnouncedModel(version, "manifest.json", START_MS + 5 * DAY_MS)
        return person_page(happenings(STATES[name][1]), WORDS["en"], "a", None, model).notice

    assert TWO.model == "m"
    assert notice("ways", "m") == ()
    assert notice("ways", "m2") == (
        "On September 26, 2026 our rules changed. These ways may not be enough now. Ask us before you begin.",
    )
    assert notice("open", "m2") == ()


def test_a_heading_names_few_changes_and_counts_many() -> None:
    ways = told(
        option("1", SAVE, OWE, EARN), option("2", SAVE, OWE, EARN, LEARN), option("3", SAVE, OWE, EARN, LEARN, TERM)
    )
    headings = {
        tag: [way.heading for way in person_page(happenings([APPLIED, ways]), WORDS[tag], "a").ways] for tag in WORDS
    }
    assert headings["en"] == ["Save more, owe less on your cards, and earn more", "Change 4 things", "Change 5 things"]
    assert headings["de"][1:] == ["Ändern Sie 4 Sachen", "Ändern Sie 5 Sachen"]
    assert headings["ar"][1:] == ["غيّر 4 أشياء", "غيّر 5 أشياء"]


def test_a_last_day_is_told_only_where_something_ends() -> None:
    assert page_of("ways").until_date is None
    assert page_of("ways").until == ("There is no last day. But our rules may change, so do not wait long.",)
    open_page = page_of("open")
    assert open_page.until_date == "2026-12-19"
    assert open_page.text[-1] == "Apply again by December 19, 2026."
    assert open_page.until[0] == "These ways work until December 19, 2026. Apply again by then."
    soon = format_time(START_MS + DAY_MS + 3_600_000)
    page = person_page(happenings([APPLIED, replace(ASKED, expires_at=soon)]), WORDS["en"], "a")
    assert page.question is not None
    assert page.question.until.startswith("Please answer by September 22, 2026, 15:13 UTC.")
    assert page_of("places").until == ("A place is never certain. It depends on who else applies.",)


def test_what_a_new_model_has_changed_is_told_beside_what_was_said_before() -> None:
    page = page_of("changed")
    assert page.title == "Something has changed"
    assert page.notice[0] == "On September 24, 2026 our rules changed. One of your ways is new."
    old, new = page.ways
    assert (old.is_new, new.is_new, new.changes[0].before) == (False, True, "€24 of each €100")
    assert page_of("one gone").notice[0] == "One way does not work any more."
    assert [way.id for way in page_of("one gone").ways] == ["1"]
    assert page_of("all gone").notice[0] == "2 ways do not work any more."


def test_what_a_person_chose_is_no_choice_of_what_stands_for_it_later() -> None:
    revised = told(option("2", replace(OWE, target=18)), expires_at=EXPIRES, revision=1)
    page = person_page(happenings([APPLIED, OPEN, Answer("loan", "a", "2"), BROKEN, revised]), WORDS["en"], "a")
    assert not any(way.chosen for way in page.ways)
    kept = person_page(happenings([APPLIED, OPEN, Answer("loan", "a", "1"), BROKEN, revised]), WORDS["en"], "a")
    assert [way.chosen for way in kept.ways] == [True, False]
    assert page.fingerprint != page_of("open").fingerprint == page_of("open", "de").fingerprint


def test_what_holds_until_a_day_is_over_after_it() -> None:
    events = happenings(STATES["open"][1])
    assert person_page(events, WORDS["en"], "a", START_MS + 89 * DAY_MS).state == "ways"
    assert person_page(events, WORDS["en"], "a", START_MS + 90 * DAY_MS).state == "ended"


def test_what_was_told_works_on_when_an_outcome_counts_no_more_and_nobody_is_asked_to_choose() -> None:
    for name in ("window over", "unseen", "promised longer", "better off, promised", "chosen too late"):
        page = page_of(name)
        assert [way.id for way in page.ways] == ["1", "2"]
        html = Pages().person(page, WORDS["en"], reference="A-1", today_ms=START_MS, once="x")
        assert ("Choose this way" in html, "None of these" in html) == (False, False)
        assert "https://" in html.partition('<div class="buttons')[2]
    assert page_of("better off, promised").until_date == "2026-12-19"
    assert page_of("chosen too late").is_refused


def test_a_choice_counts_until_the_window_closes() -> None:
    events = happenings([APPLIED, replace(TWO, closes_at=EXPIRES)])
    pages = [person_page(events, WORDS["en"], "a", START_MS + days * DAY_MS) for days in (89, 90)]
    assert [(page.state, page.may_choose) for page in pages] == [("ways", True), ("ways", False)]


def test_an_answer_that_came_too_late_is_told_whatever_the_page_says() -> None:
    for name in ("none", "question", "round over", "rejected"):
        assert person_page(happenings([*STATES[name][1], LATE]), WORDS["en"], "a").is_refused


def test_steps_say_from_where_to_where() -> None:
    steps = page_of("steps").ways[0].steps
    assert steps[0].startswith("Save more: from €1,700 to €7,200. ")
    revised = told(replace(STATES["steps"][1][1].options[0], steps=(SAVE, replace(OWE, target=18))), revision=1)
    page = person_page(happenings([*STATES["steps"][1], revised]), WORDS["en"], "a")
    move, before = page.ways[0].steps[1].split(". ")[:2]
    assert move == "Owe less on your cards: from €54 of each €100 to €18 of each €100"
    assert before == "Before, we said €24 of each €100"


def test_who_may_come_again_as_they_are_is_not_told_to_do_something_first() -> None:
    html = Pages().person(page_of("apply again"), WORDS["en"], reference="A-1", today_ms=START_MS, once="x")
    assert "When you have done it" not in html
    assert "Apply again</a>" in html


def test_a_choice_is_shown_until_another_one_is_made() -> None:
    assert [way.chosen for way in page_of("chosen").ways] == [False, True]
    page = page_of("none works")
    assert page.picked_none
    assert not any(way.chosen for way in page.ways)
    assert page_of("refused").is_refused


def test_a_feature_that_has_lost_its_words_is_told_by_its_name() -> None:
    en = SPEC.words["en"]
    features = {name: words for name, words in en.features.items() if name not in ("savings", "loan_amount")}
    fixed = tuple(replace(one, mutable="none") if one.name == "savings" else one for one in SPEC.features)
    words = PageWords(replace(SPEC, features=fixed, words={"en": replace(en, features=features)}), "en")
    follows = (Change("loan_amount", 9000, 8000), OWE)
    page = person_page(happenings([APPLIED, told(option("1", SAVE, follows=follows))]), words, "a")
    assert [(change.name, change.now, change.to) for change in page.ways[0].changes] == [
        ("Savings", "1,700 EUR", "7,200 EUR")
    ]
    assert len(page.ways[0].follows) == 1


def test_a_program_s_own_sentence_takes_the_form_of_its_number() -> None:
    forms = {"one": "There is one way.", "other": "There are {n} ways."}
    en = replace(SPEC.words["en"], sentences={"ways.one": forms})
    words = PageWords(replace(SPEC, words={"en": en}), "en")
    for name, text in (("one", "There is one way."), ("ways", "There are 2 ways.")):
        assert person_page(happenings(STATES[name][1]), words, "a").text[1] == text


def test_words_that_lack_something_are_refused_with_what_they_lack(tmp_path: Path) -> None:
    en = SPEC.words["en"]
    bare = replace(SPEC, words={"en": replace(en, organisation=replace(en.organisation, ask="javascript:alert(1)"))})
    assert list(lacks_of_pages(bare)) == [
        "en.yaml: organisation: ask: 'javascript:alert(1)' is no address: begin it with https:// or http:// or mailto: "
        "or tel:"
    ]
    with pytest.raises(ValueError, match="is no address"):
        PageWords(bare, "en")
    assert "give its spec `words`" in next(lacks_of_pages(replace(SPEC, words=None)))
    [lack] = lacks_of_pages(replace(SPEC, words={"fr": en}))
    assert lack.startswith("fr.yaml: Onward has no sentences in fr")
