"""Stops a query before commits of a version that nobody here knows are put in quarantine one after the other.

A broken record is one among many, and the group's next commit is read. When a cluster is updated to a broker that
writes a new version, all commits of a partition of ``__consumer_offsets`` have it from some offset on: then no group of
that partition would be synced any more, and the checkpoint would move on.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.decode.offset_records import COMMIT, COMMIT_LAYOUTS, KIND_OF_TYPE, MALFORMED, unknown_version
from offset_sync.model.errors import UnknownVersionError
from offset_sync.translate.index.runs import Int64s

LEAST_RECORDS = 10
"""Fewer than that may be broken records."""
LEAST_SHARE = 0.5
"""Of all commits from the first one of an unknown version on, in its partition."""

_COMMIT_TYPES = pa.array([number for number, kind in KIND_OF_TYPE.items() if kind == COMMIT], pa.int16())
_NUMBER = r"(-?\d+)"
_VERSION = re.compile(re.escape(unknown_version(987, 654)).replace("987", _NUMBER).replace("654", _NUMBER))


class _Tally(NamedTuple):
    """How many commits a partition has from its first of an unknown version on."""

    unknown: int = 0
    known: int = 0


class UnknownVersions:
    """Counts over the micro-batches of one cluster's query."""

    def __init__(self, alias: str, log: str) -> None:
        self._alias, self._log = alias, log
        self._tallies: dict[int, _Tally] = {}

    def check(self, records: pa.Table) -> None:
        """Count the decoded *records* of a micro-batch; raises UnknownVersionError where it is not to be passed.

        What raises is not counted: the same micro-batch comes again.
        """
        unknown = records.filter(_is_of_unknown_version(records))
        tallies = dict(self._tallies)
        if unknown.num_rows == 0 and not tallies:
            return
        is_known = pc.and_(pc.equal(records.column("kind"), COMMIT), pc.invert(records.column("is_tombstone")))
        known_partition, known_offset = _places(records.filter(is_known))
        partition, offset = _places(unknown)
        for number in np.union1d(partition, np.array([*tallies], np.int64)).tolist():
            mine = offset[partition == number]
            before = tallies.get(number)
            first = -1 if before is not None else int(mine.min())
            later = int(np.count_nonzero(known_offset[known_partition == number] > first))
            before = before or _Tally()
            tallies[number] = _Tally(before.unknown + len(mine), before.known + later)
        total = sum(each.unknown for each in tallies.values())
        share = total / (total + sum(each.known for each in tallies.values()))
        if unknown.num_rows and total >= LEAST_RECORDS and share >= LEAST_SHARE:
            raise UnknownVersionError(self._say(unknown, total, share))
        self._tallies = tallies

    def _say(self, unknown: pa.Table, total: int, share: float) -> str:
        first = (
            unknown.sort_by([("log_partition", "ascending"), ("log_offset", "ascending")]).slice(0, 1).to_pylist()[0]
        )
        version = _VERSION.fullmatch(first["error"])
        return (
            f"clusters.{self._alias}: {total} offset commits ({share:.0%} since the first) have a version that is not "
            f"known, as value version {version[1] if version else '?'} at {self._log}-{first['log_partition']} offset "
            f"{first['log_offset']}; versions up to {len(COMMIT_LAYOUTS) - 1} are: nothing is read past them before "
            "Offset Sync is updated"
        )


def _is_of_unknown_version(records: pa.Table) -> pa.ChunkedArray:
    is_commit = pc.is_in(records.column("record_type"), _COMMIT_TYPES)
    is_malformed = pc.and_(pc.equal(records.column("kind"), MALFORMED), is_commit)
    return pc.and_(is_malformed, pc.match_substring_regex(records.column("error"), _VERSION.pattern)).fill_null(False)


def _places(records: pa.Table) -> tuple[Int64s, Int64s]:
    partition, offset = (records.column(name).cast(pa.int64()).to_numpy() for name in ("log_partition", "log_offset"))
    return partition, offset
