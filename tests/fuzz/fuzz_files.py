"""Targets that take the files of people who set Onward up: specs and data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
from fuzz_events import PROGRAMS
from fuzz_inputs import RECORD, Target, folder

from onward.agents.options import Options
from onward.schemas.draft import draft_spec
from onward.schemas.draft.questions import DraftDecisions
from onward.schemas.encoding import FeatureCodec
from onward.schemas.problems import SpecProblem
from onward.schemas.spec import Feature, FeatureType, ProgramSpec
from onward.schemas.spec_rules import MOST_COLUMNS
from onward.schemas.specfile import MAX_PROBLEMS, parse_spec
from onward.schemas.table import TableError, labelled, read_csv, read_table
from onward.streams.engine.selection import step_generator
from onward.streams.programs.bundle.raw_rows import read_rows, write_rows
from onward.streams.programs.spec_check import policy_faults

SPEC = b"""\
program: loan
features:
  - {name: income, type: continuous, bounds: [0, 100], step: 1, unit: kEUR, mutable: up, missing: 3}
  - {name: debts, type: integer, bounds: [0, 10], pii: true}
  - {name: school, type: ordinal, levels: [none, "basic", high]}
  - {name: region, type: categorical, categories: [north, south], mutable: none, one_hot: [n, s]}
constraints:
  max_changes: 2
  le: [[debts, income]]
  rules:
    - {if: {feature: school, equals: high}, then: {feature: income, at_least: 5}}
label: {name: repaid, desired: 1}
model: {manifest: model/manifest.json, threshold: 0.5}
policy:
  choice: linucb
  parameters: {regularisation: 20, delta: 0.05}
  cost: max_percentile_shift
  nu: 0.5
  window: {time: P90D, lateness: PT1M}
  seed: 7
decisions: external
candidates: 100
retention: {closed: P30D, undecided: P365D}
capacity: {places: 1, round: P1D}
shards: 3
"""
BLOCKS = b"""\
# comment
%YAML 1.2
---
program: &name "l\\x6fan"
features:
- name: a
  type: integer
  bounds:
  - !!int 0
  - 0x1F
- name: >-
    folded
    text
  type: categorical
  categories: ['it''s', "\\u00e9", ~, on, 2001-01-01]
label: {name: *name}
? model
: {manifest: |
    literal
  }
