"""Programs whose people's costs nobody knows: from the spec to the options."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import onward
from onward.agents import choices, costs
from onward.schemas.events import NoRecourse, Recourse
from onward.schemas.specfile import SpecError
from onward.streams.engine.assessment import propose
from onward.streams.engine.state import CurrentModel
from onward.streams.programs.assembly import assemble
from onward.streams.programs.spec_changes import SpecRefusedError
from onward.streams.programs.spec_check import load_program_spec
from onward.tests.support.loans import reviewed_spec, write_loans

PLAIN = "policy: {objective: cost, generator: search, choice: protoar, options: 3}"
PERSON = {"income": 35, "debts": 6, "region": "north"}
SAMPLED = [name for name in costs.registry if issubclass(costs.registry[name], costs.SampledCost)]
PRODUCT = ("emc", "residual", "posterior", "linucb", "bwo_ucb", "protoar")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of loans, and a model of them."""
    folder = tmp_path_factory.mktemp("sampled")
    write_loans(folder / "loans.csv")
    (folder / "loans.yaml").write_text(reviewed_spec())
    onward.train(folder / "loans.csv", folder / "loans.yaml", folder / "model", estimator="logistic_regression")
    return folder


def spec_of(folder: Path, policy: str) -> Path:
    """A spec with this policy; its model is the one of the folder."""
    path = folder / "other.yaml"
    assert PLAIN in reviewed_spec()
    path.write_text(reviewed_spec().replace(PLAIN, f"policy: {{{policy}}}"))
    return path


@pytest.mark.parametrize("cost", SAMPLED)
@pytest.mark.parametrize("choice", PRODUCT)
def test_every_choice_suggests_under_every_sampled_cost(folder: Path, choice: str, cost: str) -> None:
    program = onward.load_program(spec_of(folder, f"objective: cost, choice: {choice}, cost: {cost}, options: 3"))
    one, again = (program.suggest([PERSON])[0] for _ in range(2))
    assert isinstance(one, Recourse)
    assert isinstance(again, Recourse)
    assert one.options == again.options
    assert len({option.candidate for option in one.options}) == len(one.options)
    for option in one.options:
        assert 0.0 < option.cost <= 3.0
        assert 0.0 < option.execution_probability < 1.0


def test_options_that_are_to_help_are_picked_among_samples_too(folder: Path) -> None:
    program = onward.load_program(spec_of(folder, "objective: improvement, cost: mixed"))
    answer = program.suggest([PERSON])[0]
    assert isinstance(answer, Recourse)
    assert answer.policy == "residual"


def test_a_set_with_one_option_more_serves_no_fewer(folder: Path) -> None:
    program = assemble(load_program_spec(spec_of(folder, "objective: cost, choice: emc, cost: mixed, options: 10")))
    batch = propose(program, CurrentModel.from_bundle(program, program.bundle), program.codec.encode_many([PERSON]))
    options, learner = batch.options_of(0), program.learner()
    assert options.samples is not None
    satisfied = [0.0]
    for size in (1, 2, 3, 30):
        picks = learner.select(options, size, np.random.default_rng)
        chosen = np.array([int(options.arm.searchsorted(pick.arm)) for pick in picks])
        found = options.samples.subset(chosen).served(program.satisfied)
        assert found.suits.sum() <= 1.0 + 1e-12
        satisfied.append(found.satisfied)
    assert len(picks) == options.number
    assert satisfied == sorted(satisfied)


def test_who_has_no_option_gets_a_typed_none_and_a_spec_without_changes_is_refused(folder: Path) -> None:
    text, path = (
        reviewed_spec().replace(PLAIN, "policy: {objective: cost, choice: emc, cost: mixed}"),
        folder / "wrong.yaml",
    )
    path.write_text(text.replace("mutable: up", "mutable: none").replace("mutable: down", "mutable: up"))
    answer = onward.load_program(path).suggest([PERSON])[0]
    assert isinstance(answer, NoRecourse)
    assert answer.reason == "out_of_reach"
    path.write_text(text.replace("mutable: up", "mutable: none").replace("mutable: down", "mutable: none"))
    with pytest.raises(onward.OnwardError, match="no feature is mutable"):
        onward.load_program(path)


@pytest.mark.parametrize(
    ("policy", "line"),
    [
        ("cost: unheard_of", "there is no cost 'unheard_of'"),
        ("cost: mixed, cost_parameters: {cap: 0}", "cap is 0.0: mixed needs a number above 0"),
        ("cost: mixed, cost_parameters: {caps: 1}", "mixed has no parameter 'caps'"),
        ("cost: l1, samples: 10", "l1 is known, not sampled"),
        ("cost: l1, satisfied: 2", "l1 is known, not sampled"),
        ("cost: mixed, satisfied: 0", "satisfied"),
        ("cost: mixed, samples: 0", "samples"),
        ("cost: mixed, choice: single", "single takes no sampled costs"),
    ],
)
def test_what_cannot_work_is_one_line(folder: Path, policy: str, line: str) -> None:
    class Single(choices.FixedChoice):
        name = "single"
        pick = choices.ProtoAR.pick

    choices.registry.add(Single)
    try:
        with pytest.raises(SpecError) as caught:
            load_program_spec(spec_of(folder, f"objective: cost, {policy}"))
    finally:
        choices.registry.discard("single")
    [only] = str(caught.value).splitlines()
    assert line in only


def test_the_samples_outlive_a_changed_spec_and_cannot_change(folder: Path) -> None:
    first = assemble(load_program_spec(spec_of(folder, "objective: cost, choice: emc, cost: mixed, samples: 50")))
    changed = load_program_spec(
        spec_of(folder, "objective: cost, choice: emc, cost: mixed, samples: 50, seed: 7, satisfied: 2")
    ).spec
    program = first.changed(changed)
    assert program.cost is first.cost
    assert program.satisfied == 2.0
    other = load_program_spec(spec_of(folder, "objective: cost, choice: emc, cost: mixed, samples: 60")).spec
    with pytest.raises(SpecRefusedError, match="samples cannot change"):
        first.changed(other)
    # The seed of a policy may change, and a worker that starts later has the newer one.
    later = assemble(
        load_program_spec(spec_of(folder, "objective: cost, choice: emc, cost: mixed, samples: 50, seed: 7"))
    )
    assert isinstance(first.cost, costs.SampledCost)
    assert isinstance(later.cost, costs.SampledCost)
    assert first.cost.weights.tobytes() == later.cost.weights.tobytes()
