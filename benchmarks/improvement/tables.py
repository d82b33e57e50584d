"""The results as tables for a terminal, the reference rows beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.table import Table

from onward.benchmarks.improvement.aims import aim
from onward.benchmarks.improvement.reference import Cited, Reference
from onward.benchmarks.improvement.results import Place, Results
from onward.benchmarks.improvement.scores import METRICS, Spread, standard_errors

WIDTH = 132
_HEADS = {
    "improvement": "improvement",
    "cost": "cost",
    "mer": "MER",
    "regret": "regret",
    "mer_250": "MER_250",
    "last250": "last250",
    "us": "us",
}
_DIGITS = {"regret": 1, "us": 0}


def full_tables(results: Results, reference: Reference | None, classifier: str) -> Iterator[Table]:
    """A table for each data set and trial: every method with all its metrics, and below it its reference rows."""
    for data in results.data:
        for trial in results.trials:
            places = results.places(data, trial.label)
            if not places:
                continue
            oracle = results.spread(places[0], "oracle")
            title = f"{results.experiment.title}: {data}, {classifier}, {results.experiment.varied} {trial.label}"
            table = _table(f"{title} (oracle MER {_text(oracle, 'mer')})", ("method", "n", *_HEADS.values()))
            for place in places:
                own = {metric: results.spread(place, metric) for metric in METRICS}
                n = str(own["mer"].n)
                table.add_row(place.method, n, *(_text(own[metric], metric) for metric in METRICS), style="bold")
                if reference is not None:
                    method, seeds = results.methods[place.method], results.seeds(place)
                    aims = [aim(method, data, trial.noise, metric) for metric in METRICS]
                    if classifier == "rf" and any(aims):
                        table.add_row("  aim", "", *("" if one is None else f"{one:g}" for one in aims), style="dim")
                    for cited in reference.cite(data, classifier, trial.noise, method, seeds):
                        _add(table, own, cited)
            yield table


def sweep_tables(results: Results) -> Iterator[Table]:
    """One table: mean expected reward and its regret by data set and method, a column for each trial."""
    labels = [trial.label for trial in results.trials]
    for metric in ("mer", "regret"):
        varied = results.experiment.varied
        columns = ("data", "method", "n", *(f"{varied} {label}" for label in labels))
        table = _table(f"{results.experiment.title}: {_HEADS[metric]}", columns)
        for data in results.data:
            for method in dict.fromkeys(place.method for place in results.places(data)):
                own = [Place(data, label, method) for label in labels]
                spreads = [results.spread(place, metric) if place in results.scores else None for place in own]
                n = max(one.n for one in spreads if one is not None)
                table.add_row(data, method, str(n), *("" if one is None else _text(one, metric) for one in spreads))
        yield table


def _add(table: Table, own: Mapping[str, Spread], cited: Cited) -> None:
    known = [cited.metrics.get(metric) for metric in METRICS]
    texts = ["" if one is None else _text(one, metric) for one, metric in zip(known, METRICS, strict=True)]
    table.add_row(f"  {cited.source}", str(cited.n), *texts, style="dim")
    if cited.same_draws:
        exact = [one is not None and own[metric].mean - one.mean for one, metric in zip(known, METRICS, strict=True)]
        texts = ["" if one is False else f"{round(one, 6) + 0.0:+.6f}" for one in exact]
        table.add_row("    difference", "", *texts, style="dim")
        return
    errors = [one and standard_errors(own[metric], one) for one, metric in zip(known, METRICS, strict=True)]
    if any(error is not None for error in errors):
        texts = ["" if error is None else f"{error:+.1f}" for error in errors]
        table.add_row("    difference / its error", "", *texts, style="dim")


def _table(title: str, columns: tuple[str, ...]) -> Table:
    table = Table(title=title, title_justify="left", box=None, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, justify="left" if column in ("method", "data") else "right", no_wrap=True)
    return table


def _text(value: Spread, metric: str) -> str:
    digits = _DIGITS.get(metric, 3)
    mean, std = f"{value.mean:.{digits}f}", f"{value.std:.{digits}f}"
    return mean if value.n == 1 else f"{mean} ±{std}"
