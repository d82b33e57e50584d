"""Effects of a fold: events to publish and rows of the ledger to write."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from ..journal.entries import CaseKey, JournalPosition
from ..outputs.emission import Emission
from .cases import Case, ProcessedEvent
from .promises.recourse import OpenRecourse
from .rounds.promised_scores import PromisedScore
from .state import ShardKey
from .timers import Timer
from .waiting import WaitingEvent


@dataclass
class Effects:
    """Everything that one portion changed.

    ``waiting`` holds the events that wait now (None: waits no longer), ``processed`` when each processed event is
    forgotten, ``timers`` those that are set (True) and cancelled (False). ``models`` are the programs with another
    model, ``specs`` those with another spec, ``rounds`` those whose rounds changed, ``promised`` those whose record of
    promises did, ``shared`` those whose shards told each other what they have learned, and ``promises`` are the
    promises that were opened or changed, and ended (None). ``counts`` holds how often what the metrics count came
    about: a name, a label (such as the program) and a detail. ``delays`` holds, for every outcome that counted, the
    program and its delay in milliseconds of event time and in steps. ``predictions`` holds, for every option whose
    reward is known, the program, the execution probability that the learner counts the option with, and the reward.
    """

    emissions: list[Emission] = field(default_factory=list)
    cases: dict[CaseKey, Case] = field(default_factory=dict)
    timers: dict[Timer, bool] = field(default_factory=dict)
    waiting: dict[JournalPosition, WaitingEvent | None] = field(default_factory=dict)
    processed: dict[ProcessedEvent, int] = field(default_factory=dict)
    shards: set[ShardKey] = field(default_factory=set)
    models: set[str] = field(default_factory=set)
    specs: set[str] = field(default_factory=set)
    rounds: set[str] = field(default_factory=set)
    promised: set[str] = field(default_factory=set)
    shared: set[str] = field(default_factory=set)
    promises: dict[CaseKey, PromisedScore | OpenRecourse | None] = field(default_factory=dict)
    counts: defaultdict[tuple[str, str, str], int] = field(default_factory=lambda: defaultdict(int))
    delays: list[tuple[str, int, int]] = field(default_factory=list)
    predictions: list[tuple[str, float, float]] = field(default_factory=list)
