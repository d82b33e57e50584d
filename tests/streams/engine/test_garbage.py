"""What a portion is folded with is gone when it is folded: a collection of garbage stops all threads of a worker."""

import asyncio
import gc

from onward.streams.engine.fold import Fold
from onward.streams.engine.selection import LookAhead
from onward.streams.engine.timing.timers import TimerQueue
from onward.testing.tape import tape


def test_a_fold_leaves_no_cycles(tmp_path):
    story = tape(tmp_path, window={"steps": 2}, decisions="external")
    for number in range(8):
        story.applies(f"p{number}", number)
        story.decides(f"p{number}", number)
    gc.collect()
    gc.disable()
    try:
        asyncio.run(story.folded("ledger", [[record] for record in story.journal]))
        left = [type(one) for one in gc.get_objects() if type(one) in (Fold, LookAhead, TimerQueue)]
    finally:
        gc.enable()
    assert len(story.rewards()) == 6
    assert left == []
