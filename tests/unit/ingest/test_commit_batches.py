"""Micro-batches of the log of commits: read whole or not, of unknown versions, taken in by another driver."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.offset_records import commit_key, commit_value
from fakes.ingest import IngestingJob, Raw
from fakes.reconciler_site import config_of
from fakes.tables import MemoryTables
from fakes.unchecked import UNCHECKED
from generators.hypothesis_strategies import law
from offset_sync.ingest import commit_ingester
from offset_sync.ingest.checkpoint import Offsets, count_offsets
from offset_sync.ingest.commit_batch import committed_at_ms
from offset_sync.ingest.commit_ingester import CommitIngester, Reading
from offset_sync.ingest.kafka_source import read_whole_ranges
from offset_sync.model.errors import UnknownVersionError
from offset_sync.model.values import CONSUMER_OFFSETS, GroupPartition, OffsetRange, TopicPartition
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import QUARANTINE

# Reading

SEVENTH = TopicPartition(CONSUMER_OFFSETS, 7)


def test_spark_reads_only_committed_records() -> None:
    spark = MagicMock()
    read_whole_ranges(spark, config_of("XY"), "X", {SEVENTH: OffsetRange(0, 1)})
    options = spark.read.format.return_value.options.call_args.kwargs
    assert options["kafka.isolation.level"] == "read_committed"


def test_of_a_commit_with_a_time_that_is_no_date_the_time_of_its_record_counts() -> None:
    said, written = [7_000, -1, 253_402_300_800_000, 2**62, None], pa.array([5_000_000] * 5, pa.timestamp("us", "UTC"))
    commits = pa.table({"timestamp": written, "committed_at_ms": pa.array(said, pa.int64())})
    assert committed_at_ms(commits).tolist() == [7_000, 5_000, 5_000, 5_000, 5_000]


# Whether a planned micro-batch reads all: what it leaves for the next one may be as old as the log

CUT = 1_000_000
"""Where a log ended that was cut since."""


class Planned:
    """A checkpoint with one micro-batch, planned as Spark's source for Kafka does it."""

    def __init__(self, sizes: list[int], most: int) -> None:
        places = [(CONSUMER_OFFSETS, number) for number in range(len(sizes))]
        total = sum(max(0, size) for size in sizes)
        self.start: Offsets = dict.fromkeys(places, CUT)
        self.end: Offsets = {
            place: CUT + (size if size <= 0 else min(size, _rounded(most * (size / total))))
            for place, size in zip(places, sizes, strict=True)
        }

    def start_offsets(self, _batch_id: int) -> Offsets:
        """Return where it starts."""
        return self.start

    def end_offsets(self, _batch_id: int) -> Offsets:
        """Return where it ends."""
        return self.end

    def record_limit(self, _batch_id: int) -> int:
        """Return how many records it can have."""
        return count_offsets(self.start, self.end)


def _rounded(share: float) -> int:
    return math.ceil(share) if share < 1 else math.floor(share)


@law(300)
@given(st.lists(st.integers(-CUT, 5_000), min_size=1, max_size=50), st.integers(1, 20_000))
def test_a_plan_that_leaves_records_for_the_next_one_is_never_whole(sizes: list[int], most: int) -> None:
    planned: Any = Planned(sizes, most)
    tables: Any = MemoryTables()
    ingester = CommitIngester("dc1", tables, planned, Any, 1, Reading(UNCHECKED, most=most))  # type: ignore[arg-type]
    is_left = planned.record_limit(0) < sum(max(0, size) for size in sizes)
    assert not (is_left and ingester.is_whole(0))
    if planned.record_limit(0) < most - len(sizes):
        assert ingester.is_whole(0)


# Commits of an unknown version


@pytest.fixture
def job() -> IngestingJob:
    return IngestingJob(most_records=1000)


def new(count: int) -> list[Raw]:
    """Commits as a broker of the future writes them."""
    return [(commit_key("g", "t", n), commit_value(5, version=7)) for n in range(count)]


def known(count: int) -> list[Raw]:
    return [(commit_key("g", "t", n), commit_value(5)) for n in range(count)]


def counts(job: IngestingJob) -> tuple[int, int]:
    return len(job.commits("group_id")), len(job.tables.rows(QUARANTINE, "error"))


def test_when_a_cluster_writes_a_new_version_nothing_is_passed_and_the_line_says_what_to_do(job: IngestingJob) -> None:
    job.ingest(0, *known(50), *new(9))
    for _ in range(2):
        with pytest.raises(UnknownVersionError) as raised:
            job.ingest(1, *new(1), *known(50), first=59)
        assert str(raised.value) == (
            "clusters.X: 10 offset commits have an unknown version, as value version 7 at __consumer_offsets-3 "
            "offset 59 (known: up to 4); update Offset Sync: it reads no further"
        )
    assert (counts(job), len(job.reconciled)) == ((50, 9), 1)


# Micro-batches that another driver took in: they do not come again, so the state loads them from the table

Asked = list[tuple[dict[int, int], dict[int, int]]]


def commit(offset: int, group: str = "g") -> Raw:
    return commit_key(group, "orders", 0), commit_value(offset)


class SharedJob(IngestingJob):
    """Each micro-batch reads ten offsets of partition 3; the checkpoint has forgotten those *before*."""

    before = 0
    done: int | None = None

    def last_committed(self) -> int | None:
        return self.done

    def end_offsets(self, batch_id: int) -> dict[TopicPartition, int]:
        if batch_id < self.before:
            raise FileNotFoundError(batch_id)
        return {TopicPartition("__consumer_offsets", 3): 10 * (batch_id + 1)}

    def start_offsets(self, batch_id: int) -> dict[TopicPartition, int]:
        return self.end_offsets(batch_id - 1)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """What is loaded: each time a key of the group ``missed``."""
    asked: Asked = []

    def load(
        _: Any, state: SyncState, alias: str, since: Mapping[int, int], until: Mapping[int, int], lives: Any
    ) -> KeyRows:
        assert alias == "X"
        asked.append((dict(since), dict(until)))
        return np.asarray(state.offsets.ids([GroupPartition("missed", "orders", 0)]))

    monkeypatch.setattr(commit_ingester, "restore_missed", load)  # it reads a table with Spark
    return asked


def test_records_between_two_batches_are_loaded_and_reconciled_with_the_next(asked: Asked) -> None:
    job = SharedJob()
    job.batch._ingester.note_taken_in(3)
    for batch_id in (4, 4, 5):  # which follow each other, or come again
        job.ingest(batch_id, commit(4))
    job.ingest(8, commit(7), first=80)
    assert asked == [({3: 60}, {3: 80})]
    assert job.reconciled[-2:] == [(["g"], 5), (["g", "missed"], 8)]
