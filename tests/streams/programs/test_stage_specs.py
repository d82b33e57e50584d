"""Specs whose window is in stages: what they mean, what is refused, and what people are asked."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from onward.schemas.spec_document import document, spec_of
from onward.schemas.specfile import SpecError
from onward.streams.programs.compositions import window_questions
from onward.streams.programs.spec_check import load_program_spec

SPEC = """\
program: loan
features:
  - {name: income, type: integer, bounds: [0, 200], mutable: up}
label: {name: repaid}
model: {manifest: model/manifest.json}
policy: {choice: %s, window: {%s}}
"""
STAGES = "acted: P90D, outcome: P400D"


def loaded(folder: Path, choice: str, window: str):
    file = folder / "loan.yaml"
    file.write_text(SPEC % (choice, window))
    return load_program_spec(file).spec


@pytest.mark.parametrize("window", [STAGES, f"{STAGES}, acting: returns", f"{STAGES}, acting: reports", "time: P90D"])
def test_a_window_in_stages_is_read_and_announced_as_it_is(tmp_path, window):
    spec = loaded(tmp_path, "stages", window)
    assert spec_of(document(spec), spec.model.manifest) == spec
    assert spec.policy.window.length == timedelta(days=90 if "time" in window else 400)


@pytest.mark.parametrize(
    ("choice", "window", "problem"),
    [
        ("residual", STAGES, "policy.window: residual knows one window: give `choice: stages`, or `time` instead"),
        ("residual", "time: P90D, acting: returns", "policy.window.acting: residual takes silence for failure"),
        ("stages", "acted: P90D", "policy.window: a window in stages needs both `acted` and `outcome`"),
        ("stages", f"{STAGES}, time: P90D", "policy.window: a window in stages has its two times"),
        ("stages", "acted: P400D, outcome: P90D", "policy.window.acted: is longer than `outcome`"),
        ("stages", "acted: PT0S, outcome: P90D", "policy.window.acted: must be longer than zero"),
        ("stages", "lateness: PT1M", "policy.window: exactly one of steps and time is needed"),
        ("stages", f"{STAGES}, acting: letters", "policy.window.acting: "),
    ],
)
def test_windows_that_mean_nothing_are_refused(tmp_path, choice, window, problem):
    with pytest.raises(SpecError) as raised:
        loaded(tmp_path, choice, window)
    assert problem in str(raised.value)


@pytest.mark.parametrize(
    ("choice", "window", "asked"),
    [
        ("protoar", "time: P90D", []),
        ("residual", "time: P90D", ["silence until then counts as a failure"]),
        ("residual", "steps: 10", ["later than 10 steps"]),
        ("stages", STAGES, ["later than P400D", "how are people seen who act?"]),
        ("stages", f"{STAGES}, acting: returns", ["later than P400D", "need `applicant` and `previous`"]),
        ("stages", f"{STAGES}, acting: reports", ["later than P400D"]),
    ],
)
def test_what_only_people_know_of_outcomes_is_asked(tmp_path, choice, window, asked):
    lines = list(window_questions(loaded(tmp_path, choice, window)))
    assert len(lines) == len(asked)
    assert all(part in line for part, line in zip(asked, lines, strict=True))
