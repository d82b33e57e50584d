"""One handler a kind of event: what happens when the engine meets it."""

from .application import ApplicationHandler
from .contract import Handler, TimerHandler, add, discard, handlers, timer_handlers
from .dead_letter import DeadLetterHandler
from .decision import DecisionHandler
from .expired_wait import WaitTimerHandler
from .expired_window import WindowTimerHandler
from .increment import IncrementHandler
from .model import ModelHandler
from .outcome import OutcomeHandler
from .promises.expiry import PromiseEndTimerHandler
from .rounds.announcement import RoundHandler
from .rounds.end import RoundEndTimerHandler
from .spec import SpecHandler
from .tick import TickHandler

__all__ = ["Handler", "TimerHandler", "add", "discard", "handlers", "timer_handlers"]

add(
    ApplicationHandler(),
    DecisionHandler(),
    OutcomeHandler(),
    ModelHandler(),
    SpecHandler(),
    RoundHandler(),
    IncrementHandler(),
    DeadLetterHandler(),
    TickHandler(),
    WindowTimerHandler(),
    WaitTimerHandler(),
    RoundEndTimerHandler(),
    PromiseEndTimerHandler(),
)
