"""The laws of delivery, for random stories of a program whose options are promised."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from onward.schemas.events import Recourse
from onward.streams.engine.promises.option_counts import OptionCounts
from onward.streams.engine.promises.promised_options import rows_of
from onward.streams.ledger.open_options import program_ledgers
from onward.streams.programs.models.scoring import LogisticScore
from onward.testing.ledger import dump
from onward.testing.pipeline import START_MS
from onward.tests.streams.engine.promises.stories import (
    BIAS,
    HOUR_MS,
    STRICTER,
    WEIGHTS,
    Story,
    open_recourses,
    promising,
    record_of,
    score_of,
    small_pieces,
    story,
)

PEOPLE, HOURS = 40, 16
PROGRAMS = {
    "replaced": {},
    "honoured": {"promise": {"grandfather": True}},
    "two shards": {"shards": 2},
    "not linear": {"linear": False, "promise": {"kind": "distance", "valid_for": "PT10H"}},
}


def told(tmp_path, monkeypatch, seed, program) -> Story:
    """People who apply in sixteen hours, while the model changes four times; some come back having done something."""
    random = np.random.default_rng(seed)
    tape, names = story(tmp_path, monkeypatch, program), list[str]()
    versions = iter(STRICTER)
    for number in range(PEOPLE):
        hours = HOURS * number / PEOPLE
        previous = str(random.choice(names)) if names and random.random() < 0.4 else None
        applicant = f"person {random.integers(0, 20)}" if random.random() < 0.5 else None
        income, debts = float(random.integers(10, 80)), int(random.integers(0, 7))
        tape.applies_with(f"a{number}", hours, income, debts, applicant, previous)
        names.append(f"a{number}")
        if number % 8 == 7:
            tape.new_model(next(versions, "v5"), hours)
        if random.random() < 0.3:
            tape.outcome(str(random.choice(names)), round(hours * HOUR_MS), id=f"o{number}", option="1")
        if random.random() < 0.3:
            tape.tick(round(hours * HOUR_MS))
    return tape


@pytest.fixture(params=list(PROGRAMS))
def program(request, distance):
    return promising(**PROGRAMS[request.param])


@pytest.fixture
def distance():
    """The promise of docs/examples/methods that any model can carry."""
    from onward.agents.promises import Promise, registry

    class Distance(Promise):
        name = "distance"

        def guarantee(self, target, score, required=0.5):
            return {"distance": score(target[np.newaxis]).item() - required}

    registry.add(Distance)
    yield
    registry.discard("distance")


@pytest.mark.parametrize("seed", range(2))
def test_each_option_ends_once_and_the_count_of_open_ones_is_right(tmp_path, monkeypatch, seed, program):
    tape = told(tmp_path, monkeypatch, seed, program)
    ledger = tape.fold()
    opened = Counter(
        answer.application for answer in tape.answers() if isinstance(answer, Recourse) for _ in answer.options
    )
    ended = Counter((event.application) for event in tape.ends() for _ in event.options)
    assert all(ended[name] <= opened[name] for name in ended)
    left = sum(rows_open(ledger))
    assert left == opened.total() - ended.total()
    for look in tape.looks():
        assert look.open == look.cleared + look.left + look.accepted + look.honoured + look.broken
        assert min(look.cleared, look.left, look.accepted, look.honoured, look.broken) >= 0
    tape.passes(3 * HOURS)
    tape.fold()
    assert sum(rows_open(ledger)) == 0
    assert tape.statuses().total() == opened.total()


def rows_open(ledger):
    """The options of each open recourse; the record of the program counts as many."""
    found = [len(recourse.options) for recourse in open_recourses(ledger)]
    assert sum(record_of(ledger).open.values()) == sum(found)
    return found


DUALS = {1: np.inf, 2: 2, "inf": 1}
"""The norm of points for each norm of parameters."""


@pytest.mark.parametrize(("norm", "threshold"), [(1, 0.5), (2, 0.6), ("inf", 0.4)])
def test_no_recourse_is_left_longer_than_the_nearest_of_its_options_survives(tmp_path, monkeypatch, norm, threshold):
    """What an option survives is computed anew: its log odds above the threshold's, by the dual norm.

    Whoever was looked at is left for as long as that.
    """
    random = np.random.default_rng(7)
    biases = {f"v{number}": BIAS + random.normal(0, 0.2) for number in range(2, 6)}
    program = promising({"norm": norm, "radius": 0.03, "valid_for": "PT20H"}, threshold=threshold)
    tape, checked, revised = story(tmp_path, monkeypatch, program, biases), 0, 0
    limits, looked_at = dict[str, float](), 0
    for number in range(PEOPLE):
        tape.applies_with(f"a{number}", 0, float(random.integers(10, 80)), int(random.integers(0, 7)))
    for hours, (version, bias) in enumerate(biases.items(), 1):
        tape.new_model(version, hours)
        tape.passes(hours + 0.5)
        ledger = tape.fold()
        path = record_of(ledger).path
        for recourse in open_recourses(ledger):
            points = rows_of(recourse.options)
            odds = points @ WEIGHTS + bias - np.log(threshold / (1 - threshold))
            survived = odds / np.linalg.norm(np.column_stack([points, np.ones(len(points))]), DUALS[norm], axis=1)
            limit, before = recourse.path_limit, limits.get(recourse.key.application)
            assert path < limit <= path + survived.min() + 1e-12
            if before not in (None, limit):
                assert limit == pytest.approx(path + survived.min(), rel=1e-6)
                looked_at += 1
            limits[recourse.key.application] = limit
            checked += 1
            revised += len({option.model for option in recourse.options}) > 1
    assert checked > PEOPLE
    assert looked_at > 5
    assert revised  # people of whom one option was replaced, and another was not


def test_a_check_before_the_announcement_counts_what_the_announcement_does(tmp_path, monkeypatch, program):
    random = np.random.default_rng(5)
    tape = story(tmp_path, monkeypatch, program)
    linear = isinstance(program.bundle.model.score, LogisticScore)
    for number in range(PEOPLE):
        tape.applies_with(f"a{number}", 0, float(random.integers(10, 80)), int(random.integers(0, 7)))
    for hours, (version, bias) in enumerate(STRICTER.items(), 1):
        path = record_of(tape.fold()).path
        before = STRICTER.get(f"v{int(version[1:]) - 1}", BIAS)
        counts = OptionCounts(
            program, SimpleNamespace(model=SimpleNamespace(score=score_of(bias, linear))), (), START_MS
        )
        for ledger in program_ledgers([tape.fold().parent], "loan"):
            for people in ledger.pages("loan"):
                counts.add(people, path + (abs(bias - before) if linear else 2000.0))
        tape.new_model(version, hours)
        tape.passes(hours + 0.5)
        tape.fold()
        looks = [look for look in tape.looks() if look.model == version]
        told = [sum(getattr(look, name) for look in looks) for name in ("cleared", "accepted", "honoured", "broken")]
        # The look does not tell what was honoured before it, and need not be seen again, from what is cleared.
        found = counts.counts
        assert (found.accepted, found.broken, found.cleared + found.honoured) == (told[1], told[3], told[0] + told[2])
        assert program.spec.promise.grandfather or found.honoured == 0


def test_a_restart_after_every_other_record_changes_nothing(tmp_path, monkeypatch, program):
    small_pieces(monkeypatch)
    whole, cut = (told(tmp_path / name, monkeypatch, 1, program) for name in ("whole", "cut"))
    for tape in (whole, cut):
        tape.passes(HOURS + 1)
    expected = dump(whole.fold())
    ends = [*range(0, len(cut.journal), 2), len(cut.journal)]
    found = dump(cut.fold(parts=[cut.journal[start:end] for start, end in pairwise(ends)]))
    assert whole.looks()
    assert cut.run.outputs() == whole.run.outputs()
    assert found == expected


@pytest.mark.parametrize("seed", range(2))
def test_pieces_of_any_size_find_the_same(tmp_path, monkeypatch, seed, program):
    """Nobody comes back meanwhile: who comes back before they were looked at is settled as if nothing had changed."""
    found = []
    for units in (400, 1):
        small_pieces(monkeypatch, units)
        tape = story(tmp_path / str(units), monkeypatch, program)
        random = np.random.default_rng(seed)
        for number in range(PEOPLE):
            tape.applies_with(f"a{number}", 0.01 * number, float(random.integers(10, 80)), int(random.integers(0, 7)))
        for hours, version in enumerate(STRICTER, 1):
            tape.new_model(version, hours)
            tape.passes(hours + 0.5)
        tape.fold()
        ends = sorted((event.application, event.status, event.options, event.replaced) for event in tape.ends())
        found.append((ends, tape.looks(), sorted(tape.revisions(), key=lambda one: (one.application, one.revision))))
    assert found[0] == found[1]
    assert all(look.left == 0 for look in found[0][1])


def test_a_restart_forgets_no_older_model_earlier_than_an_uninterrupted_run(tmp_path, monkeypatch):
    """The time of the first model's options is over, and no other model has come since."""
    found = []
    for name in ("whole", "cut"):
        tape = story(tmp_path / name, monkeypatch, promising({"grandfather": True}))
        tape.applies_with("a", 0)
        tape.new_model("v2", 1)
        tape.tick(12 * HOUR_MS)
        tape.applies_with("b", 12.5)
        found.append(dump(tape.fold(parts=[[record] for record in tape.journal] if name == "cut" else None)))
    assert found[0] == found[1]


def test_a_model_that_is_announced_again_asks_about_no_option(tmp_path, monkeypatch, program):
    tape = story(tmp_path, monkeypatch, program)
    for number in range(PEOPLE):
        tape.applies_with(f"a{number}", 0, 10.0 + number, number % 5)
    for hours in (1, 2):
        tape.new_model("v3", hours)
        tape.passes(hours + 0.5)
    tape.fold()
    again = [look for look in tape.looks() if look.open][-program.spec.shards :]
    assert all(look.cleared == look.open and not look.accepted for look in again)
    assert sum(look.open for look in again) > PEOPLE
