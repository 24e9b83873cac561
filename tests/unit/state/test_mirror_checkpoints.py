"""Which commits MirrorMaker's group sync may have made, by its checkpoints."""

from __future__ import annotations

import logging

import pytest

from builders.mirror_checkpoints import MemoryCheckpoints, checkpoint, checkpoints_at
from offset_sync.config.name_rules import to_names
from offset_sync.config.stream_names import SAME_NAMES, Names
from offset_sync.kafka.error_codes import NotAuthorizedError, TransientError
from offset_sync.model.values import CLOCKS_APART_MS, GroupPartition, RecordContent
from offset_sync.state.mirror_checkpoints import MirrorCheckpoints

NOW_MS, HOUR_MS = 1_795_000_000_000, 3_600_000
KEY = GroupPartition("g", "orders", 0)


def said(*records: RecordContent) -> MirrorCheckpoints:
    return checkpoints_at("Y", {"X": [MemoryCheckpoints(list(records))]})


def explains(
    known: MirrorCheckpoints, offset: int, at_ms: int = NOW_MS, metadata: str = "", key: GroupPartition = KEY
) -> bool:
    return list(known.explanations(key, offset, metadata, at_ms)) != []


def test_a_commit_of_the_newest_checkpoint_is_the_group_sync() -> None:
    known = said(checkpoint(100, NOW_MS - HOUR_MS), checkpoint(160, NOW_MS - 1_000))
    assert explains(known, 160)


def test_a_commit_of_another_offset_is_somebodys_own() -> None:
    known = said(checkpoint(100, NOW_MS - HOUR_MS), checkpoint(160, NOW_MS - 1_000))
    assert [explains(known, offset) for offset in (99, 101, 159, 161)] == [False] * 4


def test_a_commit_of_a_checkpoint_that_was_not_the_newest_any_more_is_somebodys_own() -> None:
    known = said(checkpoint(100, NOW_MS - HOUR_MS), checkpoint(160, NOW_MS - 2 * CLOCKS_APART_MS))
    assert not explains(known, 100)
    assert explains(known, 100, NOW_MS - 3 * CLOCKS_APART_MS)


def test_a_checkpoint_just_replaced_may_have_been_written_still() -> None:
    assert explains(said(checkpoint(100, NOW_MS - HOUR_MS), checkpoint(160, NOW_MS - 1_000)), 100)


def test_clocks_may_be_a_minute_apart_and_no_more() -> None:
    known = said(checkpoint(100, NOW_MS))
    assert explains(known, 100, NOW_MS - CLOCKS_APART_MS)
    assert not explains(known, 100, NOW_MS - CLOCKS_APART_MS - 1)


def test_the_groups_metadata_have_to_be_the_same() -> None:
    known = said(checkpoint(100, NOW_MS, metadata="mine"))
    assert explains(known, 100, metadata="mine")
    assert not explains(known, 100)


def test_groups_and_partitions_are_told_apart() -> None:
    known = said(checkpoint(100, NOW_MS, group="other"))
    assert not explains(known, 100)


def test_each_source_has_checkpoints_of_its_own() -> None:
    logs = {
        "X": [MemoryCheckpoints([checkpoint(100, NOW_MS - HOUR_MS)])],
        "Z": [MemoryCheckpoints([checkpoint(7, NOW_MS - 2 * CLOCKS_APART_MS)])],
    }
    known = checkpoints_at("Y", logs)
    assert explains(known, 100)  # Z's is no later one of X's
    assert explains(known, 7)
    newest = {source: known.newest(source, KEY) for source in logs}
    assert {source: each.offset for source, each in newest.items() if each} == {"X": 100, "Z": 7}


def test_a_rewind_of_the_group_is_followed_by_the_newest_checkpoint() -> None:
    known = said(checkpoint(100, NOW_MS - 2_000), checkpoint(40, NOW_MS - 1_000))
    newest = known.newest("X", KEY)
    assert newest is not None
    assert newest.offset == 40


