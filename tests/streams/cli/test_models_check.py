"""``onward models check``: what a new model would mean for the open options in real ledgers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest
import skops.io
from sklearn.ensemble import RandomForestClassifier

from onward.schemas.events import Model, Outcome, Recourse, Revalidation
from onward.streams.cli import main, models
from onward.streams.errors import LedgerError, ModelError, UsageError
from onward.streams.ledger import open_options
from onward.streams.ledger.ledger import Ledger
from onward.streams.programs.assembly import assemble_all
from onward.streams.programs.bundle.loader import read_manifest
from onward.streams.programs.spec_check import load_program_spec
from onward.testing.pipeline import START_MS, PipelineRun
from onward.tests.streams.engine.promises.stories import HOUR_MS, Story
from onward.tests.support.programs import features, write_programs
from onward.tests.support.stricter_models import write_stricter

PROGRAM = {
    "policy": {
        "objective": "cost",
        "choice": "posterior",
        "generator": "search",
        "options": 2,
        "window": {"time": "P60D"},
    },
    "promise": {"kind": "lp", "radius": 0.1, "valid_for": "PT10H"},
    "shards": 1,
}
PEOPLE = 30
NOTHING = {"kind": "none"}


class Installation:
    """A program with open options in a worker's ledger, and models that could replace its own."""

    def __init__(self, folder: Path, promise: dict | None = None) -> None:
        self.folder, self.people = folder, {}
        content = {**PROGRAM, "promise": promise if promise == NOTHING else {**PROGRAM["promise"], **(promise or {})}}
        [self.spec] = write_programs(folder, {"loan": content})
        self.program = assemble_all([load_program_spec(self.spec)])["loan"]
        self.tape = Story(PipelineRun({"loan": self.program}, folder))
        self.state = folder / "state"

    def with_people(self, count: int = PEOPLE) -> Installation:
        """People who were rejected and have open options."""
        random = np.random.default_rng(1)
        for number in range(count):
            person = {**features(random), "region": ("north", "south")[number % 2]}
            self.people[f"p{number}"] = person
            self.tape.applies_with(f"p{number}", 0, **person)
        return self.folded()

    def folded(self) -> Installation:
        shutil.rmtree(self.state, ignore_errors=True)
        self.tape.fold("state")
        return self

    def model(self, version: str, stricter: float = 0.0, estimator: object = None) -> str:
        """A model whose log odds are lower by ``stricter``; return its manifest."""
        return write_stricter(self.folder / version, self.spec, stricter, estimator)

    def announced(self, manifest: str, version: str) -> Revalidation:
        """What the worker finds once a model is announced."""
        self.tape.send("models", Model("loan", version, manifest, read_manifest(manifest)[1]), HOUR_MS, version)
        self.tape.passes(2)
        self.folded()
        return self.tape.looks()[-1]

    def check(self, manifest: str, *flags: str) -> int:
        """Run the command."""
        return main(["models", "check", manifest, "--spec", str(self.spec), "--state-dir", str(self.state), *flags])


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """An hour after the first event."""
    monkeypatch.setattr(models.time, "time_ns", lambda: (START_MS + HOUR_MS) * 1_000_000)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """An installation that tests only read."""
    return Installation(tmp_path_factory.mktemp("place")).with_people()


@pytest.fixture
def own(tmp_path):
    """An installation that a test may change."""
    return Installation(tmp_path)


def told(place, capsys, manifest, *flags):
    code = place.check(manifest, *flags, "--json")
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("earlier", "stricter", "most"),
    [(None, 0.05, "cleared"), (None, 0.13, "accepted"), (None, 3.0, "broken"), (0.05, 0.13, "accepted")],
)
def test_it_tells_what_the_worker_finds_once_the_model_is_announced(own, capsys, earlier, stricter, most):
    own.with_people()
    if earlier is not None:
        own.announced(own.model("earlier", earlier), "earlier")
    manifest = own.model("new", stricter)
    code, found = told(own, capsys, manifest, "--limit", "1")
    look = own.announced(manifest, "new")
    assert (code, found["open"]) == (0, look.open)
    assert [found[name] for name in ("cleared", "accepted", "broken")] == [look.cleared, look.accepted, look.broken]
    assert found[most] > 0


