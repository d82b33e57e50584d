"""The output of ``onward models check``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import Console
from rich.table import Table

from ...engine.promises.option_counts import RESULTS, ResultCounts
from ...printable import printable
from ...printed_json import print_json
from ...replay.model_check import CheckedModel
from .tables import name, numbers, table, words

TOLD = ("accepted", "broken")
"""The results for options without a promise."""
MEANINGS = {
    "cleared": "cleared by the certificate",
    "accepted": "accepted by the new model",
    "honoured": "rejected, but honoured",
    "broken": "broken",
}


def print_check(checked: CheckedModel, limit: float, as_json: bool) -> None:
    """Print tables, or one JSON object."""
    if as_json:
        print_json(_report(checked, limit))
        return
    console = Console()
    for line in _lines(checked):
        console.out(printable(line), highlight=False)
    if checked.counts.open:
        for part in _tables(checked):
            console.print(part)
        if checked.counts.share <= limit:
            console.print(f"within the limit: {checked.counts.share:.1%} of {limit:.1%}", highlight=False)


def broken_in_words(checked: CheckedModel) -> str:
    """How many open options a model breaks, in a line."""
    counts = checked.counts
    broken = f"it breaks {counts.broken:,} of {counts.open:,} open options of {checked.people:,} people"
    left_out = f"; {checked.unknown:,} that an earlier model or spec made are not counted" if checked.unknown else ""
    return f"{broken} ({counts.share:.1%}){left_out}"


def _lines(checked: CheckedModel) -> list[str]:
    now = " and ".join(checked.current)
    numbers = ", ".join(map(str, checked.partitions))
    plural = "s" * (len(checked.partitions) > 1)
    ledgers = f"the ledger{plural} of journal partition{plural} {numbers}"
    lines = [f"{checked.program}: model {checked.version} in place of {now}"]
    if checked.counts.open:
        lines.append(f"open options: {checked.counts.open:,} of {checked.people:,} people, in {ledgers}")
    else:
        lines.append(f"open options: none in {ledgers}, so the model can break none there")
    if checked.expired:
        lines.append(f"not counted: {checked.expired:,} options whose time is over")
    if checked.unknown:
        lines.append(
            f"not counted: {checked.unknown:,} options that an earlier model or spec made, which no ledger keeps"
        )
    if checked.is_unfinished:
        lines.append(f"the look at the open options under {now} is not finished: it may still end some of them")
    if checked.honours:
        lines.append("the program honours its promises: these people are judged by older models until they expire")
    return [*lines, *checked.doubts]


def _tables(checked: CheckedModel) -> Iterator[Table]:
    counts = checked.counts
    results = [(MEANINGS[result], getattr(counts, result)) for result in (RESULTS if checked.promised else TOLD)]
    columns = (words("under the new model"), *numbers("options"), *numbers("share", form=".1%"))
    yield table(None, columns, ((meaning, count, count / counts.open) for meaning, count in results))
    for feature, groups in checked.groups.items():
        yield table(
            None,
            (name(feature), *numbers("open", "broken"), *numbers("share", form=".1%")),
            ((group, verdicts.open, verdicts.broken, verdicts.share) for group, verdicts in groups.items()),
        )


def _report(checked: CheckedModel, limit: float) -> Mapping[str, object]:
    """The verdict on a model, with the results for all open options, and by features for those of groups."""
    return {
        "program": checked.program,
        "model": checked.version,
        "current": checked.current,
        "partitions": checked.partitions,
        "people": checked.people,
        **_counts(checked.counts),
        "limit": limit,
        "within_limit": checked.counts.share <= limit,
        "expired": checked.expired,
        "promised": checked.promised,
        "unknown": checked.unknown,
        "unfinished": checked.is_unfinished,
        "honours": checked.honours,
        "doubts": checked.doubts,
        "groups": {
            feature: [{"group": group, **_counts(counts)} for group, counts in groups.items()]
            for feature, groups in checked.groups.items()
        },
    }


def _counts(counts: ResultCounts) -> dict[str, float]:
    return {"open": counts.open, **counts._asdict(), "share": counts.share}
