"""Reminds of what a spec leaves to people."""

from __future__ import annotations

import sys
from pathlib import Path

from ....schemas.draft.reminders import unlimited, unprotected
from ....schemas.effects import idle_effects
from ....schemas.specfile import load_spec
from ...errors import ModelError
from ...printable import printable
from ...programs.assembly import address_of
from ...programs.bundle.loader import read_manifest
from ...programs.compositions import cautions, needs_applicants, window_questions
from ...programs.effects import doubts_in_words, lacking_effects


def tell_unprotected(spec: Path) -> None:
    """Name on standard error the features of a good spec that look personal and that somebody may be told to change."""
    for line in unprotected(load_spec(spec).spec):
        print(printable(f"{spec}: {line}"), file=sys.stderr)


def tell_cautions(spec: Path) -> None:
    """Say on standard error which methods of a good spec may leave most people without an option."""
    for line in cautions(load_spec(spec).spec):
        print(printable(f"{spec}: {line}"), file=sys.stderr)


def tell_idle(spec: Path) -> None:
    """Name on standard error the features of a good spec that others follow and that nobody can change."""
    for line in idle_effects(load_spec(spec).spec):
        print(printable(f"{spec}: {line}"), file=sys.stderr)


def tell_effects(spec: Path) -> None:
    """The same, and what the data of the first model, where there is one, have against what follows in a good spec."""
    tell_idle(spec)
    loaded = load_spec(spec)
    if not (loaded.spec.effects or loaded.spec.computed):
        return
    try:
        manifest, _ = read_manifest(address_of(loaded), redirects=True)
    except ModelError:
        return
    if lacking := lacking_effects(loaded.spec, manifest.effects):
        told = f"{spec}: its model knows no slope and deviation of {lacking}: train it again, or give both"
        print(printable(told), file=sys.stderr)
    for line in doubts_in_words(manifest.measured.effects, manifest.effects):
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
