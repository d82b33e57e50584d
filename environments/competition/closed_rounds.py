"""Rounds of a competition as goals observe them."""

from __future__ import annotations

import numpy as np

from ...agents.arrays import Mask
from ...agents.goals import ClosedRound
from .competition import Applications
from .settings import Settings


def closed_rounds(
    number: int, applications: Applications, accepted: Mask, settings: Settings, episodes: int
) -> list[ClosedRound]:
    """One closed round an episode, of the applications (n,) and who of them got a place, (n,)."""
    reached = applications.reached(settings.tolerance)
    closed = []
    for episode in range(episodes):
        mine = slice(*np.searchsorted(applications.episode, (episode, episode + 1)))
        score, new, place = applications.score[mine], applications.new[mine], accepted[mine]
        closed.append(
            ClosedRound(
                number=number,
                places=settings.places_of(number),
                threshold=0.0 if place.all() else float(score[place].min(initial=1.0)),
                newcomers=score[new],
                own_goal=applications.own_goal[mine][~new],
                lag=applications.lag[mine][~new],
                reached=reached[mine][~new],
                accepted=place[~new],
            )
        )
    return closed
