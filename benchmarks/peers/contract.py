"""What a peer is given, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from onward.agents.candidates.contract import Score
from onward.schemas.encoding import FeatureCodec

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class Setting(NamedTuple):
    """A model and the people whom a peer may know.

    ``codec`` has the features and what may change of them, ``score`` gives the scores (n,) of encoded rows (n, D).
    ``rows`` (N, D) and ``labels`` (N,) are those that it may learn from. ``lowest`` and ``highest`` (F,) are raw values
    between which numbers may be; those of other features are not read.
    """

    codec: FeatureCodec
    score: Score
    rows: Floats
    labels: NDArray[np.int64]
    lowest: Floats
    highest: Floats


class Peer(Protocol):
    """Finds counterfactuals: rows near a person that a model accepts. It is made of a ``Setting`` and its own options.

    peer = DiCE(setting, method="random", count=3)
    peer.counterfactuals(person, required=0.5, seed=0)
    """

    def counterfactuals(self, person: Floats, required: float, seed: int) -> Floats:
        """Encoded rows (k, D) for a person (D,), whose scores are to be above ``required``; k is 0 where it finds none.

        A peer need not keep to it, nor to the rules of the features: what its rows are worth is measured.
        """


class Answer(NamedTuple):
    """Counterfactuals (P, D) of several people, whose they are (P,), and the processor seconds of all people."""

    whose: Indices
    targets: Floats
    seconds: float


def joined(found: Sequence[Floats], columns: int, seconds: float) -> Answer:
    """The answer of one array of ``columns`` columns a person."""
    whose = np.repeat(np.arange(len(found)), [len(rows) for rows in found])
    return Answer(whose, np.concatenate([np.zeros((0, columns)), *found]), seconds)
