"""What owners are told to change: only what their spec leaves to change, and only where a share is high."""

import pytest

from onward.schemas.specfile import parse_spec
from onward.streams.advice import advice, broken_in_data, lasting

SPEC = """\
program: p
features:
  - {name: income, type: integer, bounds: [0, 9], mutable: up}
  - {name: age, type: integer, bounds: [0, 9], mutable: none}
  - {name: hours, type: integer, bounds: [0, 9]}
constraints: {max_changes: 1}
label: {name: y}
model: {manifest: m}
"""
MORE = "let more features change (`mutable`)"
BOTH = "let features change in both directions where that is sensible (`mutable: any`)"
LARGER = "to serve more people: a larger `max_changes` than 1"
WHOLE_ROWS = "generator `instances` copies whole rows of the data; `policy: {generator: search}` fits the person"


@pytest.mark.parametrize(
    ("changed", "margin", "none", "many", "lines"),
    [
        ({}, 0.2, 0.04, 0.04, []),
        (
            {},
            0.2,
            0.05,
            0.0,
            [
                f"to serve more people: a smaller `policy.margin` than 0.2, or {MORE}, or {BOTH}, or a larger "
                "`max_changes` than 1"
            ],
        ),
        ({"constraints: {max_changes: 1}\n": ""}, 0.0, 1.0, 0.0, [f"to serve more people: {MORE}, or {BOTH}"]),
        ({"mutable: none": "mutable: none, pii: true", "mutable: up": "mutable: any"}, 0.0, 1.0, 0.0, [LARGER]),
        (
            {"mutable: none": "mutable: any", "mutable: up": "mutable: any", "constraints: {max_changes: 1}\n": ""},
            0.0,
            1.0,
            0.0,
            ["to serve more people: wider bounds of the features"],
        ),
        (
            {"mutable: none": "max_change: 2", "mutable: up": "max_change: 50%", "constraints: {max_changes: 1}\n": ""},
            0.0,
            1.0,
            0.0,
            ["to serve more people: larger changes (`max_change`)"],
        ),
        ({}, 0.0, 0.0, 0.5, ["for options with fewer changes: `constraints: {max_changes: 3}`"]),
        ({"label:": "policy: {generator: instances}\nlabel:"}, 0.0, 0.01, 0.0, [WHOLE_ROWS]),
        ({"label:": "policy: {generator: instances}\nlabel:"}, 0.0, 0.0, 0.0, []),
    ],
)
def test_advice_names_what_the_spec_leaves_to_change(changed, margin, none, many, lines):
    text = SPEC
    for old, new in changed.items():
        text = text.replace(old, new)
    assert list(advice(parse_spec(text.encode()), margin, none, many)) == lines


def test_people_who_break_a_constraint_as_they_are_need_no_other_advice() -> None:
    spec = parse_spec(SPEC.encode())
    assert list(advice(spec, 0.0, 0.3, 0.0, 0.28)) == []
    assert list(advice(spec, 0.0, 0.3, 0.0, 0.2)) != []
    [line] = broken_in_data({"le: income <= hours": 611})
    assert line.startswith("611 rows of the data break le: income <= hours: ")


@pytest.mark.parametrize(
    ("added", "accepted", "count"),
    [
        ("", 0.25, 1),
        ("", 0.9, 0),
        ("", None, 0),
        ("policy: {margin: 0.1}\n", 0.25, 0),
        ("promise: {kind: retrains}\n", 0.25, 0),
    ],
)
def test_options_that_few_retrained_models_accept_are_told_with_what_to_do(added, accepted, count):
    lines = list(lasting(parse_spec((SPEC + added).encode()), accepted))
    assert len(lines) == count
    assert all(
        line.startswith("models trained on other rows of the same population accept 25% of such options")
        for line in lines
    )
