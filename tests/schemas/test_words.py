"""What people read of a recourse."""

from __future__ import annotations

import pytest

from onward.schemas.events import Change, Option, Recourse

CHANGE = Change("income", 59.0, 63.0)


@pytest.mark.parametrize(
    ("promise", "words"),
    [
        (None, "(cost 0.100)"),
        ({"share": 0.85, "bound": 0.66}, "(cost 0.100, accepted by 85% of retrained models)"),
        (
            {"radius": 0.1, "margin": 0.2, "alpha_max": 0.1234},
            "(cost 0.100, holds while the model changes by less than 0.123)",
        ),
    ],
)
def test_an_option_says_what_is_promised_of_later_models(promise, words):
    assert str(Option("0", (CHANGE,), 0.1, 0.9, 1.0, promise=promise)).endswith(words)


def test_a_recourse_says_until_when_it_holds():
    option = Option("0", (CHANGE,), 0.1, 0.9, 1.0)
    recourse = Recourse("loans", 0, "ada", 0, (option,), "linucb", "1", "s", "m", expires_at="2027-02-21T00:00:00.000Z")
    assert str(recourse).startswith("ada: 1 way forward until 2027-02-21\n")
