"""A model event changes the model for the applications after it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from onward.schemas.events import Model
from onward.streams.programs.program import Program
from onward.tests.support.pipeline import build_program, dump
from onward.tests.support.tape import tape


class AcceptsOnlyTheRichest:
    """Accepts only the richest."""

    def score(self, X):
        return np.where(X[:, 2] > 0.9, 1.0, 0.0)


def test_a_model_holds_from_its_event_on_wherever_the_journal_is_cut(tmp_path, monkeypatch):
    bundle = replace(build_program().bundle, version="v2", manifest_sha256="3" * 64, model=AcceptsOnlyTheRichest())
    monkeypatch.setattr(Program, "load", lambda self, manifest, sha256: bundle)
    well_off = {"region": "north", "income": 85.0, "debts": 0}
    results = []
    for name in ("whole", "cut"):
        story = tape(tmp_path / name)
        for person in ("before", "after", "at last"):
            story.applies(f"poor {person}")
            story.applies(f"well off {person}", features=well_off)
            if person == "before":
                story.send("models", Model("loan", "v2", "memory", "3" * 64), 0, "m")
        ledger = story.fold(parts=[[record] for record in story.journal] if name == "cut" else None)
        results.append((story.run.outputs(), dump(ledger)))
        models = {answer.application: answer.model for answer in story.answers()}
        assert models == {
            "poor before": "v1",
            "poor after": "v2",
            "well off after": "v2",
            "poor at last": "v2",
            "well off at last": "v2",
        }
    assert results[0] == results[1]
