"""docs/tables.md: its written parts are up to date, its links lead somewhere, and every example says who runs it."""

from __future__ import annotations

import re

from offset_sync.tables.catalog import ALL_TABLES, LAST_KNOWN
from offset_sync.tables.views import QUESTIONS, VIEWS
from write_docs import COMMAND, PAGE, with_written_parts

TEXT = PAGE.read_text(encoding="utf-8")


def test_the_page_says_what_the_schemas_and_the_views_say() -> None:
    assert with_written_parts(TEXT) == TEXT, f"docs/tables.md is out of date: {COMMAND}"


def test_every_column_of_every_table_view_and_question_is_there() -> None:
    for described in ({*ALL_TABLES} - {LAST_KNOWN}) | {*VIEWS, *QUESTIONS}:
        section = TEXT.split(f"\n### {described.name}\n")[1].split("\n#")[0]
        found = re.findall(r"^\| `(\w+)` \| (\w+) \| (.+) \|$", section, re.MULTILINE)
        assert [(name, kind) for name, kind, _ in found] == [(c.name, c.type) for c in described.columns]
        assert [text for _, _, text in found if len(text) < 3] == []


def test_a_part_that_is_out_of_date_is_rewritten_and_the_rest_left_alone() -> None:
    stale = TEXT.replace("when the report was made", "whenever").replace("# The tables\n", "# My tables\n", 1)
    assert with_written_parts(stale) == TEXT.replace("# The tables\n", "# My tables\n", 1)