policy: {choice: protoar, window: {steps: 3}}
...
"""


# --- specs ----------------------------------------------------------------------------------------------------------


def spec(data: bytes) -> None:
    """Problems, each with its line, or a spec under which a program can be run."""
    found = parse_spec(data, policy_faults)
    if isinstance(found, ProgramSpec):
        _runs(found)
        return
    assert 0 < len(found) <= MAX_PROBLEMS + 1
    assert found[:MAX_PROBLEMS] == sorted(found[:MAX_PROBLEMS])
    for problem in found:
        assert isinstance(problem, SpecProblem)
        assert min(problem.line, problem.column) >= 1
        assert problem.message


def _runs(spec: ProgramSpec) -> None:
    assert msgspec.json.decode(msgspec.json.encode(spec), type=ProgramSpec) == spec
    codec = FeatureCodec(spec)
    assert 0 < codec.dimension <= MOST_COLUMNS
    rows = tuple({feature.name: _least(feature) for feature in spec.features} for _ in range(3))
    points = np.zeros((3, codec.dimension))
    program = replace(PROGRAMS["loan"], spec=spec, codec=codec, points=points, instances=rows)
    learner = program.learner()
    for name in ("window_ms", "lateness_ms", "retention_ms", "undecided_ms"):
        assert abs(getattr(program, name) or 0) < 2**57
    for shard in {0, spec.shards - 1}:
        generator = step_generator(program, shard, 5)
        person = np.zeros(codec.dimension)
        arms = np.array([0, 2])
        options = Options(person, arms, program.arms, arms, np.array([0.5, 1.0]))
        pick = learner.choose(options, lambda generator=generator: generator)
        assert pick is not None
        assert pick.arm in (0, 2)


def _least(feature: Feature) -> Any:
    return feature.bounds[0] if feature.bounds else (feature.levels or feature.categories)[0]


# --- data -----------------------------------------------------------------------------------------------------------


def table(data: bytes) -> None:
    """Rows that encode into [0, 1] with a label each, or an error that names the file."""
    file = folder() / "data.csv"
    file.write_bytes(data)
    for program_spec in TABLE_SPECS:
        try:
            found = read_table(file, program_spec)
        except TableError as error:
            told = error
        else:
            assert found.X.shape == (len(found.rows), FeatureCodec(program_spec).dimension)
            assert ((found.X >= 0) & (found.X <= 1)).all()
            assert found.labels.shape == (len(found.rows),)
            assert found.labels.any()
            continue
        assert str(told).startswith(str(file))


def draft(data: bytes) -> None:
    """A spec that takes every row of the file it was drafted from, or an error that names the file.

    A spec in which nobody could change anything is for people to mend.
    """
    label, _, content = data.partition(RECORD)
    file, drafted = folder() / "Loans of 2026.csv", False
    file.write_bytes(content)
    try:
        first = DraftDecisions(ask=lambda question: question.choices[0] if question.kind == "label" else None)
        text = draft_spec(file, label.decode(errors="replace"), first).text
        drafted, found = True, parse_spec(text.encode())
        if not isinstance(found, ProgramSpec):
            assert ["no feature is mutable" in problem.message for problem in found] == [True], text
            return
        count = len(read_table(file, found).rows)
    except TableError as error:
        told = error
    else:
        assert count == len(labelled(read_csv(file), found.label.name).lines)
        return
    assert str(told).startswith(str(file))
    assert not drafted


TYPES: dict[str, FeatureType] = {
    "income": "continuous",
    "debts": "integer",
    "school": "ordinal",
    "region": "categorical",
}


def rows(data: bytes) -> None:
    """Rows that come back when they are written, or ``ValueError``."""
    try:
        found = read_rows(data, TYPES)
    except ValueError:
        return
    assert read_rows(write_rows(found, TYPES), TYPES) == found


TABLE_SPECS = [
    found
    for found in (parse_spec(SPEC), parse_spec(SPEC.replace(b"desired: 1", b'desired: "yes"')))
    if isinstance(found, ProgramSpec)
]
HEADER = b"income,debts,school,region,repaid\n"
TABLES = [
    HEADER + b"20,3,none,south,1\n2.5,0,high,north,0\n",
    b"\xef\xbb\xbfincome,debts,school,n,s,repaid,other\r\n 1e1 ,3.0,basic,1,0,yes,\r\n\r\n1_0,9,high,0,1,no,x\r\n",
    b'"income","debts",school,region,repaid\n"0.5",3,"none","so""uth\n",1\n',
    b"income,debts,school,region:north,region:south,repaid\n1,2,none,0,1.0,1\n",
]
CSV_WORDS = [
    b",",
    b'"',
    b"\n",
    b"\r\n",
    b"nan",
    b"inf",
    b"-1e400",
    b"9" * 5000,
    b"1_0",
    b"\x00",
    b"\xff",
    "١".encode(),
    *(b";", b"\t", b"NA", b" %", b"2026-01-31", b"0,5"),
    b"a:x",
    b"a:y",
]
YAML_WORDS = [
    *(b"&a ", b"*a", b"<<: *a", b"!!int ", b"!!float ", b"!!python/name:os.system ", b"! ", b"%TAG ! a:\n", b"---\n"),
    *(b"...\n", b"? ", b": ", b"- ", b">-\n", b"|\n", b"\xc2\x85", b"\xe2\x80\xa8", b"\xef\xbb\xbf", b"\\x00"),
    *(b"\\uD800", b"\\UFFFFFFFF", b"9" * 60, b"0x" + b"f" * 60),
    *b".inf .nan 1e400 0o7 0b1 1:1:1 ~ -1 true null 2026-01-01 P999999999D -PT1S P0D 5e-324 1.7e308".split(),
    *b"steps: time: seed: equals: at_most: protoar linucb delta: regularisation: ordinal categorical".split(),
]
TARGETS = {
    "spec": Target(
        spec,
        [SPEC, BLOCKS],
        YAML_WORDS,
        {
            "an operand of thousands of digits": SPEC.replace(b"equals: high", b"equals: 0x" + b"f" * 5000),
            "a character beyond all": SPEC.replace(b"kEUR", b'"\\UFFFFFFFF"'),
            "half of a character": SPEC.replace(b"kEUR", b'"\\uD800"'),
            "a seed below nothing": SPEC.replace(b"seed: 7", b"seed: -1"),
            "a window that fills the memory": SPEC.replace(b"time: P90D", b"steps: 999999999999"),
        },
        share=0.1,
    ),
    "table": Target(table, TABLES, CSV_WORDS, share=0.25),
    "draft": Target(draft, [b"repaid" + RECORD + text for text in TABLES], CSV_WORDS, share=0.1),
    "rows": Target(rows, [HEADER.replace(b",repaid", b"") + b'20,3,none,"so""uth"\n-1e-5,-0,,\xc3\xa9\n'], CSV_WORDS),
}
