"""No test depends on how fast the machine is: what must happen is waited for, and pytest's timeout ends what hangs."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent
WITH_A_DEADLINE = TESTS / "support" / "attacked_worker.py"
"""An attacked worker must go on answering within seconds: that is what its attackers try to prevent."""
DEADLINES = re.compile(
    r"assert .*\b(monotonic|perf_counter)\(\)|\bwait_for\(.*, [\d.]+\)|\basyncio\.timeout\(|\bmark\.timeout\b"
)


def test_no_test_has_a_deadline_in_real_time() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{number}: {line.strip()}"
        for path in sorted(TESTS.rglob("*.py"))
        if path not in (Path(__file__), WITH_A_DEADLINE)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if DEADLINES.search(line)
    ]
    assert not found
