"""Records to runs inside Spark tasks: Arrow batches of headers in, Arrow batches of runs out, no shuffle.

A record's identity comes from its headers, as far as its stream allows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from offset_sync.config import Config
from offset_sync.decode.mirror_headers import (
    HEADER_COLUMNS,
    OTHER_ORIGIN,
    Encoding,
    Identities,
    all_native,
    decode_stamps,
)
from offset_sync.model.stream_names import SAME_NAMES, Names
from offset_sync.model.values import TopicPartition
from offset_sync.state.index_rows import int64s

MALFORMED_CODE = 0
"""Origin code of records with unreadable headers; their origin offset is their own offset, so they form runs too."""
Headers = Mapping[str, pa.Array]
"""Raw values of headers, shape (records,), by the columns of :mod:`offset_sync.decode.mirror_headers`."""
CUT_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("start_offset", pa.int64()),
        ("length", pa.int64()),
        ("origin", pa.string()),
        ("origin_start", pa.int64()),
        ("min_timestamp_ms", pa.int64()),
        ("max_timestamp_ms", pa.int64()),
        ("error", pa.string()),
        ("origin_header", pa.binary()),
        ("offset_header", pa.binary()),
    ]
)
"""Runs, and between them one row per malformed record with the reason in ``error`` and a length of 0."""


class RunColumns(NamedTuple):
    """Runs of one partition in log order, one element per run; timestamps are the least and greatest within it."""

    start_offset: NDArray[np.int64]
    length: NDArray[np.int64]
    origin_code: NDArray[np.int32]
    origin_start: NDArray[np.int64]
    min_timestamp_ms: NDArray[np.int64]
    max_timestamp_ms: NDArray[np.int64]


def cut_runs(
    offset: NDArray[np.int64],
    timestamp_ms: NDArray[np.int64],
    origin_code: NDArray[np.int32],
    origin_offset: NDArray[np.int64],
    split_on_timestamp: bool = False,
) -> RunColumns:
    """Cut the records of one partition, one or more in log order, into runs that are as long as possible.

    With *split_on_timestamp* a run also ends where the timestamp changes, so that every run has just one.
    Offsets are not negative, so no difference overflows. Memory: a few arrays of the input's length.
    """
    is_cut = (offset[1:] - offset[:-1] != 1) | (origin_offset[1:] - origin_offset[:-1] != 1)
    is_cut |= origin_code[1:] != origin_code[:-1]
    if split_on_timestamp:
        is_cut |= timestamp_ms[1:] != timestamp_ms[:-1]
    borders = np.concatenate(([0], is_cut.nonzero()[0] + 1, [len(offset)]))
    first = borders[:-1]
    return RunColumns(
        offset[first],
        borders[1:] - first,
        origin_code[first],
        origin_offset[first],
        np.minimum.reduceat(timestamp_ms, first),
        np.maximum.reduceat(timestamp_ms, first),
    )


@dataclass(frozen=True)
class StreamIdentities:
    """Decodes the identities of records at the cluster *alias*.

    *origins* has the aliases by origin header. *is_closed*: a copy's origin must be another known cluster, see
    :attr:`offset_sync.config.mirror.Mirror.is_closed`.
    """

    alias: str
    origins: Mapping[str, str]
    encoding: Encoding
    names: Names = SAME_NAMES
    is_closed: bool = False

    def of(self, headers: Headers, where: TopicPartition, timestamp_ms: NDArray[np.int64]) -> Identities:
        """Return the identities of records of the stream *where* with the times *timestamp_ms*.

        Errs to malformed, which is unread by every group.
        """
        home = self.names.home(where.topic)
        if home == self.alias:
            return all_native(len(timestamp_ms))
        stamped = self.names.origin_topic(where.topic) or where.topic, where.partition  # the mirror stamps that name
        return decode_stamps(headers, self.encoding, stamped, timestamp_ms, partial(self._refusal, home))

    def _refusal(self, home: str | None, origin: str) -> str:
        """Return why a copy of a stream with this *home*, None: any, cannot be of an *origin*; "" if it can."""
        alias = self.origins.get(origin, origin)
        if self.is_closed and (origin not in self.origins or alias == self.alias):
            return f"origin header {origin!a} is of no cluster that is mirrored to this one"
        return OTHER_ORIGIN if home is not None and alias != home else ""


def identities_at(config: Config, alias: str) -> StreamIdentities:
    """Return the decoder of identities at the cluster *alias*."""
    mirror = config.mirror
    return StreamIdentities(alias, config.origins(), mirror.offset_encoding, config.names, mirror.is_closed)


@dataclass(frozen=True)
class RunBuilder:
    """Cuts the records of one cluster into runs; pickled to the executors.

    *identities* decodes records and maps topics to streams, by which rows are named. *is_timed* tells of which streams
    a run also ends where the timestamp changes.
    """

    identities: StreamIdentities
    is_timed: Callable[[str], bool]

    @property
    def alias(self) -> str:
        """The cluster."""
        return self.identities.alias

    @property
    def aliases(self) -> set[str]:
        """All clusters that records can be from."""
        return {self.alias, *self.identities.origins.values()}

    @property
    def names(self) -> Names:
        """Which stream a topic is."""
        return self.identities.names

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Cut the record batches of one task, each for itself: the index joins runs that continue each other.

        Records come partition by partition, in offset order.
        """
        code_of = {"": MALFORMED_CODE, self.alias: 1}  # of every origin that was met
        for part in chain.from_iterable(map(by_partition, batches)):
            topic, partition = (part.column(name)[0].as_py() for name in ("topic", "partition"))
            where = TopicPartition(self.names.inside(self.alias, topic), partition)
            runs, malformed = self._cut(part, where, code_of)
            if malformed is not None:
                yield malformed
            yield _to_batch(where, runs, code_of)

    def _cut(
        self, part: pa.RecordBatch, where: TopicPartition, code_of: dict[str, int]
    ) -> tuple[RunColumns, pa.RecordBatch | None]:
        """Return the runs of one partition's records, and the malformed rows; *code_of* gets the origins met first."""
        offset = int64s(part.column("offset"))
        timestamp_ms = int64s(part.column("timestamp").cast(pa.timestamp("us", tz="UTC"))) // 1000
        headers = {name: part.column(name) for name in HEADER_COLUMNS if name in part.schema.names}
        found = self.identities.of(headers, where, timestamp_ms)
        aliases = [*(self.identities.origins.get(origin, origin) for origin in found.origins), self.alias]
        codes = np.array([code_of.setdefault(each, len(code_of)) for each in aliases], np.int32)[found.origin_code]
        reasons = dict(found.reasons)
        # A record that was mirrored back has a higher offset than its original here; any other is impossible.
        is_impossible = found.is_mirrored & (codes == code_of[self.alias]) & (found.origin_offset > offset)
        for row in np.flatnonzero(is_impossible).tolist():
            reasons[row] = f"origin offset {found.origin_offset[row]} of this very cluster is not yet written"
        is_malformed = found.is_malformed | is_impossible
        codes = np.where(is_malformed, np.int32(MALFORMED_CODE), codes)
        origin_offset = np.where(found.is_mirrored & ~is_malformed, found.origin_offset, offset)
        runs = cut_runs(offset, timestamp_ms, codes, origin_offset, self.is_timed(where.topic))
        return runs, _malformed_rows(part, where.topic, reasons)


