"""The program of a setting, as a new user makes it: a file, `spec draft`, and `train`."""

from __future__ import annotations

import re
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from onward.benchmarks.real.settings import StudiedSetting
from onward.environments.lender import LABEL, Lender, LenderPeople, history, write_history
from onward.environments.lender.programs import approves, settled, without_effects
from onward.schemas.draft import draft_spec
from onward.schemas.draft.questions import DraftAnswers, DraftDecisions
from onward.schemas.specfile import load_spec
from onward.streams.programs.assembly import address_of, assemble
from onward.streams.programs.program import Program
from onward.streams.programs.training.train import train

TRAINING, NEWCOMERS = range(2)
"""What people are drawn for."""


class RealProgram(Lender):
    """A program in a new folder, and the rejected people of the world that it is made for.

    ``spec`` is the file of the spec as it is drafted, of which four lines are changed: what may change is answered as
    the world has it, an option changes at most two features, whoever acts is seen to come back, and there is one shard,
    since it serves a few hundred people.
    """

    def __init__(self, setting: StudiedSetting, seed: int, folder: Path, estimator_seed: int = 0) -> None:
        equations, self._seed = setting.equations(), seed
        folder.mkdir(parents=True)
        file, self.spec = folder / "loans.csv", folder / "loans.yaml"
        people, labels = history(setting, equations, np.random.default_rng([seed, TRAINING]))
        write_history(file, equations, people, labels)
        mutable = {column.name: equations.things[column.thing].mutable for column in equations.columns}
        drafted = draft_spec(file, LABEL, DraftDecisions(DraftAnswers(label={LABEL: 1}, mutable=mutable))).text
        self.spec.write_text(as_played(drafted, setting))
        loaded = load_spec(self.spec)
        train(file, loaded, Path(address_of(loaded)).parent, estimator="random_forest", seed=estimator_seed)
        super().__init__(equations, self.program.spec.features, partial(approves, self.program))

    @cached_property
    def program(self) -> Program:
        """The program."""
        return assemble(load_spec(self.spec))

    def rejected(self, number: int) -> LenderPeople:
        """Draw people until so many are rejected by the model; raise ``ValueError`` where hardly anybody is."""
        return self.newcomers(number, np.random.default_rng([self._seed, NEWCOMERS]))


def as_played(drafted: str, setting: StudiedSetting) -> str:
    """The text of a drafted spec with one shard and at most two changes of an option, and without chance relations.

    What follows from changes is told by the edges of the ``setting`` alone: what the draft proposes is left out.

    Whoever acts in these worlds comes back, and the spec says so.
    """
    told = "".join(f"  - [{parent}, {child}]\n" for parent, child in setting.edges)
    effects = f"effects:\n{told}" if told else ""
    for child in setting.followers:
        drafted = re.sub(rf"(?m)^(  - {{name: {child},.*mutable: )\w+", r"\1follows", drafted)
    return settled(without_effects(drafted)) + effects
