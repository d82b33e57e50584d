"""What people read stands in the events, in every language of the spec, and follows from the journal alone."""

from __future__ import annotations

from dataclasses import replace

import msgspec
from msgspec import UNSET
from msgspec.structs import replace as replace_fields

from onward.schemas.events import NoRecourse, Question, Recourse
from onward.schemas.words.form import FeatureWords, LanguageWords, ValueKind
from onward.streams.programs.spec_changes import changes
from onward.testing.pipeline import PipelineRun
from onward.testing.program import build_program
from onward.testing.tape import MINUTE_MS, POOR, TIMED, Tape
from onward.tests.support.applicant_texts import faults
from onward.tests.support.changed_specs import announce
from onward.tests.support.programs import POLICIES

SEARCH = {"choice": "posterior", "policy": {"generator": "search", "options": 2}}
ENGLISH = LanguageWords(
    {
        "income": FeatureWords("Your income", up="earn more", value=ValueKind(money="EUR", times=1000)),
        "debts": FeatureWords("Your debts", down="pay debts back"),
    }
)
GERMAN = LanguageWords(
    {
        "income": FeatureWords("Ihr Einkommen", up="mehr verdienen", value=ValueKind(money="EUR", times=1000)),
        "debts": FeatureWords("Ihre Schulden", down="Schulden abzahlen"),
    }
)
STUCK = (
    {"name": "region", "type": "categorical", "categories": ["north", "south"], "mutable": "none"},
    {"name": "income", "type": "continuous", "bounds": [0, 100], "mutable": "up", "max_change": 1},
    {"name": "debts", "type": "integer", "bounds": [0, 10], "mutable": "down", "max_change": 1},
)


def program(words=None, **given):
    built = build_program(**{**SEARCH, **TIMED, **given})
    return replace(built, spec=replace_fields(built.spec, words=words))


def story(tmp_path, words, **given):
    return Tape(PipelineRun({"loan": program(words, **given)}, tmp_path))


def test_an_option_is_told_in_every_language_of_the_words(tmp_path):
    tape = story(tmp_path, {"en": ENGLISH, "de": GERMAN})
    tape.applies("near", features={**POOR, "income": 60.0})
    tape.fold()
    [answer] = tape.answers()
    assert isinstance(answer, Recourse)
    for option in answer.options:
        assert list(option.text) == ["de", "en"]
        assert list(faults(tape.run.programs["loan"].spec, option.text.values())) == []
    assert any(text.startswith("Earn more: from €60,000 to €") for text in (one.text["en"] for one in answer.options))
    assert "Earn more" in str(answer) or "Pay debts back" in str(answer)


def test_a_spec_without_words_publishes_no_text(tmp_path):
    tape = story(tmp_path, None)
    tape.applies("near", features={**POOR, "income": 60.0})
    tape.applies("stuck", MINUTE_MS, features={**POOR, "income": 0.0, "debts": 10})
    tape.fold()
    assert b'"text":{' not in b"".join(record.value for record in tape.run.broker.logs["recourse", 0])


def test_none_is_told_in_words_and_owners_read_columns_and_scores(tmp_path):
    tape = story(tmp_path, {"en": ENGLISH, "de": GERMAN}, features=STUCK)
    tape.applies("stuck", features={**POOR, "income": 55.0})
    tape.fold()
    [none] = tape.answers()
    assert isinstance(none, NoRecourse)
    assert none.reason == "out_of_reach"
    assert none.detail == none.text["en"]
    assert "This came nearest. Earn more." in none.detail
    assert list(faults(tape.run.programs["loan"].spec, none.text.values())) == []
    assert "no allowed change of income, debts reaches the required score; a score above 0.5" in none.scores


def test_a_question_tells_its_plans_in_words(tmp_path):
    given = {name: value for name, value in POLICIES["asking"].items() if name != "policy"}
    policy = {**POLICIES["asking"]["policy"]}
    tape = story(
        tmp_path,
        {"en": ENGLISH},
        **given,
        policy=policy,
        choice=policy["choice"],
        window=policy["window"],
    )
    tape.applies("near", features={**POOR, "income": 60.0})
    tape.fold()
    questions = tape.run.events("questions", Question)
    assert questions
    assert all(option.text and "en" in option.text for question in questions for option in question.options)


def test_changed_words_travel_through_the_journal(tmp_path):
    tape = story(tmp_path, {"en": ENGLISH})
    tape.applies("before", features={**POOR, "income": 60.0})
    announce(tape, lambda spec: replace_fields(spec, words={"de": GERMAN}), MINUTE_MS)
    tape.applies("after", 2 * MINUTE_MS, features={**POOR, "income": 60.0})
    tape.fold()
    assert [list(answer.options[0].text) for answer in tape.answers()] == [["en"], ["de"]]
    again = [record.value for record in tape.run.broker.logs["recourse", 0]]
    tape.fold("again", [[record] for record in tape.journal])
    assert [record.value for record in tape.run.broker.logs["recourse", 0]][: len(again)] == again


def test_words_may_change_while_a_program_runs():
    old, new = (program(words).spec for words in ({"en": ENGLISH}, {"en": ENGLISH, "de": GERMAN}))
    told = changes(old, new, None)
    assert told
    assert all(change.refusal is None and change.path.startswith("words.de.") for change in told)


def test_an_event_of_an_older_version_has_no_text():
    older = msgspec.json.decode(
        b'{"candidate":"1","changes":[],"cost":1,"execution_probability":1,"propensity":1}',
        type=msgspec.structs.fields(Recourse)[4].type.__args__[0],
    )
    assert older.text is UNSET
