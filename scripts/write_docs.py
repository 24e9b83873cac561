"""Write what documents say of the code: ``make docs``.

The parts of ``docs/tables.md`` about tables and views, from their definitions. The rest is written by hand.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
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
        "tables": _sections(ALL_TABLES),
        "views": _sections(VIEWS),
        "questions": _sections(QUESTIONS),
    }
    return _PART.sub(lambda found: f"{found[1]}{parts[found[2]]}{found[3]}", page)


def _sections(described: Iterable[Table | View]) -> str:
    return "\n".join(f"### {each.name}\n\n{_about(each)}\n{_columns(each)}" for each in described)


def _columns(described: Table | View) -> str:
    return "" if described is LAST_KNOWN else f"\n{column_table(described.columns)}"


def _about(described: Table | View) -> str:
    text = described.comment
    if isinstance(described, Table):
        text = f"{text} {_changes(described)}"
    if described is LAST_KNOWN:
        text = f"{text} For our own use: its columns, which have comments, may change."
    return textwrap.fill(text, COLUMNS, break_long_words=False, break_on_hyphens=False)


def _changes(table: Table) -> str:
    """Return how the rows of a table change."""
    if table.is_replaced:
        return "Replaced as a whole."
    return "Append-only, but maintenance removes old rows." if table.is_cut else "Append-only."


def column_table(columns: Sequence[Column]) -> str:
    """Return what the columns hold as a Markdown table."""
    lines = [f"| `{column.name}` | {column.type} | {_cell(column.comment)} |" for column in columns]
    return "\n".join(["| column | type | what it holds |", "|---|---|---|", *lines]) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    """Write the page."""
    PAGE.write_text(with_written_parts(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
