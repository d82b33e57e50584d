"""A model decides by a protected feature only where the spec says that it may."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np
import pytest

from onward.schemas.encoding import FeatureCodec
from onward.schemas.events import Model, ModelDecision
from onward.schemas.spec import ProgramSpec
from onward.schemas.spec_document import document
from onward.streams.errors import LedgerError, UsageError
from onward.streams.programs.announced_spec import check_announced
from onward.streams.programs.assembly import assemble, assemble_all
from onward.streams.programs.models.scoring import Perceptron
from onward.streams.programs.program import Program
from onward.streams.programs.protected_reading import protected_fault
from onward.streams.programs.spec_changes import SpecRefusedError
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.replay.spec_history import SpecHistory
from onward.testing.pipeline import PipelineRun
from onward.testing.program import IncomeModel
from onward.testing.tape import MINUTE_MS, Tape
from onward.tests.support.changed_specs import feature, spec_event
from onward.tests.support.fixed_models import FEATURES, spec_text, write_model

PROTECTED = FEATURES.replace("family]}", "family], mutable: none, protected: true}")
POLICY = "policy: {objective: cost, choice: posterior, generator: search}"
NOT_TOLD = "the model reads housing, which the spec protects: write `model: {may_read: [housing]}` where it is allowed"
BETWEEN = {"region": "north", "income": 55, "debts": 3, "training": "none"}
"""Somebody of whom housing alone decides."""
BIAS = -2.1


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Specs of one program, whose model reads housing: one says so, one does not, as those of older versions."""
    texts = {"silent": spec_text(POLICY, PROTECTED)}
    texts["allowed"] = texts["silent"].replace("manifest.json}", "manifest.json, may_read: [housing]}")
    paths = {name: tmp_path / f"{name}.yaml" for name in texts}
    for name, path in paths.items():
        path.write_text(texts[name])
    write_model(tmp_path / "v1", load_program_spec(paths["silent"]).spec, BIAS)
    return paths


def program(path: Path, *, has_begun: bool = False) -> Program:
    """The program of a file, as a worker or, where it ``has_begun``, an older version serves it."""
    [own] = assemble_all([load_program_spec(path)], has_begun=has_begun).values()
    return own


