"""The first words of a draft."""

from __future__ import annotations

from pathlib import Path

import pytest

from onward.schemas.specfile import load_spec
from onward.schemas.words.draft import DraftedWords
from onward.schemas.words.file import MAX_WORDS_BYTES

DRAFT = """\
program: loans
features:
  - {name: monthly_income, type: integer, bounds: [0, 9000], mutable: up}
  - {name: home, type: categorical, categories: [own_house, "no"], mutable: none}
  - {name: age, type: integer, bounds: [18, 99], mutable: none, protected: true}
label: {name: repaid}
model: {manifest: model/manifest.json}
"""


def written(folder: Path, drafted: str = DRAFT) -> DraftedWords:
    words = DraftedWords(drafted, folder / "loans.yaml")
    (folder / "loans.yaml").write_text(words.spec, encoding="utf-8")
    if words.file is not None:
        words.file.parent.mkdir()
        words.file.write_text(words.text, encoding="utf-8")
    return words


def test_a_draft_gets_words_for_all_that_may_change_one_day(tmp_path):
    written(tmp_path)
    features = load_spec(tmp_path / "loans.yaml").spec.words["en"].features
    assert {name: own.name for name, own in features.items()} == {"monthly_income": "Monthly income", "home": "Home"}
    assert features["home"].values == {"own_house": "own house", "no": "no"}


def test_words_that_are_there_stay_and_are_named_where_they_fit(tmp_path):
    written(tmp_path)
    kept = (tmp_path / "words" / "en.yaml").read_text()
    (tmp_path / "words" / "en.yaml").write_text(kept.replace("Monthly income", "Your income"))
    again = DraftedWords(DRAFT, tmp_path / "other.yaml")
    assert (again.file, again.faults) == (None, [])
    assert "words: words  #" in again.spec


def test_words_that_do_not_fit_stay_and_a_second_program_gets_a_folder_of_its_own(tmp_path):
    written(tmp_path)
    salary, bonus = (DRAFT.replace("monthly_income", name) for name in ("salary", "bonus"))
    other = DraftedWords(salary, tmp_path / "other.yaml")
    assert other.file == tmp_path / "other-words" / "en.yaml"
    assert 'words: "other-words"  #' in other.spec
    assert "en.yaml:5: features.monthly_income: no feature is called monthly_income" in other.faults[0]
    other.file.parent.mkdir()
    other.file.write_text(other.text, encoding="utf-8")
    (tmp_path / "other.yaml").write_text(other.spec, encoding="utf-8")
    assert load_spec(tmp_path / "other.yaml").spec.words["en"].features["salary"].name == "Salary"
    third = DraftedWords(bonus, tmp_path / "other.yaml")
    assert (third.file, len(third.faults), third.spec) == (None, 2, bonus)


def test_words_that_are_there_without_a_verb_for_what_may_change_now_are_named(tmp_path):
    written(tmp_path)
    assert DraftedWords(DRAFT, tmp_path / "other.yaml").without_verbs == ""
    opened = DRAFT.replace('"no"], mutable: none', '"no"], mutable: any').replace("mutable: up", "mutable: any")
    line = DraftedWords(opened, tmp_path / "other.yaml").without_verbs
    assert line == "words/en.yaml: give monthly_income down, home to: what people do, in words"


@pytest.mark.parametrize("mutable", ["up", "none"])
def test_a_draft_of_many_columns_has_no_more_words_than_a_spec_may_have(tmp_path, mutable):
    line = "  - {{name: a_long_name_of_a_column_{}, type: integer, bounds: [0, 9], mutable: {}}}\n"
    many = DRAFT.replace("label:", "".join(line.format(n, mutable) for n in range(1500)) + "label:")
    words = written(tmp_path, many)
    assert len(words.text.encode()) <= MAX_WORDS_BYTES
    if mutable == "none":
        load_spec(tmp_path / "loans.yaml")
