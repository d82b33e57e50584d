"""The laws of every choice. The registry finds the classes: a new one is tested by existing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from onward.agents.choices import Choice, registry
from onward.agents.choices.components.execution_model import SAMPLE
from onward.agents.registry import Registry
from onward.testing.choices import CHOICE, FreshLearners
from onward.testing.choices.scripts import CELLS, MANY, any_step
from onward.tests.support.choice_artefacts import ARTEFACTS, VERIFIER


@pytest.mark.parametrize("law", CHOICE)
@pytest.mark.parametrize("name", sorted(registry))
def test_every_choice_keeps_the_laws(name: str, law: str) -> None:
    CHOICE[law].hold(name, FreshLearners(registry[name], ARTEFACTS))


def test_the_scripts_reach_the_branches_for_many_options() -> None:
    feasible = [len(any_step(np.random.default_rng(seed), MANY[0], 2).feasible) for seed in range(20)]
    assert max(feasible) > SAMPLE
    disagreements = VERIFIER.disagreement(np.array([0.5]), np.array(CELLS)[:, None], np.array(CELLS))
    assert set(disagreements > VERIFIER.tolerance) == {False, True}


def test_two_choices_of_one_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "doubled"
    package.mkdir()
    (package / "__init__.py").touch()
    for name in ("one", "two"):
        (package / f"{name}.py").write_text("from onward.agents.choices import ProtoAR\nclass Same(ProtoAR): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match="two methods are called 'protoar'"):
        Registry(Choice, "doubled", [str(package)])
