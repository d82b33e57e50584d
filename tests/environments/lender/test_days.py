"""The people of a lender without a broker: who comes back, what is reported when, and the figures of it."""

from __future__ import annotations

import re
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from onward.environments.figures.recording import Recording
from onward.environments.figures.screen import Display, tables
from onward.environments.figures.sections import RunView
from onward.environments.lender import Lender, LenderSetting, StatedOption
from onward.environments.lender.played import Half, LenderAnswers, LenderRun, Pair, shown
from onward.environments.play.days import DAY_MS
from onward.environments.play.simulation import Simulation
from onward.schemas.events import Application, Change, Journaled, NoRecourse, Option, Outcome, Recourse, Reward
from onward.schemas.spec import Feature

NOW_MS, PEOPLE = 3000 * DAY_MS + 5, 12
SETTING = LenderSetting(report_days=(330, 400))
EQUATIONS = SETTING.equations()
FEATURES = [Feature(column.name, "integer", bounds=(0, 50_000)) for column in EQUATIONS.columns]


class Recorder:
    def __init__(self) -> None:
        self.taken: dict[int, StatedOption | None] = {}

    def record(self, t, taken):
        self.taken[t] = taken


def debt_of(rows):
    return np.array([row["debt"] < 10_000 for row in rows])


def play(prefix=""):
    """Tell the rejected to lower their debts, and those above 14,000 nothing; return all that was sent, too."""
    lender, recorder = Lender(EQUATIONS, FEATURES, debt_of), Recorder()
    people = lender.newcomers(PEOPLE, np.random.default_rng(0))
    run = LenderRun("loans", lender, people, [True, False], SETTING, 0, recorder, prefix)
    simulation, sent = Simulation([run]), []
    while not simulation.done:
        for event in simulation.next_events(NOW_MS):
            sent.append(event)
            simulation.receive(answer(event))
    return run, recorder, sent


def answer(sent):
    event = sent.event
    if isinstance(event, Outcome):
        if "loan-" in event.application:
            return Journaled("onward.outcome.v1", sent.id, 0, 0, b"{}")
        return Reward("loans", 0, event.application, "rewarded", 1.0, outcome=sent.id)
    debt = event.features["debt"]
    if debt < 10_000:
        return Journaled("onward.application.v1", sent.id, 0, 0, b"{}")
    if debt > 14_000:
        return NoRecourse("loans", 0, event.application, 0, "unreachable", "", "stages", "v", "s", "m")
    changes = (Change("debt", debt, 9000),)
    option = Option("7", changes, 0.1, 0.9, 1.0, "2", improvement_probability=0.8, improvement_interval=(0.2, 0.9))
    return Recourse("loans", 0, event.application, 0, (option,), "stages", "v", "s", "m")


def test_who_comes_back_names_the_earlier_application_and_is_reported_about_a_year_after_the_recourse():
    run, recorder, sent = play("run-")
    applied = {event.event.application: event for event in sent if isinstance(event.event, Application)}
    outcomes = [event for event in sent if isinstance(event.event, Outcome) and "loan-" not in event.event.application]
    back = [one for one in applied.values() if one.event.previous is not None]
    assert len(outcomes) == len(back) == run.answers.returned > 3
    assert run.answers.rejected == 0
    for one in back:
        first = applied[one.event.previous]
        assert first.event.applicant == one.event.applicant
        assert one.event.features["debt"] == 9000
        assert 14 < (one.time_ms - first.time_ms) / DAY_MS <= 60
    for one in outcomes:
        assert one.event.option == "2"
        assert 329 < (one.time_ms - applied[one.event.application].time_ms) / DAY_MS < 400
    assert sorted(recorder.taken) == list(range(PEOPLE))
    assert [event.time_ms for event in sent] == sorted({event.time_ms for event in sent})
    assert max(event.time_ms for event in sent) < NOW_MS


def test_loans_of_the_file_are_reported_every_week_under_names_of_their_own():
    _, _, sent = play("run-")
    loans = [event for event in sent if event.event.application.startswith("run-loan-")]
    assert len({event.event.application for event in loans}) == len(loans) == 170 * 8
    weeks = np.diff([event.time_ms // DAY_MS for event in loans[::8]])
    assert set(weeks) == {7}
    assert [event.event.result for event in loans[:4]] == ["improved", "not_improved"] * 2


def test_the_same_people_have_the_same_luck():
    assert play()[2] == play()[2]


def stated(help, execution, **fields):
    return StatedOption("1", np.zeros(1), execution, help, 0.9, 0.8, True, (0.5, 0.95))._replace(**fields)


def test_a_half_holds_what_is_stated_against_what_is_true():
    easy = stated(0.4, 0.5)
    half = Half.from_options([[easy, stated(0.6, 0.4)], [], [stated(0.9, 1.0, stated_help=0.7)]])
    assert (half.people, half.none) == (3, pytest.approx(1 / 3))
    assert half.helped == Pair(pytest.approx(0.75), pytest.approx(0.65))
    assert half.carried_out == Pair(pytest.approx(0.9), pytest.approx(0.75))
    assert half.better_off == Pair(pytest.approx(0.9 * 1.5 / 3), pytest.approx((0.2 + 0.9) / 3))
    assert half.in_interval == pytest.approx(2 / 3)


def test_nothing_is_believed_where_nothing_is_stated():
    half = Half.from_options([[stated(0.4, 0.5, stated_help=None, interval=None)], []])
    assert (half.helped, half.in_interval) == (Pair(None, 0.4), None)
    assert half.better_off == Pair(None, 0.1)
    assert Half.from_options([]).better_off == Pair(None, None)
    assert Half.from_options([[]]).better_off == Pair(0.0, 0.0)


def test_the_screen_and_the_line_have_both_and_the_plots_go_on_from_person_to_person(capsys):
    run, _, _ = play()
    answers: LenderAnswers = run.answers
    figures = shown([run], {"loans": "told"})
    view = RunView(Recording().summary({}), figures)
    console = Console(width=80, record=True, file=StringIO())
    console.print(tables(view))
    text = console.export_text()
    own = figures.sections[0].data["lender"]["told"]
    assert own.first.people + own.second.people == PEOPLE
    assert re.search(rf"it helps: true +│ +{own.first.helped.true:.1%} │ +{own.second.helped.true:.1%} ", text)
    assert f"of {answers.returned} who came back with their option carried out, 0 were rejected" in text
    Display().show(view)
    assert f"told 80.0% / {own.first.helped.true:.1%}, then 80.0%" in capsys.readouterr().err
    believed, true = figures.sections[0].plots[0].lines
    helps = [options[0].help for options in answers.stated.values() if options]
    assert list(believed.y) == pytest.approx([0.8] * len(helps))
    assert list(true.y) == pytest.approx(np.cumsum(helps) / np.arange(1, len(helps) + 1))
    assert true.x == tuple(who for who, options in answers.stated.items() if options)
