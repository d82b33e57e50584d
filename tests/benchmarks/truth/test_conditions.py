"""Which features lose their effect."""

from __future__ import annotations

import numpy as np
import pytest

from onward.benchmarks.truth.conditions import StudiedConditions


def test_features_that_lose_their_effect_are_among_those_that_may_change():
    mutable = np.array([True, False, True, True, True])
    first, second = StudiedConditions(inert=0.25, drift=0.5).ineffective(3, mutable)
    assert (first.sum(), second.sum()) == (1, 3)
    assert (second[first]).all()
    assert not second[1]
    assert StudiedConditions(drift=1.0).ineffective(3, mutable)[1].sum() == 3, "one of four keeps its effect"


def test_a_share_that_is_none_is_refused():
    with pytest.raises(ValueError, match=r"inert is 1\.5: give a share from 0 to 1"):
        StudiedConditions(inert=1.5)
