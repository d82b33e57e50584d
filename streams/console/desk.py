"""What both sites of the console work with."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...schemas.events import Answer, Outcome
from ..replay.happenings import Happening
from .cases import Cases, ConsoleCase
from .links import Links
from .looks import Looks
from .outbox import Outbox
from .pages import Pages
from .programs import ConsoleProgram


@dataclass(frozen=True)
class Desk:
    """The parts of a console.

    Parameters
    ----------
    programs
        By name; the first one speaks where no case is known.
    wake
        Called when a form is kept, so that it is sent soon.
    now
        The seconds since the epoch.
    """

    cases: Cases
    outbox: Outbox
    links: Links
    looks: Looks
    programs: Mapping[str, ConsoleProgram]
    pages: Pages
    wake: Callable[[], None]
    now: Callable[[], float] = time.time

    @property
    def now_ms(self) -> int:
        """The milliseconds since the epoch."""
        return int(self.now() * 1000)

    def happenings(self, case: ConsoleCase) -> list[Happening]:
        """Those of a case, and what was sent from here that the journal does not show yet."""
        known = {happening.id for happening in case.happenings}
        sent = (happening for happening in self.outbox.pending(case.handle) if happening.id not in known)
        return [*case.happenings, *sent]

    def keep(self, case: ConsoleCase, event: Answer | Outcome, once: str, time_ms: int, *, who: str, what: str) -> None:
        """Keep what somebody has sent, and note it; the same form, by its ``once``, counts once."""
        self.outbox.put(case.handle, event, event_id=f"console/{case.handle}/{once}", time_ms=time_ms)
        self.looks.note(case.handle, who, what)
        self.wake()
