"""A model event changes the model for the applications after it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from onward.schemas.events import Model, NoRecourse, Recourse
from onward.streams.programs.program import Program
from onward.testing.ledger import dump
from onward.testing.program import build_program
from onward.testing.tape import tape


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
        models = {answer.application: (answer.model, answer.model_sha256) for answer in story.answers()}
        first, second = ("v1", "1" * 64), ("v2", "3" * 64)
        assert models == {
            "poor before": first,
            "poor after": second,
            "well off after": second,
            "poor at last": second,
            "well off at last": second,
        }
        assert {type(answer) for answer in story.answers()} == {Recourse, NoRecourse}
    assert results[0] == results[1]
