"""``onward explain``: one page about an application, and what it says of things that are gone."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from onward.schemas.events import Application
from onward.streams import cli
from onward.streams.cli.process import application_history, application_replay
from onward.streams.kafka.admin.offsets import PartitionOffsets, partition_offsets
from onward.streams.kafka.consume.between import records_between
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.programs.assembly import assemble
from onward.streams.programs.bundle.manifest import MANIFEST
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.records import Record
from onward.testing.pipeline import PipelineRun
from onward.testing.tape import MINUTE_MS, Tape
from onward.tests.support.fixed_models import FEATURES, assembled, spec_text, write_model
from onward.tests.support.installations import TOPICS

PROTECTED_DEBTS = "debts, type: integer, bounds: [0, 10], mutable: none, protected: true"
SPEC = "policy: {objective: cost, generator: search, choice: posterior, options: 1, window: {steps: 3}}"
PERSON = {"region": "north", "income": 40, "debts": 6, "housing": "rent", "training": "none"}
RICH = {"region": "north", "income": 90, "debts": 0, "housing": "own", "training": "degree"}
HOSTILE = '<script>alert("x")</script>\u202e'


class Explained:
    """A story on a broker, and the command."""

    def __init__(self, tape: Tape, broker: EmbeddedBroker, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.tape, self._capsys, self.spec = tape, capsys, str(folder / "spec.yaml")
        self.bootstrap = broker.bootstrap
        self.html = folder / "page.html"

    def run(self, *args: str) -> str:
        assert cli.main(["explain", *args, "--brokers", self.bootstrap]) == 0
        return self._capsys.readouterr().out

    def show(self, *args: str) -> str:
        assert cli.main(["show", *args, "--brokers", self.bootstrap]) == 0
        return self._capsys.readouterr().out

    def of(self, name: str, *args: str) -> dict[str, object]:
        [own] = json.loads(self.run(name, "--json", *args))["programs"]
        return own


@pytest.fixture
def explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Explained]:
    """A person who is rejected and improves, one who is approved, and one with a name that is markup."""
    tape = Tape(PipelineRun({"loan": assembled(SPEC, tmp_path / "program", bias=-3.0)}, tmp_path))
    tape.applies("ada", 0, PERSON)
    tape.applies("eve", MINUTE_MS, RICH)
    tape.send("applications", Application("loan", HOSTILE, PERSON), 2 * MINUTE_MS, "a-hostile")
    tape.outcome("ada", 3 * MINUTE_MS, option="1")
    tape.fold()
    with EmbeddedBroker(dict.fromkeys((*TOPICS.inputs, TOPICS.journal, *TOPICS.outputs), 1)) as broker:
        tape.write_to(broker.options())
        yield Explained(tape, broker, tmp_path / "program", capsys)


def test_a_rejection_is_explained_from_its_reasons_to_its_fate(explained: Explained) -> None:
    own = explained.of("ada", "--spec", explained.spec)
    assert (own["approved"], own["state"], own["missing"]) == (False, "closed", [])
    assert [reason["feature"] for reason in own["reasons"]][:1] == ["income"]
    told = own["decision"]["words"]
    assert told.startswith("rejected by model v1: income is too low; ")
    options = own["answer"]["options"]
    picked = [option["changes"] for option in own["considered"] if option["picked"]]
    assert sorted(map(str, picked)) == sorted(str(option["changes"]) for option in options)
    assert len(own["considered"]) > len(picked)
    program = explained.tape.run.programs["loan"]
    assert own["versions"]["spec"] == program.sha256
    assert own["versions"]["model_sha256"] == program.bundle.manifest_sha256
    assert [one["kind"] for one in own["became"]] == ["outcome", "reward"]
    assert "features" not in own


@pytest.fixture
def protected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Explained]:
    """A person who is rejected, foremost by a protected feature that the model may read."""
    folder = tmp_path / "program"
    folder.mkdir()
    features = FEATURES.replace("debts, type: integer, bounds: [0, 10], mutable: down", PROTECTED_DEBTS)
    text = spec_text(SPEC, features).replace(f"manifest: v1/{MANIFEST}", f"manifest: v1/{MANIFEST}, may_read: [debts]")
    (folder / "spec.yaml").write_text(text, encoding="utf-8")
    loaded = load_program_spec(folder / "spec.yaml")
    write_model(folder / "v1", loaded.spec, -3.0)
    tape = Tape(PipelineRun({"loan": assemble(loaded)}, tmp_path))
    tape.applies("ada", 0, PERSON)
    tape.fold()
    with EmbeddedBroker(dict.fromkeys((*TOPICS.inputs, TOPICS.journal, *TOPICS.outputs), 1)) as broker:
        tape.write_to(broker.options())
        yield Explained(tape, broker, folder, capsys)


def test_a_protected_feature_among_the_main_reasons_is_told_to_the_owner(protected: Explained) -> None:
    own = protected.of("ada", "--spec", protected.spec)
    assert "debts" not in {reason["feature"] for reason in own["reasons"]}
    assert own["withheld"] == ["debts"]
    lines = protected.run("ada", "--spec", protected.spec).splitlines()
    assert lines[lines.index("main reasons that are told to nobody:") + 1] == "    debts (protected)"


def test_an_approval_has_no_reasons_and_lacks_no_answer(explained: Explained) -> None:
    own = explained.of("eve")
    assert (own["approved"], own["reasons"], own["answer"]) == (True, None, None)
    assert own["missing"] == []


def test_words_have_a_heading_for_each_part(explained: Explained) -> None:
    lines = explained.run("ada", "--program", "loan").splitlines()
    assert lines[:2] == ["ada in program loan", "state: closed"]
    headings = [line for line in lines[2:] if not line.startswith(" ")]
    assert headings == [
        "application:",
        "decision:",
        "reasons:",
        "answer:",
        "model and spec:",
        "what became of it:",
        "not known:",
    ]
    assert lines[-2:] == [
        f"    {what}: give the program's --spec, and it is computed again"
        for what in ("whether a protected feature is among the main reasons", "the options considered")
    ]


class Tags(HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_says_the_same_and_is_for_its_owner_alone(explained: Explained) -> None:
    words = explained.run("ada", "--spec", explained.spec).splitlines()
    assert explained.run("ada", "--spec", explained.spec, "--html", str(explained.html)) == ""
    page = Tags(explained.html.read_text(encoding="utf-8"))
    assert all(line.strip() in page.text for line in words if line.startswith("    "))
    assert stat.S_IMODE(explained.html.stat().st_mode) == 0o600


def test_a_name_that_is_markup_is_text_on_the_page(explained: Explained) -> None:
    explained.run(HOSTILE, "--html", str(explained.html))
    page = Tags(explained.html.read_text(encoding="utf-8"))
    assert page.tags <= {"html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "ul", "li"}
    assert '<script>alert("x")</script>\\u202e' in page.text


def begun_later(offsets: list[PartitionOffsets]) -> list[PartitionOffsets]:
    """What a broker says when the first two records of each partition of the journal are deleted."""
    return [own._replace(begin=2) if own.topic == TOPICS.journal else own for own in offsets]


def test_what_a_cut_journal_no_longer_tells_is_named(explained: Explained, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader gets what a broker gives of a partition whose first records are gone: later ones, as they are."""

    def later(*args: Any) -> Iterator[Record]:
        return (record for record in records_between(*args) if record.topic != TOPICS.journal or record.offset >= 2)

    monkeypatch.setattr(application_replay, "records_between", later)
    own = explained.of("ada", "--spec", explained.spec)
    assert (own["considered"], own["approved"]) == (None, False)
    [missing] = own["missing"]
    assert missing.startswith("the options considered: journal partition 0 begins at offset 2")
    monkeypatch.setattr(application_history, "records_between", later)
    monkeypatch.setattr(application_history, "partition_offsets", lambda *args: begun_later(partition_offsets(*args)))
    assert explained.of("ada", "--spec", explained.spec)["missing"] == [
        "the application itself: it is older than what the topics keep",
        "whether a protected feature is among the main reasons: the application's features are gone",
        "the options considered: the application's features are gone",
        "journal partition 0 begins at offset 2: what came before was deleted",
    ]
    # The output that is kept names a partition, and nobody else's is spoken of.
    [own] = json.loads(explained.show("ada", "--json"))["programs"]
    assert own["missing"] == ["journal partition 0 begins at offset 2: what came before was deleted"]
    assert explained.show("ada").splitlines()[-1] == own["missing"][0]


def test_who_is_not_known_may_stand_in_what_was_cut(
    explained: Explained, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(application_history, "partition_offsets", lambda *args: begun_later(partition_offsets(*args)))
    # Where the journal has the application, all of it comes after the cut.
    [own] = json.loads(explained.show("eve", "--json"))["programs"]
    assert own["missing"] == []
    assert cli.main(["show", "nobody", "--brokers", explained.bootstrap]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith("is gone; journal partition 0 begins at offset 2: what came before was deleted")


@pytest.mark.parametrize(
    ("args", "code", "line"),
    [
        (["x"], 2, "--brokers is missing"),
        (["x", "--html", "/proc/no/page.html", "--brokers", "localhost:1"], 2, "--html /proc/no/page.html"),
    ],
)
def test_wrong_flags_are_told_in_one_line(
    capsys: pytest.CaptureFixture[str], args: list[str], code: int, line: str
) -> None:
    assert cli.main(["explain", *args]) == code
    [printed] = capsys.readouterr().err.splitlines()
    assert line in printed
