"""The console's file: events that are read in a second of processor, and how fast a case is found among many.

A process of its own reads the journal and the outputs of many people in memory: of each an application, a decision, a
recourse of three options in two languages, an answer, and a fate. Then it starts again, looks cases up by their handle,
and makes the pages of their applicants.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from msgspec import Raw, Struct

from onward import environments
from onward.benchmarks import face
from onward.benchmarks.face import Row, progress
from onward.schemas.events import Answer, Application, Change, Journaled, ModelDecision, Option, Recourse, Reward, Value
from onward.schemas.headers import cloud_event_headers
from onward.schemas.kinds import kinds
from onward.schemas.specfile import load_spec
from onward.streams.console.case_store import FILE, CaseStore
from onward.streams.console.cases import Cases
from onward.streams.console.handles import Keys
from onward.streams.console.page_words import PageWords
from onward.streams.console.pages import Pages
from onward.streams.console.person import person_page
from onward.streams.outputs.emission import GENERATION, POSITION
from onward.streams.records import Record
from onward.streams.topics import Topics
from onward.tests.support.process import resident_bytes

AIM_CASES = 1_000_000
AIM_EVENTS, AIM_LOOK_UP_MS, AIM_PAGE_MS, AIM_START_SECONDS, AIM_MEGABYTES = 20_000, 5.0, 50.0, 5.0, 300.0
START_MS = 1_790_000_000_000
PROGRAM = "personal-loan"
SPEC = Path(environments.__path__[0]) / "specs" / "loan.yaml"
"""Not by way of a world, whose imports would count as the console's memory."""
TOPICS = Topics()
KEYS = Keys(["a key of the benchmark"])
CHUNK_CASES = 1000
EVENTS = 5
"""Of each case."""
SAVE, OWE = Change("savings", 1700, 7200, "EUR"), Change("card_utilisation", 54, 24, "percent")
EARN = Change("monthly_income", 2640, 3190, "EUR")
FEATURES: dict[str, Value | None] = {
    **{"age_band": "30_to_49", "dependants": "none", "education": "bachelor", "housing": "renting", "savings": 1700},
    **{"years_in_job": 7, "monthly_income": 2640, "monthly_debt_payments": 300, "card_utilisation": 54.5},
    **{"missed_payments_two_years": 1, "loan_amount": 9000, "loan_term": 48},
}


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    """The command line."""

    cases: int = field(default=100_000, metadata={"quick": 2000, "help": f"cases; the aims are those of {AIM_CASES:,}"})
    look_ups: int = field(default=2000, metadata={"quick": 200, "help": "cases that are looked up"})


class Found(NamedTuple):
    """What one run has measured: seconds and bytes."""

    events: int
    fold_cpu_seconds: float
    file_bytes: int
    start_seconds: float
    look_up_seconds: list[float]
    page_seconds: list[float]
    peak_bytes: int


