"""The goal policy of a bundle: the learned policy of a goal for rounds, as plain arrays in an npz file.

The file is the one that ``onward train-rl goal`` writes. Arrays can run no code.
"""

from __future__ import annotations

import io

from ....agents.actor import Actor, load_arrays
from ....agents.goals.sac import goal_policy
from .model_files import check_unpacked_size


def load_goal_policy(content: bytes) -> Actor:
    """The policy of a file's bytes. Raises an error, one line of which says why the file is refused."""
    check_unpacked_size(content)
    return goal_policy(load_arrays(io.BytesIO(content)))
