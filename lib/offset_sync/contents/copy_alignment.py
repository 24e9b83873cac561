"""Which record each copy is, told by contents: a step beside the queries of ``index_records`` that read both logs.

What the queries have written into ``record_fingerprints`` they hand over. For copies that were read the end of their
originals' log is asked, once the originals are read to there the copies are aligned, and what is decided of all logs is
one append to ``record_runs``. Whatever fails is forgotten and begun anew by the tables.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import pyarrow as pa

from offset_sync.contents.alignment.copy_follower import Decision
from offset_sync.contents.alignment.records import Settings
from offset_sync.contents.decided_copies import DecidedCopies, Followed
from offset_sync.contents.known_logs import follower_of, logs_with_fingerprints, read_known
from offset_sync.contents.packed import stretches_of
from offset_sync.ingest.incarnation_check import IncarnationCheck, OvertakenError
from offset_sync.ingest.log_check import Logs
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.tables.catalog import ALIGNED, NOT_INDEXED, RECORD_FINGERPRINTS
from offset_sync.tables.definition import Table
from offset_sync.tables.store import TableStore

logger = logging.getLogger(__name__)
_NOT_SOONER_MS = 3_600_000
"""A log whose copies have no originals after that is not read again at once: they have none."""
ReadRange = Callable[[ClusterPartition, int], pa.Table]
"""Returns the rows of ``record_fingerprints`` for a log, from an offset on to where it ends now."""


class Mirrored(NamedTuple):
    """What is known of the mirror: at which cluster the originals of a log are, and its *settings*.

    *origin_of* is None where nobody says so, or where nobody reads that log any more.
    """

    origin_of: Callable[[ClusterPartition], str | None]
    settings: Settings


class Lookups(NamedTuple):
    """Who is asked: about the ends of *logs*, about *incarnations*, and for originals that were read long ago."""

    logs: Logs
    incarnations: IncarnationCheck
    again: OriginalsAgain


class CopyAlignment:
    """All logs of copies. :meth:`take` may be called by any thread, the rest by one."""

    def __init__(self, tables: TableStore, written: DecidedCopies, lookups: Lookups, mirrored: Mirrored) -> None:
        self._tables, self._written, self._lookups, self._mirrored = tables, written, lookups, mirrored
        self._incoming: list[pa.Table] = []
        self._lock = threading.Lock()
        self._followed: dict[ClusterPartition, Followed] = {}
        self._due: set[ClusterPartition] = set()
        self._by_origin: dict[ClusterPartition, set[ClusterPartition]] = {}
        self._seen: set[ClusterPartition] = set()
        self._is_begun = False

    def take(self, rows: pa.Table) -> None:
        """Take rows of ``record_fingerprints`` that are in the table by now."""
        with self._lock:
            self._incoming.append(rows)

    @property
    def is_waiting(self) -> bool:
        """Whether anything is there that was read and not decided."""
        return bool(self._incoming or self._due) or any(each.follower.is_waiting for each in self._followed.values())

    def step(self, now_ms: int) -> int:
        """Decide what can be decided now, and write it down; return of how many logs something was decided.

        Raises what the tables raise; then everything begins anew by them with the next call.
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
        self._due |= self._lookups.again.done()
        self._let_go_of_former_lives()
        if due := {log for log in self._due if self._can_begin(log)}:
            self._load(due)
        self._ask_ends()
        self._let_go_of_former_lives()
        decided = {log: each for log, known in self._followed.items() if (each := known.follower.advance(now_ms))}
        for log in [log for log, each in decided.items() if each.aliens and self._begin_anew(log, each, now_ms)]:
            del decided[log]
        self._written.write({log: (self._followed[log], each) for log, each in decided.items()})
        return len(decided)

    def _begin(self) -> None:
        self._written.read()
        self._due |= {log for log in self._written.logs if self._originals_of(log) is not None}
        for log in logs_with_fingerprints(self._tables):
            self._note(log)
        self._is_begun = True

    def _note(self, log: ClusterPartition) -> ClusterPartition | None:
        """Have a log of copies aligned; return the log of its originals, None for one that is no log of copies."""
        self._seen.add(log)
        originals = self._originals_of(log)
        if originals is None or originals == log:
            return None
        if log not in self._followed and log not in self._by_origin.get(originals, ()):
            self._due.add(log)
        self._by_origin.setdefault(originals, set()).add(log)
        return originals

    def _originals_of(self, log: ClusterPartition) -> ClusterPartition | None:
        origin = self._mirrored.origin_of(log)
        return None if origin is None else ClusterPartition(origin, *log.topic_partition)

    def _can_begin(self, log: ClusterPartition) -> bool:
        return self._originals_of(log) in self._seen and not self._lookups.again.is_reading(log)

    def _take_in(self) -> None:
        with self._lock:
            incoming, self._incoming = self._incoming, []
        for rows in incoming:
            for log, stretch in stretches_of(rows):
                originals = self._note(log)
                copies = self._by_origin.get(log, set()) if originals is None else {log}
                for each in copies:
                    known = self._followed.get(each)
                    if known is None:
                        self._due.add(each)  # by the table, which has these rows
                        continue
                    take = known.follower.take_originals if originals is None else known.follower.take_copies
                    if not take(stretch):
                        logger.warning("clusters.%s: %s-%d: not all of it was read; it begins anew", *log)
                        self._forget(each)

    def _forget(self, log: ClusterPartition) -> None:
        self._followed.pop(log, None)
        self._due.add(log)

    def _let_go_of_former_lives(self) -> None:
        for log, known in list(self._followed.items()):
            if self._lookups.incarnations.begun_ms(log.topic_partition) != known.lives_ms:
                self._forget(log)

    def _load(self, due: set[ClusterPartition]) -> None:
        originals = {log: each for log in due if (each := self._originals_of(log)) is not None}
        lives_ms = {log: self._lookups.incarnations.begun_ms(log.topic_partition) for log in due}
        known = read_known(self._tables, {*due, *originals.values()})
        for log in originals:
            kept = self._written.kept(log, lives_ms[log])
            follower = follower_of(known, log, originals[log], kept, self._mirrored.settings)
            if follower is not None:
                word = known.doubts.get(log, ALIGNED)
                self._followed[log] = Followed(follower, originals[log], lives_ms[log], word)
        self._due -= due  # where nothing is known yet rows will come

    def _ask_ends(self) -> None:
        """Ask where the logs of originals end whose copies were read since that was last asked."""
        wanted: dict[str, set[TopicPartition]] = {}
        for known in self._followed.values():
            if known.follower.is_to_ask:
                wanted.setdefault(known.origin.cluster, set()).add(known.origin.topic_partition)
        if not wanted:
            return
        moment = self._lookups.incarnations.moment()
        said = self._lookups.logs.fetch_each(wanted)
        try:
            at = self._lookups.incarnations.note(said, {}, moment)
        except OvertakenError:
            return  # with the next step
        ends = {alias: each.ends for alias, each in said.items() if not isinstance(each, ClusterError)}
        for known in self._followed.values():
            end = ends.get(known.origin.cluster, {}).get(known.origin.topic_partition)
            if end is not None and known.follower.is_to_ask:
                known.log_start = end.log_start
                known.follower.note_end(end.log_end, at)

    def _begin_anew(self, log: ClusterPartition, decision: Decision, now_ms: int) -> bool:
        """Begin anew with all originals that there are, if copies in *log* may be older than those that are known.

        False where all of them are known, or were read again for that a while ago: then such copies have none.
        """
        known = self._followed[log]
        forgotten = known.follower.state.reach.first_needed - known.log_start
        if not decision.may_be_older(forgotten, self._mirrored.settings.entry):
            return False
        if not self._lookups.again.read(log, known.origin, known.log_start, now_ms):
            return False
        logger.warning(
            "clusters.%s: %s-%d: copies of records that were forgotten: the originals are read again, from %d on, and "
            "its offsets wait",
            *log,
            known.log_start,
        )
        self._written.say(log, known, NOT_INDEXED)
        self._written.begin_anew(log, self._followed.pop(log))
        return True

    def save(self) -> None:
        """Keep how far all logs are aligned; what has led there is written down."""
        if self._is_begun:
            self._written.save()


