"""Reports on groups between clusters, and the inputs of reports and moves: tables, clusters, progress of the jobs."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from offset_sync.config import Config
from offset_sync.config.duration import to_ms
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition, Status, TopicPartition
from offset_sync.state.cluster_ids import refuse_shared, with_known_ids
from offset_sync.state.cluster_metadata import Snapshot
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.key_index import KeyRows
from offset_sync.state.last_known import LastKnown
from offset_sync.state.moves import Moves
from offset_sync.state.record_index import RecordIndex
from offset_sync.state.restore import follow_commits
from offset_sync.state.sync_state import Commits, Side, SyncState, frontiers
from offset_sync.state.topic_partitions import begin_new_partitions
from offset_sync.state.translator import Translator
from offset_sync.status.assess import Assessor
from offset_sync.status.assessment import Assessment, to_rows
from offset_sync.status.classify import classify, needs_comparison
from offset_sync.status.cluster_queries import ClusterQueries, HeldOffsets, ask_active, ask_coordinators
from offset_sync.status.group_homes import (
    clusters_by_group,
    groups_of,
    rows_by_home,
    take_in_unread,
    take_in_untold,
    with_contests,
    with_uncommitted,
)
from offset_sync.status.job_progress import CheckpointProgress, IndexCatchUp, JobProgress, RunningJobs
from offset_sync.status.present_facts import PresentFacts
from offset_sync.status.record_comparison import RecordComparer, RecordPair
from offset_sync.sync.held_lists import own_group
from offset_sync.tables.catalog import REPORT_TABLES, SYNC_STATUS, TABLES
from offset_sync.tables.store import TableStore

logger = logging.getLogger(__name__)


class LiveState:
    """The state by tables and clusters, kept up to date from report to report.

    ``on_follow`` is called whenever new commits and moves were read.

    *tables* are those of *config*, by Spark or without (``jobs/runner.py``); missing ones are created. Clusters
    *given_up* are not queried: for them only the tables count.
    """

    def __init__(self, config: Config, tables: TableStore, given_up: Collection[str] = ()) -> None:
        began = time.monotonic()
        self.tables, self._is_included = tables, config.is_group_included
        self.tables.create((*TABLES, *REPORT_TABLES), tests_storage=False)
        self.state = SyncState(
            config, RecordIndex(self.tables, config.timed_topics(), memory_bytes=config.sync.index_memory)
        )
        self._incarnations = CommitLogIncarnations(tables, config.polled())
        self.clusters = ClusterQueries(config, self.state.index, given_up)
        refuse_shared(with_known_ids(config, tables.files), self.clusters.admins())
        self.progress = JobProgress()
        """How far the jobs had read at the last report."""
        jobs = RunningJobs(self.tables)
        self._progress = CheckpointProgress(self.tables.files, config, self.clusters, jobs)
        # On every call: index_records may learn the clusters' ids later, and others when it starts again.
        known = partial(with_known_ids, config, self.tables.files)
        comparer = RecordComparer(known, self.clusters)
        catch_up = IndexCatchUp(self.state, is_indexing=partial(jobs.is_running, "index_records"))
        self._reporter = StatusReporter(config, self.state, self.clusters, catch_up, comparer)
        self._moves = Moves(self.tables)
        self.on_follow: Callable[[], None] = lambda: None
        self.silent: Sequence[ClusterError] = ()
        """Clusters that did not return, for the last report, which groups have members."""
        last_known = LastKnown(self.tables, config)
        self._version = last_known.restore_commits(self.state, self._incarnations)
        if given_up:  # answers withheld while the cluster answered stay withheld
            last_known.restore_answers(self.state)
        logger.info(
            "read %d group partitions from the tables in %.1f s; querying the clusters (up to 20 s for a silent one)",
            len(self.state.offsets.keys),
            time.monotonic() - began,
        )

    def report(self, now_ms: int, groups: Collection[str] | None = None) -> pa.Table:
        """Return rows of sync_status about *groups*, or about all."""
        self._follow()
        held = self.ask(groups)
        self.silent = [each for each in held.active.values() if isinstance(each, ClusterError)]
        progress = self.refresh(now_ms)
        return self._reporter.report(self.keys_of(groups), progress, now_ms, held)

    def refresh(self, now_ms: int) -> JobProgress:
        """Bring the committed offsets up to date; return how far the jobs had read before."""
        # First: commits that the jobs have read by then are in the tables read afterwards.
        self.progress = progress = self._progress.read(now_ms)
        self._follow()
        return progress

    def ask(self, groups: Collection[str] | None) -> HeldOffsets:
        """Ask the coordinators for the offsets of *groups*, None: of all; to be called before :meth:`refresh`."""
        self.ask_of_untold()
        held = self._reporter.ask(self.keys_of(groups))
        both = {alias: {**held.as_target.get(alias, {}), **held.as_source.get(alias, {})} for alias in held.active}
        take_in_untold(self.state, both)
        return held

    def ask_of_untold(self) -> None:
        """Ask for what the clusters' groups have committed of which no table has anything."""
        with self.state.lock:
            told = {key.group_id for key in self.state.offsets.keys}
        answers = self.clusters.untold_offsets(lambda each: each in told or not self._is_included(each))
        take_in_untold(self.state, answers)

    def _follow(self) -> None:
        self._version = follow_commits(self.tables, self.state, self._version, self._incarnations)
        self._moves.follow(self.state)
        begin_new_partitions(self.state, self._incarnations.topics)
        self.on_follow()

    def keys_of(self, groups: Collection[str] | None) -> KeyRows:
        """Return the rows of the committed offsets that belong to *groups*, None: all rows."""
        if groups is None:
            return self.state.all_rows()
        wanted = set(groups)
        with self.state.lock:
            keys = [row for row, key in enumerate(self.state.offsets.keys) if key.group_id in wanted]
        return np.array(keys, np.intp)


