"""Identifies copies by contents: a step beside the queries of ``index_records`` that read both logs.

The queries hand over what they have written into ``record_fingerprints``. For copies that were read the end of their
originals' log is queried. Once the originals are read up to it, the copies are aligned, and the decisions for all logs
are one append to ``record_runs``. After a failure the state is discarded and reloaded from the tables.
"""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.ingest.incarnation_check import IncarnationCheck, OvertakenError
from offset_sync.ingest.run_cuts import RowCutter
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.state.cluster_metadata import MetadataFetcher
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.store import TableStore
from offset_sync.translate.partition_log import Incarnation
from offset_sync_contents.alignment.aligner import AlignerState, CopyFollower, Decision
from offset_sync_contents.alignment.mirror import Reach, Settings, Verdict
from offset_sync_contents.alignment.records import Stretch
from offset_sync_contents.known_logs import Kept, KeptAlignments, follower_of, logs_with_fingerprints, read_known
from offset_sync_contents.rows import decided_rows, stretches_of
from offset_sync_contents.table import RECORD_FINGERPRINTS

logger = logging.getLogger(__name__)
_NOT_SOONER_MS = 3_600_000
"""The least time between two re-reads of a log's originals: copies still without one after a re-read have none."""


OriginOf = Callable[[ClusterPartition], str | None]
"""Returns the cluster of a log's originals; None if none is configured, or the log is no longer read."""


class Lookups(NamedTuple):
    """What is queried: the ends of *logs*, *incarnations*, and originals that were read long ago.

    *read_from* returns rows of ``record_fingerprints`` for a log, from an offset on to where it ends now.
    """

    logs: MetadataFetcher
    incarnations: IncarnationCheck
    read_from: Callable[[ClusterPartition, int], pa.Table]


@dataclass
class _Followed:
    """A log of copies that is being aligned, and that of its originals, which now begins at *log_start*.

    *begun_ms* is when the newest incarnation known to the alignment was noticed, *verdict* the last one logged.
    """

    follower: CopyFollower
    origin: ClusterPartition
    begun_ms: int
    verdict: Verdict = Verdict.ALIGNED
    log_start: int = 0


