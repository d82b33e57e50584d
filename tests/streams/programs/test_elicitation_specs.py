"""What a spec says of questions to people: what it means, and what is refused in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onward.schemas.spec_document import document, sha256_of, spec_of
from onward.schemas.spec_rules import violations
from onward.streams.cli.spec import check
from onward.streams.programs.spec_check import load_program_spec

SPEC = """\
program: loans
features:
  - {name: income, type: integer, bounds: [0, 100], unit: kEUR, mutable: up, max_change: 60}
  - {name: debts, type: integer, bounds: [0, 20], mutable: down, largest_step: 2, max_change: 9}
  - {name: region, type: categorical, categories: [north, south], mutable: none}
label: {name: repaid, desired: 1}
model: {manifest: model/manifest.json}
policy: {objective: cost, generator: plans, choice: protoar, cost: causal}
elicitation: {prior: prior.json, influences: [[income, debts]]}
"""
PRIOR = {"components": [{"probability": 1.0, "mean": [1, 2, 1, -0.5], "sd": 0.3}]}
LINE = "elicitation: {prior: prior.json, influences: [[income, debts]]}"


def written(folder: Path, spec: str = SPEC, prior: str | None = None) -> Path:
    (folder / "prior.json").write_text(json.dumps(PRIOR) if prior is None else prior)
    (folder / "loans.yaml").write_text(spec)
    return folder / "loans.yaml"


def test_the_content_of_the_prior_is_part_of_what_a_spec_means(tmp_path: Path) -> None:
    spec = load_program_spec(written(tmp_path)).spec
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "p.json").write_text(json.dumps(PRIOR, indent=2))
    moved = load_program_spec(written(tmp_path, SPEC.replace("prior.json", "elsewhere/p.json"))).spec
    inline = load_program_spec(written(tmp_path, SPEC.replace("prior.json", json.dumps(PRIOR)))).spec
    assert sha256_of(spec) == sha256_of(moved) == sha256_of(inline)
    assert sha256_of(spec) != sha256_of(
        load_program_spec(written(tmp_path, prior=json.dumps(PRIOR).replace("0.3", "0.4"))).spec
    )
    again = spec_of(document(spec), spec.model.manifest)
    assert again == spec
    assert not list(violations(again))


REFUSED = [
    ("[[income, debts], [debts, income]]", "influence each other in a cycle"),
    ("[[incme, debts]]", "'incme' is not a feature (did you mean income?)"),
    ("[[debts, debts]]", "debts influences itself"),
    ("[[income, debts], [income, debts]]", "income influences debts twice"),
    ("[[income, region]]", "region is not mutable"),
    ("[]", "component 0: 4 numbers in mean: 3 features and 0 influences need 3"),
]


@pytest.mark.parametrize(("influences", "told"), REFUSED)
def test_influences_that_are_no_graph_are_refused(influences, told, tmp_path, capsys) -> None:
    assert_refused(written(tmp_path, SPEC.replace("[[income, debts]]", influences)), told, capsys)


@pytest.mark.parametrize(
    ("prior", "told"),
    [
        ("{", "prior.json: "),
        ('{"components": []}', "prior.json: "),
        (json.dumps(PRIOR).replace("1.0", "0.5"), "the probabilities of the components add up to 0.5, not to 1"),
        (json.dumps(PRIOR).replace("0.3", "[0.3]"), "component 0: 1 numbers in sd"),
        (json.dumps(PRIOR).replace("0.3", "-0.3"), "prior.json: "),
        (json.dumps(PRIOR).replace("0.3", "NaN"), "prior.json: "),
        ("[" * 200_000, "prior.json has more than 131072 bytes"),
    ],
)
def test_a_prior_that_is_none_is_refused(prior, told, tmp_path, capsys) -> None:
    assert_refused(written(tmp_path, prior=prior), told, capsys)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("prior: prior.json", "prior: none.json", "none.json cannot be read: No such file or directory"),
        ("prior: prior.json", r'prior: "a\0b"', "is no path"),
        ("prior: prior.json, ", "", "nothing says what they weigh: give `prior` too"),
        ("generator: plans", "generator: search", "search makes no plans to ask about: give `generator: plans`"),
        (
            "choice: protoar",
            "choice: posterior",
            "posterior learns which options to pick, but people's answers pick them",
        ),
        ("{prior: prior.json,", "{deadline: PT0S, prior: prior.json,", "must be longer than zero and at most P3653D"),
        ("cost: causal", "cost: l1", "l1 is the same for everybody, so there is nothing to ask"),
        ("{prior: prior.json,", "{questions: 0, prior: prior.json,", "elicitation.questions: "),
        ("{prior: prior.json,", "{options: 1, prior: prior.json,", "elicitation.options: "),
        ("{prior: prior.json,", "{tolerance: 1, prior: prior.json,", "elicitation.tolerance: "),
        ("{prior: prior.json,", "{response: loud, prior: prior.json,", "'loud' is not one of logistic, noiseless"),
    ],
)
def test_programs_that_cannot_ask_are_refused(old, new, told, tmp_path, capsys) -> None:
    assert_refused(written(tmp_path, SPEC.replace(old, new)), told, capsys)


def test_a_sampled_cost_has_no_prior_of_its_own(tmp_path, capsys) -> None:
    spec = SPEC.replace("cost: causal", "cost: mixed")
    assert check([written(tmp_path, spec)]) == 2
    told = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[1] for line in told] == ["elicitation.prior", "elicitation.influences"]
    assert check([written(tmp_path, spec.replace(LINE, "elicitation: {}"))]) == 0


def test_limited_places_are_refused(tmp_path, capsys) -> None:
    spec = SPEC.replace("generator: plans,", "generator: plans, goal: capacity, window: {time: P90D},")
    assert_refused(written(tmp_path, f"{spec}capacity: {{places: 4, round: P1D}}\n"), "take `elicitation` out", capsys)


def assert_refused(path: Path, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line names the problem, with its place in the file."""
    assert check([path]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{path}:")
    assert told in line
