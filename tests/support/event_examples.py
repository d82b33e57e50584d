"""An example of every struct of the events: a struct without one fails the tests of the schemas."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import Struct

from onward.schemas import events

CHANGE = events.Change("income", 3, 4.5, "kEUR")
EXAMPLES: list[Struct] = [
    events.Application("loan", "a1", {"income": 3.5, "debts": 2, "region": "north"}, "p1"),
    events.Decision("loan", "a1", False, 0.25),
    events.Acted("loan", "a1", "1"),
    events.Return("loan", "a1", "a2", {"income": 3.5, "debts": 1, "region": "north"}, "p1"),
    events.Answer("loan", "a1", "2"),
    events.Answer("loan", "a1", None, 3),
    events.Question("loan", 0, "a1", 3, (events.Option("c1", (CHANGE,), 0.5, 0.9, 1.0),), "2026-03-08", "s", "m", "p1"),
    events.Outcome("loan", "a1", "improved", "1"),
    events.Model("loan", "7", "s3://bucket/manifest.json", "0" * 64),
    events.Recourse("loan", 0, "a1", 5, (events.Option("c1", (CHANGE,), 0.5, 0.9, 1.0),), "linucb", "v", "s", "m", 10),
    events.NoRecourse("loan", 0, "a1", 5, "no_candidate", "rule 1", "linucb", "v", "s", "m"),
    events.Reward("loan", 0, "a1", "rewarded", 1.0, 5, "c1", "o1"),
    events.Erasure("loan", "a1"),
    events.Erasure("loan", applicant="p1"),
    events.Erased("loan", "erasures/0/17", "applicant", 3, 2, 1, 2, (events.EndedRecourse(0, 5),)),
    events.DeadLetter(
        "malformed_json", "bad", "applications", 0, 1, 2, "0" * 64, b"\xff\x00", None, (("ce_id", b"x"),)
    ),
    events.Tick((events.SourcePosition("applications", 0, None), events.SourcePosition("outcomes", 1, 17))),
    events.Spec("loan", {"program": "loan"}, "0" * 64),
    events.Round("loan", datetime(2026, 11, 30, tzinfo=UTC), 100),
    events.ModelDecision("loan", 0, "a1", False, "m", "s", "p1", "0" * 64, 7, 0.41, 0.62),
    events.ModelDecision("loan", 0, "a1", True, "m", "s"),
    events.Threshold(
        "loan",
        0,
        7,
        "2026-11-30T00:00:00.000Z",
        9,
        19,
        12,
        7,
        5,
        9,
        0.62,
        0.66,
        0.65,
        8,
        events.Coverage(0.95, 0.96, 8),
        2,
        ("newcomers",),
        "m",
    ),
    events.PromiseChange("loan", 0, "a1", "kept", "p1", "a2", 0.67, 0.66, 7, 8, 8),
    events.PromiseChange("loan", 0, "a1", "broken", options=("1", "3"), reason="model", replaced=("1",), model="v2"),
    events.Revalidation("loan", 0, "v2", 7, 2, 2, 0, 3, 1, 0.02),
    events.Increment("loan", 0, 1, 25, "0" * 64, {"target": events.Sums((0, 3), (1048576, -7))}),
]
