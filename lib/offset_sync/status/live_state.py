"""What reports and moves are made from: the verdicts of a living sync_offsets, or else a state that is opened here."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.config import Config
from offset_sync.model.errors import ClusterError
from offset_sync.state.cluster_ids import refuse_shared, with_known_ids
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.key_index import KeyRows
from offset_sync.state.last_known import LastKnown
from offset_sync.state.moves import Moves
from offset_sync.state.record_index import RecordIndex
from offset_sync.state.restore import follow_commits
from offset_sync.state.sync_state import SyncState
from offset_sync.state.topic_partitions import begin_new_partitions
from offset_sync.status.cluster_queries import ClusterQueries, GroupAnswers, HeldOffsets
from offset_sync.status.group_homes import groups_of, take_in_unread, take_in_untold
from offset_sync.status.index_progress import IndexCheckpoints
from offset_sync.status.record_comparison import RecordComparer
from offset_sync.status.reporter import StatusReporter, has_moved_on
from offset_sync.status.verdicts import OwnVerdicts, PublishedVerdicts, by_direction
from offset_sync.sync.offset_writer import TargetWriter
from offset_sync.tables.catalog import REPORT_TABLES, TABLES
from offset_sync.tables.store import TableStore

logger = logging.getLogger(__name__)
_LOOKS, _LOOK_S = 10, 0.2
"""How often the verdicts are read until they have all commits: sync_offsets takes about a second."""


class LiveState:
    """The tables and clusters of *config*, and from the first use of ``state`` on its state, kept up to date.

    ``on_follow`` is called whenever new commits and moves were read.

    *tables* are those of *config*, by Spark or without (``jobs/runner.py``); missing ones are created. Clusters
    *given_up* are not queried: for them only the tables count.
    """

    def __init__(self, config: Config, tables: TableStore, given_up: Collection[str] = ()) -> None:
        self.tables, self._config, self._given_up = tables, config, given_up
        self.tables.create((*TABLES, *REPORT_TABLES), tests_storage=False)
        index = RecordIndex(self.tables, config.timed_topics(), memory_bytes=config.sync.index_memory)
        self._state = SyncState(config, index)
        self._incarnations = CommitLogIncarnations(tables, config.polled())
        self.clusters = ClusterQueries(config, index, given_up)
        refuse_shared(with_known_ids(config, tables.files), self.clusters.admins())
        # On every call: index_records may learn the clusters' ids later, and others when it starts again.
        known = partial(with_known_ids, config, self.tables.files)
        comparer = RecordComparer(known, self.clusters)
        self._index_records = IndexCheckpoints(tables.files, config)
        self._reporter = StatusReporter(config, self._state, self.clusters, comparer)
        self._published = PublishedVerdicts(tables, config)
        self._moves = Moves(self.tables)
        self.on_follow: Callable[[], None] = lambda: None
        self.silent: Sequence[ClusterError] = ()
        """Clusters that did not return, for the last report, which groups have members."""

    @property
    def is_decided_here(self) -> bool:
        """Whether the last report was decided here, as no sync_offsets is alive."""
        return not self._published.is_present

    @cached_property
    def state(self) -> SyncState:
        """The commits by the tables, opened now."""
        began = time.monotonic()
        last_known = LastKnown(self.tables, self._config)
        self._version = last_known.restore_commits(self._state, self._incarnations)
        if self._given_up:  # answers withheld while the cluster answered stay withheld
            last_known.restore_answers(self._state)
        logger.info(
            "read %d group partitions from the tables in %.1f s; querying the clusters (up to 20 s for a silent one)",
            len(self._state.offsets.keys),
            time.monotonic() - began,
        )
        return self._state

    @cached_property
    def _own(self) -> OwnVerdicts:
        there = self.clusters.admins()
        pairs = tuple(pair for pair in self._config.pairs() if pair[1] in there)  # a lost target gets no answers
        config = self._config.model_copy(update={"directions": pairs}) if pairs else self._config
        options = {alias: config.admin_options(alias) for alias in there}
        writers = {
            alias: TargetWriter(alias, each, is_dry_run=True, names=config.names) for alias, each in options.items()
        }
        return OwnVerdicts(config, self.state, self.clusters, there, writers)

    def published(self, now_ms: int, groups: Collection[str] | None = None) -> pa.Table:
        """Return rows of sync_status about *groups*, or all: as a living sync_offsets says, or else decided here."""
        rows = self._published.read(now_ms)
        if rows is None:
            return self.report(now_ms, groups)
        self.silent = ()
        found, homes = by_direction(_about(rows, groups), self._config), dict[str, set[str]]()
        for (source, _), of_pair in found.items():
            homes.setdefault(source, set()).update(row["group_id"] for row in of_pair)
        held = self._reporter.ask(homes)
        for _ in range(_LOOKS):  # for the verdicts of the commits that are there
            before, rows = rows, self._published.follow()
            found = found if rows is before else by_direction(_about(rows, groups), self._config)
            verdicts = (row for of_pair in found.values() for row in of_pair)
            if not any(has_moved_on(row, held.at_source(row["source_cluster"], row["key"])) for row in verdicts):
                break
            time.sleep(_LOOK_S)
        return self._reporter.report(found, held, self._index_records.read(now_ms), now_ms)

    def report(self, now_ms: int, groups: Collection[str] | None = None) -> pa.Table:
        """Return rows of sync_status about *groups*, or about all, as decided here."""
        self.follow()
        held = self._ask(groups)
        self.follow()
        found = by_direction(self._own.decide(self.keys_of(groups)), self._config)
        return self._reporter.report(found, held, self._index_records.read(now_ms), now_ms)

    def _ask(self, groups: Collection[str] | None) -> HeldOffsets:
        """Ask for members, and the coordinators for the offsets of *groups*, None: of all; before :meth:`follow`."""
        listed, state, rows = self.ask_of_untold(), self.state, self.keys_of(groups)
        self.silent = [each for each in listed.values() if isinstance(each, ClusterError)]
        with state.lock:
            for alias, found in listed.items():
                active = None if isinstance(found, ClusterError) else {group for group in found if found[group]}
                state.homes.note_members(alias, active, state.now_ms())
            home, included = state.homes_of(rows).home, state.keys.is_included(rows)
            homes = {alias: rows[(home == n) & included] for n, alias in enumerate(state.offsets.clusters)}
        held = self._reporter.ask({alias: groups_of(state, each) for alias, each in homes.items() if len(each)})
        take_in_unread(state, homes, held)
        both = {alias: {**held.as_target.get(alias, {}), **held.as_source.get(alias, {})} for alias in listed}
        take_in_untold(state, both)
        return held

    def ask_of_untold(self) -> Mapping[str, Mapping[str, bool] | ClusterError]:
        """Ask for what the clusters' groups have committed of which no table has anything; return what they list."""
        with ThreadPoolExecutor(len(self._config.clusters), "members") as threads:
            asked = {alias: threads.submit(self.clusters.listed_groups, alias) for alias in self._config.clusters}
            listed = {alias: each.result() for alias, each in asked.items()}
        with self.state.lock:
            told = {key.group_id for key in self.state.offsets.keys}
        answers = dict[str, GroupAnswers]()
        for alias, groups in listed.items():
            if not isinstance(groups, ClusterError):
                untold = sorted(each for each in groups if each not in told and self._config.is_group_included(each))
                answers[alias] = self.clusters.committed_offsets(alias, untold)
        take_in_untold(self.state, answers)
        return listed

    def follow(self) -> None:
        """Bring the committed offsets and moves up to date."""
        state = self.state
        self._version = follow_commits(self.tables, state, self._version, self._incarnations)
        self._moves.follow(state)
        begin_new_partitions(state, self._incarnations.topics)
        self.on_follow()

    def keys_of(self, groups: Collection[str] | None) -> KeyRows:
        """Return the rows of the committed offsets that belong to *groups*, None: all rows."""
        if groups is None:
            return self.state.all_rows()
        wanted = set(groups)
        with self.state.lock:
            keys = [row for row, key in enumerate(self.state.offsets.keys) if key.group_id in wanted]
        return np.array(keys, np.intp)


def _about(rows: pa.Table, groups: Collection[str] | None) -> pa.Table:
    return rows if groups is None else rows.filter(pc.is_in(rows["group_id"], pa.array([*groups], pa.string())))
