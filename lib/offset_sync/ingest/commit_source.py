"""The log of commits of one cluster as a streaming source of Spark.

Spark plans micro-batches by it and writes the plans down. It asks for their records only where they are many: then
tasks read them, by the same function as the driver reads few.

Why not Spark's own source for Kafka: it asks for the ends of logs once per interval, so a commit waits for half of that
interval before anybody knows of it, and it leaves out internal topics unless the whole session is told otherwise.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from offset_sync.ingest.decode_commits import DECODED_SCHEMA, decode_batches, unread_rows
from offset_sync.ingest.log_rows import LogRows, OffsetRanges, chunk_rows
from offset_sync.ingest.map_batches import to_sql
from offset_sync.kafka.log_tail import LogTail
from offset_sync.kafka.range_reader import Chunk, OffsetRange, RangeReader, UnreadError
from offset_sync.model.values import CONSUMER_OFFSETS, TopicPartition

Offsets = Mapping[int, int]
_CLIENT = "client.secrets"
"""Named so that Spark hides it wherever it prints options."""
_LOOKS_AGAIN_S = 5.0
"""So often the ends are asked for where no record comes: transaction markers are none."""
_MOST_OFTEN = 4
"""So often a micro-batch begins in an interval at most: small ones cost nearly as much as large ones."""
_REST = 0.1
"""Of the time since the last one began, the pause before the next at least."""


class CommitRecords(LogRows):
    """Reads the log of commits of the cluster *alias*; *options* are librdkafka's."""

    def __init__(self, alias: str, options: Mapping[str, str]) -> None:
        super().__init__(alias, RangeReader(alias, options), offset_records)

    def read(self, ranges: OffsetRanges) -> Iterator[pa.RecordBatch]:
        """Yield the decoded records of *ranges*, rows of DECODED_SCHEMA, each log in its order.

        A log that could not be read up to the end of its range has a row that says so, and no error is raised for it.
        """
        try:
            yield from decode_batches(self.rows(ranges))
        except UnreadError as problem:
            yield unread_rows(problem.reasons)


def offset_records(chunk: Chunk) -> pa.RecordBatch:
    """Return the columns that are decoded, of records of ``__consumer_offsets``."""
    return chunk_rows(
        chunk,
        {
            "key": pa.array([record.key for _, record in chunk], pa.binary()),
            "value": pa.array([record.value for _, record in chunk], pa.binary()),
        },
    )


def source_options(
    alias: str, client: Mapping[str, str], *, partitions: int, most: int, tasks: int, interval_s: float
) -> dict[str, str]:
    """Return the options of :class:`CommitSource` for the cluster *alias*; *client* are librdkafka's options.

    So many *partitions* are read, at *most* so many offsets in a micro-batch and where it is large by so many *tasks*.
    """
    numbers = {"partitions": partitions, "most": most, "tasks": tasks, "interval_s": interval_s}
    return {"alias": alias, _CLIENT: json.dumps(dict(client)), **{name: str(each) for name, each in numbers.items()}}


