"""Only what an operator has listed becomes a model or spec of their worker."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from onward.schemas.events import DeadLetter, Model
from onward.streams.errors import LedgerError, UsageError
from onward.streams.ingest.ingest import Ingest
from onward.streams.metrics import Metrics
from onward.streams.programs.accepted import AcceptedFile
from onward.streams.worker.partition_processor import PartitionProcessor, ProcessorConfig
from onward.testing.pipeline import START_MS, PipelineRun, Sender, no_clock
from onward.testing.program import build_program
from onward.testing.tape import JOURNAL

pytestmark = pytest.mark.attack

OLD, NEW, FORGED = "2" * 64, "3" * 64, "4" * 64


@pytest.fixture
def listed(tmp_path):
    file = tmp_path / "accepted"
    file.write_text(f"# ours\nmodel loan {OLD}  # March\nmodel loan {NEW}\nspec loan {OLD}\n")
    return AcceptedFile(file)


def announced(run, accepted, digests):
    """Ingest model events of these manifests; return the reasons of the dead letters in the journal."""

    async def load(program, model):
        return None

    async def ingest():
        worker = Ingest(run.topics, run.programs, run.broker, Metrics(), no_clock, None, load, accepted=accepted)
        await worker.assigned([])
        sender = Sender()
        for number, digest in enumerate(digests):
            event = Model("loan", f"v{number}", "memory", digest)
            await worker.handle([sender.record("models", event, time_ms=START_MS, id=f"m{number}")])

    asyncio.run(ingest())
    return b"".join(record.value or b"" for record in run.broker.logs["journal", 0]).count(b'"reason":"not_accepted"')


def test_an_older_version_is_refused_until_its_line_stands_last_again(tmp_path, listed):
    run = PipelineRun({"loan": build_program()}, tmp_path)
    assert announced(run, listed, [NEW, OLD, FORGED]) == 2
    assert announced(PipelineRun({"loan": build_program()}, tmp_path), None, [NEW, OLD, FORGED]) == 0
    with listed.path.open("a") as file:
        file.write(f"model loan {OLD}\n")
    assert announced(PipelineRun({"loan": build_program()}, tmp_path), listed, [OLD]) == 0
    assert "stands before the newest line" in listed.refusal("model", "loan", NEW)


def test_what_is_no_list_ends_a_start_and_leaves_a_running_worker_its_last_one(tmp_path, listed):
    assert listed.refusal("model", "loan", NEW) is None
    listed.path.write_text("model loan 123\n")
    with pytest.raises(UsageError, match=r"accepted:1: write `model PROGRAM SHA256`"):
        AcceptedFile(listed.path)
    assert listed.refusal("model", "loan", NEW) is None
    listed.path.unlink()
    assert listed.refusal("model", "loan", NEW) is None
    assert listed.refusal("model", "another", NEW) is not None


@pytest.mark.parametrize("digest", [OLD, FORGED])
def test_a_forged_line_of_the_journal_ends_the_worker_that_has_a_list(tmp_path, listed, monkeypatch, digest):
    run = PipelineRun({"loan": build_program()}, tmp_path)
    announced(run, None, [digest])
    bundle = run.programs["loan"].bundle
    monkeypatch.setattr(type(run.programs["loan"]), "load", lambda self, manifest, sha256: bundle)

    if digest == OLD:
        fold(run, tmp_path, listed)
        return
    with pytest.raises(LedgerError, match=f"at offset [0-9]+ the model {FORGED} of program 'loan', which ") as error:
        fold(run, tmp_path, listed)
    assert error.value.exit_code == 4
    assert not run.events("dead-letters", DeadLetter)


def test_a_ledger_that_answers_by_what_is_not_listed_ends_the_worker_that_has_a_list(tmp_path, listed, monkeypatch):
    run = PipelineRun({"loan": build_program()}, tmp_path)
    announced(run, None, [OLD])
    other = replace(run.programs["loan"].bundle, manifest_sha256=OLD)
    monkeypatch.setattr(type(run.programs["loan"]), "load", lambda self, manifest, sha256: other)
    fold(run, tmp_path, None)
    fold(run, tmp_path, listed)
    with listed.path.open("w") as file:
        file.write(f"model loan {NEW}\n")
    with pytest.raises(LedgerError, match=f"partition 0 answers program 'loan' by the model {OLD}, which ") as error:
        fold(run, tmp_path, listed)
    assert error.value.exit_code == 4


def fold(run, folder, accepted):
    """Fold the journal with a list."""

    async def folded():
        config = ProcessorConfig(folder / "ledger", accepted=accepted)
        processor = PartitionProcessor(run.topics, run.programs, run.broker, Metrics(), no_clock, config)
        await processor.assigned([JOURNAL])
        try:
            await processor.handle(list(run.broker.logs["journal", 0]))
        finally:
            await processor.revoked([JOURNAL])

    asyncio.run(folded())