class CopyAlignment:
    """Aligns all logs of copies; *file* has the states to resume from. Only :meth:`take` is thread-safe.

    Of each log that is followed, the state that is kept is one whose decisions are in the tables.
    """

    def __init__(
        self, tables: TableStore, file: KeptAlignments, lookups: Lookups, origin_of: OriginOf, settings: Settings
    ) -> None:
        self._tables, self._file, self._lookups = tables, file, lookups
        self._origin_of, self._settings = origin_of, settings
        self._incoming: list[pa.Table] = []
        self._lock = threading.Lock()
        self._origins: dict[ClusterPartition, ClusterPartition] = {}
        self._followed: dict[ClusterPartition, _Followed] = {}
        self._due: set[ClusterPartition] = set()
        self._kept: dict[ClusterPartition, Kept] = {}
        self._read_again_ms: dict[ClusterPartition, int] = {}
        self._is_begun = False

    def take(self, rows: pa.Table) -> None:
        """Take rows of ``record_fingerprints`` that are in the table by now."""
        with self._lock:
            self._incoming.append(rows)

    @property
    def is_waiting(self) -> bool:
        """Whether anything that was read is not decided yet."""
        return bool(self._incoming or self._due) or any(each.follower.is_waiting for each in self._followed.values())

    def save(self) -> None:
        """Write the states of all logs to the file; their decisions are in the tables."""
        if self._is_begun:
            self._file.write(self._kept)

    def step(self, now_ms: int) -> int:
        """Decide what can be decided now, and store it; return for how many logs.

        Raises what the tables raise; the next call then reloads everything from them.
        """
        try:
            return self._step(now_ms)
        except BaseException:
            self._due |= self._followed.keys()
            self._followed.clear()
            raise

    def _step(self, now_ms: int) -> int:
        if not self._is_begun:
            self._begin()
        self._take_in()
        self._forget_former_incarnations()
        self._load()
        self._ask_ends()
        verified_at = datetime.now(timezone.utc)
        self._forget_former_incarnations()
        decided = {log: each for log, known in self._followed.items() if (each := known.follower.advance(now_ms))}
        for log in [log for log, each in decided.items() if each.aliens and self._restart(log, each, now_ms)]:
            del decided[log]
        self._write(decided, partial(self._lookups.incarnations.confirm, verified_at))
        return len(decided)

    def _begin(self) -> None:
        self._kept = self._file.read()
        for log in self._kept.keys() | logs_with_fingerprints(self._tables):
            self._note(log)
        self._due |= self._origins.keys()
        self._is_begun = True

    def _note(self, log: ClusterPartition) -> None:
        origin = self._origin_of(log)
        if origin not in (None, log.cluster):
            self._origins[log] = ClusterPartition(str(origin), *log.topic_partition)

    def _take_in(self) -> None:
        with self._lock:
            incoming, self._incoming = self._incoming, []
        came: dict[ClusterPartition, list[Stretch]] = defaultdict(list)
        for rows in incoming:
            for log, stretch in stretches_of(rows):
                came[log].append(stretch)
        for log in came:
            self._note(log)
        for log, originals in self._origins.items():
            known = self._followed.get(log)
            if known is None and (log in came or originals in came):
                self._due.add(log)  # loaded from the table, which has these rows
            if known is not None and not known.follower.take(came.get(originals, ()), came.get(log, ())):
                logger.warning("clusters.%s: %s-%d: rows are missing; reloading its alignment", *log)
                self._forget(log)

    def _forget(self, log: ClusterPartition) -> None:
        self._followed.pop(log, None)
        self._due.add(log)

    def _forget_former_incarnations(self) -> None:
        for log, known in list(self._followed.items()):
            if self._lookups.incarnations.begun_ms(log.topic_partition) != known.begun_ms:
                self._forget(log)

    def _load(self) -> None:
        """Load the logs that are due from the tables; those without rows are loaded when some arrive."""
        if not self._due:
            return
        originals = {log: self._origins[log] for log in self._due}
        begun_ms = {log: self._lookups.incarnations.begun_ms(log.topic_partition) for log in originals}
        known = read_known(self._tables, {*originals, *originals.values()})
        for log, origin in originals.items():
            kept = self._kept.get(log)
            kept = kept if kept is not None and kept.begun_ms == begun_ms[log] else None
            follower = follower_of(known, log, origin, kept, self._settings)
            if follower is not None:
                self._followed[log] = _Followed(follower, origin, begun_ms[log])
                self._kept[log] = Kept(follower.state, begun_ms[log])
        self._due.clear()

    def _ask_ends(self) -> None:
        """Query the ends of originals' logs whose copies were read since the last query."""
        to_ask = [known for known in self._followed.values() if known.follower.is_to_ask]
        if not to_ask:
            return
        wanted: dict[str, set[TopicPartition]] = defaultdict(set)
        for known in to_ask:
            wanted[known.origin.cluster].add(known.origin.topic_partition)
        moment = self._lookups.incarnations.moment()
        said = self._lookups.logs.fetch_each(wanted)
        try:
            at = self._lookups.incarnations.note(said, {}, moment)
        except OvertakenError:
            return  # with the next step
        ends = {alias: each.ends for alias, each in said.items() if not isinstance(each, ClusterError)}
        for known in to_ask:
            end = ends.get(known.origin.cluster, {}).get(known.origin.topic_partition)
            if end is not None:
                known.log_start = end.log_start
                known.follower.note_end(end.log_end, at)

    def _restart(self, log: ClusterPartition, decision: Decision, now_ms: int) -> bool:
        """Restart with all originals that the log still has, if copies in *log* may be older than the known ones.

        False if all of them are known, or were re-read for that lately: then such copies have no original. The mirror's
        position is searched again, but the counts of altered records are kept.
        """
        known, written = self._followed[log], self._kept[log].state
        forgotten = known.follower.state.reach.first_needed - known.log_start
        is_lately = now_ms - self._read_again_ms.get(log, -_NOT_SOONER_MS) < _NOT_SOONER_MS
        if is_lately or not decision.may_be_older(forgotten, self._settings.entry):
            return False
        logger.warning(
            "clusters.%s: %s-%d: copies may be older than the known originals: re-reading originals from offset %d on; "
            "no copy is indexed meanwhile",
            *log,
            known.log_start,
        )
        restarted = AlignerState(written.frontier, Reach(known.log_start), counts=written.counts)
        self._kept[log] = Kept(restarted, known.begun_ms)
        self.save()
        self._forget(log)
        try:
            rows = self._lookups.read_from(known.origin, known.log_start)
        except Exception as problem:  # the other logs continue
            logger.error("clusters.%s: %s-%d: cannot re-read its originals: %s", *log, problem)
            return True
        self._tables.append(RECORD_FINGERPRINTS, rows)
        self._read_again_ms[log] = now_ms
        return True

    def _write(self, decided: Mapping[ClusterPartition, Decision], check: Callable[[], None]) -> None:
        """Store what was *decided* in one append. What has rows from before a restart gets no others."""
        rows = []
        for log, decision in decided.items():
            known = self._followed[log]
            if (each := decision.from_offset(known.follower.written)) is not None:
                rows.append(self._settled(log, known.origin, decided_rows(log, known.origin.cluster, each)))
        if rows:
            self._tables.append(RECORD_RUNS, pa.concat_tables(rows), check=check)
        for log in decided:
            known = self._followed[log]
            self._kept[log] = Kept(known.follower.state, known.begun_ms)
            self._tell(log, known.follower.state.counts.verdict)

    def _settled(self, log: ClusterPartition, origin: ClusterPartition, rows: pa.Table) -> pa.Table:
        """Return *rows* of *log*, where copies that may be of an earlier incarnation of *origin* are unknown."""
        place, first = log.topic_partition, pc.min(rows.column("start_offset")).as_py() or 0
        unsettled = self._lookups.incarnations.unsettled(log.cluster, {place: first}, {place: first})
        begin = unsettled.get((origin.cluster, *place))
        cuts = {} if begin is None else {origin: Incarnation(begin, 0, "", is_recreated=False)}
        left = RowCutter(cuts).cut(rows, rows) if cuts else None
        return rows if left is None else left

    def _tell(self, log: ClusterPartition, verdict: Verdict) -> None:
        """Log whether the copies in *log* can be matched, where that has changed."""
        known = self._followed[log]
        if verdict is known.verdict:
            return
        known.verdict = verdict
        if verdict is Verdict.ALIGNED:
            logger.info("clusters.%s: %s-%d: copies are matched by contents again", *log)
        else:
            logger.error("clusters.%s: %s-%d: new copies are unread by all groups: %s", *log, verdict.remedy)
