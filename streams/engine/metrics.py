"""What the engine observes for the metrics: each is one, ``onward_NAME``, and a counter's name ends in ``_total``.

A handler says ``fold.count(name, *labels)`` of a counter, with how much to add, and ``fold.observe(name, value,
program)`` of a histogram. An input of your own adds its own to ``OBSERVATIONS`` before the worker starts.
"""

from __future__ import annotations

from typing import NamedTuple

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
DELAY_DAYS = (1.0, 3.0, 7.0, 14.0, 30.0, 60.0, 90.0, 180.0, 365.0)
DELAY_SECONDS = (1.0, 10.0, MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, *(days * DAY for days in DELAY_DAYS))
DELAY_STEPS = (0.0, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 10_000.0)
AUDITED = "program", "feature", "group"


class Observation(NamedTuple):
    """The metric's help text, and the names of its labels.

    There is one label at least. With ``buckets``, the upper bounds, it is a histogram, whose one label is the program;
    else a counter.
    """

    text: str
    labels: tuple[str, ...]
    buckets: tuple[float, ...] = ()


OBSERVATIONS: dict[str, Observation] = {
    "dead_letters": Observation("Records that could not be used.", ("reason",)),
    "duplicates": Observation("Repeated events that were left out.", ("event",)),
    "applications": Observation("Applications accepted.", ("program",)),
    "decisions": Observation("Decisions, approved or rejected.", ("program", "decision")),
    "protected_reasons": Observation(
        "Decisions against people of which a protected feature would be a principal reason.", ("program", "feature")
    ),
    "recourses": Observation("Answers to rejected people, recourse or none.", ("program", "kind")),
    "no_recourse": Observation("Rejected people without a recourse.", ("program", "reason")),
    "picks": Observation(
        "Options that people said they would take, by their place in the recourse, or none: the first answer of each.",
        ("program", "place"),
    ),
    "questions": Observation(
        "Questions to people: asked, answered or expired.",
        ("program", "state"),
    ),
    "elicited_recourses": Observation(
        "Recourses of programs that ask, by the number of picks that they rest on.",
        ("program", "answers"),
    ),
    "fates": Observation("What became of recourses and outcomes.", ("program", "fate")),
    "acting": Observation("People of whom it is known whether they acted, by how.", ("program", "seen")),
    "unnamed_outcomes": Observation(
        "Improvements of several options of which nobody knows which was carried out.", ("program",)
    ),
    "erasures": Observation("People who were to be forgotten, by what became of it.", ("program", "result")),
    "erased_events": Observation("Events of erased people that came later, and were left out.", ("program", "event")),
    "increments": Observation(
        "What shards have learned and told the others, by what became of it in a journal partition.",
        ("program", "result"),
    ),
    "models": Observation("Announced models applied, once in each journal partition.", ("program",)),
    "specs": Observation("Changed specs applied, once in each journal partition.", ("program",)),
    "rounds": Observation("Rounds closed.", ("program",)),
    "ignored_previous": Observation(
        "Applications that name an earlier one without its applicant: they come back with nothing.", ("program",)
    ),
    "promises_ended": Observation("Promises that have ended.", ("program", "status")),
    "drift_detected": Observation("Drifts that were found, by what has drifted.", ("program", "drifted")),
    # Three sums for each tenth of the execution probability, so that their ratios are means over any time.
    "predicted_executions": Observation(
        "Sum of the execution probabilities of options whose reward is known.", ("program", "decile")
    ),
    "observed_rewards": Observation("Sum of the rewards of these options.", ("program", "decile")),
    "resolved_options": Observation("Options whose reward is known.", ("program", "decile")),
    # Programs whose learner learns by stages only.
    "known_acting": Observation("People of whom it became known whether they acted.", ("program",)),
    "stated_acting": Observation("Sum of the probabilities with which they were thought to act.", ("program",)),
    "seen_acting": Observation("Those of them who were seen to act.", ("program",)),
    # Programs with an ``audit: true`` only. Sums, so that their ratios are means over any time.
    "audited_people": Observation(
        "Rejected people, by their value of a feature with `audit: true`, or `not given`.", AUDITED
    ),
    "audited_recourses": Observation("Those of them who got an option.", AUDITED),
    "audited_cost": Observation("Sum of the costs of their easiest options.", AUDITED),
    "audited_satisfied": Observation(
        "Sum of the shares of sampled people whom their options satisfy; 0 where costs are not sampled.", AUDITED
    ),
    # Programs that ask only. Sums of regrets, so that their ratios are means over any time.
    "regrets": Observation("People who were asked, and have picked an option of their recourse.", ("program",)),
    "regrets_told": Observation("Sum of the regrets of their recourses, in units of cost.", ("program",)),
    "regrets_seen": Observation(
        "Sum of what these regrets are expected to be since the option was picked.", ("program",)
    ),
    "outcome_delay_seconds": Observation("Event time from a recourse to its outcome.", ("program",), DELAY_SECONDS),
    "outcome_delay_steps": Observation("Answers given between a recourse and its outcome.", ("program",), DELAY_STEPS),
}
"""By name."""
