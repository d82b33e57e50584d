"""The programs of a lender, as a user makes them: a file, ``onward spec draft`` and ``onward train``.

programs/lender-told/lender-told.csv, spec.yaml, model/
programs/lender-plain/...
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .....environments.lender import CHANGES, LABEL, MEASURED, MEASURES, Setting, history, write_history
from .....schemas.draft import draft_spec
from .....schemas.draft.questions import Answers, Decisions
from .....schemas.events import Value
from .....schemas.specfile import load_spec
from ....programs.program import Program
from ....programs.training.train import EstimatorName, train
from ..program_folders import MODEL_FOLDER, SPEC_FILE, new_folder

TOLD, PLAIN = "lender-told", "lender-plain"
ESTIMATOR: EstimatorName = "random_forest"
_RELATIONS = re.compile(r"(?m)^constraints:\n(?:  .*\n)+")
"""The lines of a draft that hold what is true of all rows. No column of these worlds limits another."""
_EFFECTS = re.compile(r"(?m)^effects:.*\n(?:  .*\n)*")
"""Those that say what follows from changes."""


def make_programs(setting: Setting, folder: Path, seed: int) -> Mapping[str, Path]:
    """Make both programs in new folders of their own, from the same file; return their spec files.

    Raises ``UsageError`` when a folder exists already.
    """
    equations = setting.equations()
    people, labels = history(setting, equations, np.random.default_rng(seed))
    specs: dict[str, Path] = {}
    for name in (TOLD, PLAIN):
        own = new_folder(folder / name)
        file, specs[name] = own / f"{name}.csv", own / SPEC_FILE
        write_history(file, equations, people, labels)
        drafted = settled(drafted_spec(file, setting))
        specs[name].write_text(drafted if name == TOLD else without_both(drafted), encoding="utf-8")
        train(file, load_spec(specs[name]), own / MODEL_FOLDER, estimator=ESTIMATOR, seed=seed)
    return specs


def drafted_spec(file: Path, setting: Setting) -> str:
    """The spec that is drafted of a file when what may change, and what then follows, is answered as the world is."""
    equations = setting.equations()
    mutable = {column.name: equations.things[column.thing].mutable for column in equations.columns}
    first = [f"{thing}_{MEASURES[0]}" for thing in MEASURED]
    answers = Answers(label={LABEL: 1}, mutable=mutable, effects={name: name for name in first})
    return draft_spec(file, LABEL, Decisions(answers)).text


def settled(drafted: str) -> str:
    """A drafted spec as it serves a few hundred people of these worlds.

    There is one shard, an option changes at most ``CHANGES`` features, whoever acts is seen to come back, and relations
    of columns that were found by chance are left out.
    """
    text = _RELATIONS.sub("", drafted.replace("shards: 24\n", "shards: 1\n"))
    text = text.replace("outcome: P400D}", "outcome: P400D, acting: returns}")
    return f"{text}constraints: {{max_changes: {CHANGES}}}\n"


def without_both(text: str) -> str:
    """A spec as settled, without what follows from changes and without rows that have no label.

    It learns by one reward, in the window of outcomes.
    """
    text = _EFFECTS.sub("", text.replace(", missing: unlabelled}", "}"))
    text = re.sub(r"window: \{acted: .*\}", "window: {time: P400D}", text)
    return re.sub(r"choice: stages +#.*", "choice: residual", text)


def approves(program: Program, rows: Sequence[Mapping[str, Value]]) -> NDArray[np.bool_]:
    """A mask of the people whom the program's first model approves, (n,)."""
    return program.approves(program.bundle.model.score(program.codec.encode_many(rows)))
