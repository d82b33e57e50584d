"""What helps to test a method or an input of one's own, without Kafka and without pytest."""

from .choices import check_choice as check_choice
from .costs import check_cost as check_cost
from .generators import check_generator as check_generator
from .goals import check_goal as check_goal
from .improvements import check_improvement as check_improvement
from .inputs import check_input as check_input
from .laws import ContractError as ContractError
from .memory_broker import MemoryBroker as MemoryBroker
from .program import build_program as build_program
from .promises import check_promise as check_promise
from .tape import Tape as Tape
