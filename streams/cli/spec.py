"""What ``onward spec check`` and ``onward spec draft`` do."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ...schemas.draft import draft_spec
from ...schemas.encoding import FeatureCodec
from ...schemas.specfile import LoadedSpec, SpecError
from ...schemas.table import TableError
from ..errors import UsageError
from ..programs.spec_check import load_program_spec


def check(paths: Sequence[Path]) -> int:
    """Print one line for every good spec, and one for every problem as ``file:line:column: path: message``.

    Returns 2 when there is any problem, else 0.
    """
    code = 0
    for path in paths:
        try:
            print(_summary(load_program_spec(path)))
        except SpecError as error:
            for line, column, place, message in error.problems:
                parts = (f"{path}:{line}:{column}", place, message)
                print(": ".join(part for part in parts if part), file=sys.stderr)
            code = UsageError.exit_code
    return code


def draft(csv: Path, label: str, output: Path | None) -> int:
    """Write a spec for a data file to ``output``, or to standard output. An existing file is not overwritten.

    Raises ``UsageError`` when the data cannot be read or the output cannot be written.
    """
    try:
        text = draft_spec(csv, label)
    except TableError as error:
        raise UsageError(str(error)) from None
    if output is None:
        print(text, end="")
        return 0
    try:
        with output.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise UsageError(f"{output} exists already: remove it or choose another --output") from None
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror}") from None
    print(f"{output}: drafted from {csv}; review it, then run: onward spec check {output}", file=sys.stderr)
    return 0


def _summary(loaded: LoadedSpec) -> str:
    spec, policy = loaded.spec, loaded.spec.policy
    mutable = sum(feature.mutable != "none" for feature in spec.features)
    window = f"{policy.window.steps} steps" if policy.window.time is None else f"{policy.window.time} of event time"
    return (
        f"{loaded.path}: program {spec.program}: {len(spec.features)} features ({mutable} mutable) in "
        f"{FeatureCodec(spec).dimension} columns, policy {policy.choice} with cost {policy.cost} and window {window}, "
        f"sha256 {loaded.sha256}"
    )
