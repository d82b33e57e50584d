"""Model events: a program decides with another model from here on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from ....schemas.events import Model
from ...journal.entries import Entry, JournalPosition
from ...programs.bundle.loader import ModelBundle
from ..contract import Handler, works
from ..fold import Fold
from ..state import CurrentModel, PartitionState


class ModelHandler(Handler):
    """Replaces the model of a program. The arms stay, so what is learned about them stays.

    What must be done under the old model is finished first, such as a round whose people it has scored.
    """

    kind: ClassVar[str] = "model"

    def ends_segment(self, entry: Entry, state: PartitionState) -> bool:
        """Always."""
        return True

    def apply(self, entry: Entry, event: Model, fold: Fold) -> None:
        """Take the bundle that was loaded for this event."""
        program = fold.state.program(event.program)
        for work in works.values():
            work.before_change(program, fold)
        old = fold.state.model(program)
        new = fold.state.models[program.name] = CurrentModel.from_bundle(program, fold.view.models[entry.position])
        fold.effects.models.add(program.name)
        fold.count("models", program.name)
        for work in works.values():
            work.after_model(program, old, new, entry, fold)


def announces_models(entries: Sequence[Entry]) -> bool:
    """Whether ``load_models`` has anything to load."""
    return any(isinstance(entry.body, Model) for entry in entries)


def load_models(state: PartitionState, entries: Sequence[Entry]) -> Mapping[JournalPosition, ModelBundle]:
    """Load the bundles of the model events that will be applied. Raise ``ModelError``.

    A bundle is content-addressed: the same event always gives the same model. Repeats are not loaded.
    """
    return {
        entry.position: state.given_program(entry.body.program).load(entry.body.manifest, entry.body.sha256)
        for entry, is_new in zip(entries, state.are_new(entries), strict=True)
        if is_new and isinstance(entry.body, Model)
    }