def test_groups_add_up_and_are_named_after_levels_and_quartiles(place, capsys):
    _, found = told(place, capsys, place.model("groups", 0.5), "--by", "region", "--by", "debts", "--by", "income")
    assert [group["group"] for group in found["groups"]["region"]] == ["north", "south"]
    assert 2 <= len(found["groups"]["debts"]) <= 4
    assert found["groups"]["income"][0]["group"].startswith("to ")
    for groups in found["groups"].values():
        for count in ("open", "broken", "cleared"):
            assert sum(group[count] for group in groups) == found[count]


def test_above_the_limit_it_fails_with_a_line(place, capsys):
    manifest = place.model("strict", 3.0)
    assert place.check(manifest, "--by", "region") == 1
    printed = capsys.readouterr()
    assert "broken" in printed.out
    assert "region" in printed.out
    assert printed.err.startswith("onward: model strict would break ")
    assert printed.err.endswith("more than --limit 0.05\n")
    assert printed.err.count("\n") == 1


def test_above_the_limit_of_a_group_it_fails_with_a_line(place, capsys):
    manifest = place.model("uneven", 3.0)
    assert place.check(manifest, "--by", "region", "--limit", "1", "--group-limit", "0.05") == 1
    error = capsys.readouterr().err
    assert "open options of region north" in error
    assert error.endswith("more than --group-limit 0.05\n")


def test_the_current_model_breaks_nothing(place, capsys):
    code, found = told(place, capsys, place.program.bundle.address)
    assert (code, found["broken"], found["cleared"]) == (0, 0, found["open"])
    assert found["open"] > 0
    assert place.check(place.model("near", 0.01)) == 0
    assert "within the limit: 0.0% of 5.0%" in capsys.readouterr().out


@pytest.mark.parametrize("others", [0.1, 0.55])
def test_it_says_whom_calibration_does_not_cover_where_labels_are_of_approved_people(place, capsys, others):
    manifest = Path(place.model(f"selected{others}"))
    content = json.loads(manifest.read_bytes())
    rows = {"rows": 500, "read": 500, "unusable": 0}
    content["measured"]["data"] = {
        "instances": 9,
        "unlabelled": rows,
        "approvals": {"labelled": 0.6, "unlabelled": others},
    }
    manifest.write_text(json.dumps(content))
    assert place.check(str(manifest), "--limit", "1") == 0
    printed = capsys.readouterr().out
    assert ("What is said of calibration holds for people like those with a label" in printed) is (others == 0.1)
    assert ("labels are missing of people who are judged alike" in printed) is (others == 0.55)
    assert "of the 500 without one" in printed
    _, found = told(place, capsys, str(manifest))
    assert [line.split(":")[0] for line in found["doubts"]] == [
        "labels seem to be of approved people only"
        if others == 0.1
        else "labels are missing of people who are judged alike"
    ]


def test_where_all_labels_are_known_nothing_is_said_of_them(place, capsys):
    assert told(place, capsys, place.program.bundle.address)[1]["doubts"] == []


def test_a_model_that_is_not_linear_cannot_carry_the_promise(place, capsys):
    forest = RandomForestClassifier(n_estimators=2, random_state=0)
    assert place.check(place.model("forest", estimator=forest)) == ModelError.exit_code
    assert "model forest: " in capsys.readouterr().err


def test_what_is_honoured_is_not_broken(tmp_path, capsys):
    place = Installation(tmp_path, {"grandfather": True}).with_people()
    manifest = place.model("new", 3.0)
    code, found = told(place, capsys, manifest)
    assert (code, found["broken"], found["honours"]) == (0, 0, True)
    assert found["honoured"] > 0
    assert place.check(manifest) == 0
    assert "the program honours its promises" in capsys.readouterr().out


