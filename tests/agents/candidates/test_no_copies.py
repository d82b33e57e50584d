"""Options made for a person do not hand out the record of another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from onward.agents.candidates import registry
from onward.agents.costs import L1
from onward.agents.goals import ThresholdGoal
from onward.agents.objective import Objective
from onward.environments.population import SPEC, Population
from onward.schemas.encoding import FeatureCodec
from onward.schemas.specfile import load_spec
from onward.streams.programs.models.scoring import scorer
from onward.streams.programs.space import space_of

Array = np.ndarray[Any, Any]
PEOPLE = 60
SLACK = {"search": 0.02, "adapted": 0.08}
"""By how much the share of matches may exceed that of people among each other: two standard errors, and what the pull
towards a real row costs."""
DRAWS = 5


def share_with_a_match(rows: Array, columns: Array, reference: Array, own: Array | None = None) -> float:
    """The share of rows that equal a reference row, other than their own, in all of their columns (R, D)."""
    matches = [(reference[:, which] == row[which]).all(axis=1) for row, which in zip(rows, columns, strict=True)]
    if own is not None:
        for match, number in zip(matches, own, strict=True):
            match[number] = False
    return float(np.mean([match.any() for match in matches]))


@pytest.mark.parametrize("name", SLACK)
def test_options_match_records_no_more_than_people_match_each_other(name: str) -> None:
    """In all features that an option changes, two at least; beside it the same features of a person drawn at random."""
    spec = load_spec(SPEC).spec
    codec, table = FeatureCodec(spec), Population(seed=0).table(spec, 2000)
    forest = RandomForestClassifier(20, random_state=0).fit(table.X[:1000], table.labels[:1000])
    score = scorer(forest, codec.dimension).score
    accepted = score(table.X) > 0.5
    generator = (
        registry[name].build(space_of(codec), table.X[accepted][:200], Objective(L1())).under(score, ThresholdGoal(0.5))
    )
    people = table.X[~accepted][:PEOPLE]
    found = generator.propose(people)
    changed = found.points[found.point] != people[found.people]
    of_feature = np.eye(len(spec.features), dtype=bool)[codec.feature_of]
    several = np.flatnonzero((changed @ of_feature).sum(axis=1) > 1)
    columns = (changed @ of_feature)[several] @ of_feature.T
    assert len(several) > 100
    options, records = (codec.codes(rows)[:, codec.feature_of] for rows in (found.points[found.point], table.X))
    drawn = np.random.default_rng(1).integers(len(records), size=(DRAWS, len(several)))
    ours = share_with_a_match(options[several], columns, records)
    theirs = np.mean([share_with_a_match(records[who], columns, records, own=who) for who in drawn])
    assert ours <= theirs + SLACK[name]
