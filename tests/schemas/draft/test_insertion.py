"""Fields are added to a text, and nothing that is there changes."""

from __future__ import annotations

import pytest

from onward.schemas.draft.insertion import Field, with_fields

WANTED = {
    "who": {"name": Field(None, "what it is called"), "near": Field("quite near")},
    "kinds": {"a": {"name": Field("A"), "values": {"x": Field("X")}}},
    "rest": {"more": Field(None)},
}
WRITTEN = [
    (
        "who:  # us\n  name: 'It'   # kept\n  # and this\nkinds: {}\n",
        "who:  # us\n  name: 'It'   # kept\n  near: quite near\n",
    ),
    (
        "kinds: {a: {values: {y: Y}}}\r\nwho: {}\r\n",
        "kinds: {a: {values: {y: Y, x: X}, name: A}}\r\nwho: {name: , near: quite near}",
    ),
    (
        "kinds:\n  a:\n    name: >\n      two\n      lines\n\n# end",
        "    name: >\n      two\n      lines\n    values: {x: X}\nwho:\n",
    ),
    (
        "who:\nkinds:\n    a:\n        name: B",
        "who:\n  name:  # what it is called\n  near: quite near\nkinds:\n    a:\n        name: B\n        values",
    ),
]


@pytest.mark.parametrize(("text", "written"), WRITTEN)
def test_fields_come_behind_those_of_their_mapping(text: str, written: str) -> None:
    changed, added = with_fields(text, WANTED)
    assert written in changed
    assert added
    lines = iter(changed.splitlines())
    assert all(any(kept.rstrip("{}") in line for line in lines) for kept in text.splitlines())
    assert with_fields(changed, WANTED) == (changed, [])


@pytest.mark.parametrize("text", ["who: us\n", "who: ~\n", "- who\n", "kinds: {a: &one {name: A}}\nwho: *one\n"])
def test_a_text_that_would_be_changed_otherwise_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="fields"):
        with_fields(text, WANTED)
