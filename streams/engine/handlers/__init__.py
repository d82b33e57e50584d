"""One handler a kind of event, and the table of all that the rooms of the engine add to it."""

from ..contract import Handler, TimerHandler, Work, add, discard, handlers, states, timer_handlers, works
from ..erasure.gate import ErasureGate
from ..erasure.handler import ErasureHandler
from ..erasure.state import Erasures, ForgetErasedTimerHandler
from ..picks.answer import AnswerHandler
from ..picks.population import PickedPopulation
from ..promises.ending import PromiseEndTimerHandler
from ..promises.revalidation import REVALIDATION
from ..promises.state import PromiseState
from ..questions.deadline import AnswerDeadlineTimerHandler
from ..rewards.acted import ActedHandler
from ..rewards.outcome import OutcomeHandler, WindowTimerHandler
from ..rewards.watch import RewardWatch
from ..rounds.announcement import RoundHandler
from ..rounds.closing import CLOSING, RoundEndTimerHandler
from ..rounds.state import ProgramRounds
from ..sharing.evidence import SharedEvidence
from ..sharing.increment import IncrementHandler
from .application import ApplicationHandler
from .decision import DecisionHandler
from .expired_wait import WaitTimerHandler
from .journal_kinds import DeadLetterHandler, ReturnHandler, TickHandler
from .model import ModelHandler
from .spec import SpecHandler

__all__ = ["Handler", "TimerHandler", "Work", "add", "discard", "handlers", "states", "timer_handlers", "works"]

add(ApplicationHandler(), DecisionHandler(), OutcomeHandler(), ModelHandler(), SpecHandler(), RoundHandler())
add(AnswerHandler(), ActedHandler(), IncrementHandler(), DeadLetterHandler(), TickHandler(), ReturnHandler())
add(WindowTimerHandler(), WaitTimerHandler(), RoundEndTimerHandler(), PromiseEndTimerHandler())
add(AnswerDeadlineTimerHandler())
add(RewardWatch, PickedPopulation, SharedEvidence, ProgramRounds, PromiseState)
add(CLOSING, REVALIDATION)
add(Erasures, ErasureHandler(), ErasureGate(), ForgetErasedTimerHandler())