@contextmanager
def older_version(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A worker of a version that asks nobody."""
    with monkeypatch.context() as older:
        older.setattr("onward.streams.programs.model_fit.protected_fault", lambda *_: None)
        yield


def decided(story: Tape) -> dict[str, bool]:
    return {one.application: one.approved for one in story.run.events("model-decisions", ModelDecision)}


def announced(story: Tape, spec: ProgramSpec, ms: int) -> None:
    """Ingest the announcement of a spec, and leave it on its topic."""
    record = story.send("specs", spec_event(story.run.programs["loan"], spec), ms, f"s-{ms}")
    story.run.broker.logs["specs", 0].append(record)


@pytest.mark.attack
def test_no_worker_starts_with_a_model_that_decides_by_what_is_protected(files):
    with pytest.raises(UsageError, match=re.escape(NOT_TOLD)) as refused:
        assemble_all([load_program_spec(files["silent"])])
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith(f"{files['silent']}: ")


def test_where_the_spec_says_that_it_may_it_does(files, tmp_path):
    story = Tape(PipelineRun({"loan": program(files["allowed"])}, tmp_path))
    for housing in ("rent", "own"):
        story.applies(housing, features={**BETWEEN, "housing": housing})
    story.fold()
    assert decided(story) == {"rent": False, "own": True}


@pytest.mark.parametrize("name", ["ledger", "rebuilt"])
def test_what_began_without_a_word_goes_on_and_is_corrected_by_an_announced_spec(files, tmp_path, name, monkeypatch):
    """A ledger or a journal of an older version holds a spec that says nothing."""
    before = program(files["silent"], has_begun=True)
    story = Tape(PipelineRun({"loan": before}, tmp_path))
    story.applies("rent", features={**BETWEEN, "housing": "rent"})
    with older_version(monkeypatch):
        story.fold()
    corrected = program(files["allowed"])
    story.run.programs = {"loan": corrected}
    story.applies("later", MINUTE_MS, features={**BETWEEN, "housing": "own"})
    with pytest.raises(LedgerError, match="has not been announced: announce it with `onward specs announce FILE`"):
        story.fold(name)
    announced(story, corrected.spec, 2 * MINUTE_MS)
    story.applies("last", 3 * MINUTE_MS, features={**BETWEEN, "housing": "rent"})
    story.fold(name)
    assert decided(story) == {"rent": False, "later": True, "last": False}
    assert [answer.spec for answer in story.answers()] == [before.sha256, corrected.sha256]
    assert before.sha256 != corrected.sha256
    assert story.reasons() == []
    for path in files.values():
        assert history(story).program(load_program_spec(path)).sha256 == corrected.sha256


@pytest.mark.parametrize("name", ["ledger", "rebuilt"])
def test_what_an_older_version_let_pass_is_folded_as_it_was(files, tmp_path, name, monkeypatch):
    """A feature was protected while the program ran: the model had read it before, and nobody asked."""
    text = files["silent"].read_text()
    files["silent"].write_text(text.replace(", protected: true", ""))
    before = program(files["silent"])
    story = Tape(PipelineRun({"loan": before}, tmp_path))
    protects = feature("housing", protected=True)(before.spec)
    with older_version(monkeypatch):
        announced(story, protects, 0)
    story.applies("rent", MINUTE_MS, features={**BETWEEN, "housing": "rent"})
    story.fold(name)
    in_force = before.changed(protects).sha256
    assert ([answer.spec for answer in story.answers()], story.reasons()) == ([in_force], [])
    assert history(story).program(load_program_spec(files["silent"])).sha256 == in_force


@pytest.mark.attack
@pytest.mark.parametrize("name", ["ledger", "rebuilt"])
def test_a_worker_ends_where_the_model_in_force_is_a_later_one_that_reads_it(files, tmp_path, name, monkeypatch):
    """An older version was told of a model that reads housing; the first model does not."""
    loaded = load_program_spec(files["silent"])
    (tmp_path / "v1").rename(tmp_path / "v2")
    write_model(tmp_path / "v1", loaded.spec, BIAS, trees=True)
    story = Tape(PipelineRun({"loan": program(files["silent"])}, tmp_path))
    address = str(tmp_path / "v2" / "manifest.json")
    digest = hashlib.sha256(Path(address).read_bytes()).hexdigest()
    with older_version(monkeypatch):
        story.send("models", Model("loan", "v1", address, digest), 0, "m")
        story.applies("own", MINUTE_MS, features={**BETWEEN, "housing": "own"})
        story.fold()
    assert (decided(story), story.reasons()) == ({"own": True}, [])
    with pytest.raises(UsageError, match=re.escape(f"which is in force: {NOT_TOLD}")):
        story.fold(name)
    allowed = program(files["allowed"])
    announced(story, allowed.spec, 2 * MINUTE_MS)
    story.run.programs = {"loan": allowed}
    story.applies("rent", 3 * MINUTE_MS, features={**BETWEEN, "housing": "rent"})
    story.fold(name)
    assert decided(story) == {"own": True, "rent": False}


@pytest.mark.attack
def test_an_announced_spec_is_refused_under_which_the_model_would_read_what_is_protected(files, tmp_path):
    given = program(files["allowed"])
    silent = load_program_spec(files["silent"]).spec
    more = feature("income", mutable="none", protected=True)(given.spec)
    story = Tape(PipelineRun({"loan": given}, tmp_path))
    told = []
    for number, spec in enumerate((silent, more)):
        announced(story, spec, number * MINUTE_MS)
        with pytest.raises(SpecRefusedError) as refused:
            check_announced(spec_event(given, spec), given)
        told.append(str(refused.value))
    story.applies("last", 2 * MINUTE_MS, features={**BETWEEN, "housing": "rent"})
    story.fold()
    assert story.reasons() == ["spec_refused", "spec_refused"]
    assert [answer.spec for answer in story.answers()] == [given.sha256]
    assert told[0].startswith(NOT_TOLD)
    assert told[1].startswith("the model reads income, which the spec protects: write `model: {may_read: [housing, in")


def test_what_waits_on_the_topic_of_specs_is_asked_and_what_the_journal_holds_is_not(files, tmp_path):
    given = program(files["allowed"])
    story = Tape(PipelineRun({"loan": given}, tmp_path))
    story.applies("first", features={**BETWEEN, "housing": "rent"})
    found = history(story)
    waiting = story.sender.record(
        "specs", spec_event(given, load_program_spec(files["silent"]).spec), time_ms=0, id="x"
    )
    found.feed_announced(waiting)
    assert found.program(load_program_spec(files["allowed"])).sha256 == given.sha256


def history(story: Tape) -> SpecHistory:
    found = SpecHistory("loan")
    for record in story.journal:
        found.feed_journal(record)
    return found


@pytest.mark.parametrize(
    ("kind", "read"),
    [
        ("linear", {"income", "debts", "housing", "training"}),
        ("trees", {"income", "debts"}),
        ("network", {"income", "housing"}),
        ("unknown", {"region", "income", "debts", "housing", "training"}),
    ],
)
def test_what_a_model_reads_is_what_its_score_can_depend_on(files, tmp_path, kind, read):
    loaded = load_program_spec(files["silent"])
    if kind == "trees":
        (tmp_path / "trees").mkdir()
        write_model(tmp_path / "trees" / "v1", loaded.spec, BIAS, trees=True)
        (tmp_path / "trees" / "spec.yaml").write_text(files["silent"].read_text())
        loaded = load_program_spec(tmp_path / "trees" / "spec.yaml")
    model = assemble(loaded, has_begun=True).bundle.model
    if kind == "network":
        weights = np.zeros((8, 2))
        weights[2, 0], weights[5, 1] = 3.0, 1e-9
        model = Perceptron([(weights, np.zeros(2)), (np.ones((2, 1)), np.zeros(1))], "relu", 8)
    elif kind == "unknown":
        model = IncomeModel()
    plain = feature("housing", protected=False)(loaded.spec)
    specs = {one.name: feature(one.name, protected=True)(plain) for one in plain.features}
    assert {name for name, spec in specs.items() if protected_fault(model, FeatureCodec(spec))} == read


def test_a_spec_that_says_nothing_of_what_may_be_read_keeps_its_hash(files):
    silent = load_program_spec(files["silent"]).spec
    assert b"may_read" not in document(silent)
    assert msgspec.json.decode(document(load_program_spec(files["allowed"]).spec))["model"]["may_read"] == ["housing"]
