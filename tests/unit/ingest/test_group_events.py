"""What micro-batches of ``__consumer_offsets`` say of groups and their members, as rows of ``group_events``."""

from __future__ import annotations

import pytest

from builders.group_events import at
from builders.offset_records import group_key, member_key
from fakes.ingest import WRITTEN_MS
from fakes.ingest import IngestingJob as Job
from offset_sync.tables.catalog import GROUP_EVENTS

CLASSIC_EMPTY = bytes.fromhex("00030008636f6e73756d657200000005ffffffff0000018bcfe5680000000000")


@pytest.fixture
def job() -> Job:
    return Job()


def test_who_is_active_is_written_down(job: Job) -> None:
    job.ingest(
        0,
        (group_key("classic"), CLASSIC_EMPTY),
        (group_key("classic"), None),
        (group_key("new", 3), None),
        (member_key("new", "m-1"), None),
        (group_key("ignored", 6), b"\x00\x00"),
    )
    assert job.tables.rows(GROUP_EVENTS, "group_id", "kind", "generation", "members") == [
        ("classic", "classic", 5, 0),
        ("classic", "classic_removed", None, None),
        ("new", "epoch_removed", None, None),
        ("new", "member_removed", None, None),
    ]
    assert set(job.tables.rows(GROUP_EVENTS, "cluster", "at")) == {("X", at(WRITTEN_MS))}
    assert ("new", "m-1", 3, 3) in job.tables.rows(GROUP_EVENTS, "group_id", "member_id", "log_partition", "log_offset")
    assert job.genuine() == {}


def test_streams_and_share_groups_and_their_members_are_written_down(job: Job) -> None:
    job.ingest(
        0,
        (member_key("app", "m-1", 19), b"\x00\x00"),
        (group_key("app", 17), b"\x00\x00"),
        (member_key("sharers", "m-2", 10), None),
        (group_key("sharers", 11), None),
    )
    assert job.tables.rows(GROUP_EVENTS, "group_id", "kind", "member_id", "log_offset") == [
        ("app", "streams", None, 1),
        ("app", "streams_member", "m-1", 0),
        ("sharers", "share_member_removed", "m-2", 2),
        ("sharers", "share_removed", None, 3),
    ]
    (captured_at,) = {each for (each,) in job.tables.rows(GROUP_EVENTS, "captured_at")}
    assert captured_at > at(WRITTEN_MS)
