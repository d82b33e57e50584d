"""The state of learners and goals: arrays by name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

State = Mapping[str, NDArray[Any]]


def check_state(given: State, current: State, owner: str, variable_length: Collection[str] = ()) -> None:
    """Raise ``ValueError`` unless a state has finite arrays of the names, shapes and types of the ``owner``'s own.

    The first axis of arrays of ``variable_length`` may have any length.
    """
    kinds, own_kinds = (
        {name: (array.shape[name in variable_length :], array.dtype) for name, array in state.items()}
        for state in (given, current)
    )
    if kinds != own_kinds:
        raise ValueError(f"the state holds {_sizes(given)}, this {owner} {_sizes(current)}: it is another's")
    for name, array in given.items():
        if not np.isfinite(array).all():
            raise ValueError(f"the state's {name} holds a number that is not finite: it is damaged")


def _sizes(state: State) -> str:
    return ", ".join(f"{name} {array.dtype}{list(array.shape)}" for name, array in state.items()) or "nothing"
