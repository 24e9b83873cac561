"""Write what documents say of the code: ``make docs``.

The parts of ``docs/tables.md`` about tables and views, from where they are defined. The rest is written by hand.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from pathlib import Path

from offset_sync.tables.catalog import ALL_TABLES
from offset_sync.tables.definition import Column, Table
from offset_sync.tables.views import QUESTIONS, VIEWS, View, failover_cost

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "tables.md"
COMMAND = "make docs"
COLUMNS = 100
"""So wide are the lines of all documents, tables and links aside."""
_ONLY_ADDED = "Rows are only ever added."
_PART = re.compile(r"(<!-- begin (\w+)[^>]*-->\n).*?(<!-- end \2 -->)", re.DOTALL)
_MOMENT = datetime(2026, 11, 21, 3, 12, tzinfo=timezone.utc)


def with_written_parts(page: str) -> str:
    """Return *page* with its parts written anew; raises KeyError for a part that nobody can write."""
    parts = {
        "tables": _sections(ALL_TABLES),
        "views": _sections(VIEWS),
        "questions": _sections(QUESTIONS),
        "failover": f"```sql\n{failover_cost([_MOMENT])}```\n",
    }
    return _PART.sub(lambda found: f"{found[1]}{parts[found[2]]}{found[3]}", page)


def _sections(described: Iterable[Table | View]) -> str:
    return "\n".join(f"### {each.name}\n\n{_about(each)}\n\n{column_table(each.columns)}" for each in described)


def _about(described: Table | View) -> str:
    text = described.comment
    if isinstance(described, Table):
        text = f"{text} {_life(described)}"
    return textwrap.fill(text, COLUMNS, break_long_words=False, break_on_hyphens=False)


def _life(table: Table) -> str:
    """Return what becomes of the rows of a table."""
    if table.is_replaced:
        return "Every report replaces the one before."
    return "Rows are only ever added, and cut where no answer needs them." if table.is_cut else _ONLY_ADDED


def column_table(columns: Sequence[Column]) -> str:
    """Return what the columns hold as a Markdown table."""
    lines = [f"| `{column.name}` | {column.type} | {_cell(column.comment)} |" for column in columns]
    return "\n".join(["| column | type | what it holds |", "|---|---|---|", *lines]) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    """Write the page anew."""
    PAGE.write_text(with_written_parts(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
