"""Packed fingerprints of a micro-batch as rows of ``record_fingerprints``, and rows of the table as stretches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from offset_sync.contents.alignment.records import Fingerprints, Stretch
from offset_sync.contents.fingerprint_builder import PACKED_SCHEMA, unpacked, unpacked_offsets
from offset_sync.ingest.batch_rows import ReadBatch
from offset_sync.ingest.map_batches import MapBatches, to_sql
from offset_sync.ingest.run_builder import CUT_SCHEMA
from offset_sync.kafka.range_reader import OffsetRange
from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.state.incarnation_rows import epoch_ms
from offset_sync.tables.catalog import RECORD_FINGERPRINTS

_SCHEMA = RECORD_FINGERPRINTS.arrow_schema
Packed = dict[str, Any]


def fingerprint_rows_of(read: ReadBatch, alias: str) -> pa.Table:
    """Return what was *read* of *alias*, packed, as rows of the table: together they leave nothing out.

    Each row goes to where the next one begins, the last one to where the micro-batch has read.
    """
    by_place: dict[TopicPartition, list[Packed]] = {}
    for row in read.cut.to_pylist():
        by_place.setdefault(TopicPartition(row["topic"], row["partition"]), []).append(row)
    rows: list[Packed] = []
    for place, end in sorted(read.end.items()):
        begin = read.start.get(place, 0)
        if end > begin:
            rows += _stretches(by_place.get(TopicPartition(*place), []), begin, end, read, alias, place)
    return pa.Table.from_pylist(rows, _SCHEMA)


def _stretches(
    packed: list[Packed], begin: int, end: int, read: ReadBatch, alias: str, place: tuple[str, int]
) -> Iterator[Packed]:
    packed = sorted(packed, key=lambda row: int(row["start_offset"]))
    # Of a log that has no record there one row says so.
    nothing: Packed = {"start_offset": begin, "length": 0, "offsets": b"", "fingerprints": b""}
    packed = packed or [nothing]
    begins = [begin, *(int(row["start_offset"]) for row in packed[1:])]
    for row, first, last in zip(packed, begins, [*begins[1:], end], strict=True):
        offsets = row["offsets"]
        if offsets is None and (row["start_offset"] != first or row["length"] != last - first):
            offsets = unpacked_offsets(row["start_offset"], row["length"], None).astype("<i8").tobytes()
        yield {
            "cluster": alias,
            "topic": place[0],
            "partition": place[1],
            "start_offset": first,
            "length": last - first,
            "offsets": offsets,
            "fingerprints": row["fingerprints"],
            "read_at": read.at,
            "complete_until": read.complete_until.get(TopicPartition(*place)) if last == end else None,
        }


def range_rows(log: ClusterPartition, wanted: OffsetRange, builder: MapBatches, records: DataFrame) -> pa.Table:
    """Return rows of the table for *records* of *log*, which are all in the *wanted* range and not read yet.

    Of a life that is noticed while they are read they may be or not: they count as read before it.
    """
    place, at = (log.topic, log.partition), datetime.now(timezone.utc)
    packed = records.coalesce(1).mapInArrow(builder, to_sql(PACKED_SCHEMA)).toArrow()
    return fingerprint_rows_of(ReadBatch(packed, {place: wanted.start}, {place: wanted.end}, at), log.cluster)


def native_runs(packed: pa.Table) -> pa.Table:
    """Return the runs of the records in *packed*, which were produced where they stand, as :data:`CUT_SCHEMA`."""
    offsets: dict[tuple[str, int, str], list[np.ndarray[tuple[int, ...], np.dtype[np.int64]]]] = {}
    names = ("topic", "partition", "origin", "start_offset", "length", "offsets")
    for topic, partition, origin, start, length, raw in zip(
        *(packed.column(n).to_pylist() for n in names), strict=True
    ):
        offsets.setdefault((topic, partition, origin), []).append(unpacked_offsets(start, length, raw))
    rows: list[Packed] = []
    for (topic, partition, origin), parts in offsets.items():
        offset = np.sort(np.concatenate(parts))
        first = np.flatnonzero(np.diff(offset, prepend=offset[:1] - 2) != 1)
        for start, length in zip(offset[first].tolist(), np.diff(first, append=len(offset)).tolist(), strict=True):
            place = {"topic": topic, "partition": partition, "start_offset": start, "length": length}
            rows.append({**place, "origin": origin, "origin_start": start})
    return pa.Table.from_pylist(rows, CUT_SCHEMA)


def stretches_of(rows: pa.Table) -> Iterator[tuple[ClusterPartition, Stretch]]:
    """Yield the log of each of *rows* of the table, and what it says of it."""
    for row in rows.to_pylist():
        yield ClusterPartition(row["cluster"], row["topic"], row["partition"]), _to_stretch(row)


def _to_stretch(row: Mapping[str, Any]) -> Stretch:
    start, fingerprint = int(row["start_offset"]), unpacked(row["fingerprints"])
    offset = unpacked_offsets(start, len(fingerprint), row["offsets"])
    records = Fingerprints(offset, fingerprint)
    return Stretch(start, start + int(row["length"]), records, epoch_ms(row["read_at"]), _ms(row["complete_until"]))


def _ms(at: datetime | None) -> int:
    return 0 if at is None else epoch_ms(at)
