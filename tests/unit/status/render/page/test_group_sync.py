"""MirrorMaker's offsets beside ours, as the page gets them."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from generators.reports import HOSTILE_NAMES, REPORTED_AT
from offset_sync.model.text import visible
from offset_sync.status.health import find_problems
from offset_sync.status.render.page.content import PageOptions, page_content
from offset_sync.status.render.page.group_sync import pack_mirror_maker
from offset_sync.status.report import Report
from offset_sync.status.verdict import DEFAULT_LIMITS
from offset_sync.tables.report_tables import SYNC_DRIFT, SYNC_STATUS

DOUBT = "may be written by MirrorMaker's group sync from dc1, and not by the group"


def row(group: str = "g", **columns: Any) -> dict[str, Any]:
    known = {"source_cluster": "dc1", "target_cluster": "dc2", "topic": "orders", "partition": 0}
    stands = {"status": "InSync", "state": "EXACT", "wanted_offset": 100, "target_offset": 100}
    return {**known, **stands, "group_id": group, "source_committed_at": REPORTED_AT, **columns}


def said(offset: int, behind: int | None, lost: int | None) -> dict[str, Any]:
    return {"mirror_maker_offset": offset, "mirror_maker_behind": behind, "mirror_maker_lost": lost}


def table(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), SYNC_STATUS.arrow_schema)


def test_where_it_has_said_nothing_there_is_nothing_to_show() -> None:
    assert pack_mirror_maker(table(row())) == {"rows": [], "more": 0, "doubts": []}
    assert pack_mirror_maker(table())["rows"] == []


def test_a_group_has_a_row_with_what_the_terminal_says() -> None:
    status = table(
        row(**said(90, 10, 3), target_offset=90),
        row(partition=1, **said(80, None, None), wanted_offset=None),
        row(partition=2, mirror_maker_doubt=DOUBT),
    )
    packed = pack_mirror_maker(status)
    assert packed["rows"] == [["g", "dc1", "dc2", 2, 3, 10, 3, 1, "1 its, 1 other"]]
    assert packed["doubts"] == [f"dc1: 1 commits, as of group g: {DOUBT}"]


def test_those_that_would_lose_most_are_shown_and_the_others_are_counted() -> None:
    packed = pack_mirror_maker(table(*(row(f"g{lost}", **said(90, 0, lost)) for lost in range(5))), most=2)
    assert ([each[0] for each in packed["rows"]], packed["more"]) == (["g4", "g3"], 3)


def test_what_javascript_cannot_hold_is_text_and_names_are_visible() -> None:
    packed = pack_mirror_maker(table(*(row(name, **said(0, 2**60, 0)) for name in HOSTILE_NAMES)))
    assert {each[0] for each in packed["rows"]} == {visible(name) for name in HOSTILE_NAMES}
    assert {each[5] for each in packed["rows"]} == {str(2**60)}


def test_it_is_in_the_content_of_the_page() -> None:
    status, drift = table(row(**said(90, 10, 0))), SYNC_DRIFT.arrow_schema.empty_table()
    problems = find_problems(status, drift, DEFAULT_LIMITS)
    content = page_content(Report(status, drift, REPORTED_AT), problems, PageOptions())
    assert json.loads(json.dumps(content["mirror_maker"])) == pack_mirror_maker(status)