def by_partition(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Cut a batch where topic or partition changes; a task may read several partitions one after the other."""
    if batch.num_rows == 0:
        return
    topic = batch.column("topic").dictionary_encode().indices.to_numpy(zero_copy_only=False)
    partition = batch.column("partition").to_numpy(zero_copy_only=False)
    is_new = (topic[1:] != topic[:-1]) | (partition[1:] != partition[:-1])
    borders = [0, *(np.flatnonzero(is_new) + 1).tolist(), batch.num_rows]
    for first, end in pairwise(borders):
        yield batch.slice(first, end - first)


def _malformed_rows(part: pa.RecordBatch, topic: str, reasons: dict[int, str]) -> pa.RecordBatch | None:
    if not reasons:
        return None
    rows = part.take(pa.array(sorted(reasons)))
    count = rows.num_rows
    columns = {
        "topic": pa.repeat(pa.scalar(topic), count),
        "partition": rows.column("partition"),
        "start_offset": rows.column("offset"),
        "length": pa.array(np.zeros(count, np.int64)),
        "error": pa.array([reasons[row] for row in sorted(reasons)], pa.string()),
        "origin_header": rows.column("origin_header"),
        "offset_header": rows.column("offset_header"),
    }
    return pa.RecordBatch.from_arrays(filled(columns, count, CUT_SCHEMA), schema=CUT_SCHEMA)


def _to_batch(where: TopicPartition, runs: RunColumns, origins: Iterable[str]) -> pa.RecordBatch:
    count = len(runs.length)
    columns = {
        "topic": pa.repeat(pa.scalar(where.topic), count),
        "partition": pa.repeat(pa.scalar(where.partition, pa.int32()), count),
        "origin": pa.array([*origins], pa.string()).take(pa.array(runs.origin_code)),
        **{name: pa.array(column) for name, column in runs._asdict().items()},
    }
    return pa.RecordBatch.from_arrays(filled(columns, count, CUT_SCHEMA), schema=CUT_SCHEMA)


def is_of(rows: pa.Table, places: Collection[TopicPartition]) -> pa.ChunkedArray:
    """Return which of *rows* are of one of *places*."""
    is_of = pa.chunked_array([pa.repeat(pa.scalar(False), rows.num_rows)])
    for topic, partition in places:
        is_here = pc.and_(pc.equal(rows.column("topic"), topic), pc.equal(rows.column("partition"), partition))
        is_of = pc.or_(is_of, is_here)
    return is_of


def filled(columns: Mapping[str, pa.Array], count: int, schema: pa.Schema) -> list[pa.Array]:
    """Return *columns* as *schema* has them; missing ones are null in all of so many rows."""
    return [columns[field.name] if field.name in columns else pa.nulls(count, field.type) for field in schema]
