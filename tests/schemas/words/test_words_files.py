"""Words beside a spec: what is wrong with them is told with the line of their file."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from onward.schemas.spec import ProgramSpec
from onward.schemas.spec_document import document, sha256_of, spec_of
from onward.schemas.specfile import SpecError, load_spec, parse_spec
from onward.schemas.words.file import MAX_WORDS_BYTES
from onward.schemas.words.texts import NoWay, Texts

SPEC = """\
program: loans
features:
  - {name: monthly_income, type: integer, bounds: [0, 9000], unit: EUR, mutable: up}
  - {name: housing, type: categorical, categories: [rent, own]}
  - {name: age, type: integer, bounds: [18, 99], mutable: none}
label: {name: repaid}
model: {manifest: model/manifest.json}
"""
NAMED = SPEC + "words: words\n"
ENGLISH = """\
features:
  monthly_income:
    name: Your income
    up: earn more
    value: {money: EUR}
  housing:
    name: Your home
    to: move
    values: {rent: rented, own: your own}
"""


def write(folder: Path, spec: str = NAMED, **languages: str) -> Path:
    (folder / "words").mkdir(exist_ok=True)
    for tag, text in languages.items():
        (folder / "words" / f"{tag}.yaml").write_text(text, encoding="utf-8")
    (folder / "loans.yaml").write_text(spec, encoding="utf-8")
    return folder / "loans.yaml"


def problems(path: Path) -> list[str]:
    with pytest.raises(SpecError) as error:
        load_spec(path)
    folder = f"{path.parent / 'words'}/"
    return [problem.message.replace(folder, "") for problem in error.value.problems]


def test_the_read_spec_holds_the_words_and_its_hash_is_of_them(tmp_path):
    spec = load_spec(write(tmp_path, en=ENGLISH)).spec
    assert spec.words["en"].features["monthly_income"].up == "earn more"
    inline = parse_spec((SPEC + "words:\n  en:\n" + "".join(f"    {line}\n" for line in ENGLISH.splitlines())).encode())
    assert inline == spec
    assert spec_of(document(spec), "model/manifest.json") == spec
    other = load_spec(write(tmp_path, en=ENGLISH.replace("earn more", "earn a lot more"))).spec
    assert sha256_of(other) != sha256_of(spec)


def test_a_spec_without_words_means_what_it_meant_before():
    assert "words" not in msgspec.json.decode(document(parse_spec(SPEC.encode())))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("monthly_income:", "monthly_incom:", "en.yaml:3: features.monthly_incom: no feature is called monthly_i"),
        ("  housing:", "  age:", "en.yaml:2: features: housing may change: give its name in this language"),
        ("up: earn more", "upp: earn more", "en.yaml:4: features.monthly_income.upp: unknown key (did you mean up?)"),
        (", own: your own", "", "en.yaml:7: features.housing: `values` lacks the name of own"),
        ("own: your own", "own: x, lent: y", "en.yaml:9: features.housing.values.lent: lent is no value of housing"),
        ("money: EUR", "money: EUX", "en.yaml:5: features.monthly_income.value.money: EUX is no currency"),
        ("money: EUR", "unit: fruits", "en.yaml:5: features.monthly_income.value.unit: fruits is no unit of CLDR"),
        ("money: EUR", 'text: "€"', "en.yaml:5: features.monthly_income.value.text: {number} is missing"),
        ("money: EUR", 'text: "{number.real} €"', "en.yaml:5: features.monthly_income.value.text: {number.real} is"),
        ("money: EUR", "money: EUR, percent: true", "en.yaml:5: features.monthly_income.value: money and"),
        ("name: Your home", "", "en.yaml:8: features.housing: the key name is missing"),
        ("earn more", '"earn\\nmore"', "en.yaml:4: features.monthly_income.up: holds a line break"),
        ("earn more", '"earn \\u202e more"', "en.yaml:4: features.monthly_income.up: holds a line"),
        ("features:", "sentences: {none.persn: x}\nfeatures:", "en.yaml:1: sentences.none.persn: no sentence"),
        ("features:", "sentences: {change.from_to: x}\nfeatures:", "en.yaml:1: sentences.change.from_to: {now} is"),
        ("features:", "features: [", "en.yaml:"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_the_file_and_line(tmp_path, old, new, told):
    found = problems(write(tmp_path, en=ENGLISH.replace(old, new, 1)))
    assert any(problem.startswith(told) for problem in found), found


def test_a_folder_without_words_and_a_tag_that_is_none_are_told(tmp_path):
    assert "holds no words" in problems(write(tmp_path))[0]
    assert "No such file" in problems(write(tmp_path, SPEC + "words: elsewhere\n"))[0]
    assert problems(write(tmp_path, english=ENGLISH))[0].startswith("english.yaml: 'english' is no tag of a language")
    (tmp_path / "words" / "english.yaml").unlink()
    assert problems(write(tmp_path, xx=ENGLISH)) == ["xx.yaml:1: xx is no language that Babel knows"]


def test_a_language_without_our_sentences_needs_them_all(tmp_path):
    [told] = problems(write(tmp_path, fr=ENGLISH))
    assert told.startswith("fr.yaml:1: Onward has no sentences in fr: give, in `sentences`, change.line, ")


def test_a_file_that_is_too_large_is_refused(tmp_path):
    assert "has more than" in problems(write(tmp_path, en=ENGLISH + "#" * MAX_WORDS_BYTES))[0]


def test_a_program_may_replace_a_sentence(tmp_path):
    own = ENGLISH + "sentences: {none.person: Call us on 01234 555 100.}\n"
    spec = load_spec(write(tmp_path, en=own)).spec
    assert isinstance(spec, ProgramSpec)
    assert "Call us on 01234 555 100." in Texts(spec).none(NoWay("out_of_reach"))[0]


def test_a_sentence_of_pages_may_have_the_plural_forms_of_a_language(tmp_path):
    def faults(sentence: str) -> list[str]:
        return problems(write(tmp_path, en=f"{ENGLISH}sentences: {{{sentence}}}\n"))

    assert load_spec(write(tmp_path, en=ENGLISH + 'sentences: {ways.one: {one: One way., other: "{n} ways."}}\n'))
    assert "the form `other` is missing" in faults("ways.one: {one: One way.}")[0]
    assert "{n} is missing" in faults("ways.one: {one: One way., other: Ways.}")[0]
    assert "{date} is missing" in faults('changed.lede: {one: New., other: "On {date} {n} are new."}')[0]
    assert "has no plural forms" in faults("none.person: {one: Call us., other: Call us.}")[0]


def test_what_only_follows_needs_a_name_too_since_people_are_told_that_it_moves(tmp_path):
    savings = "  - {name: savings, type: integer, bounds: [0, 9000], mutable: follows}\nlabel:"
    spec = NAMED.replace("label:", savings) + "effects: [[monthly_income, savings]]\n"
    path = write(tmp_path, spec=spec, en=ENGLISH)
    assert problems(path) == ["en.yaml:2: features: savings follows others: give its name in this language"]
    assert load_spec(write(tmp_path, spec=spec, en=ENGLISH + "  savings: {name: Your savings}\n"))


def test_an_empty_field_is_one_that_is_not_given(tmp_path):
    spec = load_spec(write(tmp_path, en=ENGLISH)).spec
    empty = ENGLISH.replace("    to: move\n", "    to: move\n    down:\n") + "organisation:\n  name:\nsentences:\n"
    assert load_spec(write(tmp_path, en=empty)).spec == spec
    assert problems(write(tmp_path, en=ENGLISH.replace("name: Your home", "name:"))) == [
        "en.yaml:7: features.housing: the key name is missing"
    ]
