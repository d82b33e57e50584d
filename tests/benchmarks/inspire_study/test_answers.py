"""What answers teach without Kafka is what they teach in the demo."""

from __future__ import annotations

import json

import numpy as np
import pytest

from onward.benchmarks.inspire_study.answers import MEASURES, answers, draw_uniformly, of_seed
from onward.streams.cli import main

FIELDS = ("last", "one_option", "unlearned", "known")


@pytest.mark.slow
def test_the_last_fifth_is_satisfied_as_in_the_demo(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--world", "options", "--people", "150", "--seed", "1", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["satisfied"]
    found = of_seed(1, 150)["demo"].last
    assert found == pytest.approx({name: 100.0 * shown[field] for name, field in zip(MEASURES, FIELDS, strict=True)})


@pytest.mark.slow
def test_each_seed_and_population_has_rows_and_the_means_have_the_aims() -> None:
    rows = {row.name: row for row in answers(range(1, 3), people=40)}
    for name, aim in (("demo", 8.0), ("paper", -1.0)):
        title = f"answers, {name}'s population"
        assert all(f"{title}, seed {seed}: {measure}, last fifth" in rows for seed in (1, 2) for measure in MEASURES)
        mean = rows[f"{title}, mean: above nothing learned, 300 picks"]
        assert mean.aim == aim
        assert mean.by_seed is not None
        assert mean.value == pytest.approx(np.mean(list(mean.by_seed.values())))


def test_in_the_papers_population_every_number_of_features_is_as_probable() -> None:
    movable = np.array([True, False, True, True, True])
    editable = draw_uniformly(movable, np.random.default_rng(0), 8000)
    assert not editable[:, 1].any()
    assert np.bincount(editable.sum(axis=1), minlength=5) / 8000 == pytest.approx([0.0, *[0.25] * 4], abs=0.015)
    assert editable.mean(axis=0)[movable] == pytest.approx([0.625] * 4, abs=0.02)