def test_options_whose_time_is_over_are_not_counted(place, capsys, monkeypatch):
    manifest = place.model("late", 3.0)
    monkeypatch.setattr(models.time, "time_ns", lambda: (START_MS + 11 * HOUR_MS) * 1_000_000)
    code, found = told(place, capsys, manifest)
    assert (code, found["open"]) == (0, 0)
    assert found["expired"] > 0


def test_without_open_options_it_says_so(own, capsys):
    own.tape.applies_with("rich", 0, income=100.0, debts=0)
    assert own.folded().check(own.model("new", 3.0)) == 0
    assert (
        "open options: none in the ledger of journal partition 0, so the model can break none there"
        in capsys.readouterr().out
    )


def test_a_ledger_that_a_worker_has_left_behind_is_not_counted_twice(place, capsys):
    manifest = place.model("twice", 0.5)
    _, once = told(place, capsys, manifest, "--limit", "1")
    shutil.copytree(place.state, place.folder / "another")
    _, twice = told(place, capsys, manifest, "--limit", "1", "--state-dir", str(place.folder / "another"))
    assert once == twice


def test_people_are_read_in_pages_while_a_worker_has_the_ledger_open(place, capsys, monkeypatch):
    manifest = place.model("pages", 0.5)
    _, once = told(place, capsys, manifest, "--limit", "1")
    monkeypatch.setattr(open_options, "PEOPLE_A_PAGE", 7)
    with Ledger(place.state / "journal-0.sqlite", "journal", 0):
        assert told(place, capsys, manifest, "--limit", "1") == (0, once)


def with_promise(own, **promise):
    """The program's spec with another promise."""
    content = msgspec.json.decode(own.spec.read_bytes())
    content["promise"] = promise
    own.spec.write_bytes(msgspec.json.encode(content))


def renamed_column(manifest, _):
    content = json.loads(Path(manifest).read_text())
    content["columns"][-1] = "overdraft"
    Path(manifest).write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("change", "flags", "code", "message"),
    [
        (
            lambda _, own: with_promise(own),
            [],
            LedgerError.exit_code,
            "the spec of program 'loan' is not the one in force in ledger",
        ),
        (
            lambda _, own: with_promise(own, kind="lp", radius=0.2),
            [],
            LedgerError.exit_code,
            "the spec of program 'loan' is not the one in force in ledger",
        ),
        (renamed_column, [], ModelError.exit_code, "it lacks debts and adds overdraft"),
        (
            lambda manifest, _: (Path(manifest).parent / "instances.csv").write_text("x\n"),
            [],
            ModelError.exit_code,
            "file instances.csv has fewer bytes",
        ),
        (
            lambda *_: None,
            ["--by", "age"],
            UsageError.exit_code,
            "--by age: not a feature of program 'loan': use one of region, income, debts",
        ),
        (lambda *_: None, ["--group-limit", "0"], UsageError.exit_code, "--group-limit: say with --by which groups"),
        (
            lambda _, own: (own.state / "journal-1.sqlite").touch(),
            [],
            LedgerError.exit_code,
            "journal-1.sqlite is empty: try again",
        ),
        (lambda *_: None, ["--limit", "5"], UsageError.exit_code, "give a share from 0 to 1, such as 0.05"),
        (
            lambda *_: None,
            ["--state-dir", "absent"],
            LedgerError.exit_code,
            "there are no ledgers (*.sqlite) in absent",
        ),
    ],
)
def test_bad_input_is_explained_in_one_line(own, capsys, change, flags, code, message):
    own.with_people(1)
    manifest = own.model("new", 0.5)
    change(manifest, own)
    assert own.check(manifest, *flags) == code
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_model_without_the_retrains_that_the_promise_needs_is_refused(own, capsys):
    own.with_people(1)
    manifest = own.model("new", 0.5)
    with_promise(own, kind="lp")
    assert own.check(manifest) == UsageError.exit_code
    assert "has no retrains, which the promise lp needs" in capsys.readouterr().err


def test_a_ledger_without_the_program_is_named(place, tmp_path, capsys):
    [spec] = write_programs(tmp_path, {"other": PROGRAM})
    manifest = write_stricter(tmp_path / "for-other", spec)
    assert place.check(manifest) == UsageError.exit_code
    assert "none of loan is program 'other'" in capsys.readouterr().err
    assert place.check(manifest, "--spec", str(spec)) == LedgerError.exit_code
    assert f"no ledger in {place.state} holds program 'other'" in capsys.readouterr().err


