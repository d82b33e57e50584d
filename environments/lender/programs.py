"""The file of a lender and its programs, as a user makes them: ``onward spec draft`` and ``onward train``.

programs/lender-told/lender-told.csv, spec.yaml, model/
programs/lender-plain/...
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...schemas.draft import draft_spec
from ...schemas.draft.effects import NOBODY
from ...schemas.draft.questions import DraftAnswers, DraftDecisions
from ...schemas.events import Value
from ...schemas.specfile import load_spec
from ...streams.programs.program import Program
from ...streams.programs.training.train import EstimatorName, train
from ..play.program_folders import MODEL_FOLDER, SPEC_FILE, new_folder
from .equations import Equations, Floats, LenderPeople
from .settings import CHANGES, MEASURED, MEASURES, LenderSetting

LABEL = "repaid"
OFFICER_NOISE = 1.0
"""The standard deviation of what a case officer adds to the true log odds."""


def history(setting: LenderSetting, equations: Equations, random: np.random.Generator) -> tuple[LenderPeople, Floats]:
    """The people of the file and their labels (N,), as many as the setting's rows; NaN where nobody knows the label."""
    if not setting.approved_only:
        people = equations.draw(setting.rows, random)
        return people, _labels(equations, people, random)
    people = equations.draw(3 * setting.rows, random)
    true = equations.help(people.things, people.hidden)
    approved = np.log(true / (1.0 - true)) + OFFICER_NOISE * random.normal(size=len(true)) > 0.0
    labels = np.where(approved, _labels(equations, people, random), np.nan)
    end = int(np.flatnonzero(approved)[setting.rows - 1]) + 1
    return people.only(slice(end)), labels[:end]


def _labels(equations: Equations, people: LenderPeople, random: np.random.Generator) -> Floats:
    true = equations.help(people.things, people.hidden)
    return (random.random(len(true)) < true).astype(np.float64)


def write_history(file: Path, equations: Equations, people: LenderPeople, labels: Floats) -> None:
    """Write people and their labels (N,) as a CSV; a label that nobody knows is empty."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow([*(column.name for column in equations.columns), LABEL])
        for row, label in zip(people.columns.astype(np.int64).tolist(), labels.tolist(), strict=True):
            writer.writerow([*row, "" if np.isnan(label) else int(label)])


TOLD, PLAIN = "lender-told", "lender-plain"
ESTIMATOR: EstimatorName = "random_forest"
_RELATIONS = re.compile(r"(?m)^constraints:\n(?:  .*\n)+")
"""The lines of a draft that hold what is true of all rows. No column of these worlds limits another."""
_EFFECTS = re.compile(r"(?m)^(?:effects|computed):.*\n(?:  .*\n)*")
"""Those that say what follows from changes."""
_WINDOW = re.compile(r"window: \{acted: .*\}")
_CHOICE = re.compile(r"choice: stages +#.*")


def make_programs(setting: LenderSetting, folder: Path, seed: int) -> Mapping[str, Path]:
    """Make both programs in new folders of their own, from the same file; return their spec files.

    Raises ``UsageError`` when a folder exists already.
    """
    (people, labels), specs = file_of(setting, seed), dict[str, Path]()
    for name in (TOLD, PLAIN):
        place = new_folder(folder / name)
        file, specs[name] = place / f"{name}.csv", place / SPEC_FILE
        write_history(file, setting.equations(), people, labels)
        drafted = settled(drafted_spec(file, setting, follows=name == TOLD))
        specs[name].write_text(drafted if name == TOLD else without_both(drafted), encoding="utf-8")
        train(file, load_spec(specs[name]), place / MODEL_FOLDER, estimator=ESTIMATOR, seed=seed)
    return specs


def file_of(setting: LenderSetting, seed: int) -> tuple[LenderPeople, Floats]:
    """The people of the lender's file, and their labels (N,); NaN where nobody knows the label."""
    return history(setting, setting.equations(), np.random.default_rng(seed))


def drafted_spec(file: Path, setting: LenderSetting, *, follows: bool) -> str:
    """The spec that is drafted of a file when what may change is answered as the world is.

    So is what then ``follows``; else the answer is that nothing does.
    """
    equations = setting.equations()
    mutable = {column.name: equations.things[column.thing].mutable for column in equations.columns}
    first = [f"{thing}_{MEASURES[0]}" for thing in MEASURED]
    effects = {name: name if follows else NOBODY for name in first}
    answers = DraftAnswers(label={LABEL: 1}, mutable=mutable, effects=effects)
    return draft_spec(file, LABEL, DraftDecisions(answers)).text


def settled(drafted: str) -> str:
    """A drafted spec as it serves a few hundred people of these worlds.

    There is one shard, an option changes at most ``CHANGES`` features, whoever acts is seen to come back, and relations
    of columns that were found by chance are left out.
    """
    text = _RELATIONS.sub("", drafted.replace("shards: 24\n", "shards: 1\n"))
    text = text.replace("outcome: P400D}", "outcome: P400D, acting: returns}")
    return f"{text}constraints: {{max_changes: {CHANGES}}}\n"


def without_effects(text: str) -> str:
    """A spec without what follows from changes."""
    return _EFFECTS.sub("", text)


def without_both(text: str) -> str:
    """A spec as settled, without what follows from changes and without rows that have no label.

    It learns by one reward, in the window of outcomes.
    """
    text = without_effects(text.replace(", missing: unlabelled}", "}"))
    return _CHOICE.sub("choice: residual", _WINDOW.sub("window: {time: P400D}", text))


def approves(program: Program, rows: Sequence[Mapping[str, Value]]) -> NDArray[np.bool_]:
    """A mask of the people whom the program's first model approves, (n,)."""
    return program.approves(program.bundle.model.score(program.codec.encode_many(rows)))
