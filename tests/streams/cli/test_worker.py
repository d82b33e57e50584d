"""What a worker refuses before it reaches Kafka, and does before it has partitions."""

from __future__ import annotations

from pathlib import Path

import pytest

from onward.streams.errors import LedgerError, ModelError
from onward.streams.kafka import service
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.kafka.service import run_service
from onward.streams.programs.program import Program
from onward.streams.settings import WorkerSettings
from onward.streams.worker.state_lock import lock_state


async def test_a_worker_does_not_start_on_the_folder_of_another(program: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    settings = WorkerSettings(brokers=("127.0.0.1:1",), spec=(program / "spec.yaml",), state_dir=state, web=False)
    with lock_state(state), pytest.raises(LedgerError, match=r"another worker .* keeps its ledgers there"):
        await run_service(settings, signals=False)
    assert [path.name for path in state.iterdir()] == ["worker.lock"]


@pytest.mark.parametrize("problem", [None, ModelError("it has no score"), ValueError("it fits nobody")])
async def test_a_first_answer_is_compiled_before_a_worker_has_partitions(
    broker: EmbeddedBroker,
    program: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    problem: Exception | None,
) -> None:
    done: list[str] = []

    def rehearse(program: Program) -> None:
        done.append(program.name)
        if problem is not None:
            raise problem

    async def consume(*_: object, **__: object) -> None:
        done.append("consumes")

    monkeypatch.setattr(service, "rehearse", rehearse)
    monkeypatch.setattr(service, "run_worker", consume)
    spec = program / "spec.yaml"
    settings = WorkerSettings(brokers=(broker.bootstrap,), spec=(spec,), state_dir=tmp_path / "state", web=False)
    await run_service(settings, signals=False)
    assert done == ["personal-loan-linucb", "consumes"]