def test_names_of_the_cluster_are_streams_inside() -> None:
    names: Names = to_names("mm2", ".", {"X": "X", "Y": "Y"})
    back = {"Y": [MemoryCheckpoints([checkpoint(100, NOW_MS, topic="orders")])]}  # which X calls its own
    known = checkpoints_at("X", back, names)
    assert explains(known, 100, key=GroupPartition("g", "X.orders", 0))
    assert not explains(known, 100)


def test_records_that_are_no_checkpoints_tell_nothing_and_are_named_once(caplog: pytest.LogCaptureFixture) -> None:
    rubbish = RecordContent(0, NOW_MS, b"rubbish", b"rubbish")
    deleted = RecordContent(0, NOW_MS, checkpoint(1, 1).key, None)
    with caplog.at_level(logging.WARNING):
        known = said(rubbish, deleted, rubbish, checkpoint(100, NOW_MS))
    assert explains(known, 100)
    assert len(caplog.records) == 1


def test_a_log_that_may_not_be_read_is_remembered_and_one_that_is_silent_is_an_error() -> None:
    log = MemoryCheckpoints(error=NotAuthorizedError("Y", "X.checkpoints.internal", "Read"))
    now = [0.0]
    known = checkpoints_at("Y", {"X": [log]}, now=lambda: now[0])
    assert "Read is not allowed" in known.refused["X"]
    assert not known.is_there
    known.refresh(1.0)
    assert log.reads == 1  # not asked for with each micro-batch
    now[0] = 60.0
    log.error = TransientError("Y", "does not answer")
    with pytest.raises(TransientError):
        known.refresh(1.0)
    log.error = None
    log.say(checkpoint(100, NOW_MS))
    known.refresh(1.0)
    assert (known.is_there, known.refused, explains(known, 100)) == (True, {}, True)


def test_a_commit_may_be_of_a_checkpoint_that_is_gone_where_a_later_one_stands_above_it() -> None:
    known = said(checkpoint(160, NOW_MS))
    assert known.may_explain(KEY, 100, NOW_MS - HOUR_MS) == "X"
    assert known.may_explain(KEY, 160, NOW_MS) == "X"


def test_above_all_checkpoints_a_commit_is_the_groups() -> None:
    assert said(checkpoint(160, NOW_MS)).may_explain(KEY, 161, NOW_MS) is None


def test_a_checkpoint_that_came_after_the_commit_and_is_not_above_it_is_its_echo() -> None:
    assert said(checkpoint(160, NOW_MS)).may_explain(KEY, 160, NOW_MS - HOUR_MS) is None


def test_a_log_of_which_the_end_is_not_reached_in_time_is_read_on() -> None:
    now, log = [0.0], MemoryCheckpoints([checkpoint(100, NOW_MS)], is_at_end=False)
    known = MirrorCheckpoints("Y", {"X": [log]}, SAME_NAMES, lambda: now[0])
    log.on_read = lambda: now.__setitem__(0, now[0] + 0.6)
    with pytest.raises(TransientError, match="its end is not reached"):
        known.refresh(1.0)
    assert (log.reads, explains(known, 100)) == (2, True)
    log.is_at_end = True
    log.say(checkpoint(160, NOW_MS))
    known.refresh(1.0)
    assert explains(known, 160)


def test_once_the_topic_is_gone_nobody_waits_for_it() -> None:
    log = MemoryCheckpoints([checkpoint(100, NOW_MS)])
    known = checkpoints_at("Y", {"X": [log]})
    assert known.is_there
    log.records = None
    known.refresh(1.0)
    assert (known.is_there, explains(known, 100)) == (False, True)


def test_all_checkpoints_that_may_explain_a_commit_are_named_with_their_source() -> None:
    logs = {each: [MemoryCheckpoints([checkpoint(100, NOW_MS, source_offset=7)])] for each in ("X", "Z")}
    found = checkpoints_at("Y", logs).explanations(KEY, 100, "", NOW_MS)
    assert [(source, each.source_offset) for source, each in found] == [("X", 7), ("Z", 7)]
