"""ARLIM's protocol: the known results to the last digit, the same world and draws for everybody, the whole command."""

from __future__ import annotations

import json
import os
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np
import pytest

from onward.agents.choices import Choice, Pick
from onward.benchmarks import face
from onward.benchmarks.arlim import Args, Benchmark
from onward.benchmarks.improvement.aims import aim
from onward.benchmarks.improvement.methods import methods, parse
from onward.benchmarks.improvement.observed_execution import ObservedExecution
from onward.benchmarks.improvement.play import Played, play
from onward.benchmarks.improvement.reference import Reference, load_reference
from onward.benchmarks.improvement.scores import Spread, score, spread, standard_errors
from onward.benchmarks.improvement.stored_worlds import from_arrays
from onward.benchmarks.improvement.studied_world import StudiedWorld
from onward.benchmarks.improvement.updates import ModelUpdates
from onward.benchmarks.improvement.worlds import Setting, Worlds, data_sets
from onward.environments.population import SPEC
from onward.schemas.specfile import load_spec
from onward.streams.errors import UsageError
from onward.tests.support.reference_worlds import WORLDS, load_world, stored_arrays

SHARED = Path(os.environ.get("ONWARD_SHARED", Path(__file__).parents[2].parent / "shared"))
METRICS = {"improvement": "improvement", "cost": "cost", "mer": "MER", "regret": "regret"}


@pytest.fixture(scope="module")
def loan() -> StudiedWorld:
    return Worlds(data_sets(None, ())[0], "rf", rounds=200).world(1, Setting())


@pytest.mark.parametrize(("data_set", "seed"), WORLDS)
def test_every_row_on_the_common_draws_is_reproduced_in_every_digit(data_set, seed):
    known = load_world(data_set, seed)
    world = from_arrays(stored_arrays(data_set, seed), load_spec(SPEC.parent / f"{data_set.lower()}.yaml").spec)
    for noise in (0.0, 0.25):
        observation = ObservedExecution(world, noise=noise, seed=seed)
        for regularisation in (20, 30):
            learner = parse(f"linucb@regularisation={regularisation}").learner(world.points, 10)
            ours = score(play(world, learner, observation, seed=seed))
            theirs = known.result(f"LinUCB lambda={regularisation} (common draws)", noise)
            for name, key in METRICS.items():
                assert round(getattr(ours, name), 6) == theirs[key], (noise, regularisation, name)


@pytest.mark.parametrize(("method", "noise"), [("posterior", 0.0), ("posterior", 0.25)])
def test_the_defaults_reach_the_aims_on_the_common_draws(method, noise):
    """The five stored worlds are fewer than the aims are stated for: they may stay two standard errors below."""
    for data_set, own in groupby(WORLDS, key=itemgetter(0)):
        known = [load_world(data_set, seed).result("LinUCB lambda=30 (common draws)", noise)["MER"] for _, seed in own]
        spec = load_spec(SPEC.parent / f"{data_set.lower()}.yaml").spec
        mers = []
        for seed in range(len(known)):
            world = from_arrays(stored_arrays(data_set, seed), spec)
            learner = parse(method).learner(world.points, 10)
            mers.append(score(play(world, learner, ObservedExecution(world, noise=noise, seed=seed), seed=seed)).mer)
        wanted = aim(parse(method), data_set, noise, "mer")
        assert wanted is not None
        assert np.mean(mers) >= wanted - 2 * np.std(mers, ddof=1) / np.sqrt(len(mers)), data_set
        assert np.mean(mers) >= np.mean(known), data_set


@pytest.mark.slow
def test_worlds_of_a_network_give_the_known_results():
    if not (SHARED / "data").is_dir():
        pytest.skip(f"no data sets at {SHARED / 'data'}: set ONWARD_SHARED")
    (data,) = data_sets(SHARED / "data", ["diabetes"])
    worlds, method, seeds = Worlds(data, "mlp", rounds=1000), parse("linucb@regularisation=30"), range(5)
    scores = []
    for seed in seeds:
        world = worlds.world(seed, Setting())
        scores.append(
            score(
                play(world, method.learner(world.points, 10), ObservedExecution(world, noise=0, seed=seed), seed=seed)
            )
        )
    (known,) = [row for row in load_reference().cite("Diabetes", "mlp", 0.0, method, seeds) if row.same_draws]
    for name in ("improvement", "cost", "mer", "regret", "mer_250", "last250"):
        ours = spread([getattr(one, name) for one in scores])
        assert (round(ours.mean, 6), round(ours.std, 6)) == (known.metrics[name].mean, known.metrics[name].std), name


