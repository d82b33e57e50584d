"""The words of the packaged programs: what applicants read, in each of their languages."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from onward.environments.population import SPEC
from onward.schemas.events import Change
from onward.schemas.specfile import load_spec
from onward.schemas.words.texts import Texts
from onward.streams.console.page_words import lacks_of_pages
from onward.tests.support.applicant_texts import all_texts, faults

MARKS = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
PACKAGED = sorted(SPEC.parent.glob("*.yaml"))


@pytest.mark.parametrize("path", [SPEC, SPEC.with_name("course.yaml")], ids=lambda path: path.stem)
def test_the_words_of_the_demo_are_whole_for_pages(path):
    assert list(lacks_of_pages(load_spec(path).spec)) == []


@pytest.mark.parametrize("path", PACKAGED, ids=lambda path: path.stem)
def test_applicants_read_no_column_no_score_and_no_long_sentence(path):
    spec = load_spec(path).spec
    assert set(spec.words) == ({"ar", "de", "en"} if path.stem in ("course", "loan") else {"de", "en"})
    assert list(faults(spec, all_texts(spec))) == []
    assert not MARKS & set("".join(all_texts(spec)))
    assert not [line for line in faults(spec, all_texts(replace(spec, words=None))) if "words in" not in line]


def test_the_rules_of_texts_find_what_breaks_them():
    spec = load_spec(SPEC).spec
    bad = ["monthly_income: from 1 to 2.", "It helps 81 %.", "Save at least 3.", " ".join(["word"] * 16)]
    assert len(list(faults(spec, bad))) == len(bad)


def test_a_loan_reads_as_its_bank_would_say_it():
    changes = [
        Change("savings", 300, 1200),
        Change("card_utilisation", 80.5, 25.0),
        Change("education", "bachelor", "master"),
    ]
    assert Texts(load_spec(SPEC).spec).option(changes) == {
        "ar": "ادخر أكثر: من 300\xa0€ إلى 1,200\xa0€. خفّض ديون بطاقاتك: من 80.5 من كل 100 يورو إلى 25 من كل 100 يورو. "
        "احصل على شهادة أعلى: من بكالوريوس إلى ماجستير.",
        "de": "Mehr sparen: bisher 300\xa0€, dann 1.200\xa0€. Weniger auf den Karten schulden: bisher 80,5 von "
        "100 €, dann 25 von 100 €. Einen weiteren Abschluss machen: bisher Bachelor, dann Master.",
        "en": "Save more: from €300 to €1,200. Owe less on your cards: from €80.5 of each €100 to €25 of each €100. "
        "Gain a further qualification: from Bachelor's degree to Master's degree.",
    }
