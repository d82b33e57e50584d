"""The processor time of a rejected person in programs as they are drafted, by data, model and number of features.

Each version trains the program in its own format, and asks of options what it can. Then they take turns in processes of
their own: people alone, people in blocks, and people of whom nobody has an option, who are explained. So are those
whom the program itself leaves without one: mostly nothing that reaches the decision helps them.
"""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.neural_network import MLPClassifier

import onward
from onward.benchmarks.face import Row, progress
from onward.benchmarks.recourse.figures import row
from onward.benchmarks.truth.settings import spec_text
from onward.schemas.specfile import load_spec
from onward.schemas.table import read_table
from onward.streams.errors import UsageError

POLICY = """
policy: {generator: search, window: {time: P90D}, options: 3, least_help: 0.5, least_gain: 0.05, overshoot: limit,
  second_way: true, lasting: 0.9}
"""
"""As ``onward spec draft`` writes it."""
TURNS = 2
AIMS = {"in blocks": 1 / 3, "explained": 1 / 4}
"""The processor time of a person beside the other version's, at most; they were set for 9dd7f83e."""
AIMS_OF = {"120 movable, forest": {"in blocks": 1 / 10}}
UNREACHED = 0.999
"""A score that hardly anybody can reach: people of whom it is asked have no option."""
EXPLAINED = 6
KINDS = {"forest": "random_forest", "booster": "gradient_boosting", "logistic": "logistic_regression"}
"""The models that ``onward train`` fits, by their names in the table."""
NETWORK = "network in ONNX"
"""A model of another library, which is asked about rows and has no trees to walk."""
WIDE: Mapping[str, tuple[int, int]] = {"23 open features": (23, 0), "152 columns": (40, 28), "120 movable": (120, 0)}
"""Drawn data: numbers that may change, and one-hot features of four categories that may not."""
ROWS, FIRST = 3000, 6000
"""Rows of drawn data, and of a data set for models other than forests."""

_MEASURE = """
import json, sys, time
from pathlib import Path
import numpy as np
from onward.agents.goals import Threshold
from onward.schemas.table import read_table
from onward.streams.programs.assembly import assemble
from onward.streams.programs.spec_check import load_program_spec

spec, data, count, unreached, explained = Path(sys.argv[1]), Path(sys.argv[2]), *map(float, sys.argv[3:])
program = assemble(load_program_spec(spec))
X = read_table(data, program.spec).X
people = np.unique(X[~program.approves(program.bundle.model.score(X))], axis=0)
people = people[np.random.default_rng(0).permutation(len(people))[: int(count)]]
goal, bundle = Threshold(unreached), program.bundle
if hasattr(program, "vetting_under"):
    told = program.vetting_under(bundle)
    none = told._replace(generator=told.generator.under(told.score, goal, told.objective), goal=goal)
else:  # a version before options were vetted
    told = program.generator_under(bundle)
    none = told.under(bundle.model.score, goal, program.objective_under(bundle))
lost = np.setdiff1d(np.arange(len(people)), none.propose(people).people)[: int(explained)]

def spent(what):
    started = time.process_time()
    what()
    return 1e6 * (time.process_time() - started)

unhelped = np.setdiff1d(np.arange(len(people)), told.propose(people).people)[: int(explained)]
if len(lost):
    none.explain(people[lost[0]])
alone = [spent(lambda: told.propose(people[[i]])) for i in range(len(people))]
block = spent(lambda: told.propose(people)) / len(people)
searched = [spent(lambda: none.propose(people[[i]])) for i in lost]
why = [spent(lambda: none.explain(people[i])) for i in lost]
own = [spent(lambda: told.explain(people[i])) for i in unhelped]
print(json.dumps([alone, block, searched, why, own]))
"""


class Spent(NamedTuple):
    """Microseconds of CPU: of each person alone, of one in blocks, of those who have no option, searched and explained,
    and of those explained whom the program itself leaves without one."""

    alone: Sequence[float]
    block: float
    searched: Sequence[float]
    explained: Sequence[float]
    unhelped: Sequence[float]


