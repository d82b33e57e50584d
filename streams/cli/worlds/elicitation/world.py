"""The world of questions, and the programs that ask them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

import msgspec
import numpy as np

from .....agents.candidates.plans import PlanGenerator
from .....agents.costs.causal import Causal
from .....environments.rounds import Scoreboard
from .....environments.truth import TruthWorld, WeightWorld
from .....schemas.spec import Elicitation, PriorComponent, ProgramSpec, WeightPrior
from ....api.program import load_program
from ....errors import UsageError
from ....programs.assembly import assemble
from ....programs.elicitation import elicitation_faults
from ....programs.spec_check import load_program_spec
from ..contract import Play
from ..lockstep import SimulatedProgram
from ..people import PeopleWorld
from ..simulation import Simulation
from .figures import ElicitationFigures
from .manners import QUESTIONS, manners_of
from .simulation import ElicitationRun

EFFORT: Mapping[str, float] = {
    "education": 3.0,
    "monthly_income": 10.0,
    "monthly_debt_payments": 15.0,
    "savings": 8.0,
    "card_utilisation": 1.0,
    "loan_amount": 5.0,
    "loan_term": 3.0,
}
"""The average cost to people of changing a feature from its lowest value to its highest."""
KINDS = (
    ("education", "monthly_income"),
    ("savings",),
    ("monthly_debt_payments", "card_utilisation"),
    ("loan_amount", "loan_term"),
)
"""The features that each kind of people finds easy; all are as many."""
EASY, HARD, SPREAD = 0.3, 1.4, 0.2
"""The effort of features that a kind finds easy, of the others, and how much people of a kind differ, as shares of
the average one."""
INFLUENCES = (("loan_amount", "savings"), ("monthly_debt_payments", "savings"))
"""People who owe less save more easily."""
INFLUENCE = 0.2
"""The cost that the highest value of an influencing feature adds."""
LEFT = timedelta(seconds=8)
"""How long those have for an answer who miss the deadline."""


class ElicitationWorld(PeopleWorld):
    """Generated people of four kinds, who find different features easy, and answer in different manners."""

    name: ClassVar[str] = "elicitation"
    in_words: ClassVar[str] = "generated applicants, who are asked which plans they would take"
    default_policies: ClassVar[tuple[str, ...] | None] = ("protoar",)
    default_people: ClassVar[int | None] = 200
    takes_data: ClassVar[bool] = False
    tick_seconds: ClassVar[float | None] = 0.1  # deadlines pass by ticks
    reads_journal: ClassVar[bool] = True
    truth_world: ClassVar[type[TruthWorld]] = WeightWorld

    def _under_conditions(self, spec: ProgramSpec) -> ProgramSpec:
        policy = msgspec.structs.replace(
            spec.policy, objective="cost", generator="plans", generator_parameters={}, cost="causal"
        )
        elicitation = Elicitation(questions=QUESTIONS, prior=prior_of_kinds(spec), influences=INFLUENCES)
        for choice in self.policies:
            policy = msgspec.structs.replace(policy, choice=choice)
            for _, fault in elicitation_faults(msgspec.structs.replace(spec, policy=policy), elicitation):
                raise UsageError(f"--policies {choice}: {fault}")
        return msgspec.structs.replace(spec, policy=policy, elicitation=elicitation)

    @property
    def _people(self) -> WeightWorld:
        assert isinstance(self.world, WeightWorld), "generated people have weights"
        return self.world

    def warm_up(self, specs: Mapping[str, Path]) -> None:
        """Ask somebody who has a choice, which compiles what questions need: the first time takes many seconds."""
        self.note("compiling what questions need, once ...")
        program = load_program(next(iter(specs.values())))
        asked = (program.elicit(self.world.application(t)[1]) for t in self._people.rejected_applications)
        for elicitation in asked:
            if elicitation.question is not None:
                elicitation.answer(1)
                return

    def scoreboards(self, specs: Mapping[str, Path], every: int) -> Mapping[str, Scoreboard]:
        """They know the cheapest plan of everybody, once people's weights are drawn."""
        world, program = self._people, assemble(load_program_spec(next(iter(specs.values()))))
        generator = program.generator_under(program.bundle)
        assert isinstance(program.cost, Causal), "the programs' cost has a prior"
        assert isinstance(generator, PlanGenerator), "the programs ask about plans"
        world.know(program.cost, self.settings.seed)
        self.note("searching the cheapest plan of everybody ...")
        rows = np.unique(world.row_of[world.rejected_applications])
        plans = [generator.plans(world.distinct[row]).targets for row in rows]
        world.offer(np.repeat(rows, [len(targets) for targets in plans]), np.concatenate(plans))
        return {program: Scoreboard(world, every) for program in specs}

    def play(self, specs: Mapping[str, Path], scoreboards: Mapping[str, Scoreboard], prefix: str = "") -> Play:
        """In lock-step with questions and recourse."""
        world, manners = self._people, manners_of(self.world.rejected, self.settings.seed)
        figures = ElicitationFigures(self._total, world, manners)
        elicitation = self._program.elicitation
        assert elicitation is not None, "the programs ask"
        overdue = elicitation.deadline + self._program.policy.window.lateness - LEFT
        programs = [SimulatedProgram(program, world, scoreboards[program], figures.read) for program in specs]
        return Play(Simulation(ElicitationRun(own, world, manners, overdue, prefix) for own in programs), figures)


def prior_of_kinds(spec: ProgramSpec) -> WeightPrior:
    """The prior of a spec with the features of ``EFFORT``: a component for each kind."""
    components = []
    for easy in KINDS:
        shares = {name: EASY if name in easy else HARD for name in EFFORT}
        own = [shares.get(feature.name, HARD) * EFFORT.get(feature.name, 1.0) for feature in spec.features]
        mean = (*own, *(INFLUENCE for _ in INFLUENCES))
        components.append(PriorComponent(1.0 / len(KINDS), mean, tuple(SPREAD * weight for weight in mean)))
    return WeightPrior(tuple(components))
