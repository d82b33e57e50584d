"""Journal replay: a journal is folded again, for what no ledger keeps.

That is every step's options, its reward, and what picks taught.

The fold is that of the workers, with a temporary ledger. So the replay computes what was published.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import UNSET, Struct

from ...agents.options import Options
from ...schemas.events import Erased, NoRecourse, Recourse, Reward, SourcePosition, Tick
from ...schemas.kinds import kinds
from ..engine.handlers.model import load_models
from ..engine.portion import PORTION_ENTRIES, PortionChanges, PreferenceUpdate
from ..engine.process import footprint, process
from ..engine.rewards.fates import CLOSED
from ..engine.shards import Shard
from ..engine.timing.watermark import clock_moves, required_topics
from ..errors import JournalCutError
from ..journal.entries import NO_CASE, Entry
from ..journal.forged_records import ForgedRecords
from ..journal.lines import read_entries
from ..ledger.ledger import Ledger
from ..programs.program import Program
from ..records import Record, TopicPartition
from ..topics import Topics
from ..worker_defaults import WAITING_LIMIT


class ReplayedStep(Struct, frozen=True, gc=False, eq=False):
    """A step that was taken for a person with these ``options``.

    ``picked`` holds the arm and propensity of each option of the recourse, best first; it is empty where there is none.
    ``policy_version`` is that of the spec in force.
    """

    shard: int
    number: int
    options: Options
    picked: tuple[tuple[int, float], ...]
    policy_version: str


class ReplayedFate(Struct, frozen=True, gc=False):
    """The end of a step's recourse: its ``reward``, None when the person never saw it.

    ``arm`` is that of the option that was taken up, None where there are several and the outcome names none. ``acted``
    is whether the person carried it out, None where that is not known.
    """

    shard: int
    number: int
    reward: float | None
    arm: int | None
    censored: bool
    acted: bool | None = None


class JournalReplay:
    """Replays one journal partition for one program. Of other programs' events only the time counts.

    ``directory`` is for the temporary ledger, ``PARTITION.sqlite``. One that is there is folded on from where it
    stands; it holds no other program (``ledger/one_program.py``). ``forged`` is what the journal says of forged
    records.
    """

    def __init__(
        self,
        program: Program,
        topics: Topics,
        journal: TopicPartition,
        directory: Path,
        forged: ForgedRecords | None = None,
    ) -> None:
        self._program, self._journal = program, journal
        self._forged = forged or ForgedRecords()
        self._ledger = Ledger(directory / f"{journal.partition}.sqlite", *journal)
        try:
            self._state = self._ledger.load({program.name: program}, required_topics(topics), WAITING_LIMIT)
        except BaseException:
            self._ledger.close()
            raise
        self._begin = self._state.offset
        self._entries: list[Entry] = []

    def close(self) -> None:
        """Close the ledger."""
        self._ledger.close()

    def feed(self, record: Record) -> Iterator[ReplayedStep | ReplayedFate | PreferenceUpdate]:
        """Fold the next record, now or later; return the steps, closings and lessons so far.

        Raise ``JournalCutError`` when the journal is gone where the replay begins.
        """
        if record.offset < self._begin or self._forged.leaves_out(record.offset):
            return
        self._forged.check(self._journal, record.offset)
        has_begun = self._state.offset > self._begin or self._entries
        if not has_begun and record.first_offset > self._forged.next_offset(self._begin):
            raise JournalCutError(
                f"{record.topic} partition {record.partition} begins at offset {record.offset}: what came before is "
                "needed too, and was deleted (`onward worker --journal-days`, or the topic's retention)"
            )
        self._entries += map(self._entry_or_tick, read_entries(record))
        if len(self._entries) >= PORTION_ENTRIES:
            yield from self.rest()

    def rest(self) -> Iterator[ReplayedStep | ReplayedFate | PreferenceUpdate]:
        """Fold what has not been folded yet."""
        entries, self._entries = self._entries, []
        taken: dict[tuple[int, int], ReplayedStep] = {}

        def observe(shard: Shard, options: Options, picked: Sequence[tuple[int, float]]) -> None:
            version = shard.program.policy_version
            taken[shard.number, shard.step] = ReplayedStep(shard.number, shard.step, options, tuple(picked), version)

        models = load_models(self._state, entries)
        view = self._ledger.view(self._state, footprint(entries), models)
        effects = process(self._state, entries, view, observe)
        self._ledger.commit(self._state, effects)
        yield from _in_order(effects, taken)
        yield from effects.preference_updates

    def _entry_or_tick(self, entry: Entry) -> Entry:
        """The entry, or a tick in the place of another program's event."""
        if entry.kind.about is None or getattr(entry.body, "program", None) == self._program.name:
            return entry
        clocks = tuple(SourcePosition(*source, time_ms) for source, time_ms in clock_moves(entry))
        return msgspec.structs.replace(entry, key=NO_CASE, kind=kinds["tick"], body=Tick(clocks))


def _in_order(
    effects: PortionChanges, taken: Mapping[tuple[int, int], ReplayedStep]
) -> Iterator[ReplayedStep | ReplayedFate]:
    """Steps and closings, in the order of the journal."""
    for emission in effects.emissions:
        event = emission.event
        if isinstance(event, Recourse) and event.is_revision:
            continue
        if isinstance(event, (Recourse, NoRecourse)):
            yield taken[event.shard, event.step]
        elif isinstance(event, Reward) and event.fate in CLOSED:
            assert event.step is not None, f"{event.fate} without a step"
            reward = None if event.fate == "unseen" else event.reward
            arm = None if event.candidate is None else int(event.candidate)
            acted = None if event.acted is UNSET else event.acted
            yield ReplayedFate(event.shard, event.step, reward, arm, event.fate == "censored", acted)
        elif isinstance(event, Erased):
            yield from (ReplayedFate(ended.shard, ended.step, None, None, False) for ended in event.recourses)
