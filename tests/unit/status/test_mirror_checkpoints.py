"""The newest checkpoint of each group, as MirrorMaker has written it."""

from __future__ import annotations

import logging

import pytest

from builders.mirror_checkpoints import MemoryCheckpoints, checkpoint, checkpoints_at
from offset_sync.config.prefix_names import PrefixNames
from offset_sync.config.stream_names import SAME_NAMES, Names
from offset_sync.kafka.requests import NotAuthorizedError, TransientError
from offset_sync.model.values import GroupPartition, RecordContent
from offset_sync.status.mirror_checkpoints import MirrorCheckpoints

NOW_MS, HOUR_MS = 1_795_000_000_000, 3_600_000
KEY = GroupPartition("g", "orders", 0)


def said(*records: RecordContent) -> MirrorCheckpoints:
    return checkpoints_at("Y", {"X": [MemoryCheckpoints(list(records))]})


def newest(known: MirrorCheckpoints, source: str = "X", key: GroupPartition = KEY) -> int | None:
    found = known.newest(source, key)
    return None if found is None else found.offset


def test_groups_and_partitions_are_told_apart() -> None:
    known = said(checkpoint(100, NOW_MS, group="other"))
    assert newest(known) is None


def test_each_source_has_checkpoints_of_its_own() -> None:
    logs = {
        "X": [MemoryCheckpoints([checkpoint(100, NOW_MS - HOUR_MS)])],
        "Z": [MemoryCheckpoints([checkpoint(7, NOW_MS - 120_000)])],
    }
    known = checkpoints_at("Y", logs)
    assert {source: newest(known, source) for source in logs} == {"X": 100, "Z": 7}


def test_a_rewind_of_the_group_is_followed_by_the_newest_checkpoint() -> None:
    known = said(checkpoint(100, NOW_MS - 2_000), checkpoint(40, NOW_MS - 1_000))
    assert newest(known) == 40


def test_names_of_the_cluster_are_streams_inside() -> None:
    names: Names = PrefixNames({"X": "X", "Y": "Y"}, ".")
    back = {"Y": [MemoryCheckpoints([checkpoint(100, NOW_MS, topic="orders")])]}  # which X calls its own
    known = checkpoints_at("X", back, names)
    assert newest(known, "Y", GroupPartition("g", "X.orders", 0)) == 100
    assert newest(known, "Y") is None


def test_records_that_are_no_checkpoints_tell_nothing_and_are_named_once(caplog: pytest.LogCaptureFixture) -> None:
    rubbish = RecordContent(0, NOW_MS, b"rubbish", b"rubbish")
    deleted = RecordContent(0, NOW_MS, checkpoint(1, 1).key, None)
    with caplog.at_level(logging.WARNING):
        known = said(rubbish, deleted, rubbish, checkpoint(100, NOW_MS))
    assert newest(known) == 100
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
    assert (known.is_there, known.refused, newest(known)) == (True, {}, 100)


def test_a_log_of_which_the_end_is_not_reached_in_time_is_read_on() -> None:
    now, log = [0.0], MemoryCheckpoints([checkpoint(100, NOW_MS)], is_at_end=False)
    known = MirrorCheckpoints("Y", {"X": [log]}, SAME_NAMES, lambda: now[0])
    log.on_read = lambda: now.__setitem__(0, now[0] + 0.6)
    with pytest.raises(TransientError, match="not read to its end"):
        known.refresh(1.0)
    assert (log.reads, newest(known)) == (2, 100)
    log.is_at_end = True
    log.say(checkpoint(160, NOW_MS))
    known.refresh(1.0)
    assert newest(known) == 160


def test_a_deleted_topic_is_not_waited_for() -> None:
    log = MemoryCheckpoints([checkpoint(100, NOW_MS)])
    known = checkpoints_at("Y", {"X": [log]})
    assert known.is_there
    log.records = None
    known.refresh(1.0)
    assert (known.is_there, newest(known)) == (False, 100)
