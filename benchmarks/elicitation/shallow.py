"""A logistic regression and a decision tree in the place of the network (appendix C)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from onward.agents.candidates.components.effects import log_odds
from onward.agents.trees import LEAF, Tree, TreeSum, down_to_float32, tree_sum
from onward.benchmarks.elicitation.classifiers import Array, Classifier, Network
from onward.benchmarks.elicitation.interviews import MOST_QUESTIONS, Belief, mean, play, subjects
from onward.benchmarks.elicitation.population import population
from onward.benchmarks.elicitation.study import Row as Person
from onward.benchmarks.elicitation.study import Study
from onward.benchmarks.elicitation.tables import UNITS, Stored, better, measures
from onward.benchmarks.face import Row, progress

FITTED, HELD_OUT = 16_000, 4_000
"""Rows of the population that a classifier is fitted to, and others on which it is compared with the network."""


class Leaves(Classifier):
    """A fitted binary ``DecisionTreeClassifier``.

    Its log odds are those of the share of the desired class in the leaf.
    """

    def __init__(self, fitted: DecisionTreeClassifier) -> None:
        tree: Any = fitted.tree_
        feature = np.where(tree.children_left == LEAF, LEAF, tree.feature)
        threshold, share = down_to_float32(tree.threshold), tree.value[:, 0, 1]
        nodes = Tree(feature, tree.children_left, tree.children_right, threshold, share)
        self._trees: TreeSum = tree_sum([nodes], 0.0, logistic=False)

    def log_odds(self, inputs: Array) -> Array:
        """The log odds (n,) of encoded rows (n, D)."""
        return log_odds(self._trees.score(inputs))


class Shallow(NamedTuple):
    """A shallow classifier, and the share of held-out rows on which it decides as the network does."""

    name: str
    classifier: Classifier
    agreement: float


def shallow_classifiers(study: Study, users: list[Person], seed: int) -> list[Shallow]:
    """Both, fitted to what the network decides on a population of these users.

    The training split of the paper and its labels are not at hand. As in the authors' program classes are weighted as
    if they were equally common, the regression is not regularised, and the tree is as deep as there are features.
    """
    random = np.random.default_rng(seed)
    inputs = study.encoded(population(study, users, FITTED + HELD_OUT, random))
    labels = study.classifier.log_odds(inputs) > 0.0
    regression = LogisticRegression(C=np.inf, class_weight="balanced", max_iter=2_000)
    regression.fit(inputs[:FITTED], labels[:FITTED])
    tree = DecisionTreeClassifier(class_weight="balanced", max_depth=len(study.features), random_state=seed)
    tree.fit(inputs[:FITTED], labels[:FITTED])
    made = {"logistic regression": Network([(regression.coef_, regression.intercept_)]), "tree": Leaves(tree)}
    return [Shallow(name, each, _agreement(each, inputs[FITTED:], labels[FITTED:])) for name, each in made.items()]


def _agreement(classifier: Classifier, inputs: Array, labels: NDArray[np.bool_]) -> float:
    return float(((classifier.log_odds(inputs) > 0.0) == labels).mean())


def appendix_c(stored: Stored) -> Iterator[Row]:
    """Plans for the users whom a shallow classifier rejects, with the network's for the same users beside.

    The paper's own figures are in an appendix that is not at hand.
    """
    study = stored.study
    users = [row for people in stored.sets.values() for row in people.rows]
    for shallow in shallow_classifiers(study, users, stored.seed):
        title = f"{study.name} {shallow.name}"
        yield Row(f"appendix C, agrees with the network {title}", shallow.agreement, "share")
        other = study.under(shallow.classifier)
        for name in stored.sets:
            progress(f"{study.name}: {name}, {shallow.name}")
            yield from _rows(stored, other, name, f"{study.name} {name} {shallow.name}")


def _rows(stored: Stored, other: Study, users: str, title: str) -> Iterator[Row]:
    few = stored.few(users)
    own = np.flatnonzero(other.classifier.log_odds(other.encoded(few.rows)) <= 0.0)
    yield Row(f"appendix C, users {title}", len(own), f"of {len(few)}")
    if not len(own):
        return
    belief = Belief.of(other)
    crowd = list(subjects(other, few.at(own), belief))
    proven = float(np.mean([subject.plans.proven for subject in crowd]))
    yield Row(f"appendix C, searches that are proven complete {title}", proven, "share")
    beside = measures(stored.played(few.at(own), stored.belief, "NL"))
    for response in ("NL", "L"):
        result = play(other, crowd, belief, response, seed=stored.seed)
        for name, value in measures(result).items():
            setting = f"{title} {response} k=2 T={MOST_QUESTIONS}"
            yield Row(f"appendix C, {name} {setting}", value, UNITS[name], beside[name], better=better(name))
    yield Row(f"appendix C, cost {title} T=0", result.cost(0), "cost", better="lower")
    yield Row(f"appendix C, cost {title} true weights", mean(result.optimum), "cost", better="lower")
