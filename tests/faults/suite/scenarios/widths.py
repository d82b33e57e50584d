"""Partitions are added to the journal and the outputs while workers run."""

from __future__ import annotations

from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]  # not in its stubs' __all__

from onward.tests.faults.suite.environment import PARTITIONS, ScenarioEnv
from onward.tests.faults.suite.scenarios.kills import at_any_time, kill_randomly
from onward.tests.faults.suite.workers.process import STATE_LOST

_MORE = 5
_WORKERS = 2
_LINE = f"the journal has {_MORE} partitions now, and had {PARTITIONS}"


def raised_partitions(env: ScenarioEnv) -> None:
    """Kill workers, and raise the partitions once all is answered: every worker must end, and write nothing more.

    There is no way on from there, so this is the end of the scenario. A worker that starts again ends, too.
    """
    group = env.start_workers(_WORKERS, at_any_time)
    kill_randomly(env, group, 2)
    env.catch_up()
    group.wait_until_ready()
    group.allowed_codes.add(STATE_LOST)
    before = group.exit_counts[STATE_LOST]
    admin = AdminClient(env.options.confluent())
    raised = [env.topics.journal, *env.topics.outputs]
    for future in admin.create_partitions([NewPartitions(name, _MORE) for name in raised]).values():
        future.result()
    env.log("the partitions are raised")
    group.run_until(lambda: group.exit_counts[STATE_LOST] - before >= 2 * _WORKERS, "all workers had ended twice")
    ends = group.exit_counts[STATE_LOST] - before
    lines = [line for worker in group.workers for line in worker.log.read_text(errors="replace").splitlines()]
    if sum(line.startswith("onward: ") and _LINE in line for line in lines) < ends:
        env.surprises.append(f"not every worker that ended with {STATE_LOST} said: {_LINE}")
    env.settle()
    if any(record.partition >= PARTITIONS for record in env.read(raised)):
        env.surprises.append("something was written to the new partitions")