def told_targets(place) -> list[np.ndarray]:
    """The encoded targets of what people have been told, from what was published."""
    rows = []
    for answer in place.tape.answers():
        if isinstance(answer, Recourse):
            changes = [{change.feature: change.target for change in option.changes} for option in answer.options]
            own = place.people[answer.application]
            rows += [own | each for each in changes]
    return list(place.program.codec.encode_many(rows))


def test_without_a_promise_the_options_that_people_may_still_carry_out_are_counted(tmp_path, capsys):
    place = Installation(tmp_path, NOTHING).with_people()
    manifest = place.model("new", 0.4)
    fitted = load_estimator(manifest)
    broken = sum(fitted.predict([target])[0] == 0 for target in told_targets(place))
    options = len(told_targets(place))
    assert 0 < broken < options
    code, found = told(place, capsys, manifest, "--limit", "1")
    assert (code, found["open"], found["broken"], found["unknown"]) == (0, options, broken, 0)
    assert (found["promised"], found["cleared"], found["accepted"]) == (False, 0, options - broken)
    assert place.check(manifest) == 1
    printed = capsys.readouterr()
    assert "cleared by the certificate" not in printed.out
    assert f"model new would break {broken} of {options} open options" in printed.err


def test_options_of_people_who_came_to_an_end_are_not_counted_nor_those_of_an_earlier_model(tmp_path, capsys):
    place = Installation(tmp_path, NOTHING).with_people()
    done = next(answer.application for answer in place.tape.answers() if isinstance(answer, Recourse))
    [answer] = [answer for answer in place.tape.answers() if answer.application == done]
    place.tape.send("outcomes", Outcome("loan", done, "improved", answer.options[0].id), HOUR_MS, "done")
    place.folded()
    manifest, options = place.model("new", 0.4), len(told_targets(place))
    _, found = told(place, capsys, manifest, "--limit", "1")
    assert found["open"] == options - len(answer.options)
    place.tape.send("models", Model("loan", "new", manifest, read_manifest(manifest)[1]), 2 * HOUR_MS, "new")
    place.tape.applies_with("later", 3.0)
    place.people["later"] = {"region": "north", "income": 30.0, "debts": 4}
    place.folded()
    _, found = told(place, capsys, place.model("third", 0.5), "--limit", "1")
    later = len(told_targets(place)) - options
    assert (found["open"], found["unknown"]) == (later, options - len(answer.options))
    assert place.check(place.model("third-again", 0.5), "--limit", "1") == 0
    assert f"not counted: {found['unknown']} options that an earlier model or spec made" in capsys.readouterr().out


def test_an_announcement_says_it_too(tmp_path, capsys, monkeypatch):
    place = Installation(tmp_path, NOTHING).with_people()
    manifest = place.model("new", 0.4)
    _, found = told(place, capsys, manifest, "--limit", "1")
    announced = []
    monkeypatch.setattr(models, "announce_event", lambda event, *_: announced.append(event))
    monkeypatch.setattr(models, "preflight", lambda *_: nothing())
    line = ["models", "announce", "--brokers", "127.0.0.1:1", "--manifest", manifest, "--spec", str(place.spec)]
    assert main([*line, "--state-dir", str(place.state)]) == 0
    said = f"it breaks {found['broken']} of {found['open']} open options of {found['people']} people"
    assert said in capsys.readouterr().out
    assert main(line) == 0
    assert "how many open options it breaks: not asked" in capsys.readouterr().out
    assert main([*line, "--state-dir", str(tmp_path / "absent")]) == 0
    assert "how many open options it breaks: not known: there are no ledgers (*.sqlite) in " in capsys.readouterr().out
    assert len(announced) == 3


async def nothing() -> None:
    """No broker is asked."""


def load_estimator(manifest):
    [file] = Path(manifest).parent.glob("model.skops")
    return skops.io.load(file)
