"""Workers under a supervisor, as in production: whatever a worker ends with, it is started again."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, Self

from onward.benchmarks.arena.process import WatchedProcess
from onward.faults.worker import PORTION_ENTRIES

COMMAND = (sys.executable, "-P", "-m", "onward.faults.worker")
SESSION_SECONDS = 6.0
"""The shortest that brokers accept by default."""
FENCED = 6
"""What a worker ends with that stood still for so long that its partitions may have another owner."""
_LOOK_SECONDS = 0.1
_STOP_SECONDS = 120.0
_STOPPED = {0, -signal.SIGTERM}
"""In good order, or before it had begun to listen to signals."""
_OPENED = "opened ledger"
_OPEN_SECONDS = 240.0
_AGAIN_SECONDS = 0.5


class Orders(NamedTuple):
    """What is to happen to one life of a worker, see ``worker.py``; ``rest_seconds`` pass before it begins."""

    point: str | None = None
    nth: int = 1
    delay_ms: float = 0.0
    signal: str = "SIGKILL"
    clock_ms: int = 0
    jump_ms: int = 0
    portion_entries: int = PORTION_ENTRIES
    chunk_records: int = 500
    rest_seconds: float = 0.0

    @property
    def flags(self) -> list[str]:
        """For the command line."""
        strike = ["--point", self.point, "--nth", str(self.nth), "--delay-ms", str(self.delay_ms)] if self.point else []
        clock = ["--clock-ms", str(self.clock_ms), "--jump-ms", str(self.jump_ms)]
        return [*strike, "--signal", self.signal, *clock, "--portion-entries", str(self.portion_entries)]


class Life(WatchedProcess):
    """A worker's process. ``killed`` says that the suite has done so."""

    killed = False

    def kill(self) -> None:
        """End it as a crash would."""
        self.killed = True
        super().kill()

    def jump(self) -> None:
        """Let its clock jump as it was ordered to."""
        self._signal(signal.SIGUSR1)

    @property
    def code(self) -> int | None:
        """What it has ended with; None while it runs."""
        return self._process.poll()

    @property
    def stands(self) -> bool:
        """Whether it was stopped."""
        return Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"

    def finish(self, seconds: float) -> int | None:
        """Ask it to end; return its code, or None when it does not in time."""
        self._process.terminate()
        self.let_go()
        with suppress(Exception):
            self._process.wait(seconds)
        return self.code


@dataclass
class Slot:
    """A worker: its state folder outlives its processes. ``lives`` is how many there were before the one that is under
    way or comes next; ``begin`` is where in the log the present one begins."""

    number: int
    state: Path
    log: Path
    random: Random
    life: Life | None = None
    lives: int = 0
    due: float = 0.0
    orders: Orders = field(default_factory=Orders)
    begin: int = 0

    def works(self) -> bool:
        """Whether its process has begun to work: it has opened a ledger."""
        if self.life is None or self.life.ended:
            return False
        return any(line["message"] == _OPENED for line in told(self.log, self.begin))


Draw = Callable[[Slot], Orders]
"""Draws the orders of a worker's next life."""


