"""The command of docs/how-to/add-a-command.md works as the page has it."""

import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from onward.streams import cli
from onward.streams.kafka.client import EventWriter
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.topics import Topics

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "add-a-command.md"


@pytest.fixture
def volume(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adds the command."""
    code, line = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    module = ModuleType("onward.streams.cli.volume")
    module.__package__ = "onward.streams.cli"
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(cli, "COMMANDS", cli.COMMANDS | eval(f"{{{line}}}"))
    exec(compile(code, str(PAGE), "exec"), vars(module))


@pytest.mark.usefixtures("volume")
def test_the_records_of_topics_are_counted(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with EmbeddedBroker(dict.fromkeys(Topics().inputs, 2)) as broker:
        with EventWriter(broker.options()) as writer:
            writer.send("applications", b"{}", key=b"k", headers=[])
        monkeypatch.setenv("ONWARD_LEAST", "1")
        assert cli.main(["volume", "--brokers", broker.bootstrap, "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == {"topics": {"applications": 1}}
        assert cli.main(["volume", "--brokers", broker.bootstrap, "--least", "2"]) == 0
        assert "applications" not in capsys.readouterr().out
        assert cli.main(["volume", "--brokers", broker.bootstrap]) == 0
        assert "│ applications │       1 │" in capsys.readouterr().out
