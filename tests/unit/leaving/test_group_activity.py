"""Who has members now, by what coordinators answer, what the table says, and what the log says after it."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from builders.offset_records import commit_key, commit_value, group_key, member_key
from fakes.ingest import WRITTEN_MS, IngestingJob
from fakes.tables import MemoryTables
from leaving.group_events import JOINED, LEFT, Event, at, rows
from offset_sync.decode.consumer_offsets import coordinator_partition
from offset_sync.ingest.group_activity import GroupActivity
from offset_sync.kafka.internal_logs import LogRecords
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import OffsetRange, RecordContent
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.groups_by_log import GroupsByLog
from offset_sync.tables.catalog import GROUP_EVENTS

TYPES = {"streams": 17, "streams_member": 19, "share": 11, "share_member": 10}
PARTITIONS = 5
HOME = coordinator_partition("g", PARTITIONS)


def to_record(event: Event, group: str) -> tuple[bytes, bytes | None]:
    """Return an event as the broker has written it."""
    kind, member = event
    record_type = TYPES[kind.removesuffix("_removed")]
    key = group_key(group, record_type) if member is None else member_key(group, member, record_type)
    return key, None if kind.endswith("_removed") else b"\0\0"


class Coordinators:
    def __init__(self) -> None:
        self.answer: frozenset[str] | ClusterError = frozenset({"classic"})
        self.empty: frozenset[str] = frozenset()

    def active(self) -> frozenset[str] | ClusterError:
        return self.answer

    def listed(self) -> dict[str, None] | ClusterError:
        return self.answer if isinstance(self.answer, ClusterError) else dict.fromkeys(self.answer | self.empty)


class Log:
    """A log of commits with records of one group; *reads* are the ranges that were read."""

    def __init__(self) -> None:
        self.records: list[tuple[bytes, bytes | None]] = []
        self.has_leader, self.is_slow = True, False
        self.reads: list[dict[int, OffsetRange]] = []

    def add(self, *events: Event, group: str = "g") -> None:
        self.records += [to_record(event, group) for event in events]

    def ends(self) -> Sequence[int | None]:
        end = len(self.records) if self.has_leader else None
        return [end if number == HOME else 0 for number in range(PARTITIONS)]

    def read(self, ranges: Mapping[int, OffsetRange], types: frozenset[bytes], deadline: float) -> LogRecords:
        self.reads.append(dict(ranges))
        if self.is_slow:
            return LogRecords({}, frozenset(ranges))
        numbers = range(ranges[HOME].start, ranges[HOME].end)
        contents = [RecordContent(n, 1_000, *self.records[n]) for n in numbers]
        return LogRecords({HOME: [each for each in contents if (each.key or b"")[:2] in types]})


class Checkpoint:
    def __init__(self) -> None:
        self.read_to = 0

    def position(self) -> dict[int, int]:
        return {HOME: self.read_to}


class Site:
    """One cluster: what ``sync_offsets`` has read of its log is in the table."""

    def __init__(self) -> None:
        self.tables: Any = MemoryTables()
        self.coordinators, self.log, self.checkpoint = Coordinators(), Log(), Checkpoint()
        self.by_log = by_log = GroupsByLog(self.tables, CommitLogIncarnations(self.tables), ["X"])
        checkpoint: Any = self.checkpoint
        self.activity = GroupActivity("X", self.coordinators, self.log, checkpoint, by_log)

    def sync(self, *events: Event) -> None:
        """Write *events*, and have them read."""
        self.tables.append(GROUP_EVENTS, rows(*events, first=len(self.log.records), partition=HOME))
        self.log.add(*events)
        self.checkpoint.read_to = len(self.log.records)


def test_groups_that_are_not_listed_are_unknown_unless_the_log_has_them(site: Site) -> None:
    site.sync(*JOINED)
    site.coordinators.empty = frozenset({"empty"})
    assert site.activity.active(["g"]) == {"classic", "g"}
    assert site.activity.unknown(["g", "classic", "empty", "hidden"]) == {"hidden"}
    asked: Any = (site.coordinators, None, site.checkpoint, site.by_log)
    polled = GroupActivity("X", *asked)
    assert polled.active(["g"]) == polled.active() == {"classic"}
    assert polled.unknown(["hidden", "classic"]) == {"hidden"}
    site.coordinators.answer = ClusterError("X", "no answer")
    assert site.activity.unknown(["g"]) == polled.unknown(["g"]) == site.coordinators.answer


@pytest.fixture
def site() -> Site:
    return Site()


def test_what_the_table_says_is_not_read_again(site: Site) -> None:
    site.sync(*JOINED)
    assert site.activity.active() == {"classic", "g"}
    assert site.log.reads == []


def test_what_no_job_has_read_is_read_in_the_log(site: Site) -> None:
    site.sync(*JOINED)
    site.log.records.append((commit_key("g", "orders", 0), commit_value(5)))
    site.log.add(*LEFT)
    assert site.activity.active() == {"classic"}
    assert site.log.reads == [{HOME: OffsetRange(3, 7)}]
    site.log.add(("share_member", "m"), ("share", None))
    assert site.activity.active(["g"]) == {"classic", "g"}
    assert site.activity.share_groups() == {"g"}


def test_without_a_job_the_whole_log_tells(site: Site) -> None:
    site.log.add(*JOINED)
    assert site.activity.active() == site.activity.active(["g"]) == {"classic", "g"}


def test_of_named_groups_only_their_partition_is_read(site: Site) -> None:
    other = next(name for name in "abcdef" if coordinator_partition(name, PARTITIONS) != HOME)
    site.log.add(*JOINED)
    assert site.activity.active([other]) == {"classic"}
    assert site.log.reads == []


def test_a_member_whose_tombstone_was_not_read_does_not_keep_a_named_group_active(site: Site) -> None:
    site.sync(*JOINED)
    site.log.records = [to_record(("streams", None), "g")] * 4  # compacted since
    site.checkpoint.read_to = 4
    assert site.activity.active() == {"classic", "g"}
    assert site.activity.active(["g"]) == {"classic"}


@pytest.mark.parametrize("trouble", ["is_slow", "has_leader"])
def test_a_log_that_is_not_read_to_its_end_leaves_named_groups_open_and_others_to_the_table(
    site: Site, trouble: str, caplog: pytest.LogCaptureFixture
) -> None:
    site.sync(*JOINED)
    site.log.add(*LEFT)
    setattr(site.log, trouble, trouble == "is_slow")
    found = site.activity.active(["g"])
    assert isinstance(found, ClusterError)
    assert "cannot determine which streams groups have members" in str(found)
    with caplog.at_level(logging.WARNING):
        assert site.activity.active() == {"classic", "g"}
    assert "not read to their ends" in caplog.text


def test_a_cluster_that_does_not_answer_says_nothing_of_any_group(site: Site) -> None:
    site.sync(*JOINED)
    site.coordinators.answer = ClusterError("X", "no answer")
    assert site.activity.active() == site.coordinators.answer


def test_streams_and_share_groups_and_their_members_are_written_down() -> None:
    job = IngestingJob()
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


def test_groups_that_no_coordinator_lists_are_unknown() -> None:
    listing: Any = SimpleNamespace(active=lambda: frozenset({"g"}), listed=lambda: {"g": None, "empty": None})
    no_events: Any = Mock(streams_groups=lambda _: frozenset(), share_groups=lambda _: frozenset())
    groups = GroupActivity("X", listing, None, no_events, no_events)
    assert groups.active(["g", "hidden"]) == groups.active() == {"g"}
    assert groups.unknown(["g", "empty", "hidden"]) == {"hidden"}
    listing.active = listing.listed = lambda: ClusterError("X", "no answer")
    assert isinstance(groups.unknown(["g"]), ClusterError)
