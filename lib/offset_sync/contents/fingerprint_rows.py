"""Rows of ``record_runs`` for copies without headers: the identities that their contents tell, and bounds of others."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from offset_sync.contents.alignment.records import Identities, to_runs, unrecognised
from offset_sync.ingest.batch_rows import record_runs
from offset_sync.model.values import ClusterPartition
from offset_sync.tables.catalog import AT_MOST, BEGINS, NOT_BEFORE
from offset_sync.translate.index.bounds import at_most, not_before
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN

_TIME = pa.timestamp("us", tz="UTC")
_ORIGIN = 0
_COVERAGE, _RUN = -10, _ORIGIN


class Decided(NamedTuple):
    """What is decided of the copies of *log* from *begin* to below *end*, whose originals *origin* has produced.

    What stood in the log at *complete_until* is decided; None: nobody knows.
    """

    log: ClusterPartition
    origin: str
    begin: int
    end: int
    identities: Identities
    complete_until: datetime | None = None


def fingerprint_rows(found: Decided, at: datetime) -> pa.Table:
    """Return the rows of one append, indexed *at*: coverage, runs, and where unrecognised originals may stand.

    All of them belong together: a row of runs without those of the others would let holes be read too early.
    """
    runs, places = to_runs(found.identities, _ORIGIN, 0), unrecognised(found.identities, _ORIGIN, 0)
    rows = runs.followed_by(places)
    start = np.concatenate(([found.begin, found.end], rows.start))
    length = np.concatenate(([0, 0], rows.length))
    of_origin = np.concatenate(([BEGINS, found.end], rows.origin_start))
    code = np.concatenate(([_COVERAGE, _COVERAGE], rows.origin))
    count = len(start)
    alias, topic, partition = found.log
    columns = {
        "cluster": pa.repeat(pa.scalar(alias), count),
        "topic": pa.repeat(pa.scalar(topic), count),
        "partition": pa.repeat(pa.scalar(partition, pa.int32()), count),
        "start_offset": pa.array(start),
        "length": pa.array(length),
        "origin": _texts(code, {_COVERAGE: alias, UNKNOWN_ORIGIN: ""}, found.origin),
        "origin_start": pa.array(of_origin),
        "indexed_at": pa.repeat(pa.scalar(at, _TIME), count),
        "complete_until": pa.array([found.complete_until, *[None] * (count - 1)], _TIME),
        "bound": _texts(code, {at_most(_ORIGIN): AT_MOST, not_before(_ORIGIN): NOT_BEFORE}, None),
    }
    return record_runs(columns, count)


def _texts(code: NDArray[np.int64], text_of: dict[int, str], other: str | None) -> pa.Array:
    texts, number = pa.array([*text_of.values(), other], pa.string()), np.full(len(code), len(text_of))
    for at, each in enumerate(text_of):
        number[code == each] = at
    return texts.take(pa.array(number))
