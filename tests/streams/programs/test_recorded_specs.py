"""Every spec that worked still works: it means the same, and a journal gives the same outputs under it."""

from __future__ import annotations

import json

import pytest

from onward.tests.support.recorded_specs import RECORDED, SPECS, recorded

KNOWN = json.loads(RECORDED.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", SPECS)
def test_a_journal_gives_under_a_spec_what_it_gave(name: str) -> None:
    assert recorded(name) == KNOWN[name]
