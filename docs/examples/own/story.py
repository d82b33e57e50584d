"""A story: two people are turned down, the first withdraws, and the second did what was suggested."""

from pathlib import Path
from tempfile import TemporaryDirectory

from success_share import SuccessShare
from withdrawals import Confirmation, Withdrawal

from onward.testing.tape import MINUTE_MS, TIMED, tape

with TemporaryDirectory() as folder:
    story = tape(Path(folder), choice=SuccessShare.name, **TIMED)
    story.applies("ada")
    story.applies("bob", ms=MINUTE_MS)
    story.send("withdrawals", Withdrawal("loan", "ada"), ms=2 * MINUTE_MS, id="ada withdraws")
    story.outcome("bob", ms=3 * MINUTE_MS)
    story.tick(ms=60 * MINUTE_MS)
    story.fold()
    print("told:", [answer.application for answer in story.answers()])
    print("confirmed:", [event.application for event in story.run.events("confirmations", Confirmation)])
    print("fates:", story.fates())
