"""Whether a model fits a spec is one rule: whoever asks gets the same answer."""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest
from skl2onnx import to_onnx
from sklearn.ensemble import RandomForestClassifier

from onward.schemas.events import Model
from onward.schemas.specfile import LoadedSpec
from onward.streams.cli import main
from onward.streams.errors import OnwardError
from onward.streams.ingest.ingest import load_here
from onward.streams.programs import model_fit
from onward.streams.programs.announced_spec import check_announced, spec_event
from onward.streams.programs.assembly import assemble
from onward.streams.programs.bundle.loader import read_manifest
from onward.streams.programs.program import Program
from onward.streams.programs.spec_changes import SpecRefusedError
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.programs.training.importing import import_model
from onward.streams.programs.training.train import train
from onward.streams.programs.trial import Trial
from onward.streams.programs.trial_server import _problem
from onward.streams.replay.model_check import check_open_options
from onward.tests.support.programs import write_programs
from onward.tests.support.stricter_models import write_stricter

ROOT = Path(__file__).parents[3]
POLICY = {"objective": "cost", "choice": "posterior", "generator": "search", "options": 2, "window": {"time": "P60D"}}
PROGRAM = {"policy": POLICY, "promise": {"kind": "lp", "radius": 0.1, "valid_for": "PT10H"}, "shards": 1}
FAULT = "the one rule refuses it"


class House(NamedTuple):
    """A program that fits its first model, and a forest that is announced to it."""

    spec: Path
    loaded: LoadedSpec
    program: Program
    forest: str

    @property
    def event(self) -> Model:
        return Model(self.program.name, "forest", self.forest, read_manifest(self.forest)[1])

    def under(self, **changes: Any) -> Path:
        """The file of a spec with other fields, beside the first one."""
        path = self.spec.with_name("changed.yaml")
        path.write_text(json.dumps({**json.loads(self.spec.read_text()), **changes}))
        return path


@pytest.fixture
def house(tmp_path: Path) -> House:
    [spec] = write_programs(tmp_path, {"loan": PROGRAM})
    loaded = load_program_spec(spec)
    forest = write_stricter(tmp_path / "forest", spec, estimator=RandomForestClassifier(5, random_state=0))
    return House(spec, loaded, assemble(loaded), forest)


# --- The doors, each of which raises an error or prints one -------------------------------------------------------


def assembled(house: House, spec: Path) -> None:
    manifest = json.loads(spec.read_text()) | {"model": {"manifest": house.forest}}
    own = spec.with_name("own.yaml")
    own.write_text(json.dumps(manifest))
    assemble(load_program_spec(own))


