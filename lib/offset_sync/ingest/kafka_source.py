"""Kafka topics as DataFrames, with the options without which Spark reads too little or too much.

Spark cannot hold some timestamps: it counts in microseconds, and Kafka accepts any 64-bit number of milliseconds. One
record beyond 9223372036854775 ms (nanoseconds sent as milliseconds are enough) makes Spark's source fail with an
ArithmeticException, each time that the micro-batch is repeated; so does a corrupt batch. Then we read the records with
our own consumer.

For commits Spark only plans the offsets. A large batch is shared out to tasks.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from offset_sync.config import Config, Mirror
from offset_sync.ingest.checkpoint import OffsetRanges, by_topic, called
from offset_sync.ingest.commit_batch import DECODED_SCHEMA, CommitReader, chunk_rows
from offset_sync.ingest.map_batches import task_share, to_sql
from offset_sync.kafka.log_reader import UNREADABLE_HEADERS, Chunk
from offset_sync.model.values import CONSUMER_OFFSETS, OffsetRange, RecordContent, TopicPartition

HEADER_BYTES = 1024
"""Headers are cut at this length, which bounds the memory of a batch: nothing that long is valid, cut or not."""
COMMITS_PER_TRIGGER = 500_000
"""Records of ``__consumer_offsets`` that a micro-batch reads at most."""

_ALWAYS = {
    # Aborted records and aborted commits are neither mirrored nor valid: translating them would lose records.
    "kafka.isolation.level": "read_committed",
    # The broker would otherwise wait for more bytes at the end of every partition of every micro-batch.
    "kafka.fetch.max.wait.ms": "10",
    # After every poll Spark seeks to both ends of the partition, which drops what was fetched ahead. So a poll must
    # return a whole fetch, and a fetch must be large: twice as fast as with 500 records a poll.
    "kafka.max.poll.records": "1000000",
    "kafka.max.partition.fetch.bytes": str(4 << 20),
    # Large fetches through the client's 64 KiB of socket buffer cost the broker a fifth more processor time.
    "kafka.receive.buffer.bytes": str(2 << 20),
    # A dead cluster blocks its share of the task slots for so long, each time it is tried.
    "kafkaConsumer.pollTimeoutMs": "15000",
    "kafka.default.api.timeout.ms": "15000",
    "kafka.request.timeout.ms": "10000",
    "fetchOffset.numRetries": "3",
    "fetchOffset.retryIntervalMs": "500",
    "groupIdPrefix": "offset-sync",
}


NO_OPTIONS: Mapping[str, str] = MappingProxyType({})


def read_whole_ranges(
    spark: SparkSession,
    config: Config,
    alias: str,
    ranges: OffsetRanges,
    options: Mapping[str, str] = NO_OPTIONS,
) -> DataFrame:
    """Return what :func:`read_whole_records` does, once, from each partition's first offset to below its second."""
    logs = called(config.names, alias, ranges)
    starts, ends = (by_topic({log: each[end] for log, each in logs.items()}) for end in (0, 1))
    own = {
        "assign": json.dumps({topic: list(numbers) for topic, numbers in starts.items()}),
        "includeHeaders": "true",
        "startingOffsets": json.dumps(starts),
        "endingOffsets": json.dumps(ends),
    }
    return spark.read.format("kafka").options(**_options(config, alias, options, own)).load()


def with_mirror_headers(records: DataFrame, mirror: Mirror) -> DataFrame:
    """Return the place and time of each record, and its raw headers; of a repeated header the last one, cut."""
    headers = [_last_header(name).alias(column) for column, name in mirror.header_columns().items()]
    return records.select("topic", "partition", "offset", "timestamp", *headers)


def _last_header(name: str) -> Column:
    """Return the value of the last header of this name, cut; null where there is none. No map is built for it."""
    from_last = F.reverse("headers")
    index = F.array_position(from_last["key"], name) - 1  # -1: no such header, for which F.get has a null
    return F.substring(F.get(from_last["value"], index.cast("int")), 1, HEADER_BYTES)


