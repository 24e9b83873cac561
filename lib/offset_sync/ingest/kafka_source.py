"""Kafka topics as DataFrames, with the options without which Spark reads too little or too much."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from types import MappingProxyType

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from offset_sync.config import Config, Mirror
from offset_sync.ingest.checkpoint import Offsets
from offset_sync.kafka.log_reader import OffsetRange
from offset_sync.model.values import CONSUMER_OFFSETS, TopicPartition

OffsetRanges = Mapping[TopicPartition, OffsetRange]
HEADER_BYTES = 1024
"""A header is cut after that: nothing that long is valid, cut or not, and it bounds the memory of a batch."""
_EARLIEST = -2  # as Spark writes it

_ALWAYS = {
    # Aborted records and aborted commits are neither mirrored nor valid: translating them would lose records.
    "kafka.isolation.level": "read_committed",
    # The broker would otherwise wait for more bytes at the end of every partition of every micro-batch.
    "kafka.fetch.max.wait.ms": "10",
    # After every poll Spark seeks to both ends of the partition, which drops what was fetched ahead. So a poll has to
    # return all that a fetch has brought, and a fetch to bring much: twice as fast as with 500 records a poll.
    "kafka.max.poll.records": "1000000",
    "kafka.max.partition.fetch.bytes": str(4 << 20),
    # Large fetches through the client's 64 KiB of socket buffer cost the broker a fifth more processor time.
    "kafka.receive.buffer.bytes": str(2 << 20),
    # A dead cluster holds its share of the task slots for so long, each time it is tried.
    "kafkaConsumer.pollTimeoutMs": "15000",
    "kafka.default.api.timeout.ms": "15000",
    "kafka.request.timeout.ms": "10000",
    "fetchOffset.numRetries": "3",
    "fetchOffset.retryIntervalMs": "500",
    "groupIdPrefix": "offset-sync",
}


NO_OPTIONS: Mapping[str, str] = MappingProxyType({})


def ranges_of(start: Offsets, end: Offsets) -> dict[TopicPartition, OffsetRange]:
    """Return what a micro-batch reads; a partition that is not in *start* is read from its beginning."""
    return {place: OffsetRange(start.get(place, 0), last) for place, last in end.items()}


def read_mirrored_records(spark: SparkSession, config: Config, alias: str, without: Collection[str] = ()) -> DataFrame:
    """Stream ``topic, partition, offset, timestamp`` and the two raw mirror headers of every included topic."""
    return with_mirror_headers(read_whole_records(spark, config, alias, without), config.mirror)


def read_mirrored_ranges(spark: SparkSession, config: Config, alias: str, ranges: OffsetRanges) -> DataFrame:
    """Return what :func:`read_mirrored_records` does, once, from each partition's first offset to below its second."""
    return with_mirror_headers(read_whole_ranges(spark, config, alias, ranges), config.mirror)


def read_whole_ranges(
    spark: SparkSession,
    config: Config,
    alias: str,
    ranges: OffsetRanges,
    options: Mapping[str, str] = NO_OPTIONS,
) -> DataFrame:
    """Return what :func:`read_whole_records` does, once, from each partition's first offset to below its second."""
    starts, ends = dict[str, dict[int, int]](), dict[str, dict[int, int]]()
    for (topic, number), (start, end) in ranges.items():
        starts.setdefault(topic, {})[number] = start
        ends.setdefault(topic, {})[number] = end
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
) -> DataFrame:
    """Stream every record of every included topic but those named in *without*, with all that Kafka has of it.

    *options* of Spark's source are over all others.

    Retention may overtake a slow index. That is no loss: what a log has deleted cannot be skipped there, and at the
    source it counts as a hole. So a gap is read over (failOnDataLoss=false); truncation and recreation are detected
    by topic ids and log ends instead, which Spark does not look at.
    """
    own = {
        "subscribePattern": config.topic_pattern(without, alias),
        "includeHeaders": "true",
        "startingOffsets": config.index.starting,
        "maxOffsetsPerTrigger": str(config.index.max_offsets_per_trigger),
    }
    return spark.readStream.format("kafka").options(**_options(config, alias, options, own)).load()


def read_consumer_offsets(
    spark: SparkSession, config: Config, alias: str, partitions: int, starting: Mapping[int, int] | None = None
) -> DataFrame:
    """Stream ``key, value, partition, offset, timestamp`` of the cluster's ``__consumer_offsets``, from its beginning.

    All *partitions* are assigned by number: subscribing would join a group and write into the very topic we read.
    The topic is compacted, so its beginning is the full present state and a gap is what compaction left. With a new
    checkpoint a partition among *starting* is read from that offset on.
    """
    begins = {str(number): (starting or {}).get(number, _EARLIEST) for number in range(partitions)}
    own = {
        "assign": json.dumps({CONSUMER_OFFSETS: list(range(partitions))}),
        "startingOffsets": json.dumps({CONSUMER_OFFSETS: begins}) if starting else "earliest",
        "maxOffsetsPerTrigger": str(config.sync.max_offsets_per_trigger),
    }
    records = spark.readStream.format("kafka").options(**_options(config, alias, NO_OPTIONS, own)).load()
    return records.select("key", "value", "partition", "offset", "timestamp")


def _options(config: Config, alias: str, options: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Return all options of a source, each over those before: the user's, those of the caller and its *own*."""
    return {**_ALWAYS, **config.spark_options(alias), **options, **own, "failOnDataLoss": "false"}
