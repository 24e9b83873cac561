"""Verifies copies with the clusters of their origins, after the records were read.

A record cannot be a copy of one that is not written yet. One header with an offset far beyond its origin's log would
make everything missing below it here look dropped by the mirror, and so read. The origin's log end, queried *after* the
records were read, is above every valid identity, because logs only grow. Records beyond it are no copies: they are
unread by every group, and in quarantine. So are those that may be copies of truncated records, wherever they are: also
those that came back to their origin.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from offset_sync.ingest.incarnation_check import Said
from offset_sync.ingest.run_builder import CUT_SCHEMA, filled
from offset_sync.model.values import TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync.state.index_rows import int64s
from offset_sync.state.row_groups import RowGroups, keys_at

IDENTITY = ["origin", "topic", "partition"]
_ENDLESS = np.iinfo(np.int64).max
OriginEnds = Mapping[tuple[str, str, int], int]
"""Up to where records are copies of those in the log of an origin, topic and partition."""


def refute_beyond(cut: pa.Table, ends: OriginEnds, alias: str) -> pa.Table:
    """Return the rows of *alias*, of :data:`CUT_SCHEMA`, with the parts of copies beyond *ends* made malformed.

    A broken mirror may cause that in every second row of a micro-batch, so there is no loop over rows.
    """
    if not ends or cut.num_rows == 0:
        return cut
    log_end = _log_ends(cut, ends)
    origin_start, length = int64s(cut.column("origin_start")), int64s(cut.column("length"))
    is_own = pc.fill_null(pc.equal(cut.column("origin"), alias), False).to_numpy()
    is_copy = ~is_own | (origin_start != int64s(cut.column("start_offset")))
    is_beyond = is_copy & (origin_start + length > log_end)
    if not is_beyond.any():
        return cut
    beyond = cut.filter(pa.array(is_beyond))
    return pa.concat_tables([cut.filter(pa.array(~is_beyond)), *_split(beyond, log_end[is_beyond])])


def _log_ends(cut: pa.Table, ends: OriginEnds) -> NDArray[np.int64]:
    """Return where the log of each row's origin ends, shape (rows,); the greatest int64 if it is not in *ends*."""
    columns = [cut.column(name) for name in IDENTITY]
    groups = RowGroups.of(columns)
    found = [ends.get(key, _ENDLESS) for key in keys_at(columns, groups.first)]
    return np.array(found, np.int64)[groups.group]


def _split(runs: pa.Table, log_end: NDArray[np.int64]) -> list[pa.Table]:
    """Split *runs* into possible copies, malformed runs, and rows about these for the quarantine.

    The logs of their origins end at *log_end*, shape (runs,), below the end of each run.
    """
    starts, length = int64s(runs.column("start_offset")), int64s(runs.column("length"))
    origin_start = int64s(runs.column("origin_start"))
    honest = np.maximum(0, log_end - origin_start)
    first, left = starts + honest, length - honest
    copies = _with(runs, {"length": pa.array(honest)}).filter(pa.array(honest > 0))
    no_origin = pa.repeat(pa.scalar("", pa.string()), len(runs))
    wrong = {"start_offset": first, "length": left, "origin_start": first}
    wrongs = _with(runs, {"origin": no_origin, **{name: pa.array(values) for name, values in wrong.items()}})
    numbers = (each.tolist() for each in (origin_start + honest, left, log_end))
    rows = zip(runs.column("origin").to_pylist(), *numbers, strict=True)
    line = {
        "topic": runs.column("topic"),
        "partition": runs.column("partition"),
        "start_offset": pa.array(first),
        "length": pa.array(np.zeros(len(runs), np.int64)),
        "error": pa.array([_reason(*row) for row in rows], pa.string()),
    }
    return [copies, wrongs, pa.table(filled(line, len(runs), CUT_SCHEMA), schema=CUT_SCHEMA)]


def _with(rows: pa.Table, columns: Mapping[str, pa.Array]) -> pa.Table:
    return pa.table({name: rows.column(name) for name in CUT_SCHEMA.names} | dict(columns), schema=CUT_SCHEMA)


def _reason(origin: str, claimed: int, left: int, log_end: int) -> str:
    names = f"origin offset {claimed}" + (f" and the {left - 1} after it" if left > 1 else "")
    return f"{names}: not in the log of {origin}, which ends or was cut at {log_end}"


class OriginCheck:
    """Checks records mirrored to *alias* against the logs of the other clusters in *aliases*.

    Identities are accepted unchecked if the origin is no cluster of ours, does not answer or no longer has the
    partition.
    """

    def __init__(self, alias: str, aliases: Collection[str]) -> None:
        self._asked = {each for each in aliases if each != alias}

    def origins(self, cut: pa.Table, kept: Iterable[pa.Table] = ()) -> dict[str, set[TopicPartition]]:
        """Return the partitions to query, by cluster, for rows of :data:`CUT_SCHEMA` and summaries of kept ones."""
        found: dict[str, set[TopicPartition]] = {}
        for rows in (cut, *kept):
            columns = [rows.column(name) for name in IDENTITY]
            for origin, topic, partition in keys_at(columns, RowGroups.of(columns).first):
                if origin in self._asked:
                    found.setdefault(origin, set()).add(TopicPartition(topic, partition))
        return found

    def exceeded(self, summary: pa.Table, ends: OriginEnds) -> OriginEnds:
        """Return the *ends* that kept runs of this *summary* exceed; the tasks that write them refute those."""
        rows = summary.to_pylist()
        reach = {tuple(row[name] for name in IDENTITY): row["reach"] for row in rows if row["reach"] is not None}
        return {key: end for key, end in ends.items() if reach.get(key, 0) > end}

    def ends(self, said: Said, unsettled: OriginEnds) -> OriginEnds:
        """Return up to where records are copies: the log ends of the origins that have answered, or *unsettled*."""
        answers = {origin: said.get(origin) for origin in self._asked}
        found = {
            (origin, *partition): ends.log_end
            for origin, answer in answers.items()
            if isinstance(answer, ClusterMetadata)
            for partition, ends in answer.ends.items()
        }
        return found | {origin: min(end, found.get(origin, end)) for origin, end in unsettled.items()}