def announced(house: House, spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Nobody listens at this address: connecting to Kafka would fail with other words.
    line = ["models", "announce", "--brokers", "127.0.0.1:1", "--manifest", house.forest, "--spec", str(spec)]
    if main(line):
        raise OnwardError(capsys.readouterr().err)


def checked(house: House, spec: Path) -> None:
    check_open_options(house.forest, [spec], [house.spec.parent / "nowhere"], now_ms=0)


async def told(house: House, spec: Path) -> None:
    loaded = load_program_spec(spec)
    program = Program(
        loaded.spec,
        house.program.codec,
        house.program.bundle,
        house.program.instances,
        house.program.points,
        house.program.cost,
        house.program.nu,
    )
    await load_here(program, house.event)


def tried(house: House, spec: Path) -> None:
    if problem := _problem(Trial(house.event, load_program_spec(spec).spec), Path(house.forest).parent):
        raise OnwardError(problem)


def changed(house: House, spec: Path) -> None:
    """A changed spec asks about the program's first model."""
    house.program.changed(load_program_spec(spec).spec)


def spec_announced(house: House, spec: Path) -> None:
    event = spec_event(house.program)
    check_announced(event, house.program)


def trained(house: House, spec: Path) -> None:
    train(data(house), load_program_spec(spec), spec.with_name("new"), estimator="random_forest", seed=0)


def imported(house: House, spec: Path) -> None:
    table = pd.read_csv(data(house))
    codes = pd.get_dummies(table[["region", "income", "debts"]], columns=["region"])
    ordered = codes[["region_north", "region_south", "income", "debts"]].to_numpy("float32")
    forest = RandomForestClassifier(5, random_state=0).fit(ordered, table["repaid"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        content = to_onnx(forest, ordered[:1], options={"zipmap": False}).SerializeToString()
    spec.with_name("forest.onnx").write_bytes(content)
    loaded = load_program_spec(spec)
    import_model(spec.with_name("forest.onnx"), data(house), loaded, spec.with_name("imported"), seed=0)


def data(house: House) -> Path:
    path = house.spec.with_name("people.csv")
    rows = [
        (region, 10 * income + debts, debts, int(income - 0.3 * debts > 3))
        for region in ("north", "south")
        for income in range(10)
        for debts in range(10)
    ]
    pd.DataFrame(rows, columns=["region", "income", "debts", "repaid"]).to_csv(path, index=False)
    return path


DOORS: Mapping[str, Callable[..., Any]] = {
    door.__name__: door
    for door in (assembled, announced, checked, told, tried, changed, spec_announced, trained, imported)
}


async def refusal(door: str, house: House, spec: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What somebody is told at a door."""
    try:
        through = DOORS[door](house, spec, *([capsys] if door == "announced" else []))
        if through is not None:
            await through
    except OnwardError as error:
        return str(error)
    return "not refused"


@pytest.mark.parametrize("door", DOORS)
async def test_every_door_asks_the_one_rule(door, house, monkeypatch, capsys):
    own = model_fit._misfits

    def refusing(facts, spec, is_first, asked):
        # The program itself must stand before anybody can come to it.
        if door == "checked" and facts.version == house.program.bundle.version:
            return own(facts, spec, is_first, asked)
        return iter([FAULT])

    monkeypatch.setattr(model_fit, "_misfits", refusing)
    assert FAULT in await refusal(door, house, house.spec, capsys)


MISFITS: Mapping[str, tuple[dict[str, Any], str]] = {
    "linear generator": ({"policy": {**POLICY, "generator": "linear"}, "promise": {}}, "has no linear score, which"),
    "linear promise": ({}, "`promise: {kind: lp}` does not go with"),
    "retrains": ({"promise": {"kind": "retrains"}}, "has no retrains, which the promise retrains needs"),
    "margin": ({"policy": {**POLICY, "margin": "auto"}, "promise": {}}, "has no margin, which `margin: auto` needs"),
    "protected": (
        {
            "promise": {},
            "features": [
                {"name": "region", "type": "categorical", "categories": ["north", "south"], "mutable": "none"},
                {"name": "income", "type": "continuous", "bounds": [0, 100]},
                {"name": "debts", "type": "integer", "bounds": [0, 10], "mutable": "none", "protected": True},
            ],
        },
        "the model reads debts, which the spec protects",
    ),
}
MEASURED_THERE = {
    ("trained", "retrains"),
    ("trained", "margin"),
    ("imported", "margin"),
    ("trained", "protected"),  # training leaves out what is protected
    ("imported", "retrains"),  # refused before, in words about the flag that is missing
}


@pytest.mark.parametrize("misfit", MISFITS)
@pytest.mark.parametrize("door", ["assembled", "announced", "told", "tried", "trained", "imported"])
async def test_a_model_that_does_not_fit_is_refused_in_the_same_words_at_every_door(door, misfit, house, capsys):
    if (door, misfit) in MEASURED_THERE:
        return
    changes, words = MISFITS[misfit]
    assert words in await refusal(door, house, house.under(**changes), capsys)


def test_a_changed_spec_is_refused_in_the_same_words(house):
    """Of a program whose first model is a forest, which reads all."""
    program = assemble(load_program_spec(house.under(promise={"kind": "none"}, model={"manifest": house.forest})))
    changes, words = MISFITS["protected"]
    spec = load_program_spec(house.under(**changes, model={"manifest": house.forest})).spec
    with pytest.raises(SpecRefusedError, match=words):
        check_announced(spec_event(program.begun_with(spec)), program)


PARTS = ("margin_fault", "promise_fault", "protected_fault", "publishing_fault", "lacks_for_rounds", "lacks_for_choice")
HOMES = ("margin", "promised", "protected_reading", "published_rows", "limited_places", "model_fit")


def test_nobody_asks_a_part_of_the_rule_alone():
    """``lacks_for_choice`` is asked alone for a choice that only an evaluation tries."""
    strangers = set()
    for path in (ROOT / "streams").rglob("*.py"):
        names = {node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)}
        strangers |= {f"{path.stem}: {part}" for part in PARTS if part in names and path.stem not in HOMES}
    assert strangers == {"evaluation: lacks_for_choice"}