class Spy(Choice):
    """Records its options and draws; picks the first option, or the last."""

    name, learns = "spy", True

    def __init__(self, points, window, *, last: bool) -> None:
        super().__init__(points, window)
        self.last = last
        self.seen: list[object] = []
        self.updates: list[tuple[int, int, float, float]] = []
        self.steps = 0

    def begin(self, options, random):
        self.seen.append(
            (options.person.tobytes(), options.arm.tolist(), options.execution.tolist(), random().random())
        )
        self.steps += 1

    def pick(self, options, random):
        at = -1 if self.last else 0
        return Pick(int(options.arm[at]), 1.0, float(options.execution[at]))

    def update(self, pull, reward):
        self.updates.append((self.steps - 1, pull.step, pull.execution, reward))

    def retract(self, pull):
        raise AssertionError("everybody is shown their recourse")

    def state(self):
        return {}

    def restore(self, state):
        raise AssertionError


def watch(world: StudiedWorld, *, last: bool, noise: float = 0.25, **more) -> tuple[Spy, Played]:
    spy = Spy(world.points, 10, last=last)
    return spy, play(world, spy, ObservedExecution(world, noise=noise, seed=1), seed=1, **more)


def test_two_methods_see_the_same_people_noise_and_random_numbers(loan):
    (one, first), (other, second) = watch(loan, last=False), watch(loan, last=True)
    assert one.seen == other.seen
    assert len({drawn for *_, drawn in one.seen}) == loan.people
    assert first.actions.tolist() != second.actions.tolist()
    assert first.best.tolist() == second.best.tolist()


def test_noise_changes_observations_and_not_outcomes(loan):
    (quiet, clean), (noisy, played) = watch(loan, last=False, noise=0.0), watch(loan, last=False, noise=0.25)
    assert quiet.seen != noisy.seen
    assert [(at, step, reward) for at, step, _, reward in quiet.updates] == [
        (at, step, reward) for at, step, _, reward in noisy.updates
    ]
    assert all((ours == theirs).all() for ours, theirs in zip(clean[:-1], played[:-1], strict=True))


def test_a_reward_comes_at_the_end_of_its_delay_and_a_zero_before_the_step_after_its_window(loan):
    spy, played = watch(loan, last=False)
    picked = {t for t, k in enumerate(played.actions) if k >= 0}
    improved = {t for t in picked if loan.improves(t, played.actions[t]) and loan.delay(t) <= 10}
    assert [(at, step) for at, step, _, reward in spy.updates if reward] == sorted(
        ((t + loan.delay(t) - 1, t) for t in improved if t + loan.delay(t) <= loan.people), key=lambda due: due
    )
    assert {(at, step) for at, step, _, reward in spy.updates if not reward} == {
        (t + 9, t) for t in picked - improved if t + 10 < loan.people
    }


def test_a_success_reveals_the_exact_execution_probability_only_when_revealed(loan):
    for revealed in (True, False):
        spy, played = watch(loan, last=False, revealed=revealed)
        noisy = ObservedExecution(loan, noise=0.25, seed=1)
        for _, step, execution, reward in spy.updates:
            shown = noisy.exact(step) if reward and revealed else noisy.noisy(step)
            assert execution == shown[played.actions[step]]


def test_a_model_that_is_updated_masks_candidates_of_play_and_oracle(loan):
    updates = ModelUpdates(loan, every=50, seed=1)
    spy, played = watch(loan, last=False, updates=updates)
    still, before = watch(loan, last=False)
    assert spy.seen[:50] == still.seen[:50]
    assert sum(len(feasible) for _, feasible, *_ in spy.seen) < sum(len(feasible) for _, feasible, *_ in still.seen)
    assert (played.best <= before.best).all()
    assert played.best.sum() < before.best.sum()


