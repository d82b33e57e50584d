"""The world of questions: people with weights of their own are asked which plans they would take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, cast

import msgspec
import numpy as np
from msgspec import Struct

from ..agents.candidates.plans import PlanGenerator
from ..agents.costs.causal import Causal
from ..schemas.events import Answer, Application, DeadLetter, NoRecourse, Option, Question, Recourse
from ..schemas.spec import ElicitationTerms, PriorComponent, ProgramSpec, WeightPrior
from ..streams.api.program import load_program
from ..streams.cli.display.words import percentage
from ..streams.durations import milliseconds
from ..streams.errors import UsageError
from ..streams.programs.assembly import assemble
from ..streams.programs.elicitation import elicitation_faults
from ..streams.programs.spec_check import load_program_spec
from ..streams.topics import Topics
from .figures.recording import Recording, Summary
from .figures.sections import RunProgress, Section, ShownWorld
from .people import PeopleWorld
from .play.lockstep import LockstepRun, SimulatedProgram
from .play.simulation import Simulation, SimulationStep, Steps, answer_to, is_journaled, options_of
from .rounds import Scoreboard
from .truth import TruthWorld, WeightWorld, conditions

QUESTIONS = 3
"""The most that anybody is asked."""


class Manner(NamedTuple):
    """How a ``share`` of people answer.

    To the first ``answers`` questions they name the plan that is the easiest for them, to the others none. Before the
    first one ``waits`` others apply. Who ``is_overdue`` has missed the deadline, and answers once after it if they
    ``come_back``. Who ``is_odd`` names a plan that was not offered, answers twice, and contradicts themselves.
    """

    share: float
    answers: int = QUESTIONS
    waits: int = 0
    is_odd: bool = False
    is_overdue: bool = False
    come_back: bool = False


MANNERS = (
    Manner(0.45),
    Manner(0.12, answers=1),
    Manner(0.12, answers=2),
    Manner(0.08, waits=3),
    Manner(0.08, is_odd=True),
    Manner(0.05, answers=0, is_overdue=True, come_back=True),
    Manner(0.10, answers=0, is_overdue=True),
)


def manners_of(people: int, seed: int) -> Sequence[Manner]:
    """The manner of each of some people: in a drawn order, and each as often as its share says."""
    places = (conditions.generator(seed, conditions.MANNERS).permutation(people) + 0.5) / people
    kinds = np.cumsum([manner.share for manner in MANNERS])[:-1].searchsorted(places)
    return [MANNERS[kind] for kind in kinds]


NOT_OFFERED = "9"
"""No question has an option of this id."""


def reply_to(application: str, after: int = 0) -> Callable[[Struct], bool]:
    """Whether an event is the next question to a person after the one of a number, or the recourse."""
    is_answer = answer_to(application)

    def is_reply(event: Struct) -> bool:
        is_question = isinstance(event, Question) and event.application == application and event.number > after
        return is_question or is_answer(event)

    return is_reply


class ElicitationRun(LockstepRun):
    """The simulation of one program whose people answer in these ``manners``, by round, before they get a recourse.

    ``overdue`` is how long ago those have applied who miss the deadline: their application comes late, and their time
    is over soon. The others do not wait for it.
    """

    def __init__(
        self,
        simulated: SimulatedProgram,
        world: WeightWorld,
        manners: Sequence[Manner],
        overdue: timedelta,
        prefix: str,
    ) -> None:
        self._people, self._manners = world, manners
        self._overdue_ms = milliseconds(overdue)
        self._odd = set[str]()
        self._silent: dict[str, Recourse | NoRecourse | None] = {}
        """The recourse of those who miss a deadline, once it is read."""
        super().__init__(simulated, prefix)

    def on_dead_letter(self, ids: set[str]) -> bool:
        """Odd answers are meant to be refused."""
        return not ids & self._odd and super().on_dead_letter(ids)

    def receive(self, event: Struct) -> None:
        """Handle an event of the program, or a line of the journal."""
        if isinstance(event, Recourse | NoRecourse) and event.application in self._silent:
            self._silent[event.application] = event
        super().receive(event)

    def _rejected(self, t: int, event: Application) -> Steps:
        manner, name = self._manners[self._people.round_of(t)], event.application
        ago_ms = self._overdue_ms if manner.is_overdue else 0
        reply = yield self._step("application", event, reply_to(name), ago_ms)
        rest = self._talk(t, name, manner, reply)
        if manner.is_overdue and isinstance(reply, Question):
            self._silent[name] = None
            self._delay(self._world.people, self._silence(t, name, manner))
        elif manner.waits:
            self._delay(t + manner.waits, rest)
        else:
            yield from rest

    def _silence(self, t: int, name: str, manner: Manner) -> Steps:
        """What follows from the first question to somebody who misses its deadline."""
        answer = self._silent[name]
        if answer is None:
            answer = yield SimulationStep(f"{self.program}/application/{name}", None, answer_to(name))
        yield from self._talk(t, name, manner, answer)

    def _talk(self, t: int, name: str, manner: Manner, reply: Question | Recourse | NoRecourse | None) -> Steps:
        """All questions to a person, and what follows from their recourse."""
        while isinstance(reply, Question):
            number, ids = reply.number, [option.id for option in reply.options]
            place = self._people.pick(t, self._people.targets(t, reply.options))
            picked = None if place is None or number > manner.answers else ids[place]
            is_odd = manner.is_odd and number == 1
            if is_odd:
                yield self._oddly(name, number, NOT_OFFERED)
            said = Answer(self.program, name, picked, number)
            reply = yield self._step(f"answer-{number}", said, reply_to(name, number))
            if is_odd:
                for option in ids:
                    yield self._oddly(name, number, option)
        if manner.come_back:
            yield self._oddly(name, 1, "1")
        if reply is not None:  # no dead letter
            yield from self._answered(t, name, options_of(reply))

    def _oddly(self, name: str, number: int, option: str) -> SimulationStep:
        """An answer that does not count, if it is not the one that was given before."""
        kind = f"answer-{number}-{option}"
        id = f"{self.program}/{kind}/{name}"
        self._odd.add(id)
        return self._step(kind, Answer(self.program, name, option, number), is_journaled(id))


def shown(recording: Recording, served: RunProgress, excess: Sequence[Sequence[float]]) -> ShownWorld:
    """What was asked and answered, and how near people's easiest plan the answers bring them.

    ``excess`` are the shares by which the first option costs people above their own cheapest plan: of those who answer
    no question, at most one, and so on. An expired question is open when the recourse is told, and a refused answer is
    one that did not count.
    """
    asked = Counter((question.program, question.application) for question in recording.events_of(Question))
    asked_people = [recourse for recourse in recording.recourses if isinstance(recourse.answers, tuple)]
    answered = {
        (recourse.program, recourse.application): len(cast(tuple[object, ...], recourse.answers))
        for recourse in asked_people
    }
    regret = [sum(losses) / len(losses) if losses else None for losses in excess]
    figures = {
        "asked": asked.total(),
        "answered": sum(answered.values()),
        "expired": sum(asked[person] > answers for person, answers in answered.items()),
        "refused": sum(letter.topic.endswith(Topics(prefix="").answers) for letter in recording.events_of(DeadLetter)),
    }
    rows = [("answers", "above their own cheapest plan")]
    rows += [(str(answers), percentage(share)) for answers, share in enumerate(regret)]
    counts = f"{figures['asked']:,} questions, {figures['answered']:,} answered"
    deadlines = f"{figures['expired']:,} people let a deadline pass"
    lines = [f"{counts}; {deadlines}, {figures['refused']:,} answers did not count"]
    line = "above the cheapest plan after 0, 1, ... answers: " + " / ".join(map(percentage, regret))
    data = {"questions": {**figures, "regret_by_answers": regret}}
    return ShownWorld(served, line, [Section("Questions to people", rows, lines, data=data)])


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
        elicitation = ElicitationTerms(questions=QUESTIONS, prior=prior_of_kinds(spec), influences=INFLUENCES)
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

    def play(self, specs: Mapping[str, Path], scoreboards: Mapping[str, Scoreboard], prefix: str = "") -> Simulation:
        """In lock-step with questions and recourse."""
        world, manners = self._people, manners_of(self.world.rejected, self.settings.seed)
        elicitation = self._program.elicitation
        assert elicitation is not None, "the programs ask"
        overdue = elicitation.deadline + self._program.policy.window.lateness - LEFT
        self._excess: list[list[float]] = [[] for _ in range(QUESTIONS + 1)]

        def read(t: int, options: Sequence[Option]) -> Any:
            """The features of application t after each option, once the cost of the first one is measured."""
            targets = world.targets(t, options)
            excess = world.excess(t, targets[0])
            if excess is not None:
                self._excess[manners[world.round_of(t)].answers].append(excess)
            return targets

        programs = [SimulatedProgram(program, world, scoreboards[program], read) for program in specs]
        return Simulation(ElicitationRun(simulated, world, manners, overdue, prefix) for simulated in programs)

    def show(self, recording: Recording, summary: Summary) -> ShownWorld:
        """Questions, and what the answers bring."""
        return shown(recording, super().show(recording, summary).served, self._excess)


def prior_of_kinds(spec: ProgramSpec) -> WeightPrior:
    """The prior of a spec with the features of ``EFFORT``: a component for each kind."""
    components = []
    for easy in KINDS:
        shares = {name: EASY if name in easy else HARD for name in EFFORT}
        weights = [shares.get(feature.name, HARD) * EFFORT.get(feature.name, 1.0) for feature in spec.features]
        mean = (*weights, *(INFLUENCE for _ in INFLUENCES))
        components.append(PriorComponent(1.0 / len(KINDS), mean, tuple(SPREAD * weight for weight in mean)))
    return WeightPrior(tuple(components))