_KNOWN = (
    "from onward.schemas.spec import ModelReference, Policy; "
    "print(*Policy.__struct_fields__, *ModelReference.__struct_fields__)"
)
"""Prints the keys of a policy and of a model that a version knows."""
TRAIN = "import sys, onward; onward.train(*sys.argv[1:4], estimator=sys.argv[4])"
"""Trains a program in the format of a version."""
_IMPORT = """
import sys
from pathlib import Path
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.programs.training.importing import import_model

table, spec, model, file = map(Path, sys.argv[1:])
import_model(file, table, load_program_spec(spec), model, seed=0)
"""
"""Imports a network in the format of a version."""


def cpu_of_drafts(data: Path | None, people: int, against: Path | None, quick: bool) -> Iterator[Row]:
    """The figures of every program; with ``against``, another version's Python, those of both and their ratio."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", onward.OnwardWarning)
        for name, own, table, kind in _programs(Path(folder), data, quick):
            progress(f"{name}: {people} people are searched for")
            specs = {"": (sys.executable, own / "spec.yaml")}
            if against is not None:
                other = str(against.absolute())
                specs["the other version"] = other, _trained_by(other, own, table, kind)
            yield from _figures(name, spent_by(specs, table, people))


def _programs(folder: Path, data: Path | None, quick: bool) -> Iterator[tuple[str, Path, Path, str]]:
    """The name, the folder with the spec, the data and the kind of model of each program, trained."""
    wide = list(WIDE)[:1] if quick else list(WIDE)
    drawn = [(name, "forest") for name in wide] + [
        (wide[-1], kind) for kind in ((NETWORK,) if quick else (*KINDS, NETWORK))
    ]
    named = [("credit", kind) for kind in (*KINDS, NETWORK)] + [("german", "forest")] if data is not None else []
    for name, kind in dict.fromkeys([*named, *drawn]):
        own = folder / f"{name}-{kind}".replace(" ", "-")
        own.mkdir()
        if name in WIDE:
            table, text = own / "data.csv", _drawn(own / "data.csv", *WIDE[name])
        else:
            assert data is not None
            table, text = _first_rows(data / f"{name}.csv", own, kind), spec_text(name).decode()
        (own / "spec.yaml").write_text(with_policy(text))
        if kind == NETWORK:
            _export_network(table, own)
        printed([sys.executable, "-P", "-c", *_training(own, own, table, kind)])
        yield f"{name}, {kind}", own, table, kind


def _first_rows(table: Path, own: Path, kind: str) -> Path:
    """The whole table for a forest; for other kinds of models, which cost no more with more rows, the first of it."""
    if kind == "forest":
        return table
    with table.open() as whole, (own / table.name).open("w") as first:
        first.writelines(islice(whole, FIRST + 1))
    return own / table.name


def _export_network(table: Path, own: Path) -> None:
    """Fit a network to the encoded rows of a table, and write it to ``network.onnx``."""
    from skl2onnx import to_onnx

    rows = read_table(table, load_spec(own / "spec.yaml").spec)
    network = MLPClassifier((16,), early_stopping=True, random_state=0).fit(rows.X.astype(np.float32), rows.labels)
    exported = to_onnx(network, rows.X[:1].astype(np.float32), options={"zipmap": False})
    (own / "network.onnx").write_bytes(exported.SerializeToString())


def _training(own: Path, place: Path, table: Path, kind: str) -> Sequence[str]:
    """The program, and its arguments, that makes the model in ``place`` of a version."""
    given = str(table), str(place / "spec.yaml"), str(place / "model")
    if kind == NETWORK:
        return _IMPORT, *given, str(own / "network.onnx")
    return TRAIN, *given, KINDS[kind]


def with_policy(text: str) -> str:
    """A spec with the policy of a draft."""
    kept, skipping = [], False
    for line in text.splitlines():
        skipping = line.startswith("policy:") or (skipping and line.startswith((" ", "#")))
        if not skipping:
            kept.append(line)
    return "\n".join(kept) + POLICY


def _drawn(file: Path, numbers: int, kinds: int) -> str:
    """Write drawn data, and return their spec: a third of the numbers decide, some of them together."""
    random = np.random.default_rng(numbers)
    X, groups = random.integers(0, 101, (ROWS, numbers)), random.integers(0, 4, (ROWS, kinds))
    share = X[:, : numbers // 3] / 100.0
    odds = 3.0 * (share.mean(axis=1) - 0.5) * np.sqrt(share.shape[1]) + 2.0 * (share[:, 0] * share[:, 1] - 0.25)
    labels = random.random(ROWS) < 1.0 / (1.0 + np.exp(-2.0 * odds))
    names = [f"n{i}" for i in range(numbers)] + [f"k{i}" for i in range(kinds)]
    with file.open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow([*names, "good"])
        for row_numbers, row_groups, label in zip(
            X.tolist(), groups.tolist(), labels.astype(int).tolist(), strict=True
        ):
            writer.writerow([*row_numbers, *("abcd"[group] for group in row_groups), label])
    lines = [f"  - {{name: n{i}, type: integer, bounds: [0, 100], mutable: any}}" for i in range(numbers)]
    lines += [f"  - {{name: k{i}, type: categorical, categories: [a, b, c, d], mutable: none}}" for i in range(kinds)]
    rest = ["label: {name: good, desired: 1}", "model: {manifest: model/manifest.json}"]
    return "\n".join(["program: drawn", "features:", *lines, *rest])


def _trained_by(python: str, own: Path, table: Path, kind: str) -> Path:
    """The spec of a program that another version has trained. It asks of options only what that version can ask."""
    known = printed([python, "-P", "-c", _KNOWN]).split()

    def without_unknown(block: re.Match[str]) -> str:
        asked = re.split(r",\s+(?=\w+:)", block[2])
        return f"{block[1]}: {{{', '.join(each for each in asked if each.split(':')[0] in known)}}}"

    text = (own / "spec.yaml").read_text()
    text = re.sub(r"^(policy|model): \{(.*?)\}$", without_unknown, text, flags=re.MULTILINE | re.DOTALL)
    spec = own / "other" / "spec.yaml"
    spec.parent.mkdir()
    spec.write_text(text)
    printed([python, "-P", "-c", *_training(own, spec.parent, table, kind)])
    return spec


def spent_by(
    specs: Mapping[str, tuple[str, Path]], table: Path, people: int, turns_of_each: int = TURNS
) -> Mapping[str, Spent]:
    """The least of some turns of each version, by its Python and its spec."""
    turns: dict[str, list[Spent]] = {name: [] for name in specs}
    for _ in range(turns_of_each):
        for name, (python, spec) in specs.items():
            turns[name].append(_turn(python, spec, table, people))
    return {name: _least(found) for name, found in turns.items()}


def _least(turns: Sequence[Spent]) -> Spent:
    alone, block, *lost = (np.min(np.array(each), axis=0) for each in zip(*turns, strict=True))
    return Spent(alone.tolist(), block.item(), *(each.tolist() for each in lost))


def _turn(python: str, spec: Path, table: Path, people: int) -> Spent:
    given = [str(spec), str(table), str(people), str(UNREACHED), str(EXPLAINED)]
    return Spent(*json.loads(printed([python, "-P", "-c", _MEASURE, *given]).splitlines()[-1]))


def printed(command: Sequence[str]) -> str:
    """What another process prints; raise ``UsageError`` where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["?"])[-1]
        raise UsageError(f"{command[0]}: it cannot measure a program: {why}")
    return done.stdout


def _figures(name: str, spent: Mapping[str, Spent]) -> Iterator[Row]:
    title, seen = "CPU of a rejected person, program as drafted", dict[str, dict[str, float]]()
    for version, own in spent.items():
        seen[version] = {
            "alone, median": float(np.median(own.alone)),
            "alone, p99": float(np.percentile(own.alone, 99)),
            "in blocks": own.block,
            "no option": float(np.mean(own.searched)) if own.searched else float("nan"),
            "explained": float(np.mean(own.explained)) if own.explained else float("nan"),
        }
        if own.unhelped:
            seen[version]["not helped, explained"] = float(np.mean(own.unhelped))
        for figure, value in seen[version].items():
            yield row(title, ", ".join(filter(None, (name, version))), figure, value, "us")
    if len(spent) > 1:
        ours, other = seen.values()
        for figure, value in ours.items():
            if figure not in other:
                continue
            aims = AIMS | AIMS_OF.get(name, {})
            yield row(title, f"{name}, ratio", figure, value / other[figure], aim=aims.get(figure))
