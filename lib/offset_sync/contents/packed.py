"""Fingerprints of records, packed: by Spark tasks, as rows of ``record_fingerprints``, and back as stretches of a log.

A task gets the hash of each record and makes one row of each stretch of a log. Executors unpickle the builder, so this
module must not import the Kafka client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from offset_sync.config import Config
from offset_sync.config.stream_names import SAME_NAMES, Names
from offset_sync.contents.alignment.records import Fingerprints, Stretch
from offset_sync.ingest.batch_rows import ReadBatch
from offset_sync.ingest.run_builder import CUT_SCHEMA, by_partition, int64_values
from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.state.incarnation_rows import epoch_ms
from offset_sync.tables.catalog import RECORD_FINGERPRINTS

_SCHEMA = RECORD_FINGERPRINTS.arrow_schema
FINGERPRINT = "fingerprint"
"""The column of records with the hash of each."""
PACKED_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("start_offset", pa.int64()),
        ("length", pa.int64()),
        ("origin", pa.string()),
        ("origin_start", pa.int64()),
        ("offsets", pa.binary()),
        ("fingerprints", pa.binary()),
    ]
)
"""A row is of *length* records from *start_offset* on; ``offsets`` are theirs where some lack, else null.

Who is asked about origins finds the cluster itself there, which says nothing: these are not known yet.
"""
Packed = dict[str, Any]


@dataclass(frozen=True)
class FingerprintBuilder:
    """What a task has to know to pack the records of one cluster; pickled to the executors.

    *is_wanted* says of which streams; what else Spark reads by its pattern is left out. *origins* are as those of
    :class:`RunBuilder`, *names* say which stream a topic is.
    """

    alias: str
    origins: dict[str, str]
    is_wanted: Callable[[str], bool]
    names: Names = SAME_NAMES

    @property
    def aliases(self) -> set[str]:
        """All clusters."""
        return {self.alias, *self.origins.values()}

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pack the record batches of one task; rows of a partition come in offset order, partition after partition."""
        for batch in batches:
            for part in by_partition(batch):
                topic = self.names.inside(self.alias, part.column("topic")[0].as_py())
                if self.is_wanted(topic):
                    yield self._packed(part, topic)

    def _packed(self, part: pa.RecordBatch, topic: str) -> pa.RecordBatch:
        offset = int64_values(part.column("offset"))
        first, count = int(offset[0]), len(offset)
        is_whole = int(offset[-1]) - first + 1 == count
        row = {
            "topic": topic,
            "partition": part.column("partition")[0].as_py(),
            "start_offset": first,
            "length": count,
            "origin": self.alias,
            "origin_start": first,
            "offsets": None if is_whole else offset.astype("<i8").tobytes(),
            "fingerprints": int64_values(part.column(FINGERPRINT)).astype("<i8").tobytes(),
        }
        return pa.RecordBatch.from_pylist([row], PACKED_SCHEMA)


@dataclass(frozen=True)
class WantedStreams:
    """True for the streams that one query reads at the cluster *alias*; pickled to the executors."""

    config: Config
    alias: str
    are_originals: bool

    def __call__(self, stream: str) -> bool:
        """Return whether the records of *stream* there are of the kind that is read."""
        is_origin = self.config.origin_of(stream) == self.alias
        return is_origin == self.are_originals and self.config.is_topic_included(stream)


def _unpacked_offsets(start: int, count: int, offsets: bytes | None) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return the offsets of the *count* records of a row."""
    if offsets is None:
        return np.arange(start, start + count, dtype=np.int64)
    return np.frombuffer(offsets, "<i8").astype(np.int64)


def _unpacked(fingerprints: bytes) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return the fingerprints of a row."""
    return np.frombuffer(fingerprints, "<i8").astype(np.int64)


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
            offsets = _unpacked_offsets(row["start_offset"], row["length"], None).astype("<i8").tobytes()
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


def native_runs(packed: pa.Table) -> pa.Table:
    """Return the runs of the records in *packed*, which were produced where they stand, as :data:`CUT_SCHEMA`."""
    offsets: dict[tuple[str, int, str], list[np.ndarray[tuple[int, ...], np.dtype[np.int64]]]] = {}
    names = ("topic", "partition", "origin", "start_offset", "length", "offsets")
    for topic, partition, origin, start, length, raw in zip(
        *(packed.column(n).to_pylist() for n in names), strict=True
    ):
        offsets.setdefault((topic, partition, origin), []).append(_unpacked_offsets(start, length, raw))
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
    start, fingerprint = int(row["start_offset"]), _unpacked(row["fingerprints"])
    offset = _unpacked_offsets(start, len(fingerprint), row["offsets"])
    records = Fingerprints(offset, fingerprint)
    complete_ms = 0 if row["complete_until"] is None else epoch_ms(row["complete_until"])
    return Stretch(start, start + int(row["length"]), records, epoch_ms(row["read_at"]), complete_ms)
