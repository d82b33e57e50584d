"""Where in a spec's file a value stands."""

from __future__ import annotations

from pathlib import Path

from ...schemas.yamltree import Path as ValuePath
from ...schemas.yamltree import YamlDocument, format_path
from .report import Place


class SpecPlaces:
    """The places of values in a spec's file; by their paths alone where there is none, or it cannot be read."""

    def __init__(self, file: Path | None) -> None:
        self._file, self._document = file, _document(file)

    def place_of(self, path: ValuePath) -> Place:
        """The place of a value, or of the closest one around it that the file has."""
        if self._document is None:
            return Place(format_path(path))
        line, column, shown, _ = self._document.problem(path, "")
        return Place(shown, str(self._file), line, column)


def _document(file: Path | None) -> YamlDocument | None:
    try:
        document = None if file is None else YamlDocument(file.read_bytes())
    except OSError:
        return None
    return None if document is None or document.problems else document
