"""How many options last by default, beside those of the bare threshold: what a model that is trained again accepts.

A program is trained as ``onward train`` does it, with the policy that drafts write. Its options are what ``suggest``
answers to rejected people whom the model was not fitted on. Retrained models are of the same rows, split by other
seeds. They are asked about the options of the people whom they reject as they are.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import onward
from onward.agents.goals import accepted
from onward.agents.scores import Score
from onward.benchmarks.face import Row, progress
from onward.benchmarks.truth.settings import spec_text
from onward.schemas.draft.draft import POLICY
from onward.schemas.encoding import FeatureCodec
from onward.schemas.specfile import LoadedSpec
from onward.schemas.table import Table, read_table
from onward.streams.programs.bundle.measured import OWN
from onward.streams.programs.bundle.retrains import retrain_of
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.programs.training.train import ESTIMATORS, EstimatorName, split_rows, train

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

KINDS: Mapping[str, EstimatorName] = {"forest": "random_forest", "logistic": "logistic_regression"}
FILES = {
    "credit": "credit.csv",
    "german": "german.csv",
    "compas": "compas.csv",
    "sba": "SBAcase.11.13.17.csv",
}
LEAST, DEAREST = 0.9, 1.25
PLAIN = re.sub(r"(?m)^  (margin|lasting): .*\n", "", POLICY)
"""The policy at the bare threshold."""


class Told(NamedTuple):
    """The options of some people: whose each is (m,), encoded targets (m, D), costs (m,), and that they help (m,)."""

    owner: Indices
    targets: Floats
    costs: Floats
    helps: Floats


class Found(NamedTuple):
    """The figures of one file and seed."""

    share: float
    cost: float
    help: float
    without: float


def last(
    data: Path | None, people: int, retrains: int, rows: int, seeds: Sequence[int], kinds: Sequence[str] = tuple(KINDS)
) -> Iterator[Row]:
    """The figures of each data set and kind of model, means over the seeds; the reference is the bare threshold."""
    if data is None:
        progress("last is left out: there is no --data")
        return
    for name, file in FILES.items():
        if not (data / file).is_file():
            progress(f"{name} is left out: there is no {file}")
            continue
        for kind in kinds:
            found: dict[int, tuple[Found, Found, float]] = {}
            for seed in seeds:
                with tempfile.TemporaryDirectory() as folder:
                    found[seed] = _found(Path(folder), name, data / file, kind, people, retrains, rows, seed)
                default, plain, _ = found[seed]
                progress(
                    f"{name}, {kind}, seed {seed}: {default.share:.3f} of the options last, {plain.share:.3f} bare"
                )
            yield from _rows(f"{name} {kind}", found)


def _found(
    folder: Path, name: str, file: Path, kind: str, people: int, retrains: int, rows: int, seed: int
) -> tuple[Found, Found, float]:
    """The figures by default and at the bare threshold, and the share that training says."""
    header, *lines = file.read_text(encoding="utf-8-sig").splitlines(keepends=True)
    chosen = np.sort(np.random.default_rng(seed).permutation(len(lines))[:rows])
    (folder / "rows.csv").write_text(header + "".join(lines[row] for row in chosen.tolist()))
    default, plain = (_loaded(folder, name, which, policy) for which, policy in (("new", POLICY), ("plain", PLAIN)))
    manifest = train(folder / "rows.csv", default, folder / "model", estimator=KINDS[kind], seed=seed)
    table, codec = read_table(folder / "rows.csv", default.spec), FeatureCodec(default.spec)
    _, *unseen = split_rows(table.labels, file, np.random.RandomState(seed))
    other = np.concatenate(unseen)
    program = onward.load_program(default.path)
    scores = np.array(program.score([table.rows[row] for row in other.tolist()]))
    rejected = other[~accepted(scores, program.threshold)][:people]
    asked, before = [table.rows[row] for row in rejected.tolist()], table.X[rejected]
    judges = _retrained(table, codec, file, kind, retrains, seed)
    own, bare = (_told(codec, onward.load_program(each.path), asked) for each in (default, plain))
    cheaper = np.intersect1d(own.owner, bare.owner)
    figures = (_figures(told, before, judges, program.threshold, cheaper) for told in (own, bare))
    lasting = manifest.measured.lasting
    assert lasting is not None, "somebody has an option"
    return next(figures), next(figures), lasting.rules[OWN].share


def _loaded(folder: Path, name: str, which: str, policy: str) -> LoadedSpec:
    text = re.sub(r"(?m)^policy:.*\n(?:  .*\n)*", "", spec_text(name).decode())
    text = re.sub(r"manifest: [^,}\s]+", "manifest: model/manifest.json", text)
    (folder / f"{which}.yaml").write_text(text.rstrip() + "\n" + policy)
    return load_program_spec(folder / f"{which}.yaml")


def _retrained(table: Table, codec: FeatureCodec, file: Path, kind: str, count: int, seed: int) -> Sequence[Score]:
    """The models of the other seeds."""
    X, found = codec.readable(table.X), []
    for number in range(count):
        random = np.random.RandomState([seed, number])
        own, *_ = split_rows(table.labels, file, random)
        with threadpool_limits(1):
            found.append(retrain_of(ESTIMATORS[KINDS[kind]](random).fit(X[own], table.labels[own]), X.shape[1]).score)
    return found


def _told(codec: FeatureCodec, program: onward.Program, asked: Sequence[Mapping[str, onward.Value]]) -> Told:
    """What the people are told."""
    answers = [answer for answer in program.suggest(list(asked)) if isinstance(answer, onward.Recourse)]
    options = [(int(answer.application), option) for answer in answers for option in answer.options]
    rows = [{**asked[who], **option.after} for who, option in options]
    return Told(
        np.array([who for who, _ in options], dtype=np.intp),
        codec.encode_many(rows),
        np.array([option.cost for _, option in options]),
        np.array([option.improvement_probability or np.nan for _, option in options], dtype=np.float64),
    )


def _figures(told: Told, before: Floats, judges: Sequence[Score], threshold: float, both: Indices) -> Found:
    """The figures of options; the mean cost is of the people who have ``both``."""
    rejects = np.array([~accepted(judge(before), threshold)[told.owner] for judge in judges])
    accepts = np.array([accepted(judge(told.targets), threshold) for judge in judges])
    return Found(
        float(accepts[rejects].mean()) if rejects.any() else 1.0,
        float(np.mean([told.costs[told.owner == person].mean() for person in both.tolist()])),
        float(np.nanmean(told.helps)),
        1.0 - len(np.unique(told.owner)) / len(before),
    )


def _rows(title: str, found: Mapping[int, tuple[Found, Found, float]]) -> Iterator[Row]:
    def mean(values: Mapping[int, float]) -> float:
        return float(np.mean(list(values.values())))

    def each(place: int, figure: str) -> Mapping[int, float]:
        return {seed: float(getattr(both[place], figure)) for seed, both in found.items()}

    share = each(0, "share")
    yield Row(f"options that last {title}", mean(share), "share", mean(each(1, "share")), LEAST, by_seed=share)
    said = {seed: both[2] for seed, both in found.items()}
    yield Row(f"options that last, as training says {title}", mean(said), "share", by_seed=said)
    ratio = {seed: default.cost / plain.cost for seed, (default, plain, _) in found.items()}
    yield Row(f"cost {title}", mean(ratio), "x", 1.0, DEAREST, "lower", ratio)
    helps, plain_helps = each(0, "help"), each(1, "help")
    yield Row(f"probability that an option helps {title}", mean(helps), "share", mean(plain_helps), by_seed=helps)
    none = each(0, "without")
    yield Row(f"people without an option {title}", mean(none), "share", mean(each(1, "without")), by_seed=none)
