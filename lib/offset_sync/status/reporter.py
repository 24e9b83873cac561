"""How every group stands between every two clusters: from the tables and both clusters' ends to rows of sync_status."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from offset_sync.config import Config
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition
from offset_sync.state.key_index import KeyIndex, KeyRows
from offset_sync.state.snapshot import Commits, MetadataByCluster, Snapshot
from offset_sync.state.sync_state import SyncState, owned_rows
from offset_sync.state.translator import Translator
from offset_sync.status.assess import Assessor
from offset_sync.status.classify import Facts, Status, decide, is_comparable, is_there, reasons
from offset_sync.status.measure import NOBODY_KNOWS
from offset_sync.status.record_comparison import RecordPair
from offset_sync.status.rows import Found, Rows, joined_rows, to_columns
from offset_sync.status.staleness import Watch
from offset_sync.status.stream_lag import Streams, coordinator_hash
from offset_sync.translate.index.runs import Int64s

LookAt = Callable[[Collection[str], Collection[TopicPartition]], MetadataByCluster]
ActiveGroups = Callable[[str], "Collection[str] | ClusterError"]
"""The groups of a cluster that have members."""
Compare = Callable[[Collection[RecordPair]], "Mapping[RecordPair, str | None]"]
"""For each question None where the next record is the same on both sides, else why it is not."""
CatchUp = Callable[[MetadataByCluster], None]
"""Brings the index up to the ends that were asked for, if it can; see ``catching_up``."""


@dataclass(frozen=True)
class ReportContext:
    """What a report knows beside the logs: the target's groups with members, how far the jobs have read, the time."""

    active: Collection[str] | ClusterError
    streams: Streams
    now_ms: int

    def is_active(self, found: Found) -> list[bool | None]:
        """Return of each row whether its group has members at the target; None: nobody could ask."""
        return [None if isinstance(self.active, ClusterError) else key[0] in self.active for key in found.keys]


