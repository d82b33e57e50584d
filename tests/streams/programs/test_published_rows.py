"""Nobody is told another customer's row, unless the spec says so."""

from __future__ import annotations

import stat
from pathlib import Path

import msgspec
import numpy as np
import pytest

from onward.schemas.spec import Instances, ProgramSpec
from onward.schemas.spec_document import document
from onward.streams.cli import main
from onward.streams.engine.state import CurrentModel
from onward.streams.errors import UsageError
from onward.streams.programs.announced_spec import check_announced, read_spec, spec_event
from onward.streams.programs.assembly import assemble
from onward.streams.programs.published_rows import FEWEST_ALIKE, publishing_fault
from onward.streams.programs.spec_changes import SpecRefusedError
from onward.streams.programs.spec_check import load_program_spec
from onward.testing.program import PLAIN

pytestmark = pytest.mark.attack

FEATURES = """\
program: loan
features:
  - {name: region, type: categorical, categories: [north, south], mutable: none}
  - {name: income, type: continuous, bounds: [0, 100], step: 1}
  - {name: debts, type: integer, bounds: [0, 10], mutable: down}
label: {name: repaid}
model: {manifest: model/manifest.json}
"""
COPIES = "policy: {generator: instances, objective: cost, options: 1, margin: 0}\n"
PUBLISH = "instances: {publish: true}\n"


def data_of(folder: Path, copies: int) -> Path:
    """People of whom each has the features of others, so that so many are alike."""
    random = np.random.default_rng(3)
    people = [(random.choice(["north", "south"]), random.integers(0, 101), random.integers(0, 11)) for _ in range(80)]
    lines = [f"{region},{income},{debts},{int(income > 40)}\n" for region, income, debts in people * copies]
    file = folder / "data.csv"
    file.write_text("region,income,debts,repaid\n" + "".join(lines))
    return file


def spec_of(folder: Path, text: str) -> Path:
    path = folder / "spec.yaml"
    path.write_text(text)
    return path


def trained(folder: Path, text: str, copies: int) -> int:
    spec, data = spec_of(folder, text), data_of(folder, copies)
    words = ["train", str(data), "--spec", str(spec), "--estimator", "logistic_regression"]
    return main([*words, "--output", str(folder / "model")])


def test_a_program_that_copies_rows_of_the_data_is_not_trained(tmp_path, capsys):
    assert trained(tmp_path, FEATURES + COPIES, copies=1) == 2
    told = capsys.readouterr().err.splitlines()
    assert "as few as 1 of its rows are like one of them, where 5 hide whose it is" in told[-1]
    assert "instances: {publish: true}" in told[-1]
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("copies", [FEWEST_ALIKE, 1])
def test_rows_that_many_have_and_rows_that_may_be_published_are(tmp_path, copies):
    text = FEATURES + COPIES + ("" if copies == FEWEST_ALIKE else PUBLISH)
    assert trained(tmp_path, text, copies) == 0
    program = assemble(load_program_spec(tmp_path / "spec.yaml"))
    assert program.bundle.manifest.measured.data.fewest_alike >= copies
    model = CurrentModel.from_bundle(program, program.bundle)
    poor = program.codec.encode_many([{"region": "north", "income": 5.0, "debts": 9}])
    own = {row.tobytes() for row in program.codec.encode_many(program.instances)}
    proposals = model.generator.propose(poor)
    assert {proposals.points[point].tobytes() for point in proposals.point} <= own
    assert len(proposals.point)


def test_a_worker_does_not_start_with_a_model_that_does_not_say_how_many_rows_are_alike(tmp_path):
    assert trained(tmp_path, FEATURES + COPIES + PUBLISH, copies=1) == 0
    spec_of(tmp_path, FEATURES + COPIES)
    with pytest.raises(UsageError, match=r"^[^\n]*write `instances: \{publish: true\}` where everybody may read these"):
        assemble(load_program_spec(tmp_path / "spec.yaml"))
    assert "nobody has counted" in (publishing_fault(load_program_spec(tmp_path / "spec.yaml").spec, None) or "")


@pytest.mark.parametrize(("added", "code"), [("", 2), (PUBLISH, 0)])
def test_personal_features_of_others_are_refused_by_the_check(tmp_path, capsys, added, code):
    personal = FEATURES.replace("mutable: none", "mutable: none, pii: true")
    assert main(["spec", "check", str(spec_of(tmp_path, personal + COPIES + added))]) == code
    assert ("policy.generator: people would read region (pii) of others" in capsys.readouterr().err) is (code == 2)
    assert main(["spec", "check", str(spec_of(tmp_path, personal + "policy: {generator: search}\n"))]) == 0


def test_a_program_that_runs_says_so_by_a_changed_spec_and_goes_on_under_its_first_one(tmp_path):
    """Journals of earlier versions begin programs whose specs say nothing of it."""
    assert trained(tmp_path, FEATURES + COPIES + PUBLISH, copies=1) == 0
    given = assemble(load_program_spec(tmp_path / "spec.yaml"))
    before = msgspec.structs.replace(given.spec, instances=Instances())
    begun = given.begun_with(before)
    assert begun.spec == before
    assert begun.changed(given.spec).sha256 == given.sha256 != begun.sha256
    check_announced(spec_event(given), begun)
    with pytest.raises(SpecRefusedError, match="options are rows of the data, and as few as 1 "):
        check_announced(spec_event(begun), given)
    assert read_spec(spec_event(begun), given) == before


def test_a_spec_that_says_nothing_of_its_rows_keeps_its_hash():
    text = {"program": "loan", "features": [{"name": "a", "type": "continuous", "bounds": [0, 1]}], "policy": PLAIN}
    plain = {**text, "label": {"name": "y"}, "model": {"manifest": "m"}}
    specs = [msgspec.convert({**plain, **more}, ProgramSpec) for more in ({}, {"instances": {}})]
    assert document(specs[0]) == document(specs[1])
    assert b'"instances":{' not in document(specs[0])


def test_the_rows_in_a_bundle_are_not_readable_by_others(tmp_path):
    assert trained(tmp_path, FEATURES + COPIES + PUBLISH, copies=1) == 0
    mode = stat.S_IMODE((tmp_path / "model" / "instances.csv").stat().st_mode)
    assert mode & (stat.S_IROTH | stat.S_IWOTH | stat.S_IWGRP) == 0
    assert stat.S_IMODE((tmp_path / "model" / "manifest.json").stat().st_mode) & stat.S_IROTH
