"""The demo, with a broker of its own and on a Kafka that is there."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from onward.streams.cli import main


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.kafka)])
def summary_of(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """Play the demo with some flags, and return its summary."""
    brokers = ["--brokers", request.getfixturevalue("cluster").bootstrap] if request.param == "real" else []

    def play(*flags: str) -> dict[str, Any]:
        code = main(["demo", *flags, "--json", *brokers])
        printed = capsys.readouterr()
        assert code == 0, printed.err
        return dict(json.loads(printed.out))

    return play