class StatusReporter:
    """Reports on the keys of *book*; the lock is not held while clusters are asked."""

    def __init__(
        self,
        config: Config,
        state: SyncState,
        look: LookAt,
        active_groups: ActiveGroups,
        compare: Compare,
        catch_up: CatchUp = lambda _: None,
    ) -> None:
        self._config = config
        self._state, self._book, self._index, self._lock = state, state.offsets, state.index, state.lock
        self._look = look
        self._active_groups = active_groups
        self._compare = compare
        self._catch_up = catch_up
        self._places = KeyIndex(self._book, config.is_group_included, config.is_topic_included)
        self._translator = Translator(config, state)
        self._assessor = Assessor(config, self._book, self._places, self._index, self._translator)
        self._watches = {pair: Watch() for pair in config.pairs()}
        self._hashes: Int64s = np.empty(0, np.int64)

    def report(self, now_ms: int, streams: Streams, keys: KeyRows | None = None) -> Rows:
        """Return a row for every owned key, or for *keys*, and every cluster that it is translated to.

        A report is of the moment at which the clusters are asked for their ends. A group that stood in sync then is so
        for as long as it reads nowhere: all that it had read was at the target below where it stood, and what comes
        after that moment is unread on both sides. *streams* were asked before the book was brought up to date, so what
        they call read is in it.
        """
        self._index.refresh()
        rows: list[Rows] = []
        for target in dict.fromkeys(target for _, target in self._watches):
            with self._lock:
                chosen = np.arange(len(self._book.keys)) if keys is None else keys
                sources = [source for source, other in self._watches if other == target]
                owned = owned_rows(self._book, self._places, sources, chosen)
                commits = {source: self._state.commits(source, key) for source, key in owned.items() if len(key)}
                partitions = {place for each in commits.values() for place in self._places.partitions_of(each.key)}
                frontiers = self._translator.frontiers([target, *commits], partitions)
            if not partitions:
                continue
            looks, active = self._look([target, *commits], partitions), self._active_groups(target)
            self._catch_up(looks)
            seen, around = Snapshot(looks, frontiers), ReportContext(active, streams, now_ms)
            rows += [self._of_pair(source, target, each, seen, around) for source, each in commits.items()]
        return joined_rows(rows)

    def _of_pair(self, source: str, target: str, commits: Commits, seen: Snapshot, around: ReportContext) -> Rows:
        with self._lock:
            found = self._assessor.assess(source, target, commits, seen, around.now_ms)
        is_active = around.is_active(found)
        facts = self._facts(found, np.array([bool(one) for one in is_active], np.bool_), around)
        stalled_after_ms = self._ms(self._config.status.stalled_after)
        status = decide(facts, stalled_after_ms)
        why = reasons(facts, status, stalled_after_ms)
        self._prove(found, status, why, is_comparable(facts, status))
        return to_columns(found, facts, status, why, is_active)

    def _facts(self, found: Found, is_active: NDArray[np.bool_], around: ReportContext) -> Facts:
        answers, measured, streams, now_ms = found.answers, found.measured, around.streams, around.now_ms
        key, pair = found.commits.key, (found.source, found.target)
        standing, repeats = found.standing, measured.repeats
        is_behind = ~is_there(standing, repeats, measured.skipped, measured.is_outside) & (answers.wanted >= 0)
        unread_commits, is_commit_known = self._unread_commits(found, streams)
        watch = self._watches[pair]
        return Facts(
            state=answers.state,
            standing=standing,
            repeats=repeats,
            skipped=measured.skipped,
            is_outside=measured.is_outside,
            duplicates_at_most=np.maximum(answers.duplicates_at_most + repeats, 0),
            lost=found.lost,
            unread=measured.unread,
            fresh=measured.fresh,
            late=measured.late,
            arriving=measured.arriving,
            unknown=measured.unknown,
            is_untold=measured.is_untold,
            unread_commits=unread_commits,
            is_commit_known=is_commit_known,
            is_target_active=is_active,
            is_source_silent=measured.source_end == NOBODY_KNOWS,
            staleness_ms=watch.behind_ms(key, is_behind, found.commits.at_ms, standing, now_ms),
            mirror_lag_ms=measured.mirror_lag_ms(now_ms),
            sync_silent_ms=np.full(len(key), streams.sync_silent_ms(*pair)),
            index_silent_ms=watch.waiting_ms(key, measured.unknown > 0, streams.index_still_ms(*pair), now_ms),
        )

    def _unread_commits(self, found: Found, streams: Streams) -> tuple[Int64s, NDArray[np.bool_]]:
        """Return how many commits may still change where each group stands, and whether that is known.

        Of a third cluster too, for the group may have moved there; one that does not answer is not waited for.
        """
        keys = self._book.keys
        if len(keys) > len(self._hashes):
            hashes = [coordinator_hash(group_id) for group_id, _, _ in keys[len(self._hashes) :]]
            self._hashes = np.concatenate((self._hashes, np.array(hashes, np.int64)))
        hashes_of = self._hashes[found.commits.key]
        asked = {alias: streams.unread_commits(alias, hashes_of) for alias in self._config.clusters}
        unread: Int64s = np.sum([count for count, _ in asked.values()], axis=0)
        is_known: NDArray[np.bool_] = asked[found.source][1] & asked[found.target][1]
        return unread, is_known

    def _prove(
        self, found: Found, status: NDArray[np.intp], why: list[str | None], is_asked: NDArray[np.bool_]
    ) -> None:
        """Compare the next records of what would be in sync; where they differ it is not."""
        questions = {
            row: RecordPair(
                found.source, found.target, TopicPartition(found.keys[row][1], found.keys[row][2]),
                int(found.commits.offset[row]), int(found.standing[row]),
            )
            for row in np.flatnonzero(is_asked).tolist()
        }  # fmt: skip
        differences = self._compare(list(dict.fromkeys(questions.values()))) if questions else {}
        for row, question in questions.items():
            difference = differences[question]
            if difference is not None:
                status[row], why[row] = Status.MIRRORING, difference

    @staticmethod
    def _ms(duration: timedelta) -> int:
        return int(duration.total_seconds() * 1000)
