"""Whether the learner keeps the contract of choices, and the input that of inputs."""

from success_share import SuccessShare
from withdrawals import Withdrawal

from onward.testing import check_choice, check_input

check_choice(SuccessShare)
check_input(Withdrawal("loans", "ada"))
print("success_share and Withdrawal keep their contracts")
