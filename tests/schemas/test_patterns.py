"""Every pattern that the product searches with takes linear time, whatever it is given.

The patterns are found in the tree: a new one is tested by existing. Each is used in the way in which the code uses it.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections import deque
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from pathlib import Path
from random import Random
from time import process_time
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
SMALL, LIMIT = 2_048, 262_144
"""Bytes of the texts that are tried first, and of a record at most."""
MADE_OF_NAMES = {"streams/ledger/file.py": 1, "streams/traces/names.py": 1}
"""Patterns of escaped names that an operator gives, by file: they are not made in a module."""
SLOWEST, MOST_TEXTS = 3, 200
FACTOR = 30
"""How many times as slow as fixed work of the same size a search may be."""
CLASSES = "aA0_-., \n\t\"'\\:;()[]{}<>#`$%/|?*+^&@!~=éTZ\0"


class Use(NamedTuple):
    """A pattern and the methods that the code calls it by."""

    pattern: re.Pattern[Any]
    methods: frozenset[str]

    def work(self, text: Any) -> Callable[[], object]:
        """The searches of one text."""
        return lambda: [
            deque(self.pattern.finditer(text), 0)
            if name == "finditer"
            else getattr(self.pattern, name)(*((lambda found: found[0], text) if name == "sub" else (text,)))
            for name in self.methods
        ]


def uses() -> Iterator[tuple[str, Use]]:
    for room in ("schemas", "agents", "streams"):
        for file in sorted((ROOT / room).rglob("*.py")):
            text = file.read_text()
            if "import re\n" not in text:
                continue
            tree = ast.parse(text)
            attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
            used = [(own.value.id, own.attr) for own in attributes if isinstance(own.value, ast.Name)]
            made = [name for owner, name in used if owner == "re" and name.islower() and name != "escape"]
            assert set(made) <= {"compile"}, f"{file}: compile the pattern in the module, so that it is tested"
            if not made:
                continue
            module = importlib.import_module(".".join(("onward", *file.relative_to(ROOT).with_suffix("").parts)))
            place = str(file.relative_to(ROOT))
            own = {
                f"{name}[{index}]" if isinstance(value, tuple) else name: one
                for name, value in vars(module).items()
                if _is_assigned(tree, name)
                for index, one in enumerate(value if isinstance(value, tuple) else (value,))
                if isinstance(one, re.Pattern)
            }
            assert len(own) == len(made) - MADE_OF_NAMES.get(place, 0), f"{place}: compile it in the module"
            for name, value in own.items():
                methods = frozenset(method for owner, method in used if owner == name) or frozenset({"finditer"})
                yield f"{place}:{name}", Use(value, methods)


def _is_assigned(tree: ast.Module, name: str) -> bool:
    return any(
        isinstance(target, ast.Name) and target.id == name
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    )


USES = dict(uses())


def texts(use: Use, size: int) -> Iterator[tuple[tuple[str, str, str], Any]]:
    """A beginning, a unit repeated to ``size``, and an end: of words in the pattern and of one character a class."""
    source = use.pattern.pattern if isinstance(use.pattern.pattern, str) else use.pattern.pattern.decode("latin-1")
    words = sorted(set(re.findall(r"[A-Za-z]{2,}", source)))
    units = sorted({character for character in CLASSES if _matters(use, character)} | set(words))
    pairs = ["".join(pair) for pair in product(units, repeat=2)]
    every = list(product(("", *units), (*units, *pairs), ("", "!")))
    for parts in Random(1).sample(every, min(MOST_TEXTS, len(every))):
        yield parts, text_of(use, parts, size)


@cache
def _classes(source: str) -> tuple[re.Pattern[str], ...]:
    parts = re.findall(r"\\[dswDSWb.]|\[(?:\\.|[^\]\\])+\]", source)
    return tuple(re.compile(part) for part in parts if part != "\\b")


def _matters(use: Use, character: str) -> bool:
    """Whether a character is in the pattern, or the first of those that its classes do not tell apart."""
    source = use.pattern.pattern if isinstance(use.pattern.pattern, str) else use.pattern.pattern.decode("latin-1")

    def kind(one: str) -> tuple[object, ...]:
        return (one if one in source else "", *(bool(part.fullmatch(one)) for part in _classes(source)))

    return next(one for one in CLASSES if kind(one) == kind(character)) == character


def text_of(use: Use, parts: tuple[str, str, str], size: int) -> Any:
    begin, unit, end = parts
    text = begin + unit * (size // len(unit)) + end
    return text if isinstance(use.pattern.pattern, str) else text.encode()


def seconds(work: Callable[[], object]) -> float:
    began = process_time()
    work()
    return process_time() - began


def fixed(size: int) -> float:
    """The CPU time of work that grows with the size: a match for each character."""
    pattern, text = re.compile("[a-z]"), "a" * size
    return min(seconds(lambda: pattern.findall(text)) for _ in range(3))


@pytest.mark.attack
@pytest.mark.parametrize("name", USES)
def test_no_text_takes_a_search_longer_than_its_length_allows(name: str) -> None:
    use = USES[name]
    slowest = sorted(texts(use, SMALL), key=lambda one: seconds(use.work(one[1])), reverse=True)[:SLOWEST]
    for parts, _ in slowest:
        size = SMALL
        while size < LIMIT:
            size *= 16
            size = min(size, LIMIT)
            text = text_of(use, parts, size)
            in_time = (seconds(use.work(text)) < FACTOR * fixed(size) for _ in range(2))
            assert any(in_time), f"{parts!r} of {size} bytes"


def test_a_quadratic_pattern_is_noticed() -> None:
    use = Use(re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL), frozenset({"sub"}))
    parts = max(texts(use, SMALL), key=lambda one: seconds(use.work(one[1])))[0]
    assert seconds(use.work(text_of(use, parts, LIMIT // 16))) > FACTOR * fixed(LIMIT // 16)
