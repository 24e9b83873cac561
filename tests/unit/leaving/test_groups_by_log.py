"""Streams and share groups, and which have members, by rows of ``group_events``."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.tables import MemoryTables
from leaving.group_events import JOINED, LEFT, Event, at, rows
from offset_sync.decode.consumer_offsets import coordinator_partition, decode_records
from offset_sync.model.values import CONSUMER_OFFSETS
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.groups_by_log import GroupsByLog
from offset_sync.tables.catalog import GROUP_EVENTS, LOG_INCARNATIONS

GOLDEN = Path(__file__).parents[2] / "golden" / "captured-groups-4.3.0.json"


def groups(tables: Any = None, *aliases: str) -> GroupsByLog:
    tables = tables or MemoryTables()
    return GroupsByLog(tables, CommitLogIncarnations(tables), aliases or ("X",))


def told(*pieces: pa.Table) -> GroupsByLog:
    """Return what the table says that has *pieces*."""
    tables: Any = MemoryTables()
    for piece in pieces:
        tables.append(GROUP_EVENTS, piece)
    found = groups(tables)
    found.restore()
    return found


def test_a_group_has_members_until_the_last_has_left_and_exists_until_it_is_removed() -> None:
    found = groups()
    found.take_in("X", rows(*JOINED))
    assert found.with_members("X") == found.streams_groups("X") == {"g"}
    found.take_in("X", rows(LEFT[0], first=3))
    assert found.with_members("X") == {"g"}
    found.take_in("X", rows(*LEFT[1:], first=4))
    assert (found.with_members("X"), found.streams_groups("X")) == (frozenset(), {"g"})
    found.take_in("X", rows(("streams_removed", None), first=6))
    assert (found.streams_groups("X"), found.share_groups("X")) == (frozenset(), frozenset())


def test_what_the_log_has_said_ends_where_commits_are_polled() -> None:
    tables: Any = MemoryTables()
    lives = CommitLogIncarnations(tables, {"X"})
    for number in range(50):
        tables.append(GROUP_EVENTS, rows(*JOINED, group=f"g{number}", partition=0))
    found = GroupsByLog(tables, lives, ("X",))
    found.restore()
    assert (found.with_members("X"), found.streams_groups("X")) == (frozenset(), frozenset())


def test_who_looks_while_another_one_does_sees_what_that_one_has_found(monkeypatch: pytest.MonkeyPatch) -> None:
    tables: Any = MemoryTables()
    found = groups(tables)
    found.refresh()
    tables.append(GROUP_EVENTS, rows(*JOINED))
    ready, seen, whole = threading.Event(), list[frozenset[str]](), GroupsByLog._take_in

    def look() -> None:
        ready.set()
        found.refresh()
        seen.append(found.with_members("X"))

    second = threading.Thread(target=look)

    def slowly(self: GroupsByLog, alias: str, added: pa.Table) -> None:
        if not ready.is_set():
            second.start()
            ready.wait(60)
            second.join(0.2)
        whole(self, alias, added)

    monkeypatch.setattr(GroupsByLog, "_take_in", slowly)
    found.refresh()
    second.join(60)
    assert seen == [{"g"}]


def test_a_share_group_is_told_from_a_streams_group() -> None:
    found = told(rows(("share_member", "m"), ("share", None), group="s"), rows(*JOINED, first=2))
    assert found.share_groups("X") == {"s"}
    assert found.streams_groups("X") == {"g"}
    assert found.with_members("X") == {"g", "s"}


def test_a_group_id_that_is_used_by_another_type_is_of_the_last_one() -> None:
    found = told(rows(*JOINED, *LEFT, ("streams_removed", None), ("share", None), ("share_member", "m3")))
    assert (found.share_groups("X"), found.streams_groups("X")) == ({"g"}, frozenset())


def test_events_of_classic_and_consumer_groups_and_of_other_clusters_do_not_count() -> None:
    found = told(rows(("member", "m"), ("epoch", None), ("classic", None)), rows(*JOINED, cluster="Y"))
    assert found.with_members("X") == found.streams_groups("X") == frozenset()


def test_rows_of_an_earlier_version_without_a_member_are_left_out() -> None:
    earlier = pa.Table.from_pylist([{"cluster": "X", "group_id": "g", "kind": "member"}], GROUP_EVENTS.arrow_schema)
    assert told(earlier).with_members("X") == frozenset()


def test_a_micro_batch_that_comes_again_changes_nothing() -> None:
    found = groups()
    found.take_in("X", rows(*JOINED))
    found.take_in("X", rows(*LEFT, first=3))
    found.take_in("X", rows(*JOINED))
    assert found.with_members("X") == frozenset()


def test_a_reader_follows_the_table() -> None:
    tables: Any = MemoryTables()
    found = groups(tables)
    found.refresh()
    assert found.with_members("X") == frozenset()
    tables.append(GROUP_EVENTS, rows(*JOINED))
    found.refresh()
    assert found.with_members("X") == {"g"}
    tables.append(GROUP_EVENTS, rows(*LEFT, first=3))
    found.refresh()
    assert found.with_members("X") == frozenset()


@pytest.mark.parametrize("live", [True, False], ids=["micro-batches", "table"])
def test_what_was_cut_off_the_log_does_not_count(live: bool) -> None:
    tables: Any = MemoryTables()
    found = groups(tables, "X", "Y")
    tables.append(GROUP_EVENTS, rows(*JOINED))
    tables.append(GROUP_EVENTS, rows(*JOINED, cluster="Y"))
    found.refresh()
    tables.append(GROUP_EVENTS, rows(*LEFT, first=3))
    found.refresh()
    life = {"cluster": "X", "topic": CONSUMER_OFFSETS, "partition": 1, "topic_id": "id", "begins_at": 4}
    life |= {"reason": "LOG_TRUNCATED", "noticed_at": at(100)}
    tables.append(LOG_INCARNATIONS, pa.Table.from_pylist([life], LOG_INCARNATIONS.arrow_schema))
    after = rows(("streams_member", "m2"), first=4, captured_ms=150)
    if live:
        found._logs.refresh()
        found.take_in("X", after)
    else:
        tables.append(GROUP_EVENTS, after)
        found.refresh()
    assert (found.with_members("X"), found.with_members("Y")) == ({"g"}, {"g"})  # m1 had left before the cut


def test_where_the_coordinator_of_a_group_moved_to_another_partition_the_former_one_does_not_count() -> None:
    now = coordinator_partition("g", 5)
    found = told(rows(*JOINED, partition=now + 1), rows(("streams", None), partition=now, captured_ms=90))
    assert found.with_members("X") == {"g"}, "partitions not known: it may have members"
    found.note_partitions("X", 5)
    found.refresh()
    assert (found.with_members("X"), found.streams_groups("X")) == (frozenset(), {"g"})


def test_records_of_a_real_broker_are_followed_from_the_first_to_the_last() -> None:
    records = json.loads(GOLDEN.read_text())["records"]
    keys = pa.array([bytes.fromhex(each["key"]) for each in records])
    values = pa.array([each["value"] and bytes.fromhex(each["value"]) for each in records], pa.binary())
    found, seen = groups(), []
    for record, row in zip(records, decode_records(keys, values).to_pylist(), strict=True):
        if row["kind"] not in ("commit", "ignored"):
            kind = row["kind"] + ("_removed" if row["is_tombstone"] else "")
            found.take_in("X", rows((kind, row["member_id"]), group=row["group_id"], first=record["log_offset"]))
            state = tuple(sorted(each) for each in (found.with_members("X"), found.share_groups("X")))
            seen += [] if seen and seen[-1] == state else [state]
    app, sharers = "app", "sharers"
    assert seen == [
        ([sharers], [sharers]),
        ([app, sharers], [sharers]),
        ([sharers], [sharers]),  # the application was stopped, and started again
        ([app, sharers], [sharers]),
        ([app], [sharers]),
        ([], [sharers]),
        ([], []),
    ]


members = st.sampled_from(["m1", "m2", "m3"])
kinds = [*(f"{kind}_member{end}" for kind in ("streams", "share") for end in ("", "_removed"))]
member_events = st.tuples(st.sampled_from(kinds), members)
group_events = st.tuples(st.sampled_from(["streams", "share"]), st.none())
histories = st.lists(st.one_of(member_events, group_events), max_size=12)


@given(histories, st.randoms(use_true_random=False), st.integers(1, 4))
def test_the_table_says_in_any_order_and_pieces_what_the_log_said_in_its_own(
    history: list[Event], chance: Any, pieces: int
) -> None:
    one_type = [event for event in history if event[0].startswith("streams")]
    live = groups()
    for offset, event in enumerate(one_type):
        live.take_in("X", rows(event, first=offset))
    shuffled = list(enumerate(one_type))
    chance.shuffle(shuffled)
    parts: Iterable[list[tuple[int, Event]]] = (shuffled[n::pieces] for n in range(pieces))
    found = told(*(pa.concat_tables([rows(), *(rows(event, first=at) for at, event in part)]) for part in parts))
    expected = set[str]()
    for kind, member in one_type:
        if member is not None:
            expected = expected - {member} if kind.endswith("_removed") else expected | {member}
    assert live.with_members("X") == found.with_members("X") == ({"g"} if expected else set())
    assert live.streams_groups("X") == found.streams_groups("X")
