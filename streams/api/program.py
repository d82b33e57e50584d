"""A program for Python: its suggestions without Kafka."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from ...schemas.draft.reminders import unprotected
from ...schemas.events import NoRecourse, Recourse, Value
from ...schemas.identifier import identifier_fault
from ...schemas.spec import ProgramSpec
from ...schemas.spec_document import document, spec_of
from ...schemas.specfile import LoadedSpec
from ..errors import ModelError, UsageError
from ..programs.assembly import assemble
from ..programs.program import Program as AssembledProgram
from ..programs.spec_check import load_program_spec
from ..replay.suggestions import suggest
from ..review.report import PEOPLE, Review
from ..review.review import review
from .arguments import checks_arguments, milliseconds_of, path_of, shown, switch_of, text_of, whole_number_of
from .elicitation import Elicitation
from .people import Frame, People, PolarsFrame, ValidPeople, one_person, read, read_valid
from .reminders import remind
from .suggestions import Suggestions
from .usage_errors import usage_errors

MAX_OPTIONS = 10
MOST_REVIEWED = 1_000_000


class Program:
    """A program: a spec with its trained model. ``load_program`` makes one.

    It answers as a worker with a fresh learner does: the same person gets the same answer, alone or among others.

    Examples
    --------
    >>> import onward
    >>> program = onward.load_program("loans.yaml")
    >>> program.name, program.features
    ('loans', ('income', 'debts', 'region'))
    >>> answer = program.suggest([{"income": 20, "debts": 8, "region": "north"}])[0]
    >>> isinstance(answer, onward.Recourse)
    True
    >>> program.score([{"income": 20, "debts": 8, "region": "north"}])[0] < program.threshold
    True
    """

    def __init__(self, assembled: AssembledProgram, spec_file: Path | None = None) -> None:
        if not isinstance(assembled, AssembledProgram):
            raise UsageError('load_program makes a program, as in load_program("loans.yaml")')
        self._program, self._spec_file = assembled, spec_file
        address = assembled.bundle.address
        self._address = address if "://" in address else str(Path(address).absolute())

    @property
    def name(self) -> str:
        """Its name."""
        return self._program.name

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features that describe a person."""
        return tuple(feature.name for feature in self._program.spec.features)

    @property
    def model(self) -> str:
        """The version of its model."""
        return self._program.bundle.version

    @property
    def threshold(self) -> float:
        """A score between 0 and 1. A person whose score is above it is approved."""
        return self._program.spec.model.threshold

    @checks_arguments
    def suggest(
        self,
        people: People,
        *,
        id: str | None = None,
        at: datetime | None = None,
        skip_invalid: bool = False,
        options: int | None = None,
    ) -> Suggestions:
        """Answer the rejected ones among some people.

        Parameters
        ----------
        people
            A list of dicts with the features in raw units, a data frame of pandas or polars (anything with
            ``to_dict("records")`` or ``to_dicts()``), or the path of a CSV. Other columns are ignored.
        id
            The column with people's names; by default a person's name is the label in the index of a pandas data frame,
            elsewhere the number of the row, from 0.
        at
            When all of them apply, with a time zone; now by default.
        skip_invalid
            Leave out people who do not fit the spec and answer the others; the result's ``problems`` say what is wrong.
            By default one such person is an error, and nobody is answered.
        options
            The most options of a person, 1 to 10; by default those of the program.

        Raises
        ------
        OnwardError
            When people do not fit the spec: one line a problem, ten at most. With ``skip_invalid`` only where nobody
            can be read, such as a CSV without a column that is needed.
        """
        if options is not None:
            spec = _with_options(self._program.spec, options)
            return Program(self._program.begun_with(spec)).suggest(people, id=id, at=at, skip_invalid=skip_invalid)
        read_people = read_valid if switch_of("skip_invalid", skip_invalid) else read
        valid = read_people(people, self._program.spec, id)
        return self.summarised(list(self.answers(valid.people, at=at)), valid)

    @checks_arguments
    def read(self, people: People, *, id: str | None = None) -> dict[str, dict[str, Value | None]]:
        """The features of people by name, checked against the spec; the parameters are those of ``suggest``.

        A feature is None where it is not given and the spec has a ``missing`` value for it.
        """
        return read(people, self._program.spec, id).people

    @checks_arguments
    def read_valid(self, people: People, *, id: str | None = None) -> ValidPeople:
        """The ``people`` who fit the spec, as of ``read``, and the ``problems`` of the others, one a line."""
        return read_valid(people, self._program.spec, id)

    @checks_arguments
    def answers(
        self, people: Mapping[str, Mapping[str, Value | None]], *, at: datetime | None = None
    ) -> Iterator[Recourse | NoRecourse]:
        """The answers of ``suggest`` one after the other, for people of ``read``: many need not be in memory."""
        at_ms = time.time_ns() // 1_000_000 if at is None else milliseconds_of("at", at)
        self._check(people)
        return suggest(self._program, people, at_ms)

    @checks_arguments
    def summarised(self, answers: list[Recourse | NoRecourse], valid: ValidPeople) -> Suggestions:
        """Answers of ``answers`` to people of ``read_valid``, with their summary."""
        program, margin = self._program, self._program.bundle.manifest.measured.margin
        if not isinstance(valid, ValidPeople):
            raise UsageError(f"people are a {type(valid).__name__}: give those that `read_valid` returns")
        if not isinstance(answers, Sequence) or not all(map(valid.has, answers)):
            raise UsageError("answers are not those of `answers`: give a list of them")
        none = [valid.people[answer.application] for answer in answers if isinstance(answer, NoRecourse)]
        return Suggestions(
            answers,
            len(valid.people),
            program.spec,
            program.goal.margin,
            program.first_execution_source,
            valid.problems,
            valid.left_out,
            None if margin is None else margin.accepted,
            valid.origin,
            program.codec.broken_constraints(none),
        )

    @checks_arguments
    def elicit(
        self, person: Mapping[str, Any] | Frame | PolarsFrame, *, name: str = "0", at: datetime | None = None
    ) -> Elicitation:
        """Ask one person which of a few plans they would take, and find the plan that is the easiest for them.

        The same person and answers lead to the same questions and the same recourse.

        Parameters
        ----------
        person
            Their features in raw units, as one of the dicts of ``suggest``; a row of pandas or a frame of one row.
        name
            What the answer calls them.
        at
            When they apply, with a time zone; now by default.

        Raises
        ------
        OnwardError
            When the person does not fit the spec, or the program's spec has no ``elicitation``.
        """
        text_of("name", name)
        (features,) = read(one_person(person), self._program.spec).people.values()
        return self.elicit_read(name, features, at=at)

    @checks_arguments
    def elicit_read(
        self, name: str, features: Mapping[str, Value | None], *, at: datetime | None = None
    ) -> Elicitation:
        """The same for a person of ``read``."""
        spec = self._program.spec
        if spec.elicitation is None:
            raise UsageError(
                f"program {self.name!r} asks nobody: give its spec `elicitation`, as in `elicitation: {{}}`"
            )
        self._check({name: features})
        at_ms = time.time_ns() // 1_000_000 if at is None else milliseconds_of("at", at)
        return Elicitation(self._program, name, features, at_ms)

    @checks_arguments
    def score(self, people: People) -> list[float]:
        """The score of every person under the model, between 0 and 1."""
        rows = list(read(people, self._program.spec).people.values())
        scores: list[float] = self._program.bundle.model.score(self._program.codec.encode_many(rows)).tolist()
        return scores

    @checks_arguments
    def review(self, csv: str | Path, *, people: int = PEOPLE) -> Review:
        """What the program would tell people, and what is suspicious about it, before anybody is told.

        Parameters
        ----------
        csv
            Data with the spec's features and its label, such as those that the model was trained on.
        people
            The most rejected people of the data to answer. They are evenly spread over its rows.

        Raises
        ------
        OnwardError
            When the data do not fit the spec, or have no label.
        """
        data, most = path_of("csv", csv), whole_number_of("people", people, 1, MOST_REVIEWED)
        with usage_errors():
            return review(self._program, data, people=most, spec_file=self._spec_file)

    def _check(self, people: Mapping[str, Mapping[str, Value | None]]) -> None:
        """Raise ``UsageError`` for people who are not those of ``read``."""
        if not isinstance(people, Mapping):
            raise UsageError(f"people are a {type(people).__name__}: give those that `read` returns")
        for name, features in people.items():
            if not isinstance(name, str):
                raise UsageError(f"{name!r}: give people by name, a text")
            if fault := identifier_fault(name):
                raise UsageError(f"the name {shown(name)} cannot be used: {fault}")
            if not isinstance(features, Mapping):
                raise UsageError(f"{name}: a {type(features).__name__}: give its features by name")
            problem = self._program.codec.check(features)
            if problem is not None:
                raise UsageError(f"{name}: {problem.detail}")

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle holds the spec, and where the model is, which must still be there when it is opened."""
        program = self._program
        return _loaded, (f"{program.name}.yaml", document(program.spec), self._address, program.bundle.manifest_sha256)

    def __repr__(self) -> str:
        return f"<Program {self.name}: model {self.model}, {len(self.features)} features>"


@checks_arguments
def load_program(spec: str | Path, *, options: int | None = None) -> Program:
    """Load a program: its spec and the model that the spec names.

    Parameters
    ----------
    spec
        The program spec (YAML).
    options
        The most options of a recourse, 1 to 10; by default those of the spec.

    Raises
    ------
    OnwardError
        When spec or model cannot be used: one line a problem, as the command ``onward`` prints them.

    Warns
    -----
    OnwardWarning
        Where people may be told to change a feature that looks personal.

    Examples
    --------
    >>> import onward
    >>> program = onward.load_program("loans.yaml", options=1)
    >>> person = {"income": 20, "debts": 8, "region": "north"}
    >>> print(program.suggest([person]))  # doctest: +ELLIPSIS
    0: 1 way forward
      1. raise income from 20 to ... kEUR  (cost 0...)
    """
    loaded = read_spec(spec, options)
    remind(loaded.path, unprotected(loaded.spec))
    return Program(assemble(loaded), loaded.path)


def read_spec(spec: str | Path, options: int | None) -> LoadedSpec:
    """The spec of a program, with so many options at most; raise ``UsageError``."""
    with usage_errors():
        loaded = load_program_spec(path_of("spec", spec))
    if options is None:
        return loaded
    return replace(loaded, spec=_with_options(loaded.spec, options))


def _with_options(spec: ProgramSpec, options: int) -> ProgramSpec:
    most = whole_number_of("options", options, 1, MAX_OPTIONS)
    return msgspec.structs.replace(spec, policy=msgspec.structs.replace(spec.policy, options=most))


def _loaded(name: str, spec: bytes, address: str, sha256: str) -> Program:
    """A program from what a pickle holds; raise ``ModelError`` where its model is not at its address any more."""
    program = assemble(LoadedSpec(spec_of(spec, address), Path(name)), has_begun=True)
    if program.bundle.manifest_sha256 != sha256:
        raise ModelError(f"{address}: it is another model than that of the program that was pickled: load the spec")
    return Program(program)
