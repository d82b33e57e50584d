"""Onward's own sentences, a file a language, and those of a program that stand for them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any

from ..yamltree import YamlDocument
from .form import Sentences

FOLDER = Path(__file__).with_name("sentences")
PAGES = Path(__file__).with_name("pages")
SentenceForms = str | Mapping[str, str]
"""A sentence, or one for each plural form of the number ``n``, by its CLDR name."""


def own_sentences(tag: str) -> Mapping[str, str]:
    """Onward's sentences in a language, by their names; none where it has none.

    ``de-CH`` reads those of ``de``.
    """
    sentences: Mapping[str, str] = read_sentences(FOLDER, tag.partition("-")[0])
    return sentences


@cache
def read_sentences(folder: Path, name: str) -> Mapping[str, Any]:
    """Sentences of ours in the file NAME.yaml of a folder, by their names; none where it is not there."""
    file = folder / f"{name}.yaml"
    if not file.is_file():
        return {}
    document = YamlDocument(file.read_bytes())
    assert not document.problems, f"{file} is ours"
    sentences: Mapping[str, Any] = document.value
    return sentences


def page_sentences(tag: str) -> Mapping[str, SentenceForms]:
    """What pages and letters say in a language beside the sentences of answers; nothing where Onward has none."""
    return read_sentences(PAGES, tag.partition("-")[0])


def sentences_of(tag: str, replaced: Sentences) -> Mapping[str, str]:
    """All sentences of answers in a language, those of a program in place of Onward's. None has plural forms."""
    return {**own_sentences(tag), **{name: text for name, text in replaced.items() if isinstance(text, str)}}


def placeholders(text: str) -> list[str]:
    """What a text has filled in, such as ``name`` of ``{name}``. Raise ``ValueError`` for a brace of another kind."""
    names = []
    for _, name, spec, conversion in Formatter().parse(text):
        if name is not None:
            if not name.isidentifier() or spec or conversion:
                raise ValueError(f"{{{name}}} is no name")
            names.append(name)
    return names
