"""The pages: templates without scripts, filled in with what ``person.py`` and ``office.py`` know.

    Pages().person(page, words, reference="A-17", today_ms=now, languages=["de", "en"])

Their design is one stylesheet; the names of its classes and of form fields are part of the interface.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from ...schemas.spec import Feature, ProgramSpec
from ...schemas.words.names import readable
from ...schemas.words.sentences import page_sentences
from ..review.report import FeatureUse, Review
from .page_words import PageWords
from .person import PersonPage

FOLDER = Path(__file__).parent
STYLESHEET = FOLDER / "static" / "onward.css"
ENGLISH = page_sentences("en")


class Pages:
    """Renders all pages; ``is_simulated`` says on each that its people are made up."""

    def __init__(self, *, is_simulated: bool = False) -> None:
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(FOLDER / "templates"),
            autoescape=True,
            trim_blocks=True,
            undefined=jinja2.StrictUndefined,
        )
        self._is_simulated = is_simulated

    @cached_property
    def css(self) -> str:
        """The stylesheet, for a page that stands alone."""
        return STYLESHEET.read_text(encoding="utf-8")

    def person(
        self,
        page: PersonPage,
        words: PageWords,
        *,
        reference: str,
        today_ms: int,
        languages: Sequence[PageWords] = (),
        once: str | None = None,
        error: str | None = None,
        is_letter: bool = False,
    ) -> str:
        """An applicant's page; without ``once``, which a form sends back, it has no forms. A letter stands alone."""
        return self._render(
            "person.html",
            **_spoken(words),
            css=self.css if is_letter else None,
            face="person",
            title=page.title,
            brand=words.words.organisation.name,
            page=page,
            organisation=words.words.organisation,
            program=words.words.program,
            reference=reference,
            today=words.day(today_ms),
            languages=[(other.tag, other.name) for other in languages],
            once=once,
            preview=once is None,
            error=error,
        )

    def plain(self, words: PageWords, title: str, lines: Sequence[str], action: str | None = None) -> str:
        """A page of a heading and sentences, with a button that sends to ``action``."""
        return self._render(
            "plain.html",
            **_spoken(words),
            css=None,
            face="person",
            title=title,
            brand=words.words.organisation.name,
            lines=lines,
            action=action,
            contact=words.words.organisation.contact,
        )

    def office(self, template: str, *, title: str, user: str, read_up_to: str, **given: Any) -> str:
        """A page for case workers and owners, in English."""
        return self._render(
            template,
            language="en",
            direction="ltr",
            say=lambda sentence: ENGLISH[sentence],
            css=None,
            face="office",
            brand="Onward",
            title=title,
            user=user,
            read_up_to=read_up_to,
            **given,
        )

    def review(self, review: Review, spec: ProgramSpec, sha256: str) -> str:
        """A review of a spec as one file, for the pull request that changes it."""
        uses = {use.name: use for use in review.features}
        rows = [_reviewed(feature, uses.get(feature.name)) for feature in spec.features if feature.may_change]
        return self._render(
            "review.html",
            css=self.css,
            program=spec.program,
            sha256=sha256,
            review=review,
            features=sorted(rows, key=lambda row: -row["told"]),
            fixed=[feature.name for feature in spec.features if not feature.may_change],
        )

    def _render(self, template: str, **given: Any) -> str:
        return self._environment.get_template(template).render(simulated=self._is_simulated, **given)


def _spoken(words: PageWords) -> Mapping[str, Any]:
    def say_with(sentence: str, to: str, **given: str) -> Markup:
        """A sentence around values, the last of which stands out."""
        return Markup(escape(words.sentences[sentence])).format(to=Markup("<strong>{}</strong>").format(to), **given)

    return {"language": words.tag, "direction": words.direction, "say": words.say, "say_with": say_with}


def _reviewed(feature: Feature, use: FeatureUse | None) -> Mapping[str, Any]:
    """What people may be told to change of a feature, and how many are."""
    use = use or FeatureUse(feature.name, 0, 0, 0)
    most = "" if feature.max_change is None else str(feature.max_change)
    counts = {"told": use.told, "up": use.up, "down": use.down, "only": use.only}
    return {"name": feature.name, "called": readable(feature.name), "may": feature.mutable, "most": most, **counts}
