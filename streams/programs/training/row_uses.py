"""The rows that a model is made of, and what each of them is for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....schemas.specfile import LoadedSpec
from ....schemas.table import Table, read_table
from ....schemas.unlabelled import unlabelled_in_words

Indices = NDArray[np.intp]


class RowUses(NamedTuple):
    """What the rows of a table are for, by their numbers.

    The ``population`` is kept, as far as it is needed. The ``helping`` rows teach whether changes help, which the
    ``held_out`` ones measure. Of ``recourse``, those that the model accepts may become instances, and the others show
    what people are served. The model was not fitted on the ``unseen`` rows, and is ``judged`` on some of them.
    """

    population: Indices
    helping: Indices
    held_out: Indices
    recourse: Indices
    unseen: Indices
    judged: Indices


def labelled(csv: Path, loaded: LoadedSpec, tell: Callable[[str], None]) -> Table:
    """The rows of a file that have a label; how many have none is told."""
    table = read_table(csv, loaded.spec)
    for line in unlabelled_in_words(table.without_label):
        tell(line)
    return table
