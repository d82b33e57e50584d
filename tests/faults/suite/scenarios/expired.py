"""Inputs are deleted before anybody has read them."""

from __future__ import annotations

import time
from dataclasses import replace

import confluent_kafka
from confluent_kafka.admin import AdminClient

from onward.streams.kafka.admin.offsets import PartitionOffsets, partition_offsets
from onward.tests.faults.suite.environment import ScenarioEnv
from onward.tests.faults.suite.workers.group import Worker, WorkerGroup
from onward.tests.faults.suite.workers.plan import FaultPlan

_APART_SECONDS = (2.0, 4.0)
_AWAY_SECONDS = (1.0, 3.0)
_MIN_ROUNDS = 3


def _plan(worker: Worker) -> FaultPlan:
    return FaultPlan(chunk_records=worker.random.choice([20, 200]))


def expired_inputs(env: ScenarioEnv) -> None:
    """Kill the worker, and delete the oldest unread records of inputs. It must name them, and answer the others."""
    group = env.start_workers(1, _plan)
    [worker] = group.workers
    # A decision whose application was deleted is given up.
    env.may_refuse_records = True
    rounds = 0
    while env.keep_going(enough=rounds >= _MIN_ROUNDS):
        group.wait_until_ready()
        group.run_for(env.random.uniform(*_APART_SECONDS))
        group.kill(worker)
        time.sleep(env.random.uniform(*_AWAY_SECONDS))
        rounds += _expire(env, group)


def _expire(env: ScenarioEnv, group: WorkerGroup) -> bool:
    """Delete unread records of one partition of each topic, and wait until the worker has named them."""
    topics = env.topics
    every = partition_offsets(
        replace(env.options, group=env.name),
        [topics.applications, topics.decisions, topics.outcomes],
        of_group=True,
    )
    unread = [at for at in every if at.committed is not None and max(at.begin, at.committed) < at.end]
    drawn = {at.topic: at for at in env.random.sample(unread, len(unread))}
    lines = [_delete(env, at) for at in drawn.values()]
    # One that said it twice would count the records twice.
    group.run_until(lambda: all(group.count_messages(line) == 1 for line in lines), f"it was said once: {lines}")
    env.log(f"deleted unread: {len(env.expired)} records until now")
    return bool(lines)


def _delete(env: ScenarioEnv, at: PartitionOffsets) -> str:
    """Delete some of the records that the group has not read; return what must be said of it."""
    assert at.committed is not None, "the group has read some"
    until = env.random.randint(max(at.begin, at.committed) + 1, at.end)
    records = env.read([at.topic])
    env.expired += [one for one in records if one.partition == at.partition and one.offset < until]
    admin = AdminClient(env.options.confluent())
    for future in admin.delete_records([confluent_kafka.TopicPartition(at.topic, at.partition, until)]).values():
        future.result()
    return f"{at.topic} partition {at.partition}: the records from offset {at.committed} to {until - 1} were deleted"