class OriginalsAgain:
    """Originals that were forgotten, read once more from their log's first record on: the mirror has begun there again.

    Reads by *read_range*, in a thread of its own, and has *append* write down what it finds.
    """

    def __init__(self, read_range: ReadRange, append: Callable[[Table, pa.Table], None]) -> None:
        self._read_range, self._append = read_range, append
        self._pool = ThreadPoolExecutor(1, "originals again")
        self._reading: dict[ClusterPartition, Future[None]] = {}
        self._read_ms: dict[ClusterPartition, int] = {}

    def read(self, copies: ClusterPartition, originals: ClusterPartition, begin: int, now_ms: int) -> bool:
        """Begin to read *originals* from *begin* on for the log *copies*; False where that was done lately."""
        if now_ms - self._read_ms.get(copies, -_NOT_SOONER_MS) < _NOT_SOONER_MS:
            return False
        self._read_ms[copies] = now_ms
        self._reading[copies] = self._pool.submit(self._read, originals, begin)
        return True

    def is_reading(self, copies: ClusterPartition) -> bool:
        """Return whether originals are being read for the log *copies*."""
        return copies in self._reading

    def done(self) -> set[ClusterPartition]:
        """Return the logs of copies whose originals are read by now, each once; what failed is tried again later."""
        found = {log for log, reading in self._reading.items() if reading.done()}
        for log in found:
            if (problem := self._reading.pop(log).exception()) is not None:
                logger.error("clusters.%s: %s-%d: its originals could not be read again: %s", *log, problem)
                del self._read_ms[log]
        return found

    def _read(self, originals: ClusterPartition, begin: int) -> None:
        self._append(RECORD_FINGERPRINTS, self._read_range(originals, begin))
