"""The spec in force, as the journal says it, is that of a ledger that has folded the journal."""

from __future__ import annotations

import msgspec
import pytest

from onward.streams.ledger.one_program import drop_other_programs
from onward.streams.programs.assembly import assemble
from onward.streams.programs.spec_changes import SpecRefusedError
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.replay.spec_history import SpecHistory, specs_of_ledger
from onward.streams.topics import Topics
from onward.testing.ledger import rows
from onward.testing.pipeline import START_MS, PipelineRun
from onward.testing.tape import JOURNAL, MINUTE_MS, Tape
from onward.tests.support.changed_specs import CHANGES, announce, feature, policy, spec_event
from onward.tests.support.programs import write_programs

POLICIES = {
    name: {"policy": {"choice": "posterior", "generator": "search"}, "shards": 1} for name in ("loan", "mortgage")
}
NARROWER, SHARDS = CHANGES["a narrower bound"], lambda spec: msgspec.structs.replace(spec, shards=2)


@pytest.fixture
def files(tmp_path):
    return {path.stem: path for path in write_programs(tmp_path, POLICIES)}


@pytest.fixture
def story(files, tmp_path):
    """Two programs, of which each was changed; one change was refused, one was read twice."""
    story = Tape(PipelineRun({name: assemble(load_program_spec(path)) for name, path in files.items()}, tmp_path))
    given = story.run.programs["loan"]
    story.again(announce(story, NARROWER, 0))
    announce(story, policy(seed=4), MINUTE_MS, program="mortgage")
    story.send("specs", spec_event(given, SHARDS(given.spec)), 2 * MINUTE_MS, "refused")
    announce(story, policy(exploration=0.5), 3 * MINUTE_MS)
    return story


def history(story, program="loan"):
    found = SpecHistory(program)
    for record in story.journal:
        found.feed_journal(record)
    return found


@pytest.mark.parametrize("name", POLICIES)
def test_the_spec_in_force_is_that_of_the_ledger(story, files, name):
    [(in_force,)] = rows(story.fold(), f"SELECT spec FROM programs WHERE program = '{name}'")
    assert story.reasons() == ["spec_refused"]
    found = history(story, name)
    assert found.program(load_program_spec(files[name])).sha256 == in_force
    later = files[name].with_name("later.yaml")
    later.write_text(files[name].read_text().replace('"seed":0', '"seed":9'))
    assert found.program(load_program_spec(later)).sha256 == in_force


def test_what_no_worker_has_read_yet_comes_last(story, files):
    found, given = history(story), story.run.programs["loan"]
    before = found.program(load_program_spec(files["loan"]))
    sent = [
        story.sender.record("specs", spec_event(given, change(before.spec)), time_ms=START_MS, id="x")
        for change in (policy(options=1), SHARDS, feature("income", protected=True))
    ]
    read = sent[0]._replace(offset=0)
    for record in (read, *sent, sent[1]._replace(offset=99, value=b"\xff")):
        found.feed_announced(record)
    assert (
        found.program(load_program_spec(files["loan"])).sha256 == before.changed(policy(options=1)(before.spec)).sha256
    )


def test_the_history_from_a_ledger_on_is_that_of_the_whole_journal(story, files, tmp_path):
    loaded = load_program_spec(files["loan"])
    whole = history(story)
    for cut in range(1, len(story.journal) + 1):
        head = Tape(PipelineRun(story.run.programs, tmp_path / str(cut)))
        head.run.broker.logs["journal", 0] = story.journal[:cut]
        ledger = head.fold()
        drop_other_programs(ledger, "loan")
        found = SpecHistory("loan")
        found.begin_at(specs_of_ledger(ledger, JOURNAL, story.run.programs["loan"], Topics()))
        for record in story.journal[cut:]:
            found.feed_journal(record)
        assert found.program(loaded).specs_sha256 == whole.program(loaded).specs_sha256
        assert found.read == whole.read


def test_another_first_model_is_refused(story, files):
    text = files["loan"].read_text().replace("loan-v1/", "mortgage-v1/")
    files["loan"].write_text(text)
    with pytest.raises(
        SpecRefusedError, match=r"its first model has the sha256 .*, that of the program .*, which stays"
    ):
        history(story).program(load_program_spec(files["loan"]))


def test_a_program_begins_with_the_first_declaration(story):
    assert history(story).has_begun
    assert not history(story, "unheard").has_begun
