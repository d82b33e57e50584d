"""``onward train``: a program's first model from a CSV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from msgspec import structs
from pydantic import Field
from pydantic_settings import CliPositionalArg

from ...schemas.draft.reminders import unprotected
from ...schemas.effects import idle_effects
from ...schemas.specfile import LoadedSpec
from ..programs.assembly import assemble
from ..programs.bundle.manifest import MANIFEST
from ..programs.compositions import cautions
from ..programs.spec_check import load_program_spec
from ..programs.training.dates import date_columns
from ..programs.training.retrains import LASTING, RETRAINS, states_share
from ..programs.training.sample import PEOPLE
from ..programs.training.train import ESTIMATORS, EstimatorName, train
from ..review.review import review
from ..settings.fields import Csv, Metavar
from .display.new_model import print_model, tell, tell_dates
from .display.read_progress import LineProgress
from .display.reminders import remind
from .display.review import worst_lines
from .flags.new_model import NewModelSettings
from .flags.parsing import parse_settings

DESCRIPTION = """Train a model on labelled data and write it, its recourse instances and a manifest to a new folder.
The same data, spec and seed give the same model."""


class TrainSettings(NewModelSettings):
    """Settings of ``onward train``."""

    csv: CliPositionalArg[Csv] = Field(description="Data with the spec's features and its label.")
    estimator: EstimatorName = Field(next(iter(ESTIMATORS)), description="Kind of model.")
    calibrate: bool = Field(
        False,
        description="Fit a sigmoid that turns scores into probabilities, by cross-validation (not for mlp).",
    )
    retrains: Annotated[int | None, Metavar("B")] = Field(
        None,
        description="Models of resamples of the data to keep with the model, by which its promise is measured: an even "
        f"number (default: {RETRAINS} where the spec's promise needs them, {LASTING} where its options should last, "
        "else 0).",
    )
    date_column: Annotated[str | None, Metavar("NAME")] = Field(
        None,
        description="Column of the CSV with dates, no feature: the shares of `promise: {kind: retrains}` are measured "
        "on later rows (default: on random halves of the rows); dates as 2026-01-31, or all as years, 202601, 20260131 "
        "or Unix time.",
    )


def run(args: Sequence[str]) -> int:
    """Train and print how good the model is."""
    options = parse_settings(TrainSettings, "onward train", DESCRIPTION, args)
    loaded = load_program_spec(options.spec)
    remind(loaded.path, unprotected, cautions, idle_effects)
    manifest = train(
        options.csv,
        loaded,
        options.output,
        estimator=options.estimator,
        seed=options.seed,
        calibrate=options.calibrate,
        retrains=options.retrains,
        date_column=options.date_column,
        goal_policy=options.goal_policy,
        tell=tell,
    )
    print_model(manifest, loaded.spec, options.output)
    if states_share(loaded.spec) and options.date_column is None:
        tell_dates(date_columns(options.csv, loaded.spec))
    for line in _suspicious(loaded, options.output, options.csv):
        tell(line)
    return 0


def _suspicious(loaded: LoadedSpec, output: Path, csv: Path) -> list[str]:
    """The worst of what people would be told by the new model, wherever the spec has its first one."""
    model = structs.replace(loaded.spec.model, manifest=str((output / MANIFEST).absolute()))
    program = assemble(replace(loaded, spec=structs.replace(loaded.spec, model=model)))
    return worst_lines(review(program, csv, people=PEOPLE, spec_file=loaded.path, progress=LineProgress()))
