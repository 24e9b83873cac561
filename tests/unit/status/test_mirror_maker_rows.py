"""MirrorMaker's offsets beside ours, in the terminal and on the page."""

from __future__ import annotations

import io
import re
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from rich.cells import cell_len
from rich.console import Console

from builders.status_rows import Row, status_table
from generators.reports import HOSTILE_NAMES, REPORTED_AT
from offset_sync.status.page import MIRROR_MAKER_GROUPS, page_content
from offset_sync.status.report import Report, mirror_maker_doubts, mirror_maker_rows
from offset_sync.status.terminal import render_table
from offset_sync.tables.catalog import SYNC_DRIFT

DOUBT = "may be written by MirrorMaker's group sync from dc1, and not by the group"


def row(partition: int = 0, group: str = "g", **columns: Any) -> Row:
    return {"partition": partition, "group_id": group, **columns}


def said(offset: int, behind: int | None, lost: int | None) -> dict[str, Any]:
    return {"mirror_maker_offset": offset, "mirror_maker_behind": behind, "mirror_maker_lost": lost}


def printed(status: pa.Table, width: int = 80, *, most: int = 20, details: bool = False) -> str:
    stream = io.StringIO()
    report = Report(status, SYNC_DRIFT.arrow_schema.empty_table(), REPORTED_AT)
    render_table(report, Console(file=stream, width=width), most=most, details=details)
    return stream.getvalue()


def test_where_it_has_said_nothing_nothing_is_shown() -> None:
    assert mirror_maker_rows(status_table(row())) == []
    assert "MirrorMaker" not in printed(status_table(row()), details=True)


def test_partitions_of_a_group_are_added_up() -> None:
    status = status_table(row(0, **said(90, 10, 0)), row(1, **said(130, 0, 30)), row(2), row(3, **said(95, 5, 0)))
    (found,) = mirror_maker_rows(status)
    assert [found[name] for name in ("partitions", "checkpoints", "behind", "lost", "unknown")] == [4, 3, 15, 30, 0]


def test_offsets_at_the_target_are_counted_by_their_writer_and_an_equal_one_is_ours() -> None:
    status = status_table(
        row(0, **said(90, 10, 0), target_offset=90),
        row(1, **said(90, 10, 0), target_offset=100),
        row(2, **said(100, 0, 0), target_offset=100),
        row(3, **said(90, 10, 0), target_offset=7),
        row(4, **said(90, 10, 0), target_offset=None),
    )
    (found,) = mirror_maker_rows(status)
    assert found["stands"] == "1 its, 2 ours, 1 other"


def test_unknown_counts_are_not_added_but_shown() -> None:
    status = status_table(row(0, **said(90, None, None), wanted_offset=None), row(1, **said(90, 10, 3)))
    (found,) = mirror_maker_rows(status)
    assert (found["behind"], found["lost"], found["unknown"]) == (10, 3, 1)
    assert "3+" in printed(status)


def test_the_group_that_would_lose_most_comes_first() -> None:
    rows = [row(group="a", **said(0, 500, 0)), row(group="b", **said(0, 0, 2)), row(group="c", **said(0, 900, 0))]
    assert [each["group_id"] for each in mirror_maker_rows(status_table(*rows))] == ["b", "c", "a"]


def test_a_doubt_is_named_with_its_cluster_and_the_first_group() -> None:
    doubted = status_table(row(0, mirror_maker_doubt=DOUBT), row(1, mirror_maker_doubt=DOUBT))
    assert [each["checkpoints"] for each in mirror_maker_rows(doubted)] == [0]
    assert mirror_maker_doubts(doubted) == [f"dc1: 2 commits, e.g. of group g: {DOUBT}"]


@pytest.mark.parametrize("width", [80, 120, 160])
def test_it_fits_the_terminal_with_any_names(width: int) -> None:
    rows = [row(group=name, **said(90, 1_234_567, 7), mirror_maker_doubt=DOUBT) for name in HOSTILE_NAMES]
    lines = printed(status_table(*rows), width, details=True, most=1000).splitlines()
    assert max(map(cell_len, lines)) <= width


def test_no_more_groups_are_shown_than_asked_for() -> None:
    rows = [row(group=f"group-{number}", **said(90, number, 0)) for number in range(5)]
    section = printed(status_table(*rows), most=2).split("MirrorMaker's offsets")[1]
    assert [name for name in ("group-4", "group-3", "group-2") if name in section] == ["group-4", "group-3"]
    assert "3 more groups" in section


def test_details_have_its_offsets_where_there_is_room() -> None:
    status = status_table(row(0, **said(90, 10, 0)), row(1))
    (partitions,) = printed(status, 160, details=True).split("g, dc1 → dc2\n")[1:]
    assert re.search(r"source +target +wanted .*MirrorMaker's\n", partitions)


def test_the_page_has_the_worst_groups_and_counts_the_others() -> None:
    rows = [row(group=f"g{lost}", **said(90, 0, lost)) for lost in range(MIRROR_MAKER_GROUPS + 3)]
    report = Report(
        status_table(*rows, row(1, mirror_maker_doubt=DOUBT)), SYNC_DRIFT.arrow_schema.empty_table(), REPORTED_AT
    )
    found = page_content(report, [], timedelta())["mirror_maker"]
    assert (found["rows"]["group_id"][0], len(found["rows"]["stands"])) == (f"g{MIRROR_MAKER_GROUPS + 2}", 100)
    assert (found["more"], found["doubts"]) == (4, [f"dc1: 1 commits, e.g. of group g: {DOUBT}"])