class StatusReporter:
    """Reports on the commits in *state*; its lock is not held while clusters are asked."""

    def __init__(
        self,
        config: Config,
        state: SyncState,
        clusters: ClusterQueries,
        catch_up: IndexCatchUp,
        comparer: RecordComparer,
    ) -> None:
        self._config, self._state = config, state
        self._clusters, self._catch_up, self._comparer = clusters, catch_up, comparer
        self._translator = Translator(config, state)
        self._assessor = Assessor(config, state, self._translator)
        self._present = PresentFacts(config, state)

    def ask(self, keys: KeyRows) -> HeldOffsets:
        """Return the coordinators' offsets of the groups of *keys*, and the clusters where groups have members.

        The latter is noted in the state, as it decides their homes. To be called before reading the progress of the
        jobs, and before the newest commits.
        """
        aliases = list(self._config.clusters)
        active = ask_active(self._clusters, aliases)
        with self._state.lock:
            for alias, groups in active.items():
                known = frozenset() if isinstance(groups, ClusterError) else frozenset(groups)
                self._state.homes.note_members(alias, known, self._state.now_ms())
        homes = rows_by_home(self._state, keys, self._state.contests(keys))
        groups = {alias: groups_of(self._state, rows) for alias, rows in homes.items() if len(rows)}
        with ThreadPoolExecutor(1) as pool:  # most of the index is read while waiting for the clusters
            reading = pool.submit(self._state.index.refresh)
            held = ask_coordinators(self._clusters, aliases, groups)
            reading.result()
        take_in_unread(self._state, homes, held)
        named = {
            alias: [own_group(one) for one in each if self._config.has_read_list(one)] for alias, each in groups.items()
        }
        lists = {alias: self._clusters.committed_offsets(alias, each) for alias, each in named.items() if each}
        return replace(held, active=active, lists=lists)

    def report(self, keys: KeyRows, progress: JobProgress, now_ms: int, held: HeldOffsets) -> pa.Table:
        """Return a row of sync_status for each of *keys* that a cluster owns and each cluster that it is translated to.

        A report is as of the time at which the clusters are asked for their ends. A group that was in sync then stays
        so while it does not read: all that it had read was at the target below its position, and later records are
        unread on both sides. *held* was read before *progress*, and that before the commits were refreshed, so *state*
        has all commits that *progress* counts as read.
        """
        self._state.index.refresh()
        contests, measured = self._state.contests(keys), list[Assessment]()
        for target in dict.fromkeys(target for _, target in self._config.pairs()):
            commits, partitions, known_to = self._commits_for(target, keys, contests)
            if not partitions:
                continue
            metadata = self._clusters.fetch([target, *commits], partitions)
            self._catch_up.wait(metadata)
            snapshot = Snapshot(metadata, known_to)
            for source, all_commits in commits.items():
                kept = all_commits.take(self._state.is_kept(source, target, all_commits, snapshot))
                if not len(kept.key):
                    continue
                found = self._assessor.assess(source, target, kept, snapshot, now_ms, held)
                found = with_contests(found, contests, now_ms)
                measured.append(with_uncommitted(found, self._state, held, metadata))
        elsewhere, pairs = clusters_by_group(self._state, keys), {(each.source, each.target): each for each in measured}
        stalled_after_ms = to_ms(self._config.status.stalled_after)
        parts = [SYNC_STATUS.arrow_schema.empty_table()]
        for each in measured:
            current = self._present.added(each, held, progress, pairs, elsewhere, now_ms)
            compared = self._with_comparison(classify(current, stalled_after_ms))
            parts.append(to_rows(compared, now_ms, self._config.names))
        return pa.concat_tables(parts).combine_chunks()

    def _commits_for(
        self, target: str, keys: KeyRows, contests: Mapping[int, Sequence[Side]]
    ) -> tuple[dict[str, Commits], set[TopicPartition], Mapping[ClusterPartition, int]]:
        """Return the commits to translate to *target*, by source; their partitions; and how far these are indexed."""
        state = self._state
        with state.lock:
            owned = {
                alias: state.keys.by_partition(rows[state.offsets.clusters[alias].position(rows)[0] >= 0])
                for alias, rows in rows_by_home(state, keys, contests).items()
                if (alias, target) in state.last_translations
            }
            commits = {source: state.commits(source, rows) for source, rows in owned.items() if len(rows)}
            partitions = {each for one in commits.values() for each in state.keys.partitions_of(one.key)}
            return commits, partitions, frontiers(self._state.index, [target, *commits], partitions)

    def _with_comparison(self, assessment: Assessment) -> Assessment:
        """Compare the next records of rows that would be in sync; rows whose records differ are not."""
        pairs = {}
        for row in np.flatnonzero(needs_comparison(assessment)).tolist():
            offsets = int(assessment.source_offset[row]), int(assessment.target_offset[row])
            place = assessment.keys[row].topic_partition
            pairs[row] = RecordPair(assessment.source, assessment.target, place, *offsets)
        if not pairs:
            return assessment
        differences = self._comparer.compare(list(dict.fromkeys(pairs.values())))
        status, reason = assessment.status.copy(), assessment.reason.copy()
        for row, pair in pairs.items():
            difference = differences[pair]
            if difference is not None:
                status[row], reason[row] = Status.MIRRORING, difference
        return replace(assessment, status=status, reason=reason)
