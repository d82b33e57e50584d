"""What a worker measures of promised options, by journals in which models replace one another."""

from __future__ import annotations

import logging

import pytest
from prometheus_client.parser import text_string_to_metric_families

from onward.streams.worker.promise_metrics import RESULTS
from onward.testing.pipeline import PipelineRun
from onward.testing.program import build_program
from onward.tests.streams.engine.promises.stories import HOUR_MS, Story, promising, small_pieces, story
from onward.tests.support.exposition import expose

OWN = {
    f"onward_{name}"
    for name in ("open_options", "unseen_options", "revalidated_options", "broken_options", "worst_margin")
}


@pytest.fixture
def tape(tmp_path, monkeypatch):
    return story(tmp_path, monkeypatch)


def with_people(tape: Story, count: int = 5) -> Story:
    for number in range(count):
        tape.applies_with(f"p{number}", 0, income=20.0 + 5 * number)
    return tape


class Shown:
    """The series of a worker that has folded a journal."""

    def __init__(self, tape: Story, is_kept: bool = True) -> None:
        exposed = expose(tape.run)
        self._families = list(text_string_to_metric_families(exposed.owned if is_kept else exposed.revoked))

    @property
    def names(self) -> set[str]:
        """The families with a series."""
        return {family.name for family in self._families if family.samples} & OWN

    def value(self, name: str) -> float | None:
        """The value of the program's series; None where there is none."""
        return self.by(name).get(())

    def by(self, name: str) -> dict[tuple[str, ...], float]:
        """The values of the program's series, by their other labels."""
        return {
            tuple(value for label, value in one.labels.items() if label != "program"): one.value
            for family in self._families
            for one in family.samples
            if one.name == f"onward_{name}"
        }


def test_options_are_open_from_the_answer_until_their_time_is_over(tape):
    with_people(tape)
    assert Shown(tape).value("open_options") == 10
    tape.tick(11 * HOUR_MS)
    shown = Shown(tape)
    assert shown.value("open_options") == 0
    assert shown.by("promises_ended_total")["expired",] == 10


def test_the_log_names_the_model_in_force(tape, caplog):
    with_people(tape)
    tape.new_model("v2", 2)
    with caplog.at_level(logging.INFO, "onward.streams.worker.partition_processor"):
        tape.fold()
        tape.fold()
    told = [vars(record)["version"] for record in caplog.records if record.message == "model in force"]
    assert told[1:] == ["v2", "v2"]


def test_results_are_counted_once_the_look_is_finished(tape, caplog):
    with_people(tape)
    assert set(Shown(tape).by("revalidated_options_total").values()) == {0.0}
    tape.new_model("v3", 2)
    with caplog.at_level(logging.INFO, "onward.streams.worker.promise_metrics"):
        shown = Shown(tape)
    [look] = tape.looks()
    counted = shown.by("revalidated_options_total")
    assert {result: counted[result,] for result in (*RESULTS, "replaced")} == {
        result: getattr(look, result) for result in (*RESULTS, "replaced")
    }
    assert sum(counted[result,] for result in RESULTS) == look.open == 10
    assert shown.by("broken_options") == {("v3",): look.broken}
    assert shown.value("worst_margin") == look.worst_margin
    [line] = [record for record in caplog.records if "under a new model" in record.message]
    assert (line.program, line.version, line.broken) == ("loan", "v3", look.broken)


def test_only_the_last_model_is_named(tape):
    with_people(tape)
    tape.new_model("v3", 2)
    tape.new_model("v4", 3)
    shown = Shown(tape)
    assert list(shown.by("broken_options")) == [("v4",)]
    counted = shown.by("revalidated_options_total")
    assert sum(counted[result,] for result in RESULTS) == sum(look.open for look in tape.looks())


def test_an_unfinished_look_shows_what_is_left(tape, monkeypatch):
    small_pieces(monkeypatch)
    with_people(tape)
    tape.new_model("v4", 2)
    shown = Shown(tape)
    assert 0 < shown.value("unseen_options") < 10
    assert shown.by("broken_options") == {}
    tape.passes(3)
    assert Shown(tape).value("unseen_options") == 0


def test_a_partition_that_is_given_away_takes_its_numbers_along(tape):
    with_people(tape)
    tape.new_model("v3", 2)
    shown = Shown(tape, is_kept=False)
    assert (shown.value("open_options"), shown.value("worst_margin")) == (0, None)
    assert shown.by("broken_options") == {}


def test_after_a_restart_the_open_options_are_those_of_the_ledger(tape):
    with_people(tape)
    Shown(tape, is_kept=False)
    tape.tick(1)
    assert Shown(tape).value("open_options") == 10


def test_a_program_without_promises_has_none_of_these_series(tmp_path):
    tape = Story(PipelineRun({"loan": build_program()}, tmp_path))
    tape.applies("x")
    assert not Shown(tape).names


def test_what_is_honoured_is_counted_as_such(tmp_path, monkeypatch):
    tape = with_people(story(tmp_path, monkeypatch, promising({"grandfather": True})))
    tape.new_model("v4", 2)
    counted = Shown(tape).by("revalidated_options_total")
    assert counted["honoured",] > 0
    assert counted["broken",] == 0
