"""The learned policy of a goal for rounds. ``onward train-rl goal`` makes it, and a model keeps it."""

from __future__ import annotations

from pathlib import Path

from ....schemas.specfile import LoadedSpec
from ...errors import ModelError, UsageError, one_line
from ..bundle.goal_policy import load_goal_policy
from ..bundle.model_files import read_local
from ..limited_places import needed_for_rounds


def read_goal_policy(file: Path | None, loaded: LoadedSpec) -> bytes | None:
    """The bytes of a policy's file, None where there is none and the spec's goal needs none.

    Raises ``UsageError`` where the goal needs one and there is none or it cannot be read, ``ModelError`` where the file
    is damaged or of something else.
    """
    if file is None:
        if "goal_policy" in needed_for_rounds(loaded.spec):
            raise UsageError(
                f"{loaded.path}: `goal: {loaded.spec.policy.goal}` needs a policy: give --goal-policy FILE, which "
                "`onward train-rl goal` writes"
            )
        return None
    content = read_local(file)
    try:
        load_goal_policy(content)
    except Exception as error:  # the libraries' errors have no base class
        raise ModelError(f"{file}: it is no goal policy: {one_line(error)}") from None
    return content
