"""A stock Faust app that counts in a table."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from onward.faults.brokers import BROKERS
from onward.faults.checker import Findings, compare_outputs, compare_states, name_of
from onward.faults.counting_worker import CHANGELOG, Count, name_of_count
from onward.faults.fleet import Fleet, Orders
from onward.faults.patience import Patience
from onward.faults.site import PARTITIONS, Site
from onward.schemas.events import Application
from onward.streams.kafka.admin.topics import create_topics
from onward.streams.kafka.client import EventReader
from onward.streams.records import Record
from onward.streams.topics import TopicPlan

_COMMAND = (sys.executable, "-P", "-m", "onward.faults.counting_worker")
_BETWEEN_KILLS = 100
_KILLS = 2
_ANY_CODE = range(256)


def stock_faust_counter(site: Site) -> Findings:
    """It is killed again and again; what it wrote before the first time must be without fault."""
    copies = {"min.insync.replicas": "2", "cleanup.policy": "compact"}
    create_topics(site.options, [TopicPlan(_changelog(site), PARTITIONS, BROKERS, copies)])
    fleet = site.fleet(1, lambda _slot: Orders(), command=_COMMAND, flags=False)
    # What stock Faust ends with is not ours to judge.
    fleet.expected.update(_ANY_CODE)
    undisturbed = _kill_again_and_again(site, fleet)
    site.sender.finish()
    applications = site.read([site.topics.applications])
    patience = Patience(site.patience_seconds)
    while (counted := len(site.read([site.topics.recourse]))) < len(applications) and patience.lasts(counted):
        fleet.watch(1.0)
    fleet.stop()
    expected, totals = _counted(site, applications)
    names = {name_of(record) for record in undisturbed}
    findings = Findings()
    compare_outputs(_bare(undisturbed), [record for record in expected if name_of(record) in names], findings)
    if not findings.good:
        site.surprises.append(f"before anything happened the checker found {findings}")
    findings = Findings()
    compare_outputs(_bare(site.read([site.topics.recourse])), expected, findings)
    compare_states({"counts": _lines(_table(site))}, {"counts": _lines(totals)}, findings)
    return findings


def _kill_again_and_again(site: Site, fleet: Fleet) -> Sequence[Record]:
    """Return what was sent on before the first time."""
    undisturbed: list[Record] = []
    counts: list[Record] = []
    with EventReader(site.options, [site.topics.recourse]) as reader:
        while site.goes_on(enough=fleet.kills >= _KILLS):
            fleet.watch(site.random.uniform(0.2, 1.0))
            counts += reader.poll(0.1)
            if len(counts) > _BETWEEN_KILLS:
                fleet.kill(fleet.slots[0])
                undisturbed, counts = undisturbed or counts, []
    return undisturbed


def _counted(site: Site, applications: Sequence[Record]) -> tuple[list[Record], Mapping[str, int]]:
    """The same applications counted without an interruption: what is sent on, and the table at the end."""
    totals: Counter[str] = Counter()
    expected = []
    for record in applications:
        person = msgspec.json.decode(record.value or b"", type=Application)
        totals[str(record.partition)] += 1
        value = msgspec.json.encode(Count(person.program, person.application, totals[str(record.partition)]))
        headers = (("ce_id", name_of_count(person.program, person.application).encode()),)
        expected.append(record._replace(topic=site.topics.recourse, value=value, headers=headers))
    return _bare(expected), totals


def _table(site: Site) -> Mapping[str, int]:
    """As its changelog tells."""
    changes = site.read([_changelog(site)])
    return {msgspec.json.decode(change.key or b""): int(change.value or b"0") for change in changes}


def _changelog(site: Site) -> str:
    return f"{site.name}-{CHANGELOG}"


def _bare(records: Sequence[Record]) -> list[Record]:
    """Without what this app does not promise."""
    return [record._replace(partition=0, timestamp_ms=0) for record in records]


def _lines(counts: Mapping[str, int]) -> list[str]:
    return [f"{name} {count}" for name, count in sorted(counts.items())]