def test_a_method_is_a_choice_with_parameters():
    method = parse("linucb@regularisation=30@delta=0.1")
    assert (method.title, method.parameter("delta"), method.parameter("trees")) == (
        "linucb@regularisation=30@delta=0.1",
        0.1,
        None,
    )
    assert "linucb@regularisation=30" in [one.title for one in methods(())]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("nobody", "there is no choice 'nobody'"),
        ("linucb@speed=3", "linucb has no parameter 'speed'"),
        ("linucb@delta=2", "delta is 2.0"),
        ("linucb@delta", "'delta' is no parameter, write NAME=NUMBER"),
    ],
)
def test_a_method_that_is_none_is_explained(text, reason):
    with pytest.raises(UsageError, match=reason):
        parse(text)


def test_a_difference_is_measured_in_its_standard_errors():
    assert standard_errors(Spread(1.0, 0.3, 10), Spread(0.8, 0.4, 5)) == pytest.approx(0.2 / np.sqrt(0.01 + 0.04))
    assert standard_errors(Spread(1.0, 0.0, 1), Spread(0.8, 0.4, 5)) is None


def test_a_method_with_other_parameters_has_no_reference():
    rows = [{"dataset": "Credit", "classifier": "rf", "noise": 0.0, "method": "LinUCB", "lambda": 20.0, "n": 5}]
    reference = Reference({"authors_stored_results": rows})
    found = [reference.cite("Credit", "rf", 0.0, parse(text), range(5)) for text in ("linucb", "linucb@delta=0.1")]
    assert [len(rows) for rows in found] == [1, 0]


def test_the_command_plays_generated_people_draws_figures_and_writes_rows(tmp_path, capsys):
    benchmark = Benchmark()
    line = ["--rounds", "60", "--seeds", "0-1", "--methods", "linucb,posterior", "--experiments", "main,noise,updates"]
    files = ["--figures", str(tmp_path / "figures"), "--json", str(tmp_path / "rows.json")]
    assert face.run(Args, benchmark.measure, [*line, *files], show=benchmark.show, width=132) == 0
    written = json.loads((tmp_path / "rows.json").read_text())
    assert {row["aim"] for row in written} == {None}, "aims are of 1,000 rounds"
    rows = {row["name"]: row["value"] for row in written}
    place = "Comparison: Loan (generated), noise 0: linucb, "
    assert 0 < rows[f"{place}mer"] < 1
    (by_seed,) = [row["by_seed"] for row in written if row["name"] == f"{place}mer"]
    assert {seed: f"{mer:.3f}" for seed, mer in by_seed.items()} == {
        seed: _mer(benchmark, "linucb", int(seed)).split()[0] for seed in ("0", "1")
    }
    assert rows[f"{place}us"] > 0
    captured = capsys.readouterr()
    assert f"3/4 Loan (generated) seed 1, linucb, main: {_mer(benchmark, 'linucb', 1)}" in captured.err
    assert "updates: linucb plays 1 of 2 seeds" in captured.err
    assert f"{rows[f'{place}regret']:.1f} ±" in captured.out
    drawn = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert drawn == ["figure-2.svg", "figure-3.svg", "figure-4.svg"]


def _mer(benchmark: Benchmark, method: str, seed: int) -> str:
    """As a line of progress tells it."""
    scores = benchmark.results["main"].scores
    return ", ".join(
        f"{scores[place][seed].mer:.3f} (noise {place.trial})" for place in scores if place.method == method
    )


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (["--jobs", "0"], "--jobs 0: give a number from 1"),
        (["--experiments", "nothing"], "there is no 'nothing'"),
        (["--datasets", "credit"], "say with --data DIR where their files are"),
        (["--data", "nowhere", "--datasets", "mars"], "there is no data set 'mars'"),
    ],
)
def test_what_there_is_not_is_explained(line, reason, capsys):
    assert face.run(Args, Benchmark().measure, line) == UsageError.exit_code
    assert reason in capsys.readouterr().err
