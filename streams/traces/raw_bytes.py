"""Names in the bytes of a ledger's file, where the columns of rows stand one behind the other."""

from __future__ import annotations

import string
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from .names import Names

_PIECE = 4 << 20
_REACH = 256
"""How many bytes of a longer word are looked at on each side of the name in it."""
_WORD = (string.ascii_letters + string.digits).encode()


class LongerWords:
    """The words of which names are a part, without being words themselves: they are others' names.

    Nothing divides words in the bytes of a ledger. What is there and is a part of a word that some row holds, is that.
    """

    def __init__(self, names: Names) -> None:
        self._texts = {text for texts in names.texts for text in texts}
        self._words: dict[bytes, dict[tuple[int, int], set[bytes]]] = {
            text: defaultdict(set) for text in sorted(self._texts)
        }

    def learn(self, content: bytes) -> None:
        """Learn those that a text holds."""
        for text in self._texts:
            for at in _places(text, content):
                before = content[max(0, at - _REACH) : at] if text[0] in _WORD else b""
                after = content[at + len(text) : at + len(text) + _REACH] if text[-1] in _WORD else b""
                left, right = len(before) - len(before.rstrip(_WORD)), len(after) - len(after.lstrip(_WORD))
                if left or right:
                    word = content[at - left : at + len(text) + right]
                    self._words[text][left, len(word)].add(word)

    def hold(self, text: bytes, content: bytes, at: int) -> bool:
        """Whether the name that stands at a place of some bytes is a part of one of them."""
        # Few lengths, whatever the number of words is.
        return any(
            at >= left and content[at - left : at - left + length] in words
            for (left, length), words in self._words[text].items()
        )


def names_in_bytes(path: Path, names: Names, longer: LongerWords) -> set[int]:
    """The places of the names that stand anywhere in a file, and are no part of a longer word.

    The file may be written and cut meanwhile. Raise ``OSError``.
    """
    found: set[int] = set()
    margin = max((len(text) for texts in names.texts for text in texts), default=0) + 2 * _REACH
    for content, begin, end in _pieces(path, margin):
        for place, texts in enumerate(names.texts):
            if place in found:
                continue
            for text in texts:
                at = (at for at in _places(text, content, begin) if at < end)
                if any(not longer.hold(text, content, one) for one in at):
                    found.add(place)
    return found


def _places(text: bytes, content: bytes, begin: int = 0) -> Iterator[int]:
    at = content.find(text, begin)
    while at >= 0:
        yield at
        at = content.find(text, at + 1)


def _pieces(path: Path, margin: int) -> Iterator[tuple[bytes, int, int]]:
    """The pieces of a file, each with a margin on both sides; where in those bytes the piece begins and ends."""
    # It is not mapped into memory: whoever reads mapped bytes that another process cuts off is killed.
    with path.open("rb") as file:
        start = 0
        while True:
            before = min(start, margin)
            file.seek(start - before)
            content = file.read(before + _PIECE + margin)
            if len(content) <= before:
                return
            yield content, before, before + _PIECE
            start += _PIECE
