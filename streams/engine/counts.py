"""The counts of the engine for the metrics: each has a counter, ``onward_NAME_total``.

A handler counts with ``fold.count(name, *labels)``. One of an input of your own adds its counts to ``COUNTS`` before
the worker starts.
"""

from __future__ import annotations

from typing import NamedTuple


class Count(NamedTuple):
    """The counter's help text, and the names of its labels, of which there are one or two."""

    text: str
    labels: tuple[str, ...]


COUNTS: dict[str, Count] = {
    "dead_letters": Count("Records that could not be used.", ("reason",)),
    "duplicates": Count("Repeated events that were left out.", ("event",)),
    "applications": Count("Applications accepted.", ("program",)),
    "decisions": Count("Decisions, approved or rejected.", ("program", "decision")),
    "protected_reasons": Count(
        "Decisions against people of which a protected feature would be a principal reason.", ("program", "feature")
    ),
    "recourses": Count("Answers to rejected people, recourse or none.", ("program", "kind")),
    "no_recourse": Count("Rejected people without a recourse.", ("program", "reason")),
    "picks": Count(
        "Options that people said they would take, by their place in the recourse, or none: the first answer of each.",
        ("program", "place"),
    ),
    "questions": Count(
        "Questions to people: asked, answered or expired.",
        ("program", "state"),
    ),
    "elicited_recourses": Count(
        "Recourses of programs that ask, by the number of picks that they rest on.",
        ("program", "answers"),
    ),
    "fates": Count("What became of recourses and outcomes.", ("program", "fate")),
    "acting": Count("People of whom it is known whether they acted, by how.", ("program", "seen")),
    "unnamed_outcomes": Count(
        "Improvements of several options of which nobody knows which was carried out.", ("program",)
    ),
    "erasures": Count("People who were to be forgotten, by what became of it.", ("program", "result")),
    "erased_events": Count("Events of erased people that came later, and were left out.", ("program", "event")),
    "increments": Count(
        "What shards have learned and told the others, by what became of it in a journal partition.",
        ("program", "result"),
    ),
    "models": Count("Announced models applied, once in each journal partition.", ("program",)),
    "specs": Count("Changed specs applied, once in each journal partition.", ("program",)),
    "rounds": Count("Rounds closed.", ("program",)),
    "ignored_previous": Count(
        "Applications that name an earlier one without its applicant: they come back with nothing.", ("program",)
    ),
    "promises_ended": Count("Promises that have ended.", ("program", "status")),
    "drift_detected": Count("Drifts that were found, by what has drifted.", ("program", "drifted")),
}
"""By name."""
