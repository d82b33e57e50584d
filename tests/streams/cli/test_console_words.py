"""``onward console words``: what nobody has written is left empty, and told until somebody has."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from onward.environments.population import SPEC
from onward.schemas.specfile import load_spec
from onward.streams.cli import main


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    shutil.copytree(SPEC.parent / "words", tmp_path / "words")
    return Path(shutil.copy(SPEC, tmp_path / "loan.yaml"))


@pytest.fixture
def words(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, list[str], list[str]]]:
    def run(*args: object) -> tuple[int, list[str], list[str]]:
        code = main(["console", "words", *map(str, args)])
        told = capsys.readouterr()
        return code, told.out.splitlines(), told.err.splitlines()

    return run


def test_whole_words_stay_as_they_are(spec, words):
    before = {file: file.read_bytes() for file in spec.parent.rglob("*.yaml")}
    code, told, errors = words(spec)
    assert (code, told[-1], errors) == (0, f"{spec}: pages can be served", [])
    assert words(spec, "--check") == (0, [f"{spec}: pages can be served"], [])
    assert {file: file.read_bytes() for file in spec.parent.rglob("*.yaml")} == before


def test_what_a_language_lacks_is_left_empty_and_told_until_it_is_written(spec, words):
    german = spec.parent / "words" / "loan" / "de.yaml"
    text = german.read_text(encoding="utf-8")
    bare = text.replace("  applied: Ihrem Kreditantrag\n", "").replace("    up: mehr sparen\n", "")
    german.write_text(f"# Von Ada.\n{bare}", encoding="utf-8")
    meant = load_spec(spec).sha256
    assert words(spec, "--check") == (
        2,
        [],
        [f"{german}: give program: applied", f"{german}: give features.savings: up"],
    )
    code, told, _ = words(spec, "--language", "de")
    assert (code, told[:2]) == (0, [f"{german}: program: applied", f"{german}: features.savings: up"])
    filled = german.read_text(encoding="utf-8")
    drafted = (
        "  applied:  # your loan application; it fits into: Wir haben Nein gesagt zu {applied}.\n",
        "    up:  # save more\n",
    )
    assert filled.replace(drafted[0], "").replace(drafted[1], "") == f"# Von Ada.\n{bare}"
    assert load_spec(spec).sha256 == meant
    code, told, errors = words(spec, "--check")
    assert (code, told) == (2, [])
    assert [error.partition("yaml:")[2] for error in errors] == [
        f"{1 + line}: {field}: nothing is written here"
        for line, field in ((8, "program.applied"), (27, "features.savings.up"))
    ]
    german.write_text(filled.replace("applied:", "applied: Ihrem Antrag").replace("up:  #", "up: mehr sparen  #"))
    assert words(spec, "--check")[0] == 0


@pytest.mark.parametrize("tag", ["fr", "sr-Latn"])
def test_a_new_language_is_drafted_without_a_word_of_ours(spec, words, tag):
    assert words(spec, "--language", tag)[0] == 0
    text = (spec.parent / "words" / "loan" / f"{tag}.yaml").read_text(encoding="utf-8")
    written = [line.partition("#")[0].strip() for line in text.splitlines()]
    assert {line for line in written if not line.endswith(":")} == {
        "",
        "value: {money: EUR}",
        'value: {unit: "duration-month"}',
    }
    code, _, errors = words(spec, "--check")
    assert code == 2
    assert len(errors) > 100
    again = words(spec, "--language", tag)
    assert "lacks nothing" in again[1][0]
    with pytest.raises(Exception, match="the key name is missing"):
        load_spec(spec)


def test_a_spec_without_words_gets_the_names_of_its_columns_and_the_rest_to_fill_in(spec, words, tmp_path):
    spec.write_text(spec.read_text(encoding="utf-8").replace("words: words/loan\n", "").rstrip("\n"), encoding="utf-8")
    shutil.rmtree(tmp_path / "words")
    code, told, _ = words(spec)
    assert (code, told[0]) == (0, f"{spec}: words: words")
    read = load_spec(spec).spec
    assert read.words["en"].features["savings"].up == "raise savings"
    assert [error.split(": ")[1] for error in words(spec, "--check")[2]] == [
        f"{part}.{name}" for part, name in (
            ("organisation", "name"), ("organisation", "contact"), ("organisation", "ask"), ("organisation", "apply"),
            ("program", "name"), ("program", "applied"),
        )
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        (["--language", "klingon!"], "--language klingon!: give the tag of a language"),
        (["--language", "../en"], "--language ../en: give the tag of a language"),
        (["--check", "--language", "de"], "--check looks at all languages: leave --language out"),
    ],
)
def test_what_cannot_be_drafted_is_said_in_a_line(spec, words, args, fault):
    code, told, [error] = words(spec, *args)
    assert (code, told) == (2, [])
    assert fault in error


def test_a_file_that_is_no_yaml_stays(spec, words):
    german = spec.parent / "words" / "loan" / "de.yaml"
    german.write_text("features: [", encoding="utf-8")
    for flags in ([], ["--check"]):
        code, _, errors = words(spec, *flags)
        assert code == 2
        assert f"{german}:1" in errors[0]
    assert german.read_text(encoding="utf-8") == "features: ["