@dataclass
class Fleet:
    """Workers of one group. ``draw`` says what happens to each of their lives; ``expected`` are codes that they may
    end with beside SIGKILL's. What else they end with is in ``surprises``, and so is a SIGKILL that nobody ordered;
    ``struck`` counts the points at which they killed themselves. ``static`` members keep their partitions while they
    restart; a ``command`` without ``flags`` takes no orders. ``calm_clock_ms`` is how far ahead the clocks of the last
    lives are, to which nothing more happens.
    """

    folder: Path
    environment: Mapping[str, str]
    size: int
    draw: Draw
    seed: str
    expected: set[int] = field(default_factory=lambda: {FENCED})
    static: bool = True
    state: Path | None = None
    command: Sequence[str] = COMMAND
    flags: bool = True
    calm_clock_ms: int = 0
    ends: Counter[int] = field(default_factory=Counter)
    struck: Counter[str] = field(default_factory=Counter)
    surprises: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        state = self.state or self.folder
        self.slots = [
            Slot(n, state / f"state-{n}", self.folder / f"worker-{n}.log", Random(f"{self.seed}/worker {n}"))
            for n in range(1, self.size + 1)
        ]

    def __enter__(self) -> Self:
        try:
            for slot in self.slots:
                self._plan(slot)
            self.tend()
        except BaseException:
            self._kill_all()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._kill_all()

    def _kill_all(self) -> None:
        for slot in self.slots:
            if slot.life is not None and not slot.life.ended:
                slot.life.kill()

    def watch(self, seconds: float) -> None:
        """Let time pass."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.tend()
            time.sleep(min(left, _LOOK_SECONDS))

    def opened(self) -> int:
        """How many ledgers have been opened so far."""
        return self.said(_OPENED)

    def await_opened(self, count: int) -> None:
        """Let time pass until so many ledgers have been opened."""
        self.until(lambda: self.opened() >= count, f"{count} ledgers were opened")

    def await_work(self, *slots: Slot) -> None:
        """Let time pass until these workers, or all, work."""
        for slot in slots or self.slots:
            self.until(slot.works, f"worker {slot.number} worked")

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Let time pass until it is so. It is a surprise when that does not come for long."""
        deadline = time.monotonic() + _OPEN_SECONDS
        while not condition():
            if time.monotonic() > deadline:
                self.surprises.append(f"it took more than {_OPEN_SECONDS:g} s until {what}")
                return
            self.watch(_LOOK_SECONDS)

    def tend(self) -> None:
        """Start what has ended."""
        for slot in self.slots:
            if slot.life is not None and (code := slot.life.code) is not None:
                self._ended(slot, slot.life, code)
            if slot.life is None and time.monotonic() >= slot.due:
                self._start(slot)

    def calm(self) -> None:
        """Nothing more is to happen. Lives to which something still would, or whose clock is another, are ended."""
        self.draw = lambda _slot: Orders(clock_ms=self.calm_clock_ms)
        for slot in self.slots:
            if slot.life is None:
                # What was drawn for when it has rested must not happen either.
                self._plan(slot)
        for slot in self.slots:
            if slot.orders.point or slot.orders.jump_ms or slot.orders.clock_ms != self.calm_clock_ms:
                self.kill(slot)

    def kill(self, slot: Slot) -> None:
        """End a worker's process at once, if it runs."""
        if slot.life is not None and not slot.life.ended:
            slot.life.kill()
        self.tend()

    def stop(self) -> None:
        """End all in good order."""
        for slot in self.slots:
            if slot.life is not None and (code := slot.life.finish(_STOP_SECONDS)) not in _STOPPED | self.expected:
                self.surprises.append(f"worker {slot.number} ended with {code}: {slot.life.last_words()}")
                slot.life.kill()
            slot.life = None

    @property
    def ledgers(self) -> list[Path]:
        """Of all workers."""
        return [path for slot in self.slots for path in sorted(slot.state.glob("*.sqlite"))]

    @property
    def kills(self) -> int:
        """How many lives have ended with SIGKILL."""
        return self.ends[-signal.SIGKILL]

    @property
    def takeovers(self) -> int:
        """How often a partition's ledger was opened by another worker than before."""
        opened = sorted(
            (line["time"], line["partition"], slot.number)
            for slot in self.slots
            for line in told(slot.log)
            if line["message"] == _OPENED
        )
        owners: dict[int, int] = {}
        count = 0
        for _, partition, number in opened:
            count += owners.setdefault(partition, number) != number
            owners[partition] = number
        return count

    def said(self, words: str) -> int:
        """In how many log messages these words are."""
        return sum(words in line["message"] for slot in self.slots for line in told(slot.log))

    def _plan(self, slot: Slot) -> None:
        slot.orders = self.draw(slot)
        slot.due = time.monotonic() + slot.orders.rest_seconds
        slot.lives += 1

    def _start(self, slot: Slot) -> None:
        own = {"ONWARD_STATE_DIR": str(slot.state), "ONWARD_CHUNK_RECORDS": str(slot.orders.chunk_records)}
        if self.static:
            own["ONWARD_GROUP_INSTANCE_ID"] = f"worker-{slot.number}"
        slot.begin = slot.log.stat().st_size if slot.log.exists() else 0
        command = [*self.command, *(slot.orders.flags if self.flags else [])]
        slot.life = Life(command, slot.log, {**self.environment, **own}).__enter__()

    def _ended(self, slot: Slot, life: Life, code: int) -> None:
        self.ends[code] += 1
        if code == -signal.SIGKILL and not life.killed and slot.orders.point and slot.orders.signal == "SIGKILL":
            self.struck[slot.orders.point] += 1
        elif not (code == -signal.SIGKILL and life.killed) and code not in self.expected:
            self.surprises.append(f"worker {slot.number} ended with {code}: {life.last_words()}")
        slot.life = None
        self._plan(slot)
        if code != -signal.SIGKILL:
            slot.due += _AGAIN_SECONDS


def told(log: Path, begin: int = 0) -> Iterator[dict[str, Any]]:
    """The lines of a worker's log from a byte on, but for those that a kill has cut."""
    if log.exists():
        for line in log.read_bytes()[begin:].decode(errors="replace").splitlines():
            with suppress(ValueError):
                content = json.loads(line)
                if isinstance(content, dict) and "message" in content:
                    yield content
