"""People are erased while the worker is killed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from itertools import islice
from pathlib import Path

import msgspec

from onward.schemas.events import Erasure
from onward.tests.faults.suite.environment import ScenarioEnv
from onward.tests.faults.suite.load.erasures import erasures
from onward.tests.faults.suite.scenarios.kills import at_points

_TOGETHER = 3
_MIN_ERASURES = 10
_APART_SECONDS = (0.5, 2.0)


def erased_people(env: ScenarioEnv) -> None:
    """Erase people by application and by applicant while the worker is killed. Their cases must be gone at the end."""
    group, count = env.start_workers(1, at_points), 0
    while env.keep_going(enough=count >= _MIN_ERASURES and bool(group.point_kills)):
        group.run_for(env.random.uniform(*_APART_SECONDS))
        if sent := list(env.sender.sent):
            drawn = list(islice(erasures(env.topics, env.context.programs, env.random, sent), _TOGETHER))
            env.sender.send(drawn)
            count += len(drawn)
    env.settle()
    env.log(f"{count} erasures")
    events = [msgspec.json.decode(record.value or b"", type=Erasure) for record in env.read([env.topics.erasures])]
    erased = {(event.program, event.application) for event in events if event.application is not None}
    if left := erased & _applications(group.ledgers):
        env.surprises.append(f"{len(left)} erased applications are still in a ledger, as {min(left)}")


def _applications(ledgers: Iterable[Path]) -> set[tuple[str, str]]:
    """The programs and applications of all cases."""
    query = "SELECT programs.program, application FROM cases JOIN programs ON programs.id = cases.program"
    found: set[tuple[str, str]] = set()
    for ledger in ledgers:
        with closing(sqlite3.connect(ledger)) as db:
            found |= set(db.execute(query))
    return found
