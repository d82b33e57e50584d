"""Tables of pages, in Markdown: one that is generated stands between ``<!-- NAME -->`` and ``<!-- /NAME -->``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def with_tables(page: str, tables: Mapping[str, str]) -> str:
    """The page with these tables by name; raise ``ValueError`` where it has no place for one."""
    for name, content in tables.items():
        start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        before, opened, rest = page.partition(start)
        _, closed, after = rest.partition(end)
        if not opened or not closed:
            raise ValueError(f"the page has no place for the table {name!r}: add {start.strip()} and {end}")
        page = f"{before}{start}{content}\n{end}{after}"
    return page


def table(head: Sequence[str], rows: Sequence[Sequence[str | None]]) -> str:
    """A table of a head and rows of as many cells."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join((cell or '').replace('|', chr(92) + '|') for cell in line)} |" for line in lines)
