"""A review: the rejected people of labelled data are answered, and nobody is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
from msgspec import UNSET, structs

from ...agents.goals import accepted
from ...schemas.events import NoRecourse, Recourse, Value
from ...schemas.spec import ProgramSpec
from ...schemas.table import read_labelled
from ..programs.program import Program
from ..replay.suggestions import LIMITED_PLACES, suggest
from .evidence import Evidence
from .places import SpecPlaces
from .report import PEOPLE, Review, Suspicion
from .rules.lasting import lasting_share
from .rules.registry import RULES
from .uses import examples, uses

Progress = Callable[[str], None]
"""Told in a line how far a review is, often."""


def _silent(_: str) -> None:
    """Tell nothing."""


def review(
    program: Program,
    csv: str | Path,
    *,
    people: int = PEOPLE,
    spec_file: Path | None = None,
    progress: Progress = _silent,
) -> Review:
    """What a program would tell at most so many rejected people of a CSV with labels, evenly spread over its rows.

    The same data, spec and model give the same review. Suspicions have lines where ``spec_file`` is the spec's file.
    Raises ``TableError`` for data that do not fit the spec, or have no label; ``ModelError`` where the model cannot
    score them.
    """
    evidence = gathered(program, csv, people, progress)
    places = SpecPlaces(spec_file)
    suspicions: list[Suspicion] = []
    for name, rule in RULES.items():
        progress(f"looking for what is suspicious, by the rule {name}")
        found = sorted(rule(evidence), key=lambda finding: -abs(finding.figure))
        suspicions += [
            Suspicion(name, places.place_of(finding.path), finding.figure, finding.text, finding.feature)
            for finding in found
        ]
    note = LIMITED_PLACES.format(program.name, program.spec.policy.goal) if program.closes_rounds else None
    return Review(
        program.name,
        program.bundle.version,
        rows=len(evidence.desired),
        unlabelled=int(evidence.read.unlabelled.sum()),
        rejected=int((~evidence.approved).sum()),
        sample=len(evidence.answers),
        told=len(evidence.answers) - len(evidence.no_recourses),
        options=len(evidence.told_options),
        fragile=_fragile(evidence),
        none=dict(Counter(answer.reason for answer in evidence.no_recourses).most_common()),
        features=tuple(uses(evidence)),
        examples=tuple(examples(evidence)),
        suspicions=tuple(suspicions),
        lasting=lasting_share(evidence.manifest.measured),
        note=note,
    )


def gathered(program: Program, csv: str | Path, people: int, progress: Progress = _silent) -> Evidence:
    """The evidence for the rules; people of a program with limited places get no answer before a round is closed."""
    # A later model's rows may lie between the bounds of the program's first model and narrower ones of today.
    read = read_labelled(csv, structs.replace(program.spec, features=program.codec.features))
    progress(f"read {len(read.given):,} rows")
    scores = program.bundle.model.score(program.codec.encode_many(read.given))
    approved = accepted(scores, program.spec.model.threshold)
    may_apply = np.array([_may_apply(row, program.spec) for row in read.given])
    rejected = np.flatnonzero(~approved & may_apply)
    numbers = np.flatnonzero(~read.unlabelled)
    chosen = rejected[np.linspace(0, len(rejected) - 1, min(people, len(rejected))).round().astype(int)]
    rows = {str(numbers[row]): read.given[row] for row in chosen.tolist()}
    answers = [] if program.closes_rounds else list(_counted(suggest(program, rows, 0), len(rows), progress))
    return Evidence(program.spec, program.bundle.manifest, read, approved, rows, answers)


def _fragile(evidence: Evidence) -> int | None:
    """How many options say where a change must end; None where the program does not look at it."""
    if evidence.spec.policy.overshoot is None:
        return None
    return sum(any(change.at_most is not UNSET for change in option.changes) for _, option in evidence.told_options)


def _may_apply(row: Mapping[str, Value | None], spec: ProgramSpec) -> bool:
    """Whether a person of the data has values that an application may have."""
    return all(
        bounds[0] <= value <= bounds[1]
        for feature in spec.features
        if (bounds := feature.bounds) is not None and isinstance(value := row[feature.name], int | float)
    )


def _counted(
    answers: Iterator[Recourse | NoRecourse], total: int, progress: Progress
) -> Iterator[Recourse | NoRecourse]:
    for done, answer in enumerate(answers, 1):
        progress(f"answered {done:,} of {total:,} people")
        yield answer