def read_whole_records(
    spark: SparkSession,
    config: Config,
    alias: str,
    without: Collection[str] = (),
    options: Mapping[str, str] = NO_OPTIONS,
    only: Collection[TopicPartition] | None = None,
) -> DataFrame:
    """Stream every record of every included topic but those named in *without*, with all that Kafka has of it.

    *options* of Spark's source override all others. *only* are the streams' partitions to read, None: all. Spark asks
    for all ends at once, so a leader that does not answer would fail each plan.

    Retention may overtake a slow index. That loses nothing: what a target has deleted cannot be skipped there, and at
    the source it counts as a hole. So gaps are tolerated (failOnDataLoss=false); truncation and recreation are detected
    by topic ids and log ends instead, which Spark does not check.
    """
    own = {
        **_topics(config, alias, without, only),
        "includeHeaders": "true",
        "startingOffsets": config.index.starting,
        "maxOffsetsPerTrigger": str(config.index.max_offsets_per_trigger),
    }
    return spark.readStream.format("kafka").options(**_options(config, alias, options, own)).load()


def _topics(
    config: Config, alias: str, without: Collection[str], only: Collection[TopicPartition] | None
) -> dict[str, str]:
    if only is None:
        return {"subscribePattern": config.topic_pattern(without, alias)}
    logs = by_topic(called(config.names, alias, dict.fromkeys(sorted(only))))
    return {"assign": json.dumps({topic: list(numbers) for topic, numbers in logs.items()})}


def read_consumer_offsets(spark: SparkSession, config: Config, alias: str, partitions: int) -> DataFrame:
    """Stream ``key, value, partition, offset, timestamp`` of the cluster's ``__consumer_offsets``, from its beginning.

    All *partitions* are assigned by number: subscribing would join a group and write into the very topic we read. The
    topic is compacted, so from its beginning it has the full present state, and gaps are normal.
    """
    own = {
        "assign": json.dumps({CONSUMER_OFFSETS: list(range(partitions))}),
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(COMMITS_PER_TRIGGER),
    }
    records = spark.readStream.format("kafka").options(**_options(config, alias, NO_OPTIONS, own)).load()
    return records.select("key", "value", "partition", "offset", "timestamp")


def read_polls(spark: SparkSession) -> DataFrame:
    """Stream one row per micro-batch, whose content does not matter: each micro-batch is a poll.

    Spark's source ``rate-micro-batch`` plans one for each trigger, and one in all with ``availableNow``.
    """
    return spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()


def _options(config: Config, alias: str, options: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Return all options of a source, each overriding those before: the user's, the caller's and its *own*."""
    return {**_ALWAYS, **config.spark_options(alias), **options, **own, "failOnDataLoss": "false"}


class MirroredRecords:
    """Makes the columns of :func:`with_mirror_headers`."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror

    def __call__(self, chunk: Chunk) -> pa.RecordBatch:
        """Return the records of *chunk*."""
        columns = {
            column: pa.array([last_header(record, name) for _, record in chunk], pa.binary())
            for column, name in self._mirror.header_columns().items()
        }
        return chunk_rows(chunk, {"topic": pa.array([place.topic for place, _ in chunk], pa.string()), **columns})


def last_header(record: RecordContent, name: str) -> bytes | None:
    """Return the value of the last header of this *name*, cut; empty where headers cannot be read."""
    if record.headers == UNREADABLE_HEADERS:
        return b""
    found = next((value for key, value in reversed(record.headers) if key == name), None)
    return None if found is None else found[:HEADER_BYTES]


def read_by_tasks(commits: CommitReader, ranges: OffsetRanges, records: DataFrame, clusters: int) -> pa.Table:
    """Return what *commits* reads of *ranges*, read in Spark tasks; *records*, as Spark planned them, are not read.

    The tasks use the share of the slots that each of *clusters* has.
    """
    found = shares(ranges, task_share(records, clusters))
    numbers = records.sparkSession.range(0, len(found), 1, len(found))
    read = _ReadShares(commits.alias, commits.options, found)
    return numbers.mapInArrow(read, to_sql(DECODED_SCHEMA)).toArrow().cast(DECODED_SCHEMA)


@dataclass(frozen=True)
class _ReadShares:
    """Reads the shares whose numbers a task is given; pickled to the executors."""

    alias: str
    options: Mapping[str, str] = field(repr=False)
    shares: Sequence[OffsetRanges]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from CommitReader(self.alias, self.options).read(self.shares[number])


def shares(ranges: OffsetRanges, tasks: int) -> list[OffsetRanges]:
    """Distribute *ranges* over so many *tasks*: each log to one task, the longest first."""
    read = [(place, each) for place, each in ranges.items() if each.end > each.start]
    found: list[dict[TopicPartition, OffsetRange]] = [{} for _ in range(max(1, min(tasks, len(read))))]
    sizes = [0] * len(found)
    for place, each in sorted(read, key=lambda one: one[1].start - one[1].end):
        least = sizes.index(min(sizes))
        found[least][place] = each
        sizes[least] += each.end - each.start
    return list(found)
