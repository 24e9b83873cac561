"""Rows of ``offset_commits`` in the light of the lives of their logs."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pyarrow as pa

from fakes.tables import MemoryTables
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.model.values import CONSUMER_OFFSETS, TopicPartition
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.incarnations import KnownIncarnations
from offset_sync.tables.catalog import LOG_INCARNATIONS, OFFSET_COMMITS


def at(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, timezone.utc)


def tables(*lives: tuple[int, int], topic: str = CONSUMER_OFFSETS) -> Any:
    """Return tables in which X's log of commits, partition 1, has begun lives: from which offset on, and when."""
    made = MemoryTables()
    rows = [
        {"cluster": "X", "topic": topic, "partition": 1, "topic_id": "id", "begins_at": begins_at}
        | {"reason": "LOG_TRUNCATED", "noticed_at": at(noticed_ms)}
        for begins_at, noticed_ms in lives
    ]
    made.append(LOG_INCARNATIONS, pa.Table.from_pylist(rows, LOG_INCARNATIONS.arrow_schema))
    return made


def commits(*places: tuple[str, int, int, int]) -> pa.Table:
    """Return rows: cluster, partition, offset in the log, and when it was captured."""
    names = ("cluster", "log_partition", "log_offset", "captured_at", "group_id")
    rows = [dict(zip(names, (*place[:3], at(place[3]), "g"), strict=True)) for place in places]
    return pa.Table.from_pylist(rows, OFFSET_COMMITS.arrow_schema)


def lives_of(made: Any) -> CommitLogIncarnations:
    lives = CommitLogIncarnations(made)
    lives.refresh()
    return lives


def test_a_row_of_the_very_moment_was_read_before_it() -> None:
    lives = lives_of(tables((5, 100)))
    assert lives.gone_ms(commits(("X", 1, 5, 100), ("X", 1, 5, 101))).tolist() == [100, -1]


def test_a_life_is_new_until_it_is_taken_also_when_it_comes_later() -> None:
    made = tables((5, 100))
    lives = lives_of(made)
    lives.take("X")
    assert not lives.is_new("X")
    made.append(LOG_INCARNATIONS, tables((3, 200)).all_rows(LOG_INCARNATIONS))
    assert not lives.is_new("X"), "no query was made"
    lives.refresh()
    assert lives.is_new("X")


def test_a_life_that_came_while_one_was_restoring_by_those_before_is_new() -> None:
    made = tables((5, 100))
    lives = lives_of(made)
    places = lives.places()
    made.append(LOG_INCARNATIONS, tables((3, 200)).all_rows(LOG_INCARNATIONS))
    lives.refresh()  # by another client
    lives.take("X", places)
    assert lives.is_new("X")


def test_the_index_has_nothing_to_do_with_lives_of_commit_logs_nor_they_with_those_of_topics() -> None:
    made = tables((0, 4_000_000_000_000))
    assert KnownIncarnations(lambda origin: 0).caught_up(made)[1] == set()
    index, commit_logs = (IncarnationCheck(made, {}, dict, of_commits=of_commits) for of_commits in (False, True))
    assert index.to_read_again("X") == {}
    assert commit_logs.to_read_again("X") == {TopicPartition(CONSUMER_OFFSETS, 1): 0}
    assert index.note({}, {}, index.moment()) < at(4_000_000_000_000), "two jobs, and two clocks"
    assert lives_of(tables((0, 100), topic="orders")).gone_ms(commits(("X", 1, 9, 1))).tolist() == [-1]
