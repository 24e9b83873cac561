"""Verifies copies with the clusters of their origins, after the records were read.

**By headers**: a record cannot be a copy of one that is not written yet. One header with an offset far beyond its
origin's log would make everything missing below it here look dropped by the mirror, and so read. The origin's log end,
queried *after* the records were read, is above every valid identity, because logs only grow. Records beyond it are no
copies: they are unread by every group, and in quarantine.

**Byte for byte**: a copy is never ahead of its original, from which it has every record. So if the copy is queried
first and its end is above the original's, others have written to it. From there on its offsets mean other records for
good, even when the original grows beyond. So it is recorded.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from offset_sync.ingest.incarnation_check import IncarnationCheck, Said
from offset_sync.ingest.run_builder import CUT_SCHEMA, filled
from offset_sync.kafka.requests import LogEnds
from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync.state.index_rows import int64s
from offset_sync.state.row_groups import RowGroups, greatest_of_each, keys_at

IDENTITY = ["origin", "topic", "partition"]
_ENDLESS = np.iinfo(np.int64).max
OriginEnds = Mapping[tuple[str, str, int], int]
"""Where the log of an origin, topic and partition ends."""


def refute_beyond(cut: pa.Table, ends: OriginEnds) -> pa.Table:
    """Return the rows, of :data:`CUT_SCHEMA`, with the parts of runs beyond *ends* made malformed.

    A broken mirror may cause that in every second row of a micro-batch, so there is no loop over rows.
    """
    if not ends or cut.num_rows == 0:
        return cut
    log_end = _log_ends(cut, ends)
    origin_start, length = int64s(cut.column("origin_start")), int64s(cut.column("length"))
    is_beyond = origin_start + length > log_end
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


@dataclass(frozen=True)
class RefuteBeyond:
    """Applies :func:`refute_beyond` to the rows of a task; pickled to the executors."""

    ends: OriginEnds

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows, in no order."""
        for batch in batches:
            yield from refute_beyond(pa.Table.from_batches([batch]).cast(CUT_SCHEMA), self.ends).to_batches()


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
    return f"{names}: not in the log of {origin}, which ends at {log_end}"


class OriginCheck:
    """Checks records mirrored to *alias* against the logs of the other clusters in *aliases*.

    Identities are accepted unchecked if the origin is no cluster of ours, does not answer or no longer has the
    partition; and in topics that *are_copied* byte for byte, which are withheld as a whole once a copy was written to
    (:class:`CopyCheck`).
    """

    def __init__(
        self, alias: str, aliases: Collection[str], are_copied: Callable[[str], object] = lambda _topic: None
    ) -> None:
        self._asked, self._are_copied = {each for each in aliases if each != alias}, are_copied
        self._last: tuple[pa.Table, OriginEnds] | None = None

    def origins(self, cut: pa.Table, kept: Iterable[pa.Table] = ()) -> dict[str, set[TopicPartition]]:
        """Return the partitions to query, by cluster, for rows of :data:`CUT_SCHEMA` and summaries of kept ones."""
        found: dict[str, set[TopicPartition]] = {}
        for origin, topic, partition in chain(self._reach(cut), *map(self._reach_of_kept, kept)):
            found.setdefault(origin, set()).add(TopicPartition(topic, partition))
        return found

    def refute(self, cut: pa.Table, said: Said) -> pa.Table:
        """Return the rows with parts of runs that are no copies made malformed, by what the clusters *said*."""
        ends, self._last = self._ends(self._reach(cut), said), None  # releases the rows
        return refute_beyond(cut, ends)

    def refuted_kept(self, summary: pa.Table, said: Said) -> OriginEnds:
        """Return the log ends that kept runs of this *summary* exceed; the tasks that write them refute those."""
        return self._ends(self._reach_of_kept(summary), said)

    def _reach_of_kept(self, summary: pa.Table) -> OriginEnds:
        rows = [row for row in summary.to_pylist() if row["origin"] in self._asked]
        return {(row["origin"], row["topic"], row["partition"]): row["reach"] for row in rows}

    def _reach(self, cut: pa.Table) -> OriginEnds:
        """Return, by origin and partition, the first offset above all identities that can be checked.

        Cached for the last table, which is looked up before and after its origins are queried; tables never change.
        """
        if self._last is None or self._last[0] is not cut:
            self._last = cut, self._reach_of(cut)
        return self._last[1]

    def _reach_of(self, cut: pa.Table) -> OriginEnds:
        ends = int64s(cut.column("origin_start")) + int64s(cut.column("length"))
        reach = greatest_of_each([cut.column(name) for name in IDENTITY], ends)
        return {(origin, topic, number): end for (origin, topic, number), end in reach.items() if origin in self._asked}

    def _ends(self, reach: OriginEnds, said: Said) -> OriginEnds:
        """Return the log ends that some identity exceeds."""
        found: dict[tuple[str, str, int], int] = {}
        for (origin, topic, number), highest in reach.items():
            answer, partition = said.get(origin), TopicPartition(topic, number)
            if isinstance(answer, ClusterMetadata) and partition in answer.ends and not self._are_copied(topic):
                log_end = answer.ends[partition].log_end
                if highest > log_end:
                    found[origin, *partition] = log_end
        return found


Reach = Mapping[ClusterPartition, int]
"""Where the logs of copies ended."""


class CopyCheck:
    """Detects copies that were written to, for all queries; *original* returns the cluster of a topic's original.

    An original that does not answer is queried again with the next micro-batch, of its own or of a copy. What it wrote
    until then cannot be told from what it had: errs to accepting, and leaves it to the records' timestamps.
    """

    def __init__(self, original: Callable[[str], str | None], incarnations: IncarnationCheck) -> None:
        self._original, self._incarnations = original, incarnations
        self._reach: dict[ClusterPartition, int] = {}
        self._lock = threading.Lock()

    def known(self) -> Reach:
        """Return how far copies reach; take it before querying any cluster."""
        with self._lock:
            return dict(self._reach)

    def originals(self, alias: str, logs: Collection[TopicPartition]) -> dict[str, set[TopicPartition]]:
        """Return, by cluster, the originals to query for *logs* of *alias*."""
        found: dict[str, set[TopicPartition]] = {}
        for each in logs:
            if (original := self._original(each.topic)) not in (None, alias):
                found.setdefault(str(original), set()).add(each)
        return found

    def look(self, alias: str, own: Mapping[TopicPartition, LogEnds], said: Said, known: Reach) -> None:
        """Compare the ends of copies, for *alias* its *own*, with what originals have *said* since.

        *alias* was queried before all others, and what was *known* of other copies is older. Findings are in the table
        when this returns, before the rows of the micro-batch.
        """
        copies = [each for logs in self.originals(alias, own).values() for each in logs]
        reach = {ClusterPartition(alias, *each): own[each].log_end for each in copies}
        self._incarnations.note_copied(list(reach))
        with self._lock:  # one truncated meanwhile, as its original may have been before, has other records since
            known = {log: end for log, end in known.items() if end <= self._reach.get(log, end)}
        if beyond := self._beyond({**known, **reach}, said):
            self._incarnations.note_written(beyond)
        with self._lock:
            self._reach |= reach

    def _beyond(self, reach: Reach, said: Said) -> dict[ClusterPartition, int]:
        found: dict[ClusterPartition, int] = {}
        for log, end in reach.items():
            answer = said.get(self._original(log.topic) or "")
            if isinstance(answer, ClusterMetadata) and log.topic_partition in answer.ends:
                log_end = answer.ends[log.topic_partition].log_end
                if end > log_end:
                    found[log] = log_end
        return found
