"""What a worker refuses before it reaches Kafka."""

from __future__ import annotations

from pathlib import Path

import pytest

from onward.streams.errors import LedgerError
from onward.streams.kafka.service import run_service
from onward.streams.settings import WorkerSettings
from onward.streams.worker.state_lock import lock_state


async def test_a_worker_does_not_start_on_the_folder_of_another(program: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    settings = WorkerSettings(brokers=("127.0.0.1:1",), spec=(program / "spec.yaml",), state_dir=state, web=False)
    with lock_state(state), pytest.raises(LedgerError, match=r"another worker .* keeps its ledgers there"):
        await run_service(settings, signals=False)
    assert [path.name for path in state.iterdir()] == ["worker.lock"]
