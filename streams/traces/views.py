"""All that bytes may be read as: without escapes, out of base64 or digits, unpacked, in another encoding."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from functools import cached_property

from ...schemas.normal_form import normal_form
from .unpacking import Budget, UnsearchedError, is_packed, unpacked

LARGEST_UNPACKED = 256 << 20
"""The bytes that are made of one content in all, and of a file: what is beyond is not searched, and told."""
_LEAST_UNPACKED = 4 << 20
_EXPANSION = 64
"""As many bytes are made of one, beside the least: what strangers send may not hold up a search for hours."""
_FILE_EXPANSION = 16

_ESCAPE = re.compile(
    rb'(?:\\u[0-9a-fA-F]{4})+|\\x[0-9a-fA-F]{2}|\\["\\/bfnrt]|\x1b\x5b[0-9;?]*[A-Za-z]|(?:%[0-9a-fA-F]{2})+'
)
_WHITE = {b"b": b" ", b"f": b" ", b"n": b"\n", b"r": b"\n", b"t": b"\t"}
_RUN = re.compile(rb"[A-Za-z0-9+/_-]{8,}")
_BASE64 = re.compile(rb"[A-Za-z0-9+/]{8,}")
_LAST_LINE = re.compile(rb"\r?\n([A-Za-z0-9+/]{2,7})(?![A-Za-z0-9+/])")
_LEAST_LINE = 60
_LINE_ENDS = b"\n", b"\r\n"
_DIGITS = re.compile(rb"(?:[0-9a-fA-F]{2}){8,}")
_FOR_URLS = bytes.maketrans(b"-_", b"+/")
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_UTF_16 = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


class View:
    """Bytes as they are read. ``is_guess`` says that nothing marks them as what they are read as."""

    def __init__(self, content: bytes, is_guess: bool = False) -> None:
        self.content, self.is_guess = content, is_guess

    @cached_property
    def text(self) -> str | None:
        """The content as UTF-8 without control characters; None where it is something else."""
        if _CONTROLS.search(self.content):
            return None
        try:
            return self.content.decode()
        except UnicodeDecodeError:
            return None


class Views:
    """Iterates over the views of a content, each once. ``is_complete`` says afterwards whether they were all."""

    def __init__(self, view: View, is_file: bool = False) -> None:
        size = len(view.content)
        made = LARGEST_UNPACKED if is_file else min(LARGEST_UNPACKED, _LEAST_UNPACKED + _EXPANSION * size)
        self._budget = Budget(max(made, _FILE_EXPANSION * size))
        self._view, self._seen = view, {hash(view.content)}
        self.is_complete = True

    def __iter__(self) -> Iterator[View]:
        # Content may be packed thousands of times. In memory are one view, and those that lead to it.
        left = [iter([self._view])]
        while left:
            try:
                view = next(left[-1], None)
            except UnsearchedError:
                self.is_complete, view = False, None
            if view is None:
                left.pop()
                continue
            yield view
            left.append(self._inner(view))

    def _inner(self, view: View) -> Iterator[View]:
        # What looks like an escape in packed bytes is none.
        others = () if is_packed(view.content) else (_unescaped(view.content), _in_utf_8(view))
        for same in others:
            if same is not None and self._is_new(same):
                self._budget.spend(len(same))
                yield View(same, view.is_guess)
        for inner in _decoded(view.content):
            if self._is_new(inner):
                self._budget.spend(len(inner))
                yield View(inner, is_guess=True)
        for part in unpacked(view.content, self._budget):
            if self._is_new(part):
                yield View(part)

    def _is_new(self, content: bytes) -> bool:
        digest = hash(content)
        is_new = digest not in self._seen
        self._seen.add(digest)
        return is_new


def _unescaped(content: bytes) -> bytes | None:
    """The content with each escape of JSON, URLs, Python and terminals read once; None without any."""
    if b"\\" not in content and b"%" not in content and b"\x1b[" not in content:
        return None
    return _ESCAPE.sub(_read_escape, content)


def _read_escape(match: re.Match[bytes]) -> bytes:
    escape = match[0]
    if escape.startswith(b"%"):
        return bytes.fromhex(escape.replace(b"%", b"").decode())
    if escape.startswith(b"\x1b"):
        return b" "
    kind = escape[1:2]
    if kind == b"u":
        units = bytes.fromhex(escape.replace(b"\\u", b"").decode())
        return units.decode("utf-16-be", "replace").encode("utf-8", "replace")
    return bytes.fromhex(escape[2:].decode()) if kind == b"x" else _WHITE.get(kind, kind)


def _in_utf_8(view: View) -> bytes | None:
    """A text of another encoding or normal form; None where it is none."""
    content = view.content
    if view.text is not None:
        return None if content.isascii() else normal_form(view.text).encode()
    if view.is_guess:
        return None
    if encoding := _UTF_16.get(content[:2]) or _utf_16_by_zeros(content):
        return normal_form(content.decode(encoding, "replace")).encode("utf-8", "replace")
    return None if _CONTROLS.search(content) else normal_form(content.decode("latin-1")).encode()


def _utf_16_by_zeros(content: bytes) -> str | None:
    half = len(content[:64]) // 2
    if half and content[1:64:2].count(0) == half:
        return "utf-16-le"
    return "utf-16-be" if half and content[:64:2].count(0) >= half else None


def _decoded(content: bytes) -> Iterator[bytes]:
    """What runs of letters and digits are in base64 or hexadecimal digits, each alone and as lines of one text."""
    lines, end = list[bytes](), 0
    for match in _RUN.finditer(content):
        run = match[0]
        if lines and content[end : match.start()] not in _LINE_ENDS:
            yield from _in_lines(lines, content, end)
            lines = []
        if len(run) >= _LEAST_LINE or lines:
            lines.append(run.translate(_FOR_URLS))
        end = match.end()
        yield from map(_from_base64, _BASE64.findall(run))
        if b"-" in run or b"_" in run:
            yield from map(_from_base64, _BASE64.findall(run.translate(_FOR_URLS)))
        for digits in _DIGITS.findall(run):
            yield bytes.fromhex(digits.decode())
    yield from _in_lines(lines, content, end)


def _in_lines(lines: list[bytes], content: bytes, end: int) -> Iterator[bytes]:
    rest = _LAST_LINE.match(content, end)
    if lines and (rest or len(lines) > 1):
        yield _from_base64(b"".join([*lines, rest[1] if rest else b""]))


def _from_base64(text: bytes) -> bytes:
    # One character too many is not part of it.
    whole = text[: len(text) - (len(text) % 4 == 1)]
    return base64.b64decode(whole + b"=" * (-len(whole) % 4))
