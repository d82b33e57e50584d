"""YAML as plain values that remember their lines.

The document is composed to nodes and converted here rather than constructed by the YAML library, so that only text,
numbers, booleans, null, lists and mappings can come out. Limits on depth and size end recursive and exploding aliases.
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
"""Most values of a document, each alias counted as the values that it stands for."""
INT64 = range(-(2**63), 2**63)
TAG = "tag:yaml.org,2002:"
TEXT_TAGS = {TAG + "str", TAG + "timestamp"}
PLAIN_TAGS = {TAG + kind for kind in ("null", "bool", "int", "float")}
SURROGATE = re.compile("[\ud800-\udfff]")


class YamlDocument:
    """A parsed document: ``value`` in dicts, lists and scalars. It is valid only when ``problems`` is empty."""

    def __init__(self, data: bytes) -> None:
        self.value: Any = None
        self.problems: list[SpecProblem] = []
        self._marks: dict[Path, tuple[int, int]] = {}
        self._key_marks: dict[Path, tuple[int, int]] = {}
        self._yaml = YAML(typ="safe", pure=True)
        self._yaml.Composer = _DepthLimitedComposer
        try:
            self.value = self._convert(self._compose(data), ())
        except _Unreadable as error:
            self.problems = [error.problem]

    def problem(self, path: Path, message: str, *, at_key: bool = False) -> SpecProblem:
        """A problem with the value (or with its key) at ``path``, or at the closest parent that exists."""
        if at_key and path in self._key_marks:
            line, column = self._key_marks[path]
        else:
            known = (path[:end] for end in range(len(path), -1, -1) if path[:end] in self._marks)
            line, column = self._marks.get(next(known, ()), (0, 0))
        # A name or value of the file may hold line breaks.
        return SpecProblem(line + 1, column + 1, format_path(path), " ".join(message.split()))

    def _compose(self, data: bytes) -> Node:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start)
            raise _Unreadable(SpecProblem(line + 1, 1, "", "not UTF-8 text")) from None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                root: Node | None = self._yaml.compose(text)
        except (YAMLError, ValueError, OverflowError) as error:
            raise _Unreadable(_syntax_problem(error, text)) from None
        if root is None:
            raise _Unreadable(SpecProblem(1, 1, "", "the file is empty"))
        return root

    def _convert(self, node: Node, path: Path) -> Any:
        self._marks[path] = (node.start_mark.line, node.start_mark.column)
        if len(path) >= MAX_DEPTH:
            raise _Unreadable(self.problem(path, f"nested deeper than {MAX_DEPTH} levels, or an alias of itself"))
        if len(self._marks) > MAX_VALUES:
            raise _Unreadable(self.problem(path, f"more than {MAX_VALUES} values"))
        if isinstance(node, MappingNode):
            return {key: self._convert(value, (*path, key)) for key, value in self._entries(node, path)}
        if isinstance(node, SequenceNode):
            return [self._convert(item, (*path, index)) for index, item in enumerate(node.value)]
        try:
            return self._scalar(node)
        except ValueError as error:
            self.problems.append(self.problem(path, str(error)))
            return None

    def _entries(self, node: MappingNode, path: Path) -> Iterator[tuple[str, Node]]:
        for key, value in node.value:
            line, column = key.start_mark.line, key.start_mark.column
            if not isinstance(key, ScalarNode):
                self.problems.append(SpecProblem(line + 1, column + 1, format_path(path), "a key must be text"))
                continue
            name = str(key.value)
            first = self._key_marks.setdefault((*path, name), (line, column))
            if first == (line, column):
                yield name, value
            else:
                message = f"given twice, first in line {first[0] + 1}"
                self.problems.append(SpecProblem(line + 1, column + 1, format_path((*path, name)), message))

    def _scalar(self, node: Node) -> Any:
        """The plain value of a scalar; ValueError when it has none."""
        tag = str(node.tag)
        if tag in TEXT_TAGS:
            if SURROGATE.search(node.value):
                raise ValueError("holds half of a character (a surrogate)")
            return str(node.value)
        if tag not in PLAIN_TAGS:
            raise ValueError(f"the tag {tag} is not allowed; write plain values")
        try:
            value = self._yaml.constructor.construct_object(node)
        except (ValueError, YAMLError, LookupError):
            raise ValueError(f"cannot be read as {tag.removeprefix(TAG)}") from None
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError("must be a finite number (`inf`, without a dot, where a field takes it)")
        if isinstance(value, int) and value not in INT64:
            raise ValueError("a whole number beyond 64 bits")
        return value


def format_path(path: Path) -> str:
    """A path as users read it: ``("features", 2, "bounds")`` is ``features[2].bounds``."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".")


class _Unreadable(Exception):
    """Ends the reading of a document with its only problem."""

    def __init__(self, problem: SpecProblem) -> None:
        self.problem = problem
        super().__init__(problem.message)


class _DepthLimitedComposer(Composer):
    """Composes with recursion, which must end in an error that has a line. So must a document of too many values."""

    nodes = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self.nodes += 1
        if self.nodes > 2 * MAX_VALUES:
            message = f"more than {MAX_VALUES} values"
            raise ComposerError(None, None, message, self.parser.peek_event().start_mark)
        if self.depth >= MAX_DEPTH:
            message = f"nested deeper than {MAX_DEPTH} levels"
            raise ComposerError(None, None, message, self.parser.peek_event().start_mark)
        return super().compose_node(parent, index)


def _syntax_problem(error: Exception, text: str) -> SpecProblem:
    if isinstance(error, ReaderError):
        before = text[: error.position]
        column = error.position - (before.rfind("\n") + 1)
        message = f"the character U+{error.character:04X} is not allowed"
        return SpecProblem(before.count("\n") + 1, column + 1, "", message)
    if isinstance(error, MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        parts = (str(part) for part in (error.context, error.problem) if part)
        return SpecProblem(mark.line + 1, mark.column + 1, "", ", ".join(parts))
    return SpecProblem(1, 1, "", f"not YAML: {str(error).splitlines()[0] if str(error) else type(error).__name__}")
