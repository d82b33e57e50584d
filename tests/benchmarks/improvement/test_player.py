"""What plays ARLIM's experiments: the same scores however many processes there are, and no play twice."""

from __future__ import annotations

import json

import numpy as np
import pytest

from onward.benchmarks import arlim, face
from onward.benchmarks.improvement.experiments import EXPERIMENTS, Trial
from onward.benchmarks.improvement.methods import IGNORES_EXECUTION, parse
from onward.benchmarks.improvement.observed_execution import ObservedExecution
from onward.benchmarks.improvement.plan import Ask, Plan, Task
from onward.benchmarks.improvement.play import play
from onward.benchmarks.improvement.player import Terms, play_all, player
from onward.benchmarks.improvement.scores import Score
from onward.benchmarks.improvement.verifier import fit, look_up
from onward.benchmarks.improvement.worlds import Setting, Worlds, data_sets

TERMS = Terms(folder=None, names=(), classifier="rf", rounds=60)


def tasks(methods: str, experiments: str, seeds: range) -> list[Task]:
    trials = {name: (EXPERIMENTS[name], EXPERIMENTS[name].trials((0.0, 0.25))) for name in experiments.split(",")}
    plan = Plan([parse(text) for text in methods.split(",")], seeds, dict.fromkeys(IGNORES_EXECUTION, 1))
    return list(plan.tasks(list(player(TERMS).titles), trials))


def figures(score: Score) -> tuple[object, ...]:
    return (*score._replace(us=0.0, curve=np.empty(0))[:-1], score.curve.tolist())


def test_a_task_is_of_one_choice_and_seed_and_holds_all_that_its_methods_play():
    asked = tasks("linucb,protoar,linucb@regularisation=30,bwo_ucb", "main,regularisation,window", range(3, 5))
    assert [(one.seed, one.choice, len(one.asked)) for one in asked] == [
        (3, "linucb", 2 * 2 + 6 + 2 * 5),
        (3, "protoar", 2 + 5),
        (3, "bwo_ucb", 2 + 5),
        (4, "linucb", 2 * 2 + 6 + 2 * 5),
        (4, "protoar", 2 + 5),
        (4, "bwo_ucb", 2),
    ]


@pytest.mark.slow
def test_processes_side_by_side_give_the_tasks_in_their_order_and_the_scores_of_one_process():
    asked = tasks("linucb,gp_ucb,tap", "main,mixture", range(2))
    alone, together = (list(play_all(TERMS, asked, jobs)) for jobs in (1, 2))
    assert [task for task, _ in together] == asked
    assert [[figures(one) for one in scores] for _, scores in alone] == [
        [figures(one) for one in scores] for _, scores in together
    ]


def test_a_learner_of_what_helps_is_told_what_is_expected_of_each_instance():
    (task,) = tasks("residual", "main", range(1))
    worlds = player(TERMS)._worlds[task.data]
    world, outlooks = worlds.world(0, Setting()), worlds.outlooks(0, Setting().instances)
    some = world.feasible(3)[1:]
    told = np.linspace(0.5, 0.9, len(some))
    outlook = outlooks(3, some, told)
    assert outlook.effects.shape == (len(some), len(worlds.data.spec.features))
    assert outlook.effort.sum(axis=1) == pytest.approx(-np.log(told))
    assert all(0 < score.mer < 1 for score in player(TERMS).play(task))


def test_what_is_wrong_in_another_process_is_said_in_this_one(tmp_path, capsys):
    (tmp_path / "diabetes.csv").write_text("nothing\n")
    line = ["--data", str(tmp_path), "--datasets", "diabetes", "--jobs", "2"]
    assert face.run(arlim.Args, arlim.Benchmark().measure, line) == 2
    assert "diabetes.csv" in capsys.readouterr().err


def test_plays_that_cannot_differ_are_played_once():
    (task,) = tasks("bwo_ucb", "main,candidates,window,trees", range(1))
    scores = dict(zip(((one.experiment, one.trial.label) for one in task.asked), player(TERMS).play(task), strict=True))
    main = scores["main", "0"]
    same = [place for place, score in scores.items() if score is main]
    assert same == [("main", "0"), ("main", "0.25"), ("candidates", "200"), ("window", "10"), ("trees", "50")]


@pytest.mark.parametrize("name", sorted(IGNORES_EXECUTION))
def test_noise_does_not_matter_to_a_method_that_ignores_execution_probabilities(name):
    world = Worlds(data_sets(None, ())[0], "rf", rounds=150).world(1, Setting())
    quiet, noisy = (
        play(world, parse(name).learner(world.points, 10), ObservedExecution(world, noise=noise, seed=1), seed=1)
        for noise in (0.0, 0.25)
    )
    assert quiet.improvement.sum() > 0
    assert all((ours == theirs).all() for ours, theirs in zip(quiet[:-1], noisy[:-1], strict=True))


def test_more_instances_than_there_are_make_no_other_world():
    asked = tuple(Ask("main", Trial(f"{most}", Setting(instances=most)), parse("bwo_ucb")) for most in (10**6, 10**7))
    one, other = player(TERMS).play(Task("loan", 0, "bwo_ucb", asked))
    assert one is other


@pytest.mark.slow
def test_the_verifier_of_a_seed_is_that_of_each_of_its_worlds():
    worlds = Worlds(data_sets(None, ())[0], "rf", rounds=60)
    world = worlds.world(1, Setting(instances=20))
    ours, own = worlds.verifier(1, Setting(instances=20)), look_up(fit(world, 1), world)
    points, person = world.points[world.feasible(0)], world.person(0)
    known = own.confidence(points)
    assert ours.tolerance == own.tolerance
    assert ours.disagreement(person, points, known).tolist() == own.disagreement(person, points, known).tolist()


def test_an_interrupted_run_shows_what_was_finished(tmp_path, monkeypatch, capsys):
    def interrupted(terms, tasks, jobs):
        yield from play_all(terms, tasks[:2], jobs)
        raise KeyboardInterrupt

    monkeypatch.setattr(arlim, "play_all", interrupted)
    benchmark = arlim.Benchmark()
    line = ["--rounds", "60", "--seeds", "0-3", "--methods", "protoar", "--json", str(tmp_path / "rows.json")]
    face.run(arlim.Args, benchmark.measure, [*line, "--figures", str(tmp_path)], show=benchmark.show, width=132)
    assert benchmark.interrupted
    assert "interrupted" in capsys.readouterr().err
    assert [len(scores) for scores in benchmark.results["main"].scores.values()] == [2, 2]
    assert len(json.loads((tmp_path / "rows.json").read_text())) == 2 * 5
