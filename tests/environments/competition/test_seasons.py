"""The simulation of seasons: its events in order, and when a round ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from onward.environments.competition.played import SeasonRun
from onward.environments.play.simulation import Simulation
from onward.schemas.events import Application, Change, DeadLetter, NoRecourse, Option, Outcome, Recourse, Round
from onward.schemas.events import ModelDecision as Decision


class Arrival(NamedTuple):
    application: str
    applicant: str = "p"
    features: Any = MappingProxyType({"income": 1.5})
    previous: str | None = None
    taken: str | None = None
    reached: bool = False


@dataclass
class TinySeason:
    """In round 0 "a" and "b" apply; in round 1 "a" comes back as "c"."""

    round: int = 0
    rounds: int = 2
    places: int = 1
    closed: list[Any] = field(default_factory=list)

    def open(self):
        back = Arrival("c", previous="a", taken="2", reached=True)
        return [Arrival("a"), Arrival("b", "q")] if self.round == 0 else [back]

    def close(self, accepted, answers):
        self.closed.append((set(accepted), dict(answers)))
        self.round += 1
        return [None] * len(answers)


@dataclass
class Recorder:
    suggestions: list[tuple[int, Any]] = field(default_factory=list)

    def record(self, t, taken):
        self.suggestions.append((t, taken))


def simulation(prefix=""):
    season, recorder = TinySeason(), Recorder()
    run = Simulation([SeasonRun("grants", season, recorder, prefix)])
    return run, season, recorder


def decided(name, approved):
    return Decision("grants", 0, name, approved, "m", "s", None, 0, 0.4, 0.5)


def recourse(name):
    option = Option("7", (Change("income", 1.5, 2.5),), 0.1, 0.9, 1.0, "2")
    return Recourse("grants", 0, name, 0, (option,), "protoar", "v", "s", "m", target_score=0.7)


def none(name, reason):
    return NoRecourse("grants", 0, name, 0, reason, "", "protoar", "v", "s", "m", target_score=0.7)


def opened(run, now_ms=1000):
    """Publish the applications of the next round, and read them back."""
    events = run.next_events(now_ms)
    for event in events:
        run.receive(event.event)
    return events


def announced(run, now_ms=1000):
    """Open the next round, and announce its end."""
    opened(run, now_ms)
    (event,) = run.next_events(now_ms)
    return event


def test_a_round_ends_when_all_of_its_applications_are_on_their_topic():
    run, _, _ = simulation()
    first, second = run.next_events(1000)
    assert (first.event, first.time_ms) == (Application("grants", "a", {"income": 1.5}, "p"), 1000)
    run.receive(first.event)
    assert run.next_events(1500) == []
    run.receive(second.event)
    (end,) = run.next_events(2000)
    assert isinstance(end.event, Round)
    assert (end.event.ends_at.timestamp(), end.event.places, end.time_ms) == (2.0, 1, 2000)
    assert run.next_events(2001) == []
    assert run.awaited == ("grants/round/0",)


def test_the_next_round_begins_when_everybody_has_a_decision_and_the_rejected_an_answer():
    run, season, recorder = simulation()
    announced(run)
    for event in (recourse("a"), decided("a", False), decided("a", False)):
        run.receive(event)
        assert run.next_events(1001) == []
    run.receive(decided("b", True))
    assert season.closed == [({"b"}, {"a": (0.7, {"2": {"income": 2.5}})})]
    assert recorder.suggestions == [(0, None)]
    outcome, back = run.next_events(900)
    assert outcome.event == Outcome("grants", "a", "improved", "2")
    assert back.event == Application("grants", "c", {"income": 1.5}, "p", "a")
    assert back.time_ms > 1000, "nobody can belong to a round that has ended"


def test_it_ends_with_the_last_round():
    run, _, _ = simulation()
    for names in ("ab", "c"):
        announced(run)
        assert not run.done
        for name in names:
            run.receive(decided(name, True))
    assert run.done
    assert run.next_events(2000) == []


def test_a_reason_says_whether_the_goal_is_reached_or_out_of_reach():
    run, season, _ = simulation()
    announced(run)
    for event in (decided("a", False), decided("b", False), none("a", "apply_again"), none("b", "out_of_reach")):
        run.receive(event)
    assert season.closed == [(set(), {"a": (0.7, {}), "b": (None, {})})]


def test_a_prefix_makes_names_of_a_run_and_only_its_dead_letters_count():
    run, season, _ = simulation("run-")
    assert [event.event.application for event in opened(run)] == ["run-a", "run-b"]
    for id in (b"grants/other-a/application", b"grants/run-a/application"):
        assert run.last_dead_letter is None
        run.receive(DeadLetter("wrong_type", "", "applications", 0, 0, 2, "0" * 64, b"", headers=(("ce_id", id),)))
    assert run.last_dead_letter.reason == "wrong_type"
    run.next_events(1000)
    run.receive(decided("run-a", True))
    run.receive(decided("run-b", True))
    assert season.closed == [({"a", "b"}, {})]


def test_a_limit_of_applications_holds_rounds_back():
    run, _, _ = simulation()
    announced(run)
    run.receive(decided("a", True))
    run.receive(decided("b", True))
    assert run.next_events(2000, limit=2) == []
    assert len(run.next_events(2000, limit=3)) == 2
