"""Specs and models from Python: a first spec of a data file, and a model trained on it."""

from __future__ import annotations

from pathlib import Path

from ...schemas import draft
from ...schemas.draft.reminders import unprotected
from ...schemas.unlabelled import unlabelled_in_words
from ..errors import UsageError
from ..programs.bundle.manifest import Manifest
from ..programs.effects import doubts_in_words
from ..programs.selected_labels import selected_in_words
from ..programs.spec_check import load_program_spec
from ..programs.training import train as training
from ..programs.training.measures import protected
from ..programs.training.retrains import MOST_RETRAINS
from ..programs.training.seeding import MOST_SEED
from .arguments import checks_arguments, path_of, text_of, whole_number_of
from .reminders import remind
from .usage_errors import usage_errors


@checks_arguments
def draft_spec(csv: str | Path, label: str) -> str:
    """The YAML of a first spec for a CSV whose column ``label`` says what happened.

    People must review it: it cannot know which features a person can change, and in which direction.

    Raises
    ------
    OnwardError
        When the data cannot be read.

    Examples
    --------
    >>> import onward
    >>> text = onward.draft_spec("loans.csv", label="repaid")
    >>> [name for name in ("income", "debts", "region") if name in text]
    ['income', 'debts', 'region']
    """
    with usage_errors():
        return draft.draft_spec(path_of("csv", csv), text_of("label", label)).text


@checks_arguments
def train(
    csv: str | Path,
    spec: str | Path,
    output: str | Path,
    *,
    estimator: str | None = None,
    seed: int = 0,
    retrains: int | None = None,
    date_column: str | None = None,
    goal_policy: str | Path | None = None,
) -> Manifest:
    """Train a program's model on a CSV with labels, and write it to the new folder ``output``.

    The same data, spec and seed give the same model. The spec's ``model.manifest`` names ``manifest.json`` in that
    folder, relative to the spec.

    Parameters
    ----------
    csv, spec
        Data with the spec's features and its label, and the program spec (YAML).
    output
        The folder, which must not exist.
    estimator
        The kind of model, as of ``onward train --estimator``.
    seed
        Seed of split and training.
    retrains
        How many models of resamples of the data to keep with the model, by which its promise is measured: an even
        number. By default 40 where the spec's promise needs them, else none.
    date_column
        A column of the CSV with dates, no feature: the shares of the promise ``retrains`` are measured on later rows.
        By default they are measured on random halves of the rows.
    goal_policy
        The file of the learned policy of ``goal: sac``, to keep with the model: ``onward train-rl goal`` writes it.

    Raises
    ------
    OnwardError
        When the data cannot be trained on, the folder exists, the model cannot carry the spec's promise, or a policy is
        missing or damaged.

    Warns
    -----
    OnwardWarning
        Where people may be told to change a feature that looks personal, the model reads a protected one, rows have no
        label, labels seem to be of approved people only or decisions themselves, or the data speak against an effect or
        a computed feature of the spec.

    Examples
    --------
    >>> import onward
    >>> manifest = onward.train("loans.csv", "loans.yaml", "another", estimator="logistic_regression")
    >>> manifest.program, manifest.measured.quality.accuracy > 0.8
    ('loans', True)
    """
    kinds = list(training.ESTIMATORS)
    chosen = kinds[0] if estimator is None else text_of("estimator", estimator)
    if chosen not in kinds:
        raise UsageError(f"there is no estimator {chosen!r}: use one of {', '.join(kinds)}")
    data, folder = path_of("csv", csv), path_of("output", output)
    with usage_errors():
        loaded = load_program_spec(path_of("spec", spec))
        remind(loaded.path, unprotected(loaded.spec))
        manifest = training.train(
            data,
            loaded,
            folder,
            estimator=chosen,
            seed=whole_number_of("seed", seed, 0, MOST_SEED),
            retrains=None if retrains is None else whole_number_of("retrains", retrains, 0, MOST_RETRAINS),
            date_column=None if date_column is None else text_of("date_column", date_column),
            goal_policy=None if goal_policy is None else path_of("goal_policy", goal_policy),
        )
    measured = manifest.measured
    remind(data, unlabelled_in_words(None if measured.data is None else measured.data.unlabelled))
    remind(data, selected_in_words(measured))
    remind(folder, protected.in_words(manifest, loaded.spec))
    remind(folder, doubts_in_words(measured.effects, manifest.effects))
    return manifest
