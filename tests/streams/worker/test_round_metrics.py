"""What a worker measures of rounds, by journals whose places and promises are known."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from onward.streams.engine.rounds.closing import CLOSING
from onward.streams.engine.rounds.promised_scores import PromisedScore, PromisedScores
from onward.streams.journal.entries import CaseKey
from onward.testing.pipeline import START_MS, PipelineRun
from onward.testing.program import build_program
from onward.testing.tape import MINUTE_MS
from onward.tests.streams.engine.rounds.stories import HOUR_MS, Story, announcement, limited, story
from onward.tests.support.exposition import expose

LATENESS_MS = 5 * MINUTE_MS
OWN = {
    f"onward_{name}"
    for name in (
        "rounds",
        "promises_ended",
        "drift_detected",
        "waiting_applications",
        "applications_without_round",
        "open_promises",
        "threshold_score",
        "goal_score",
        "coverage_achieved_ratio",
        "coverage_nominal_ratio",
        "coverage_people",
        "last_round_timestamp_seconds",
        "next_round_timestamp_seconds",
    )
}
GAUGES = OWN - {"onward_rounds", "onward_promises_ended", "onward_drift_detected"}


class Shown:
    """The series that a worker exposes, by the metric's short name and its labels."""

    def __init__(self, text: str) -> None:
        families = list(text_string_to_metric_families(text))
        self.names = {family.name for family in families if family.samples} & OWN
        self.samples = [sample for family in families for sample in family.samples]

    def value(self, name: str) -> float | None:
        """The value of the program's series; None where there is none."""
        labels = {"program": "loan"}
        found = [one.value for one in self.samples if (one.name, one.labels) == (f"onward_{name}", labels)]
        return found[0] if found else None

    def by(self, name: str, label: str) -> dict[str, float]:
        """The values above 0 of a metric's series, by a label."""
        return {one.labels[label]: one.value for one in self.samples if one.name == f"onward_{name}" and one.value}


def shown_after(tape: Story) -> Shown:
    """What is shown once the whole journal is folded."""
    return Shown(expose(tape.run).owned)


def closed_at(hours: int) -> int:
    """A time at which the watermark has passed the end of a round."""
    return hours * HOUR_MS + LATENESS_MS + 1


def with_four(tape: Story) -> Story:
    """Two of four get a place in the round of the first hour."""
    for name, income in {"low": 25, "best": 45, "middle": 30, "good": 40}.items():
        tape.applies_with(name, 10 * MINUTE_MS, income, applicant=f"person {name}")
    return tape


def test_who_waits_and_when_the_round_can_be_closed(tmp_path):
    shown = shown_after(with_four(story(tmp_path)))
    assert shown.value("waiting_applications") == 4
    assert shown.value("next_round_timestamp_seconds") == (START_MS + HOUR_MS + LATENESS_MS) / 1000
    assert shown.value("coverage_nominal_ratio") == 0.95
    assert shown.value("last_round_timestamp_seconds") is None
    assert shown.value("threshold_score") is None
    assert shown.value("rounds_total") == 0


def test_a_closed_round_is_shown_as_it_was_published(tmp_path):
    tape = with_four(story(tmp_path, horizon=3))
    tape.tick(closed_at(1))
    shown = shown_after(tape)
    [closed] = tape.thresholds()
    assert (shown.value("threshold_score"), shown.value("goal_score")) == (closed.threshold, closed.goal)
    assert shown.value("last_round_timestamp_seconds") == (START_MS + HOUR_MS) / 1000
    assert shown.value("next_round_timestamp_seconds") == (START_MS + 2 * HOUR_MS + LATENESS_MS) / 1000
    assert shown.value("waiting_applications") == 0
    assert shown.by("open_promises", "age") == {"0": 2.0}
    assert shown.by("promises_ended_total", "status") == {}
    assert shown.value("coverage_people") == 0
    assert shown.value("coverage_achieved_ratio") is None
    assert shown.value("rounds_total") == 1


def test_a_round_without_applicants_says_nothing_of_the_score_that_was_needed(tmp_path):
    tape = with_four(story(tmp_path, horizon=3))
    tape.tick(closed_at(2))
    shown = shown_after(tape)
    first, empty = tape.thresholds()
    assert (empty.applicants, empty.threshold) == (0, 0.0)
    assert shown.value("threshold_score") == first.threshold > 0


def test_promises_age_with_the_rounds_and_end_by_status(tmp_path):
    tape = with_four(story(tmp_path, horizon=3))
    tape.applies_with("again", closed_at(1), 99, previous="low")
    for number in range(2):
        tape.applies_with(f"rival {number}", closed_at(1), 45)
    tape.tick(closed_at(2))
    shown = shown_after(tape)
    assert tape.promises() == {"low": "kept"}
    assert shown.by("promises_ended_total", "status") == {"kept": 1.0}
    assert shown.by("open_promises", "age") == {"0": 1.0, "1": 1.0}
    assert (shown.value("coverage_people"), shown.value("coverage_achieved_ratio")) == (1, 1.0)


