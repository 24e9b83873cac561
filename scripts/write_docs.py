"""Write what documents say of the code: ``make docs``.

The parts of ``docs/tables.md`` about tables and views, from their definitions. The rest is written by hand.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable
from itertools import compress
from pathlib import Path

from offset_sync.tables.catalog import ALL_TABLES, LAST_KNOWN
from offset_sync.tables.definition import Column, Table
from offset_sync.tables.views import QUESTIONS, VIEWS, View

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "tables.md"
COMMAND = "make docs"
COLUMNS = 100
"""So wide are the lines of all documents, tables and links aside."""
_PART = re.compile(r"(<!-- begin (\w+)[^>]*-->\n).*?(<!-- end \2 -->)", re.DOTALL)


def with_written_parts(page: str) -> str:
    """Return *page* with its generated parts replaced; raises KeyError for an unknown part."""
    parts = {
        "common": _columns(COMMON.values()),
        "tables": _sections(ALL_TABLES),
        "views": _sections(VIEWS),
        "questions": _sections(QUESTIONS),
    }
    return _PART.sub(lambda found: f"{found[1]}{parts[found[2]]}{found[3]}", page)


def common_columns(described: Iterable[Table | View]) -> dict[str, Column]:
    """Return, by name, the columns that at least two have alike; of two such meanings of a name the more frequent."""
    counted = Counter(column for each in described for column in each.columns)
    found = dict[str, Column]()
    for column, times in sorted(counted.items(), key=lambda item: -item[1]):
        if times > 1:
            found.setdefault(column.name, column)
    return found


_DESCRIBED: tuple[Table | View, ...] = (*ALL_TABLES, *VIEWS, *QUESTIONS)
COMMON = common_columns(each for each in _DESCRIBED if each is not LAST_KNOWN)


def _sections(described: Iterable[Table | View]) -> str:
    return "\n".join(f"### {each.name}\n\n{_about(each)}\n{_own(each)}" for each in described)


def _own(described: Table | View) -> str:
    """Return the columns of one table or view: names of common ones, and a line for each of the others."""
    if described is LAST_KNOWN:
        return ""
    is_common = [COMMON.get(column.name) == column for column in described.columns]
    shared = ", ".join(f"`{name}`" for name in compress((each.name for each in described.columns), is_common))
    own = _columns(column for column, elsewhere in zip(described.columns, is_common, strict=True) if not elsewhere)
    return "".join(f"\n{part}\n" for part in (_wrapped(f"Common: {shared}.") * bool(shared), own.rstrip()) if part)


def _about(described: Table | View) -> str:
    text = described.comment
    if isinstance(described, Table):
        text = f"{text} {_changes(described)}"
    if described is LAST_KNOWN:
        text = f"{text} For our own use: its columns, which have comments, may change."
    return _wrapped(text)


def _changes(table: Table) -> str:
    """Return how the rows of a table change."""
    if table.is_replaced:
        return "Replaced as a whole."
    return "Append-only, but maintenance removes old rows." if table.is_cut else "Append-only."


def _columns(columns: Iterable[Column]) -> str:
    """Return what the columns hold as a Markdown list."""
    lines = [_wrapped(f"- `{column.name}` {column.type}: {column.comment}", "  ") for column in columns]
    return "\n".join(lines) + "\n"


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, COLUMNS, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def main() -> None:
    """Write the page."""
    PAGE.write_text(with_written_parts(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
