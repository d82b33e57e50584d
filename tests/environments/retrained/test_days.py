"""The simulation of retrained models: one step at a time, days that begin together, and what a new model means."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec.structs import replace

from onward.environments.play.days import DAY_MS
from onward.environments.play.simulation import Simulation
from onward.environments.retrained.played import RetrainedRun, TakenOption
from onward.schemas.events import (
    Application,
    Change,
    DeadLetter,
    Journaled,
    Model,
    NoRecourse,
    Option,
    Outcome,
    PromiseChange,
    Recourse,
    Revalidation,
    Reward,
)

NOW_MS = 100 * DAY_MS + 5


class Arrival(NamedTuple):
    application: str
    features: Any = MappingProxyType({"income": 1.0})
    previous: str | None = None
    taken: str | None = None
    is_done: bool = False
    applicant: str = "p"


@dataclass
class TinyWorld:
    """On day 0 "a" applies and "b", who is rich; on day 1 "a" comes back as "c"."""

    told: list[Any] = field(default_factory=list)

    def arrivals(self, day):
        if day == 0:
            return [Arrival("a"), Arrival("b", {"income": 9.0})]
        return [Arrival("c", {"income": 2.0}, "a", "1", True)] if day == 1 else []

    def answer(self, arrival, day, offers):
        self.told.append((arrival.application, day, dict(offers)))
        return min(offers, default=None)

    def revise(self, application, day, broken, offers):
        self.told.append((application, day, set(broken), dict(offers)))


@dataclass
class Recorder:
    taken: list[Any] = field(default_factory=list)

    def record(self, t, taken):
        self.taken.append(taken)


class Days(Simulation):
    """Keeps its first run."""

    def __init__(self, runs):
        super().__init__(runs)
        self.first = runs[0]


def simulation(prefix="", days=2, programs=("loans",)):
    """Models approve incomes from 5 on."""
    world, recorder = TinyWorld(), Recorder()
    runs = [
        RetrainedRun(
            name,
            world if name == programs[0] else TinyWorld(),
            [(1, Model(name, "m2", "/models/m2", "0" * 64))],
            lambda _, row: row["income"] >= 5,
            recorder if name == programs[0] else Recorder(),
            days,
            prefix,
        )
        for name in programs
    ]
    return Days(runs), world, recorder


def option(target=2.0, id="1", **fields):
    return Option("7", (Change("income", 1.0, target),), 0.1, 0.9, 1.0, id, **fields)


def recourse(name, *options, **fields):
    return Recourse("loans", 0, name, 0, options or (option(),), "protoar", "v", "s", "m1", **fields)


def line(id):
    return Journaled("onward.application.v1", id, 0, 0, b"{}")


def fate(outcome):
    return Reward("loans", 0, "a", "rewarded", 1.0, outcome=outcome)


def one(run):
    (event,) = run.next_events(NOW_MS)
    assert run.next_events(NOW_MS) == [], "one step at a time"
    return event


def after_the_first_day(run, answer, prefix=""):
    """Play day 0 and return the first event of day 1."""
    one(run)
    run.receive(answer)
    one(run)
    run.receive(line(f"loans/application/{prefix}b"))
    return one(run)


def test_a_rejected_person_is_awaited_on_their_answer_and_an_approved_one_in_the_journal():
    run, world, recorder = simulation()
    first = one(run)
    assert first.event == Application("loans", "a", {"income": 1.0}, "p")
    assert (first.time_ms, run.awaited) == (98 * DAY_MS + 1, ("loans/application/a",))
    run.receive(line("loans/application/a"))
    run.receive(recourse("other"))
    assert run.next_events(NOW_MS) == []
    run.receive(recourse("a"))
    assert recorder.taken == [TakenOption({"income": 1.0}, {"income": 2.0}, 0.1, 0)]
    assert world.told == [("a", 0, {"1": ({"income": 2.0}, 0.1)})]
    second = one(run)
    assert (run.is_rejected("loans", "a"), run.is_rejected("loans", "b")) == (True, False)
    run.receive(line(second.id))
    assert isinstance(one(run).event, Model)


def test_who_comes_back_has_an_outcome_and_counts_under_the_model_that_decides():
    run, _, _ = simulation()
    model = after_the_first_day(run, recourse("a"))
    assert model.event == Model("loans", "m2", "/models/m2", "0" * 64)
    assert model.time_ms == 99 * DAY_MS + 1
    run.receive(line(model.id))
    assert one(run).event == Application("loans", "c", {"income": 2.0}, "p", "a")
    run.receive(NoRecourse("loans", 0, "c", 1, "unreachable", "", "protoar", "v", "s", "m2"))
    outcome = one(run)
    assert outcome.event == Outcome("loans", "a", "not_improved", "1")
    assert not run.done
    run.receive(fate(outcome.id))
    assert run.done
    assert [(one.model, one.done, one.rejected) for one in run.first.returns] == [(0, 0, 0), (1, 1, 1)]
    assert run.next_events(NOW_MS) == []


def test_all_that_a_new_model_means_is_read_before_anybody_is_told():
    run, world, _ = simulation()
    model = after_the_first_day(run, recourse("a", option(status="open"), option(3.0, "2", status="open")))
    ended = PromiseChange("loans", 0, "a", "broken", options=("1",), reason="model", model="m2", replaced=("1",))
    revised = replace(recourse("a", option(2.5), revision=1), model="m2")
    events = [Revalidation("loans", 0, "m2", 2, 1, 0, 0, 1, 1, None), revised, ended]
    run.receive(line(model.id))
    for event in events:
        assert run.next_events(NOW_MS) == []
        run.receive(event)
    assert world.told[-1] == ("a", 1, {"1"}, {"1": ({"income": 2.5}, 0.1)})
    assert one(run).event.application == "c"


def test_expired_options_are_not_awaited():
    run, _, _ = simulation()
    one(run)
    run.receive(recourse("a", option(status="open")))
    last = one(run)
    run.receive(PromiseChange("loans", 0, "a", "expired", options=("1",), model="m1"))
    run.receive(line(last.id))
    run.receive(line(one(run).id))
    assert one(run).event.application == "c"


def test_a_day_begins_when_all_programs_are_done_with_the_one_before():
    run, _, _ = simulation(programs=("loans", "cards"))
    assert [event.event.program for event in run.next_events(NOW_MS)] == ["loans", "cards"]
    run.receive(recourse("a"))
    run.receive(line(one(run).id))
    assert run.next_events(NOW_MS) == []
    assert run.first.days == 1


def test_a_prefix_makes_names_of_a_run_and_only_the_pending_dead_letter_counts():
    run, world, _ = simulation("run-")
    assert one(run).event.application == "run-a"
    for id in (b"loans/application/a", b"loans/application/run-a"):
        assert run.last_dead_letter is None
        run.receive(DeadLetter("wrong_type", "", "applications", 0, 0, 2, "0" * 64, b"", headers=(("ce_id", id),)))
    assert run.last_dead_letter.reason == "wrong_type"
    run.receive(recourse("run-a"))
    assert world.told[0][0] == "a"


def test_a_limit_of_applications_holds_the_next_one_back():
    run, _, _ = simulation()
    one(run)
    run.receive(recourse("a"))
    assert run.next_events(NOW_MS, limit=1) == []
    assert len(run.next_events(NOW_MS, limit=2)) == 1
