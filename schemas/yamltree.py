"""YAML as plain values that remember their lines.

The document is composed to nodes and walked here rather than constructed by the YAML library, so that nothing but
text, numbers, booleans, lists and mappings can come out, and a hostile file (recursive or exploding aliases,
endless nesting) is an error with a line like any other.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer, ComposerError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from .problems import SpecProblem

Path = tuple[str | int, ...]

MAX_DEPTH = 32
MAX_VALUES = 20_000
TOO_DEEP, TOO_MANY = f"nested deeper than {MAX_DEPTH} levels", f"more than {MAX_VALUES} values"
MAX_CHARACTERS = 1000
"""Most of a message or a path that is shown: they repeat what the file holds."""
INT64 = range(-(2**63), 2**63)
TAG = "tag:yaml.org,2002:"
AS_WRITTEN = {TAG + "str", TAG + "timestamp"}
SURROGATE = re.compile("[\ud800-\udfff]")
CONSTRUCTED = {TAG + kind for kind in ("null", "bool", "int", "float")}


def shown(path: Path) -> str:
    """A path as users read it: ``("features", 2, "bounds")`` is ``features[2].bounds``."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".")


class _BoundedComposer(Composer):
    """Composes no more than a document may hold: even reading takes minutes for a hostile one."""

    _nodes = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self._nodes += 1
        fault = None
        if self.depth >= MAX_DEPTH:
            fault = TOO_DEEP
        elif self._nodes > MAX_VALUES:
            fault = TOO_MANY
        if fault is not None:
            raise ComposerError(None, None, fault, self.parser.peek_event().start_mark)
        return super().compose_node(parent, index)


class Tree:
    """A parsed document: ``value`` in dicts, lists and scalars, and what is wrong with it as YAML in ``problems``.

    ``unread`` are the places that could not be read; it holds ``()`` when nothing of the document can be judged.
    """

    def __init__(self, data: bytes) -> None:
        self.value: Any = None
        self.problems: list[SpecProblem] = []
        self.unread: set[Path] = set()
        self._marks: dict[Path, tuple[int, int]] = {}
        self._key_marks: dict[Path, tuple[int, int]] = {}
        self._values = 0
        self._yaml = YAML(typ="safe", pure=True)
        self._yaml.Composer = _BoundedComposer
        root = self._compose(data)
        if root is None:
            self.unread.add(())
        else:
            self.value = self._walk(root, (), ())

    def problem(self, path: Path, message: str, *, at_key: bool = False) -> SpecProblem:
        """A problem with the value (or with its key) at ``path``, or at the nearest place above that exists."""
        if at_key and path in self._key_marks:
            line, column = self._key_marks[path]
        else:
            known = (path[:end] for end in range(len(path), -1, -1) if path[:end] in self._marks)
            line, column = self._marks.get(next(known, ()), (0, 0))
        return SpecProblem(line + 1, column + 1, _cut(shown(path)), _cut(message))

    def is_unread(self, path: Path) -> bool:
        """Whether the value at ``path`` could not be read, or lies in one that could not."""
        return any(path[:end] in self.unread for end in range(len(path) + 1))

    def _compose(self, data: bytes) -> Node | None:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start)
            self.problems.append(SpecProblem(line + 1, 1, "", "not UTF-8 text"))
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                root: Node | None = self._yaml.compose(text)
        except (YAMLError, ValueError, OverflowError) as error:
            self.problems.append(_syntax_problem(error, text))
        else:
            if root is None:
                self.problems.append(SpecProblem(1, 1, "", "the file is empty"))
            return root
        return None

    def _walk(self, node: Node, path: Path, above: tuple[int, ...]) -> Any:
        self._values += 1
        self._marks[path] = (node.start_mark.line, node.start_mark.column)
        fault = None
        if id(node) in above:
            fault = "an alias refers to the mapping or list that it is part of"
        elif len(above) >= MAX_DEPTH:
            fault = TOO_DEEP
        elif self._values > MAX_VALUES:
            fault = TOO_MANY
        if fault is not None:
            if self._values <= MAX_VALUES + 1:
                self.problems.append(self.problem(path, fault))
            self.unread.add(())
            return None
        below = (*above, id(node))
        if isinstance(node, MappingNode):
            return {key: self._walk(value, (*path, key), below) for key, value in self._entries(node, path)}
        if isinstance(node, SequenceNode):
            return [self._walk(item, (*path, index), below) for index, item in enumerate(node.value)]
        return self._scalar(node, path)

    def _entries(self, node: MappingNode, path: Path) -> Iterator[tuple[str, Node]]:
        seen: dict[str, int] = {}
        for key, value in node.value:
            mark = (key.start_mark.line, key.start_mark.column)
            if not isinstance(key, ScalarNode):
                self.problems.append(SpecProblem(mark[0] + 1, mark[1] + 1, shown(path), "a key must be text"))
                continue
            name = str(key.value)
            self._key_marks[(*path, name)] = mark
            if name in seen:
                message = f"given twice, first in line {seen[name]}"
                self.problems.append(self.problem((*path, name), message, at_key=True))
                continue
            seen[name] = mark[0] + 1
            yield name, value

    def _scalar(self, node: Node, path: Path) -> Any:
        tag = str(node.tag)
        if tag in AS_WRITTEN:
            if SURROGATE.search(node.value):
                self._unreadable(path, "holds half of a character (a surrogate)")
                return None
            return str(node.value)
        if tag not in CONSTRUCTED:
            self._unreadable(path, f"the tag {tag} is not allowed; write plain values")
            return None
        try:
            value = self._yaml.constructor.construct_object(node)
        except (ValueError, YAMLError, LookupError):
            self._unreadable(path, f"cannot be read as {tag.removeprefix(TAG)}")
            return None
        if isinstance(value, float) and not math.isfinite(value):
            self._unreadable(path, "must be a finite number")
            return None
        if isinstance(value, int) and value not in INT64:
            self._unreadable(path, "a whole number beyond 64 bits")
            return None
        return value

    def _unreadable(self, path: Path, message: str) -> None:
        self.problems.append(self.problem(path, message))
        self.unread.add(path)


def _cut(text: str) -> str:
    half = MAX_CHARACTERS // 2
    return text if len(text) <= MAX_CHARACTERS else f"{text[:half]} ... {text[-half:]}"


def _syntax_problem(error: Exception, text: str) -> SpecProblem:
    if isinstance(error, ReaderError):
        before = text[: error.position]
        column = error.position - (before.rfind("\n") + 1)
        return SpecProblem(
            before.count("\n") + 1, column + 1, "", f"the character U+{error.character:04X} is not allowed"
        )
    if isinstance(error, MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        parts = (str(part) for part in (error.context, error.problem) if part)
        return SpecProblem(mark.line + 1, mark.column + 1, "", ", ".join(parts))
    return SpecProblem(1, 1, "", f"not YAML: {str(error).splitlines()[0] if str(error) else type(error).__name__}")
