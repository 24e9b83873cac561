"""What reports and moves are made from: the verdicts of a living sync_offsets, or else a state that is opened here."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property, partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.config import Config
from offset_sync.ingest.checkpoint import Checkpoint
from offset_sync.kafka.requests import side_by_side
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition, GroupPartition, Outcome
from offset_sync.state.cluster_ids import refuse_shared, with_known_ids
from offset_sync.state.cluster_metadata import Fetcher
from offset_sync.state.cluster_queries import ClusterQueries, GroupAnswers
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.heartbeat import is_living
from offset_sync.state.held_positions import groups_of, note_members, take_in_unread, take_in_untold
from offset_sync.state.key_index import KeyRows
from offset_sync.state.last_known import LastKnown
from offset_sync.state.lease import to_claims
from offset_sync.state.moves import Moves
from offset_sync.state.record_index import RecordIndex
from offset_sync.state.replay import follow_commits
from offset_sync.state.restore import ANSWERS_SCHEMA, fold_answers
from offset_sync.state.sync_state import SyncState
from offset_sync.state.topic_partitions import begin_new_partitions
from offset_sync.status.assessment import Direction, Directions, Row
from offset_sync.status.held_offsets import HeldOffsets
from offset_sync.status.record_comparison import RecordComparer
from offset_sync.status.reporter import IndexProgress, StatusReporter, has_moved_on
from offset_sync.sync.held_lists import ListHolder
from offset_sync.sync.offset_writer import TargetWriter
from offset_sync.sync.read_lists import ReadLists
from offset_sync.sync.reconciled import OffsetWriter, Reconciliation
from offset_sync.sync.reconciler import Reconciler
from offset_sync.sync.reconciliation import ReconcilePass
from offset_sync.sync.translation_history import to_rows
from offset_sync.tables.catalog import DRIVERS, OFFSET_TRANSLATIONS, REPORT_TABLES, TABLES
from offset_sync.tables.files import Files
from offset_sync.tables.store import TableStore

logger = logging.getLogger(__name__)
_LOOKS, _LOOK_S = 10, 0.2
"""How often the verdicts are read until they have all commits: sync_offsets takes about a second."""
_UNSHOWN = ("translated_at", "own_at", "own_offset")
"""Columns of verdicts that no report shows: a time takes long to convert."""


def by_direction(rows: pa.Table, config: Config) -> Directions:
    """Return the *rows* that count under *config*."""
    rows = rows.filter(pc.not_equal(rows["outcome"], Outcome.GONE.name))
    rows = rows.select([name for name in rows.column_names if name not in _UNSHOWN])
    is_included, strategy_of = cache(config.is_group_included), cache(config.strategy_of)
    found: dict[Direction, list[Row]] = {pair: [] for pair in config.pairs()}
    for row in rows.sort_by([(name, "ascending") for name in ("topic", "partition", "group_id")]).to_pylist():
        key = GroupPartition(row["group_id"], row["topic"], row["partition"])
        if is_included(key.group_id) and strategy_of(key.topic) != "off":
            row |= {"stream": key.topic, "key": key}
            found.get((row["source_cluster"], row["target_cluster"]), []).append(row)
    return {pair: each for pair, each in found.items() if each}


class IndexCheckpoints:
    """The checkpoints of ``index_records``."""

    def __init__(self, files: Files, config: Config) -> None:
        kinds = ("",) if config.is_stamped else config.of_extension("checks").CHECKPOINTS
        root = f"{config.tables.checkpoints}/index_records/"
        self._of_cluster = {
            alias: [Checkpoint(files, f"{root}{alias}{kind}", alias, config.names) for kind in kinds]
            for alias in config.clusters
        }

    def read(self, now_ms: int) -> IndexProgress:
        """Return how far it has come; a query that has never finished a batch is not silent."""
        silent_ms, unreadable = dict[str, int](), dict[ClusterPartition, str]()
        for alias, checkpoints in self._of_cluster.items():
            signs = [at_ms for each in checkpoints if (at_ms := each.last_sign_ms()) is not None]
            silent_ms[alias] = max(0, now_ms - max(signs, default=now_ms))
            for each in checkpoints:
                for log, stop in each.unreadable().items():
                    unreadable[ClusterPartition(alias, *log)] = stop.at(f"{each.name_of(log)} at {alias}")
        return IndexProgress(silent_ms, unreadable)


class PublishedVerdicts:
    """Follows what ``sync_offsets`` publishes in *tables*."""

    def __init__(self, tables: TableStore, config: Config) -> None:
        self._tables, self._config = tables, config
        self._known: tuple[pa.Table, int] | None = None
        self.is_present = False
        """Whether a driver was alive at the last reading."""

    def read(self, now_ms: int) -> pa.Table | None:
        """Return the newest rows; None where no driver is alive, as they may be of any time then."""
        claims = to_claims(self._tables.all_rows(DRIVERS))
        self.is_present = is_living(self._tables.files, self._config, claims, now_ms)
        return self.follow() if self.is_present else None

    def follow(self) -> pa.Table:
        """Return the newest rows, whatever has become of their driver."""
        if self._known is None:
            incarnations = CommitLogIncarnations(self._tables, self._config.polled())
            self._known = LastKnown(self._tables, self._config).read_answers(incarnations)
        rows, version = self._known
        added, version = self._tables.rows_since(OFFSET_TRANSLATIONS, version)
        self._known = fold_answers(rows, added) if added.num_rows else rows, version
        return self._known[0]


class OwnVerdicts:
    """Decides by *state* as ``sync_offsets`` does; *writers* must be dry: they only read the targets."""

    def __init__(
        self,
        config: Config,
        state: SyncState,
        fetcher: Fetcher,
        clusters: Mapping[str, ListHolder],
        writers: Mapping[str, OffsetWriter],
    ) -> None:
        self._config, self._state = config, state
        self._done: list[Reconciliation] = []
        lists = ReadLists(config, state, clusters)
        self._reconciler = Reconciler(ReconcilePass(config, state, fetcher, writers, self, lists))

    def append(self, reconciliation: Reconciliation) -> None:
        """Keep what a pass has decided."""
        self._done.append(reconciliation)

    def decide(self, keys: KeyRows) -> pa.Table:
        """Return the rows of *keys*, rows of the state."""
        self._done.clear()
        self._state.index.refresh()
        self._reconciler.reconcile_all(is_first=True, rows=keys)
        keys_of_state = self._state.offsets.keys
        rows = [to_rows(each, np.arange(len(each.outcome)), keys_of_state, self._config) for each in self._done]
        decided = pa.concat_tables([OFFSET_TRANSLATIONS.no_rows, *rows])
        return decided.select([name for name in ANSWERS_SCHEMA.names if name in decided.column_names])


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

    def published(self, now_ms: int, groups: Collection[str] | None = None) -> list[Row]:
        """Return rows of sync_status about *groups*, or all: as a living sync_offsets says, or else decided here."""
        rows = self._published.read(now_ms)
        if rows is None:
            return self.report(now_ms, groups)
        self.silent = ()
        with ThreadPoolExecutor(2) as pool:  # the coordinators answer meanwhile
            reading = pool.submit(self._state.index.refresh)
            asked = pool.submit(self._reporter.ask, _groups_at_home(_about(rows, groups), self._config))
            found = by_direction(_about(rows, groups), self._config)
            held, _ = asked.result(), reading.result()
        for _ in range(_LOOKS):  # for the verdicts of the commits that are there
            if (newer := self._published.follow()) is not rows:
                rows, found = newer, by_direction(_about(newer, groups), self._config)
            verdicts = (row for of_pair in found.values() for row in of_pair)
            if not any(has_moved_on(row, held.at_source(row["source_cluster"], row["key"])) for row in verdicts):
                break
            time.sleep(_LOOK_S)
        return self._reporter.report(found, held, self._index_records.read(now_ms), now_ms)

    def report(self, now_ms: int, groups: Collection[str] | None = None) -> list[Row]:
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
        note_members(state, listed)
        with state.lock:
            home, included = state.homes_of(rows).home, state.keys.is_included(rows)
            homes = {alias: rows[(home == n) & included] for n, alias in enumerate(state.offsets.clusters)}
        held = self._reporter.ask({alias: groups_of(state, each) for alias, each in homes.items() if len(each)})
        take_in_unread(state, homes, held.as_source)
        both = {alias: {**held.as_target.get(alias, {}), **held.as_source.get(alias, {})} for alias in listed}
        take_in_untold(state, both)
        return held

    def ask_of_untold(self) -> Mapping[str, Mapping[str, bool] | ClusterError]:
        """Ask for what the clusters' groups have committed of which no table has anything; return what they list."""
        listed = side_by_side(self.clusters.listed_groups, self._config.clusters)
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


def _groups_at_home(rows: pa.Table, config: Config) -> dict[str, set[str]]:
    """Return the included groups that have a verdict in *rows*, by their home."""
    found: dict[str, set[str]] = {alias: set() for alias in config.clusters}
    there = rows.filter(pc.not_equal(rows["outcome"], Outcome.GONE.name)).group_by(["source_cluster", "group_id"])
    for row in there.aggregate([]).to_pylist():
        if row["source_cluster"] in found and config.is_group_included(row["group_id"]):
            found[row["source_cluster"]].add(row["group_id"])
    return found


def _about(rows: pa.Table, groups: Collection[str] | None) -> pa.Table:
    return rows if groups is None else rows.filter(pc.is_in(rows["group_id"], pa.array([*groups], pa.string())))