class CommitSource(DataSource):
    """``spark.readStream.format("offset-sync-commits")``, with :func:`source_options`."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "offset-sync-commits"

    def schema(self) -> str:
        """Return the columns: those of DECODED_SCHEMA."""
        return to_sql(DECODED_SCHEMA)

    def streamReader(self, schema: StructType) -> CommitStream:
        """Return who plans and reads."""
        return CommitStream(self.options)


class CommitStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans by a process beside the driver, and reads in tasks. An offset is ``{"__consumer_offsets": {"7": 42}}``.

    So it was with Spark's own source, whose checkpoints are continued.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._alias, self._client = options["alias"], json.loads(options[_CLIENT])
        self._most, self._tasks = int(options["most"]), int(options["tasks"])
        self._interval_s, self._partitions = float(options["interval_s"]), int(options["partitions"])
        self._tail: LogTail | None = None
        self._until: Offsets | None = None
        self._planned_at: float | None = None

    def initialOffset(self) -> dict[str, dict[str, int]]:
        """Begin at the beginning: of a compacted topic that is the full present state."""
        return to_json({})

    def getDefaultReadLimit(self) -> ReadLimit:
        """Read at most so many offsets."""
        return ReadMaxRows(self._most)

    def prepareForTriggerAvailableNow(self) -> None:
        """Read what is there now, and nothing after it."""
        self._until = self._opened().ends()

    def latestOffset(self, start: dict[str, dict[str, int]], limit: ReadLimit) -> dict[str, dict[str, int]]:
        """Return up to where the next micro-batch reads; waits until something has come, or for five seconds.

        Raises ClusterError where the ends of some partitions are not known.
        """
        before = of_json(start)
        ends = self._until if self._until is not None else self._next_ends(before)
        return to_json(planned(before, ends, None if isinstance(limit, ReadAllAvailable) else self._most))

    def partitions(self, start: dict[str, dict[str, int]], end: dict[str, dict[str, int]]) -> Sequence[InputPartition]:
        """Return the shares of the tasks."""
        return [InputPartition(each) for each in shares(of_json(start), of_json(end), self._tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a share."""
        ranges = {TopicPartition(CONSUMER_OFFSETS, number): OffsetRange(*each) for number, each in partition.value}
        return CommitRecords(self._alias, self._client).read(ranges)

    def stop(self) -> None:
        """Close what is open."""
        if self._tail is not None:
            self._tail.close()

    def _opened(self) -> LogTail:
        if self._tail is None:
            self._tail = LogTail(self._alias, self._client, CONSUMER_OFFSETS, self._partitions)
        return self._tail

    def _next_ends(self, before: Offsets) -> Offsets:
        if self._planned_at is not None:
            time.sleep(pause_s(time.monotonic() - self._planned_at, self._interval_s))
        ends = self._opened().ends()
        if not any(end != before.get(number, 0) for number, end in ends.items()):
            self._opened().wait(ends, _LOOKS_AGAIN_S)
            ends = self._opened().ends()
        self._planned_at = time.monotonic()
        return ends


def pause_s(took_s: float, interval_s: float) -> float:
    """Return how long nothing is planned after a micro-batch that *took_s*; all in seconds.

    A tenth of what it took at least, so that a driver with more to do than it can leaves the machine free in between.
    Without an interval nothing is waited for.

    >>> pause_s(0.15, 1.0), pause_s(0.5, 1.0), pause_s(60.0, 1.0), pause_s(0.5, 0.0)
    (0.1, 0.05, 1.0, 0.0)
    """
    return max(interval_s / _MOST_OFTEN - took_s, min(_REST * took_s, interval_s))


def planned(before: Offsets, ends: Offsets, most: int | None) -> dict[int, int]:
    """Return up to where a micro-batch reads from *before* on: all up to *ends*, or its share of *most* offsets.

    A log that ends lower than *before* was cut: from there it is read on. One that is not among *ends* is gone.

    >>> planned({0: 5}, {0: 9, 1: 12}, 8), planned({0: 5}, {0: 3}, 8)
    ({0: 7, 1: 6}, {0: 3})
    """
    new = {number: max(0, end - before.get(number, 0)) for number, end in ends.items()}
    total = sum(new.values())
    if most is None or total <= most:
        return dict(ends)
    return {n: before.get(n, 0) + -(-each * most // total) if each else ends[n] for n, each in new.items()}


def shares(start: Offsets, end: Offsets, tasks: int) -> list[list[tuple[int, tuple[int, int]]]]:
    """Return which task reads which partitions from where to where: each log by one, the longest ones first.

    >>> shares({0: 5}, {0: 9, 1: 12, 2: 9}, 2)
    [[(1, (0, 12))], [(2, (0, 9)), (0, (5, 9))]]
    """
    ranges = [(number, (start.get(number, 0), last)) for number, last in end.items() if last > start.get(number, 0)]
    found: list[list[tuple[int, tuple[int, int]]]] = [[] for _ in range(max(1, min(tasks, len(ranges))))]
    sizes = [0] * len(found)
    for number, (first, last) in sorted(ranges, key=lambda each: each[1][0] - each[1][1]):
        least = sizes.index(min(sizes))
        found[least].append((number, (first, last)))
        sizes[least] += last - first
    return [each for each in found if each]


def of_json(offset: Mapping[str, Mapping[str, int]]) -> dict[int, int]:
    """Return the offset of each partition."""
    return {int(number): each for number, each in offset.get(CONSUMER_OFFSETS, {}).items()}


def to_json(offsets: Offsets) -> dict[str, dict[str, int]]:
    """Return an offset of the source; always the same text for the same, for Spark compares texts."""
    return {CONSUMER_OFFSETS: {str(number): offsets[number] for number in sorted(offsets)}}
