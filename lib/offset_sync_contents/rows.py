"""Converts fingerprints to rows of ``record_fingerprints`` and back, and decisions to rows of ``record_runs``.

A Spark task gets the hash of each record and packs those of a log. Executors unpickle the builder, so this module must
not import the Kafka client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter

import numpy as np
import pyarrow as pa

from offset_sync.config import Config
from offset_sync.ingest.batch_rows import ReadBatch, record_runs
from offset_sync.ingest.run_builder import CUT_SCHEMA, by_partition
from offset_sync.model.stream_names import SAME_NAMES, Names
from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.state.cluster_clock import epoch_ms, to_datetime
from offset_sync.state.incarnations import log_of
from offset_sync.state.index_rows import int64s
from offset_sync.tables.catalog import BEGINS
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Int64s
from offset_sync_contents.alignment.aligner import Decision
from offset_sync_contents.alignment.records import Fingerprints, Stretch, to_runs
from offset_sync_contents.settings import origin_of
from offset_sync_contents.table import RECORD_FINGERPRINTS

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
"""A row is of *length* records from *start_offset* on.

Its origin is the cluster itself, which means nothing: origins are not known yet.
"""
_MOST_RECORDS = 100_000
"""The most that a row of the table has: it is removed as a whole."""
_TIME = pa.timestamp("us", tz="UTC")
_ORIGIN, _COVERAGE = 0, -10


@dataclass(frozen=True)
class FingerprintBuilder:
    """Packs the records of one cluster; pickled to the executors.

    *is_wanted* selects streams; others that Spark reads by its pattern are left out. *origins* are as those of
    :class:`RunBuilder`, *names* map topics to streams.
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
        """Pack the record batches of one task; records come partition by partition, in offset order."""
        for batch in batches:
            for part in by_partition(batch):
                topic = self.names.inside(self.alias, part.column("topic")[0].as_py())
                if self.is_wanted(topic):
                    yield self._packed(part, topic)

    def _packed(self, part: pa.RecordBatch, topic: str) -> pa.RecordBatch:
        offset = int64s(part.column("offset"))
        row = {
            "topic": topic,
            "partition": part.column("partition")[0].as_py(),
            "start_offset": int(offset[0]),
            "length": len(offset),
            "origin": self.alias,
            "origin_start": int(offset[0]),
            "offsets": _to_bytes(offset),
            "fingerprints": _to_bytes(int64s(part.column(FINGERPRINT))),
        }
        return pa.RecordBatch.from_pylist([row], PACKED_SCHEMA)


def is_wanted(config: Config, alias: str, are_originals: bool, stream: str) -> bool:
    """Return whether the records of *stream* at the cluster *alias* are of the kind that a query reads."""
    is_origin = origin_of(config, stream) == alias
    return is_origin == are_originals and config.is_topic_included(stream)


def _to_bytes(numbers: Int64s) -> bytes:
    return numbers.astype("<i8").tobytes()


def _from_bytes(packed: bytes) -> Int64s:
    return np.frombuffer(packed, "<i8").astype(np.int64)


def _records_of(cut: pa.Table) -> dict[TopicPartition, Fingerprints]:
    """Return the records in rows of :data:`PACKED_SCHEMA` by their log, in the order of their offsets."""
    parts: dict[TopicPartition, list[Fingerprints]] = {}
    for row in sorted(cut.to_pylist(), key=itemgetter("start_offset")):
        records = Fingerprints(_from_bytes(row["offsets"]), _from_bytes(row["fingerprints"]))
        parts.setdefault(TopicPartition(row["topic"], row["partition"]), []).append(records)
    return {place: each[0].followed_by(*each[1:]) for place, each in parts.items()}


def fingerprint_rows_of(read: ReadBatch, alias: str) -> pa.Table:
    """Return what was *read* of *alias* as rows of the table, without gaps."""
    records, nothing, rows = _records_of(read.cut), Fingerprints.none(), []
    for place, end in sorted(read.end.items()):
        begin = read.start.get(place, 0)
        if end > begin:
            whole = Stretch(begin, end, records.get(TopicPartition(*place), nothing))
            edges = [begin, *whole.records.offset[_MOST_RECORDS::_MOST_RECORDS].tolist(), end]
            for first, last in pairwise(edges):
                until = read.complete_until.get(TopicPartition(*place)) if last == end else None
                length, part = last - first, whole.between(first, last).records
                row = {
                    "cluster": alias,
                    "topic": place[0],
                    "partition": place[1],
                    "start_offset": first,
                    "length": length,
                    "offsets": None if len(part) == length else _to_bytes(part.offset),
                    "fingerprints": _to_bytes(part.fingerprint),
                    "read_at": read.at,
                    "complete_until": until,
                }
                rows.append(row)
    return pa.Table.from_pylist(rows, RECORD_FINGERPRINTS.arrow_schema)


def stretches_of(rows: pa.Table) -> Iterator[tuple[ClusterPartition, Stretch]]:
    """Yield the log and the stretch of each of *rows* of the table."""
    for row in rows.to_pylist():
        begin, end = row["start_offset"], row["start_offset"] + row["length"]
        offset = np.arange(begin, end) if row["offsets"] is None else _from_bytes(row["offsets"])
        complete_ms = 0 if row["complete_until"] is None else epoch_ms(row["complete_until"])
        records = Fingerprints(offset, _from_bytes(row["fingerprints"]))
        log = log_of(row)
        yield log, Stretch(begin, end, records, epoch_ms(row["read_at"]), complete_ms)


def native_runs(cut: pa.Table, alias: str) -> pa.Table:
    """Return the runs of the native records in *cut*, as :data:`CUT_SCHEMA`."""
    rows = []
    for place, records in _records_of(cut).items():
        offset = records.offset
        first = np.flatnonzero(np.diff(offset, prepend=offset[0] - 2) != 1)
        for start, length in zip(offset[first].tolist(), np.diff(first, append=len(offset)).tolist(), strict=True):
            run = {"start_offset": start, "length": length, "origin": alias, "origin_start": start}
            rows.append(place._asdict() | run)
    return pa.Table.from_pylist(rows, CUT_SCHEMA)


def decided_rows(log: ClusterPartition, origin: str, found: Decision) -> pa.Table:
    """Return the rows of one append for copies of *log*, whose originals the cluster *origin* has produced.

    They are coverage and runs: runs without those of unknown origin would let holes count as read too early.
    """
    rows = to_runs(found.identities, _ORIGIN, 0)
    kind = [_COVERAGE, _COVERAGE, *rows.origin.tolist()]
    count, origins = len(kind), {_COVERAGE: log.cluster, UNKNOWN_ORIGIN: ""}
    complete_until = to_datetime(found.complete_ms) if found.complete_ms else None
    columns = {
        "cluster": pa.repeat(log.cluster, count),
        "topic": pa.repeat(log.topic, count),
        "partition": pa.array([log.partition] * count, pa.int32()),
        "start_offset": pa.array([found.begin, found.end, *rows.start.tolist()]),
        "length": pa.array([0, 0, *rows.length.tolist()]),
        "origin": pa.array([origins.get(each, origin) for each in kind]),
        "origin_start": pa.array([BEGINS, found.end, *rows.origin_start.tolist()]),
        "indexed_at": pa.array([found.at] * count, _TIME),
        "complete_until": pa.array([complete_until] + [None] * (count - 1), _TIME),
    }
    return record_runs(columns, count)
