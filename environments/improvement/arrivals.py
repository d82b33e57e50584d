"""The people of a world in the order in which they apply."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from ...schemas.encoding import FeatureCodec
from .people import People, Row


class DueOutcome(NamedTuple):
    """An outcome to publish once application number ``due`` is answered.

    ``option`` is the index of the option that it is about, from 0; None where the world knows one only.
    """

    application: str
    result: Literal["improved"]
    due: int
    option: int | None = None


class Arrivals:
    """Applications, numbered t = 0, 1, ...; a round is one application that the model rejects.

    ``distinct`` (n, D) are the encoded rows of the distinct people; ``row_of`` (T,) is the one of each application.
    """

    def __init__(self, people: People, codec: FeatureCodec) -> None:
        self._people, self.row_of = people, people.row_of
        self.distinct = codec.encode_many(people.rows)
        self._rounds = np.cumsum(people.rejected) - 1
        self._arrivals = np.flatnonzero(people.rejected)

    @property
    def people(self) -> int:
        """How many applications the world has."""
        return len(self._people.row_of)

    @property
    def rejected(self) -> int:
        """How many of them the model rejects: the number of rounds."""
        return len(self._arrivals)

    def application(self, t: int) -> tuple[str, Row]:
        """The id and the raw features of application t."""
        return f"a{t:06d}", self._people.rows[self._people.row_of[t]]

    def number(self, application: str) -> int:
        """The t of an application's id."""
        return int(application.removeprefix("a"))

    def is_rejected(self, t: int) -> bool:
        """Whether the world's model rejects application t."""
        return bool(self._people.rejected[t])

    def round_of(self, t: int) -> int:
        """The round of a rejected application t, from 0."""
        return int(self._rounds[t])

    def due(self, t: int, delay: int) -> int:
        """The application after whose answer an outcome of t comes that is ``delay`` rounds late.

        The delay counts rejected applications, from 1 for the one of t itself. Rounds after the last application
        continue the count.
        """
        round_number = self.round_of(t) + delay - 1
        beyond = round_number - len(self._arrivals)
        return int(self._arrivals[round_number]) if beyond < 0 else self.people + beyond