def console(args: Args) -> Iterator[Row]:
    """All figures."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        found = process.submit(measure, args.cases, args.look_ups).result()
    aims = args.cases >= AIM_CASES
    events = found.events / found.fold_cpu_seconds
    yield Row("events read", events, "1/s CPU", aim=AIM_EVENTS)
    yield Row("a case in the file", found.file_bytes / args.cases / 1000, "kB", better="lower")
    for name, seconds, aim in (
        ("looking a case up, p99", found.look_up_seconds, AIM_LOOK_UP_MS),
        ("an applicant's page, p99", found.page_seconds, AIM_PAGE_MS),
    ):
        yield Row(name, float(np.quantile(seconds, 0.99)) * 1000, "ms", aim=aim if aims else None, better="lower")
    yield Row("starting again", found.start_seconds, "s", aim=AIM_START_SECONDS if aims else None, better="lower")
    yield Row("memory at most", found.peak_bytes / 1e6, "MB", aim=AIM_MEGABYTES if aims else None, better="lower")


def measure(cases: int, look_ups: int) -> Found:
    """Read in, start again, and look up, in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="onward-bench-") as temporary:
        folder = Path(temporary)
        events, cpu = 0, 0.0
        with closing(CaseStore(folder, TOPICS, KEYS)) as store:
            for start in range(0, cases, CHUNK_CASES):
                records = list(_records(start, min(cases, start + CHUNK_CASES)))
                before = time.process_time()
                events += store.fold(records)
                cpu += time.process_time() - before
                progress(f"{start:,} of {cases:,} cases are read")
        size = (folder / FILE).stat().st_size
        before = time.perf_counter()
        CaseStore(folder, TOPICS, KEYS).close()
        started = time.perf_counter() - before
        words, pages = PageWords(load_spec(SPEC).spec, "en"), Pages()
        look_up_seconds, page_seconds = [], []
        numbers = np.random.default_rng(0).integers(0, cases, look_ups)
        with closing(Cases(folder, KEYS)) as found:
            for number in numbers.tolist():
                begin = time.perf_counter()
                case = found.case(KEYS.handle(PROGRAM, f"a-{number}"))
                look_up_seconds.append(time.perf_counter() - begin)
                assert case is not None, "every case was read"
                page = person_page(case.happenings, words, case.application)
                pages.person(page, words, reference=case.application, today_ms=START_MS, once="x")
                page_seconds.append(time.perf_counter() - begin)
        return Found(events, cpu, size, started, look_up_seconds, page_seconds, resident_bytes(os.getpid(), peak=True))


def _records(first: int, last: int) -> Iterator[Record]:
    """The records of some cases: one of the journal, and then their outputs."""
    lines = [_line(number, event) for number in range(first, last) for event in _sent(number)]
    body = msgspec.json.encode(lines)
    yield Record(TOPICS.journal, 0, first, START_MS, None, body, ())
    for place, number in enumerate(range(first, last)):
        for event in _published(number):
            yield _output(first, place, number, event)


def _sent(number: int) -> Iterator[Struct]:
    yield Application(PROGRAM, f"a-{number}", FEATURES, f"person-{number}")
    yield Answer(PROGRAM, f"a-{number}", "1")


def _published(number: int) -> Iterator[Struct]:
    names: dict[str, Any] = {"program": PROGRAM, "shard": 0, "application": f"a-{number}"}
    model: dict[str, Any] = {"model": "logistic-regression-f575ca0f14c7", "spec": "a" * 64, "model_sha256": "b" * 64}
    yield ModelDecision(**names, **model, approved=False, applicant=f"person-{number}")
    text = {"en": "Save more: from €1,700 to €7,200. " * 2, "de": "Mehr sparen: von 1.700 € auf 7.200 €. " * 2}
    options = tuple(
        Option(str(place), changes, 0.2, 0.9, 1.0, str(place), text=text)
        for place, changes in enumerate(((SAVE, OWE), (EARN, OWE), (SAVE, EARN)), 1)
    )
    answered: dict[str, Any] = {**names, **model, "step": number, "policy": "residual", "policy_version": "c" * 16}
    yield Recourse(**answered, options=options, applicant=f"person-{number}", closes_at="2027-09-20T00:00:00.000Z")
    yield Reward(**names, fate="rewarded", reward=1.0, step=number, candidate="3", outcome=f"o-{number}", option="1")


def _line(number: int, event: Struct) -> Journaled:
    kind = kinds.by_struct[type(event)]
    topic, data = TOPICS.topic_of(kind), Raw(msgspec.json.encode(event))
    return Journaled(kind.ce_type, f"{kind.name}-{number}", START_MS + number, START_MS, data, topic, 0, number, "web")


def _output(journal: int, place: int, number: int, event: Struct) -> Record:
    kind = kinds.by_struct[type(event)]
    headers = cloud_event_headers(f"{kind.name}/{number}", "onward", kind.ce_type, START_MS + number)
    headers += [(POSITION, b"%d.%d" % (journal, place)), (GENERATION, b"1")]
    body = msgspec.json.encode(event)
    return Record(TOPICS.topic_of(kind), 0, number, START_MS + number, None, body, tuple(headers))


if __name__ == "__main__":
    sys.exit(face.run(Args, console))
