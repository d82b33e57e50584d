"""What training says of the people whom a new model leaves without an option."""

import numpy as np
import pytest

from onward.agents.promises import NoPromise
from onward.schemas.encoding import FeatureCodec
from onward.schemas.specfile import parse_spec
from onward.streams.programs.bundle.measured import Served
from onward.streams.programs.training.measures.served import served
from onward.streams.programs.training.sample import PEOPLE, RejectedSample
from onward.streams.programs.training.unsaved_program import unsaved_program

FEATURES = [f"{{name: f{number}, type: integer, bounds: [0, 10], mutable: up}}" for number in range(6)]
SPEC = (
    f"program: p\nfeatures: [{', '.join(FEATURES)}]\nlabel: {{name: y}}\nmodel: {{manifest: m}}\n"
    "policy: {objective: cost}\n"
)


def measured(score, margin, people, spec=SPEC):
    codec = FeatureCodec(parse_spec(spec.encode()))
    return served(
        RejectedSample.from_people(codec.spec, unsaved_program(codec, score, [], []), margin, NoPromise(), people)
    )


def test_shares_are_of_the_first_people_with_the_margin_and_without_it():
    # Whoever raises one of the first four features scores .55, and nobody more.
    people = np.tile(np.eye(10, 6), (PEOPLE // 10 + 1, 1))
    found = measured(lambda X: np.where(X[:, 0:4].any(axis=1), 0.55, 0.2), 0.1, people)
    assert found == Served(PEOPLE, 1.0, at_threshold=0.0)


def test_options_with_many_changes_are_counted():
    found = measured(lambda X: X.mean(axis=1) * 0.6, 0.0, np.zeros((3, 6)))
    assert found == Served(3, 0.0, only_ways={f"f{number}": 1.0 for number in range(6)}, many_changes=1.0)


@pytest.mark.parametrize("overshoot", ["limit", "refuse"])
def test_who_has_only_options_that_are_rejected_beyond_a_point_is_counted_where_these_are_refused(overshoot):
    def island(X):
        return np.where((X[:, 0] > 0.4) & (X[:, 0] < 0.8), 0.9, 0.1)

    spec = SPEC.replace("cost}", f"cost, overshoot: {overshoot}}}")
    found = measured(island, 0.0, np.array([[0.0] * 6, [0.0] * 6, [0.9] * 6]), spec)
    refused = overshoot == "refuse"
    assert found.without_option == (1.0 if refused else pytest.approx(1 / 3))
    assert found.up_to_a_point == (pytest.approx(2 / 3) if refused else None)


def test_people_of_a_program_with_limited_places_must_reach_the_threshold():
    limited = SPEC.replace("cost}", "cost, goal: capacity, window: {time: P9D}}")
    limited += "capacity: {places: 3, round: P1D}\n"
    assert measured(lambda X: X.mean(axis=1), 0.0, np.zeros((3, 6)), limited).without_option == 0.0