def test_a_broken_promise_lowers_the_coverage(tmp_path):
    tape = with_four(story(tmp_path))
    for name, earlier in (("again", "low"), ("too", "middle")):
        tape.applies_with(name, closed_at(1), 99 if name == "too" else 98.9, previous=earlier)
    tape.applies_with("rival", closed_at(1), 100)
    tape.tick(closed_at(2))
    shown = shown_after(tape)
    assert tape.promises() == {"low": "broken", "middle": "kept"}
    assert (shown.value("coverage_people"), shown.value("coverage_achieved_ratio")) == (2, 0.5)
    assert shown.by("promises_ended_total", "status") == {"kept": 1.0, "broken": 1.0}


def test_after_a_restart_the_gauges_are_those_of_the_ledger(tmp_path):
    tape = with_four(story(tmp_path, horizon=3))
    tape.tick(closed_at(1))
    expose(tape.run)
    tape.tick(closed_at(1) + 1)
    after = shown_after(tape)
    [closed] = tape.thresholds()
    assert (after.value("threshold_score"), after.value("goal_score")) == (closed.threshold, closed.goal)
    assert after.by("open_promises", "age") == {"0": 2.0}
    assert after.value("rounds_total") == 0


def test_a_partition_that_is_given_away_takes_its_gauges_along(tmp_path):
    tape = with_four(story(tmp_path))
    tape.tick(closed_at(1))
    assert not Shown(expose(tape.run).revoked).names & GAUGES


def test_a_round_that_is_being_closed_stays_due_until_it_is_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(CLOSING, "budget", CLOSING.budget._replace(tick=1))
    tape = with_four(story(tmp_path))
    tape.tick(closed_at(1))
    shown = shown_after(tape)
    assert shown.value("next_round_timestamp_seconds") == (START_MS + HOUR_MS + LATENESS_MS) / 1000
    assert shown.value("last_round_timestamp_seconds") is None
    for more in range(2, 100):
        tape.tick(closed_at(1) + more)
    assert shown_after(tape).value("last_round_timestamp_seconds") == (START_MS + HOUR_MS) / 1000


def test_without_an_announcement_people_wait_for_no_round(tmp_path):
    tape = Story(PipelineRun({"loan": limited({"round": None})}, tmp_path))
    with_four(tape)
    shown = shown_after(tape)
    assert (shown.value("applications_without_round"), shown.value("next_round_timestamp_seconds")) == (4, None)
    tape.send("rounds", announcement(1, 2), 20 * MINUTE_MS, "r1")
    shown = shown_after(tape)
    assert (shown.value("waiting_applications"), shown.value("applications_without_round")) == (4, 0)
    assert shown.value("next_round_timestamp_seconds") == (START_MS + HOUR_MS + LATENESS_MS) / 1000


def test_where_another_system_decides_people_wait_for_their_decision_not_for_an_announcement(tmp_path):
    tape = Story(PipelineRun({"loan": limited(decisions="external")}, tmp_path))
    with_four(tape)
    shown = shown_after(tape)
    assert (shown.value("waiting_applications"), shown.value("applications_without_round")) == (4, 0)
    assert shown.value("next_round_timestamp_seconds") is None
    tape.decides("best", 20 * MINUTE_MS, approved=True)
    shown = shown_after(tape)
    assert shown.value("next_round_timestamp_seconds") == (START_MS + HOUR_MS + LATENESS_MS) / 1000


def test_a_drift_is_counted_by_what_has_drifted(tmp_path):
    tape = story(tmp_path, horizon=1)
    for hour in range(48):
        for number in range(4):
            income = (30 if hour < 30 else 60) + number
            tape.applies_with(f"{hour}-{number}", hour * HOUR_MS + LATENESS_MS + 2, income)
        tape.tick(closed_at(hour + 1))
    shown = shown_after(tape)
    published = [drifted for closed in tape.thresholds() for drifted in closed.drift]
    assert published
    assert shown.by("drift_detected_total", "drifted") == {
        name: float(published.count(name)) for name in set(published)
    }


def test_a_program_without_rounds_has_none_of_these_series(tmp_path):
    tape = Story(PipelineRun({"loan": build_program()}, tmp_path))
    tape.applies("x")
    tape.tick(closed_at(1))
    assert not shown_after(tape).names


def test_a_program_whose_shard_another_partition_owns_has_none_either(tmp_path):
    tape = Story(PipelineRun({"loan": limited()}, tmp_path))
    tape.tick(closed_at(1))
    assert not shown_after(tape).names


def promise(name: str, number: int, applicant: str | None = None) -> PromisedScore:
    return PromisedScore(CaseKey("loan", name), applicant, number, number + 4, 0.5, 0.5, "m", b"", (), 0)


def test_promises_are_counted_by_their_round_as_they_open_and_end():
    promises = PromisedScores()
    for number, name in ((1, "a"), (1, "b"), (2, "c")):
        promises.add(promise(name, number))
    assert promises.in_round == {1: 2, 2: 1}
    promises.add(promise("a", 2))
    promises.remove(promise("c", 2))
    assert promises.in_round == {1: 1, 2: 1}
    promises.remove(promise("b", 1))
    assert promises.in_round == {2: 1}
    assert len(promises) == 1


def test_an_applicant_has_no_promise_once_another_one_uses_the_name_of_their_application():
    promises, newer = PromisedScores(), promise("a", 2, "eve")
    promises.add(promise("a", 1, "ada"))
    promises.add(newer)
    assert promises.of_applicant("ada") is None
    assert promises.of_applicant("eve") is newer
    promises.remove(newer)
    assert promises.of_applicant("eve") is None
    assert not promises.in_round
