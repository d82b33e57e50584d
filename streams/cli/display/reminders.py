"""Reminds of what a spec leaves to people."""

from __future__ import annotations

import sys
from pathlib import Path

from ....schemas.draft.reminders import unlimited, unprotected
from ....schemas.specfile import load_spec
from ...printable import printable
from ...programs.compositions import cautions, needs_applicants, window_questions


def tell_unprotected(spec: Path) -> None:
    """Name on standard error the features of a good spec that look personal and that somebody may be told to change."""
    for line in unprotected(load_spec(spec).spec):
        print(printable(f"{spec}: {line}"), file=sys.stderr)


def tell_cautions(spec: Path) -> None:
    """Say on standard error which methods of a good spec may leave most people without an option."""
    for line in cautions(load_spec(spec).spec):
        print(printable(f"{spec}: {line}"), file=sys.stderr)


def tell_applicants(spec: Path) -> None:
    """Say on standard error where applications under a good spec must name their applicants."""
    for line in needs_applicants(load_spec(spec).spec):
        print(printable(f"{spec}: {line}"), file=sys.stderr)


def tell_window_questions(spec: Path) -> None:
    """Ask on standard error what only people know of the outcomes of a good spec."""
    for line in window_questions(load_spec(spec).spec):
        print(printable(f"{spec}: {line}"), file=sys.stderr)


def tell_unlimited(spec: Path) -> None:
    """Name on standard error the numbers that somebody may be told to change by any amount."""
    for name in unlimited(load_spec(spec).spec):
        told = f"{spec}: {name}: people may be told to change it by any amount: give a `max_change`"
        print(printable(told), file=sys.stderr)
