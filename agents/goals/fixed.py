"""A fixed goal: the target score that a program gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar

from ..parameters import Interval
from .components.season import RoundsAhead
from .rounds import Prospects, RoundGoal


class Fixed(RoundGoal):
    """The same score in every round. It learns nothing, so it fails when the scores of newcomers change.

    Parameters
    ----------
    score
        The target score, between 0 and 1.

    Examples
    --------
    >>> Fixed(coverage=0.95, horizon=5, score=0.7).aim(Prospects())
    Aim(score=0.7, until=4, forecast=0.7, without=())
    """

    name: ClassVar[str] = "fixed"

    def __init__(
        self,
        coverage: float,
        horizon: int,
        *,
        offset: bool = False,
        score: Annotated[float, Interval(above=0, below=1)] = 0.5,
    ) -> None:
        super().__init__(coverage, horizon, offset=offset, score=score)
        self.score = score

    @classmethod
    def faults(cls, given: Mapping[str, Any], threshold: float) -> Iterator[tuple[str | None, str]]:
        """A score must be given, and one that wins a place."""
        score = given.get("score")
        if score is None:
            yield None, "which score? give one, such as `goal_parameters: {score: 0.8}`"
        elif score <= threshold:
            yield "score", f"the model approves scores above {threshold:g} only: give a higher one"

    @property
    def constant_score(self) -> float:
        """The given one."""
        return self.score

    def _score(self, prospects: Prospects, ahead: RoundsAhead) -> float:
        return self.score
