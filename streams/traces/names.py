"""Names searched for in bytes, however these hold them: escaped, in base64, packed, in either normal form."""

from __future__ import annotations

import re
import struct
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence

from .views import View, Views

UNSEARCHED = -1
"""In the place of a name: what nobody has searched is not known to be without one."""
LEAST_BYTES = 5
"""A shorter name, or number of fewer digits, is not searched for in bytes that are only taken for something: it stands
there by chance."""

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_WORD = re.compile(rb"[A-Za-z0-9]")


class Names:
    """The names of people. ``found_in`` gives the places, from 0, of those that bytes hold.

    In a text a name is a word: where a letter or digit of ASCII goes on with one of it, it is part of another name.
    What is no text, as MessagePack or an array, divides no words: a name is found there anywhere. It is found in a text
    also behind a letter or digit that may be the byte of its length.

    Examples
    --------
    >>> names = Names(["Zoë Smith", "a-17"])
    >>> names.found_in(b'{"application":"Zo\\\\u00eb Smith"}')
    {0}
    >>> names.found_in(b"a-171 is another")
    set()
    >>> names.found_in(b"YmFzZTY0IG9mIGEtMTch")
    {1}
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.texts = [_plain(name) for name in names]
        self._words = [re.compile(b"|".join(map(_word, texts)), re.DOTALL) for texts in self.texts]
        self._numbers = [_as_numbers(name) for name in names]
        self._all = [(text, place) for place, texts in enumerate(self.texts) for text in texts]
        self._all += [(number, place) for place, numbers in enumerate(self._numbers) for number in numbers]
        self._all.sort(key=lambda entry: len(entry[0]))
        self._sizes = [len(text) for text, _ in self._all]

    def found_in(self, content: bytes, is_file: bool = False, is_guess: bool = False) -> set[int]:
        """The places of the names that the content holds; ``UNSEARCHED`` too where it could not be searched whole.

        Of a file more is unpacked. A guess is a content that is probably no text, but numbers.
        """
        found: set[int] = set()
        views = Views(View(content, is_guess), is_file)
        for view in views:
            # Most content holds none of them in any neighbourhood, which is faster to see than words are.
            short_enough = self._all[: bisect_right(self._sizes, len(view.content))]
            held = {place for text, place in short_enough if text in view.content}
            found |= {place for place in held - found if self._is_in(place, view)}
        return found if views.is_complete else found | {UNSEARCHED}

    def _is_in(self, place: int, view: View) -> bool:
        """Whether a view that holds the bytes of a name holds the name."""
        if any(number in view.content for number in self._numbers[place]):
            return True
        if view.text is not None:
            return self._words[place].search(view.content) is not None
        least = LEAST_BYTES if view.is_guess else 0
        return any(len(text) >= least and text in view.content for text in self.texts[place])


def _plain(name: str) -> tuple[bytes, ...]:
    """The bytes of a name in both normal forms, and as part of an id."""
    forms = {unicodedata.normalize(form, name) for form in ("NFC", "NFD")} | {name}
    escaped = {form.replace("%", "%25").replace("/", "%2F") for form in forms} | {
        form.replace(" ", "+") for form in forms
    }
    return tuple(sorted(form.encode() for form in forms | escaped))


def _word(text: bytes) -> bytes:
    """A pattern of a name as a word, or behind its length, which some formats double."""
    before = rb"(?<![A-Za-z0-9])" if _WORD.match(text) else b""
    after = rb"(?![A-Za-z0-9])" if _WORD.match(text[-1:]) else b""
    word = re.escape(text)
    lengths = (bytes([size]) for size in (len(text), 2 * len(text)) if size < 1 << 8)
    return b"|".join([before + word + after, *(length + word for length in lengths if _WORD.match(length))])


def _as_numbers(name: str) -> list[bytes]:
    """The bytes of a number as computers hold it."""
    if not _NUMBER.fullmatch(name) or sum(map(str.isdigit, name)) < LEAST_BYTES:
        return []
    return [struct.pack("<d", float(name)), struct.pack(">d", float(name))]
