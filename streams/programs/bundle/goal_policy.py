"""The goal policy of a bundle: the learned policy of a goal for rounds, as plain arrays in an npz file.

The file is the one that ``onward train-rl goal`` writes. Arrays can run no code.
"""

from __future__ import annotations

from ....agents.actor import Actor
from ....agents.goals.sac import goal_policy
from .model_files import unpacked


def load_goal_policy(content: bytes) -> Actor:
    """The policy of a file's bytes. Raises an error, one line of which says why the file is refused."""
    return goal_policy(unpacked(content))
