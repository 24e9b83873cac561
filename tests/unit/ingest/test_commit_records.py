"""The log of commits: read whole or said not to be, by the driver or in shares by tasks."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from unittest.mock import MagicMock

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.offset_records import commit_key, commit_value
from fakes.reconciler_site import config_of
from generators.hypothesis_strategies import law
from offset_sync.ingest import commit_batch, kafka_source
from offset_sync.ingest.commit_batch import UNREAD, CommitReader, committed_at_ms
from offset_sync.ingest.kafka_source import read_whole_ranges, shares
from offset_sync.kafka.log_reader import Chunk, UnreadError
from offset_sync.model.values import CONSUMER_OFFSETS, OffsetRange, RecordContent, Stop, TopicPartition

SEVENTH = TopicPartition(CONSUMER_OFFSETS, 7)
RANGES = st.dictionaries(
    st.integers(0, 5).map(lambda number: TopicPartition(CONSUMER_OFFSETS, number)),
    st.tuples(st.integers(0, 40), st.integers(0, 60)).map(lambda each: OffsetRange(*each)),
)


@law(200)
@given(RANGES, st.integers(0, 4))
def test_each_log_is_read_by_one_task(ranges: dict[TopicPartition, OffsetRange], tasks: int) -> None:
    found = shares(ranges, tasks)
    read = {place: each for place, each in ranges.items() if each.end > each.start}
    assert sorted(item for share in found for item in share.items()) == sorted(read.items())
    assert len(found) == max(1, min(tasks, len(read)))


def test_the_longest_logs_are_shared_out_first() -> None:
    sizes = {TopicPartition(CONSUMER_OFFSETS, number): OffsetRange(0, size) for number, size in enumerate([4, 12, 9])}
    assert [[place.partition for place in share] for share in shares(sizes, 2)] == [[1], [2, 0]]


class Reader:
    """A log of which the end cannot be read."""

    def __init__(self, *_arguments: object) -> None:
        pass

    def read(self, ranges: Mapping[TopicPartition, OffsetRange]) -> Iterator[Chunk]:
        key, value = commit_key("g", "orders", 0), commit_value(5, committed_at_ms=1)
        for place, each in ranges.items():
            yield [(place, RecordContent(each.start, 5, key, value, ()))]
        raise UnreadError("dc1", dict.fromkeys(ranges, Stop(3, "the log ends at offset 4")))


def test_what_was_read_is_said_and_which_logs_were_not_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit_batch, "RangeReader", Reader)
    rows = [row for batch in CommitReader("dc1", {}).read({SEVENTH: OffsetRange(0, 9)}) for row in batch.to_pylist()]
    assert [(row["kind"], row["log_partition"], row["log_offset"], row["error"]) for row in rows] == [
        ("commit", 7, 0, None),
        (UNREAD, 7, None, "__consumer_offsets-7 cannot be read from offset 3 on: the log ends at offset 4"),
    ]


def test_a_task_reads_the_shares_that_it_is_given_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit_batch, "RangeReader", Reader)
    logs = [{TopicPartition(CONSUMER_OFFSETS, number): OffsetRange(number, 9)} for number in range(3)]
    read = pickle.loads(pickle.dumps(kafka_source._ReadShares("dc1", {"sasl.password": "s"}, logs)))
    numbers = pa.RecordBatch.from_pydict({"id": [2, 0]})
    rows = [row for batch in read([numbers]) for row in batch.to_pylist() if row["kind"] == "commit"]
    assert [(row["log_partition"], row["log_offset"]) for row in rows] == [(2, 2), (0, 0)]


def test_spark_reads_only_committed_records() -> None:
    spark = MagicMock()
    read_whole_ranges(spark, config_of("XY"), "X", {SEVENTH: OffsetRange(0, 1)})
    options = spark.read.format.return_value.options.call_args.kwargs
    assert options["kafka.isolation.level"] == "read_committed"


def test_of_a_commit_with_a_time_that_is_no_date_the_time_of_its_record_counts() -> None:
    said, written = [7_000, -1, 253_402_300_800_000, 2**62, None], pa.array([5_000_000] * 5, pa.timestamp("us", "UTC"))
    commits = pa.table({"timestamp": written, "committed_at_ms": pa.array(said, pa.int64())})
    assert committed_at_ms(commits).tolist() == [7_000, 5_000, 5_000, 5_000, 5_000]
