"""The kinds of events: one table, from which everything that enumerates kinds is derived.

Topics, decoders, the lines of the journal, ingest, the AsyncAPI document and the JSON Schemas follow from ``kinds``.
A new input is an entry here and a handler in ``streams/engine/handlers/``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import Any, Literal, get_args

import msgspec
from msgspec import Raw, Struct

from .events import (
    Acted,
    Answer,
    Application,
    DeadLetter,
    Decision,
    Erased,
    Erasure,
    Increment,
    Model,
    ModelDecision,
    NoRecourse,
    Outcome,
    PromiseChange,
    Question,
    RawApplication,
    RawErasure,
    RawReturn,
    RawSpec,
    Recourse,
    Return,
    Revalidation,
    Reward,
    Round,
    Spec,
    Threshold,
    Tick,
)

WatermarkName = Literal["model", "external", "rounds", "answers"]
"""The watermarks of programs that decide by their model, that others decide, that close rounds, and that ask people."""
Flow = Literal["input", "output", "journal"]

ALL: frozenset[WatermarkName] = frozenset(get_args(WatermarkName))


@dataclass(frozen=True)
class Kind:
    """One kind of event.

    Parameters
    ----------
    name
        What the CloudEvents type is made of: ``onward.NAME.v1``.
    structs
        The structs of its JSON; several make a tagged union.
    title
        One line for the generated documents.
    flow
        ``input``: ingest reads it; ``output``: the engine publishes it; ``journal``: it stands in the journal only.
    topic
        The topic of an input or output, without the installation's prefix; ``description`` is the topic's. Outputs may
        share one.
    body
        How the journal reads the JSON, where that is not the struct itself.
    about
        ``case``: it names a program and an application; ``program``: every shard of the program gets it; ``person``: it
        names a program, and an application or an applicant, whose events may be in any shard.
    waits_for
        What its case must have before it can be applied: ``application``, that it is open; ``decision``, that it is
        decided too. Until then it waits.
    clocks
        The watermarks that wait for its topic, and that its event time moves.
    journaled
        Whether an output stands in the journal too, before it is published.
    reread
        Whether ingest reads an output again, into the journal partitions of all shards of its program.
    """

    name: str
    structs: tuple[type[Struct], ...]
    title: str
    flow: Flow
    topic: str | None = None
    description: str = ""
    body: type[Struct] | None = None
    about: Literal["case", "program", "person"] | None = None
    waits_for: Literal["application", "decision"] | None = None
    clocks: frozenset[WatermarkName] = frozenset()
    journaled: bool = False
    reread: bool = False

    @property
    def in_journal(self) -> bool:
        """Whether lines of the journal may hold it."""
        return self.flow != "output" or self.journaled or self.reread

    @cached_property
    def ce_type(self) -> str:
        """The CloudEvents type."""
        return f"onward.{self.name}.v1"

    @cached_property
    def decode(self) -> Callable[[bytes | Raw], Any]:
        """Reads the public struct from JSON."""
        union: Any = reduce(or_, self.structs)
        return msgspec.json.Decoder(union).decode

    @cached_property
    def decode_body(self) -> Callable[[bytes | Raw], Any]:
        """Reads what the journal holds."""
        return self.decode if self.body is None else msgspec.json.Decoder(self.body).decode


class Kinds:
    """A table of kinds, found by name, by CloudEvents type and by struct."""

    def __init__(self, *kinds: Kind) -> None:
        self._by_name: dict[str, Kind] = {}
        self.by_type: dict[str, Kind] = {}
        self.by_struct: dict[type[Struct], Kind] = {}
        self.add(*kinds)

    def add(self, *added: Kind) -> None:
        """Add kinds; raise ``ValueError`` when a name is taken."""
        for kind in added:
            if kind.name in self._by_name:
                raise ValueError(f"there is a kind {kind.name!r} already")
            self._by_name[kind.name] = self.by_type[kind.ce_type] = kind
            for struct in (*kind.structs, *([kind.body] if kind.body else [])):
                self.by_struct[struct] = kind

    def discard(self, *discarded: Kind) -> None:
        """Take kinds out again."""
        for kind in discarded:
            del self._by_name[kind.name], self.by_type[kind.ce_type]
        self.by_struct = {struct: kind for struct, kind in self.by_struct.items() if kind not in discarded}

    def __getitem__(self, name: str) -> Kind:
        return self._by_name[name]

    def index(self, name: str) -> int:
        """The place of a kind in the table."""
        return list(self._by_name).index(name)

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._by_name.values())

    def of_flow(self, flow: Flow) -> list[Kind]:
        """The kinds of a flow, in the order of the table."""
        return [kind for kind in self if kind.flow == flow]

    @property
    def ingested(self) -> list[Kind]:
        """The kinds that ingest reads: the inputs, and the outputs that are read again."""
        return [kind for kind in self if kind.flow == "input" or kind.reread]


kinds = Kinds(
    Kind(
        "application",
        (Application,),
        "What a person sent",
        "input",
        "applications",
        "Applications, keyed as the sender likes.",
        body=RawApplication,
        about="case",
        clocks=ALL,
    ),
    Kind(
        "decision",
        (Decision,),
        "An external system's answer to an application",
        "input",
        "decisions",
        "Decisions of programs with `decisions: external`.",
        about="case",
        waits_for="application",
        clocks=frozenset({"external", "rounds", "answers"}),
    ),
    Kind(
        "answer",
        (Answer,),
        "Which option a person would take",
        "input",
        "answers",
        "Which option of their recourse or of a question people would take, or that they would take none.",
        about="case",
        waits_for="decision",
        clocks=frozenset({"answers"}),
    ),
    Kind(
        "acted",
        (Acted,),
        "Somebody carried a suggestion out",
        "input",
        "acted",
        "That people carried a suggestion out, before it is known whether it helped.",
        about="case",
        waits_for="decision",
    ),
    Kind(
        "outcome",
        (Outcome,),
        "What happened after a recourse",
        "input",
        "outcomes",
        "Delayed outcomes.",
        about="case",
        waits_for="decision",
        clocks=ALL,
    ),
    Kind(
        "model",
        (Model,),
        "A new model version",
        "input",
        "models",
        "New model versions of programs.",
        about="program",
    ),
    Kind(
        "spec",
        (Spec,),
        "A program's changed spec",
        "input",
        "specs",
        "Changed specs of programs.",
        body=RawSpec,
        about="program",
    ),
    Kind(
        "round",
        (Round,),
        "The end of a round with limited places",
        "input",
        "rounds",
        "Rounds of programs with limited places, announced before they end.",
        about="program",
        clocks=frozenset({"rounds"}),
    ),
    Kind(
        "erasure",
        (Erasure,),
        "Somebody whose traces are to go",
        "input",
        "erasures",
        "People to be forgotten, by application or applicant.",
        body=RawErasure,
        about="person",
    ),
    Kind(
        "recourse",
        (Recourse, NoRecourse),
        "A way forward, or why there is none",
        "output",
        "recourse",
        "One answer to each rejected application.",
    ),
    Kind(
        "question",
        (Question,),
        "Which of these plans a rejected person would take",
        "output",
        "questions",
        "Questions to rejected people, of programs that ask.",
    ),
    Kind("reward", (Reward,), "The fate of a recourse", "output", "rewards", "The fate of every recourse and outcome."),
    Kind(
        "erased", (Erased,), "The receipt of an erasure", "output", "rewards", "The fate of every recourse and outcome."
    ),
    Kind(
        "model-decision",
        (ModelDecision,),
        "Whether an application is approved, by the program's own model",
        "output",
        "model-decisions",
        "The decisions of programs with `decisions: model`, one for each application.",
    ),
    Kind(
        "threshold",
        (Threshold,),
        "A closed round: its threshold, and the goal for the next ones",
        "output",
        "thresholds",
        "Every closed round of programs with limited places.",
    ),
    Kind(
        "promise",
        (PromiseChange, Revalidation),
        "The end of a promise, or what a new model means for the open ones",
        "output",
        "promises",
        "What became of every promise, once.",
    ),
    Kind(
        "increment",
        (Increment,),
        "What a shard has learned, for the others of its program",
        "output",
        "increments",
        "What the shards of a program tell each other. Internal.",
        about="program",
        reread=True,
    ),
    Kind(
        "dead-letter",
        (DeadLetter,),
        "A record that Onward could not use",
        "output",
        "dead-letters",
        "Records that could not be used.",
        journaled=True,
    ),
    Kind("tick", (Tick,), "Event time passing without records", "journal"),
    Kind(
        "return",
        (Return,),
        "Somebody who comes back, for the partition of their earlier application",
        "journal",
        body=RawReturn,
        about="case",
    ),
)
"""Every kind of event, in the order in which the topics are listed and waiting events are applied."""


def ce_type(event: Struct | type[Struct]) -> str:
    """The CloudEvents type of an event or of its struct."""
    return kinds.by_struct[event if isinstance(event, type) else type(event)].ce_type
