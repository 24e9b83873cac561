"""The two clusters of a move and the tables about them, as ``moving.Site`` wants them."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable

import numpy as np

from offset_sync.config import Config
from offset_sync.cutover.plan import Committed, PartitionStatus
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import Outcome, TopicPartition
from offset_sync.state.committed_offsets import CommittedOffsets
from offset_sync.state.key_index import KeyRows
from offset_sync.state.ownership import owners
from offset_sync.state.snapshot import frontier
from offset_sync.status.live_state import LiveState
from offset_sync.status.rows import Rows
from offset_sync.status.stream_lag import coordinator_hash
from offset_sync.sync.reconciler import Reconciler
from offset_sync.sync.reconciliation import OffsetWriter, Reconciliation, ReconciliationLog
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.replication_gap import replication_gap


class LiveClusters:
    """Moves go from *source* to *target*; *writer* commits at the target, *history* is told."""

    def __init__(
        self,
        config: Config,
        state: LiveState,
        source: str,
        target: str,
        writer: OffsetWriter,
        history: ReconciliationLog,
    ) -> None:
        self._config = config.model_copy(update={"directions": ((source, target),)})
        self._state, self._source, self._target = state, source, target
        self._settled: list[Reconciliation] = []
        self._marked: dict[tuple[str, TopicPartition], int] = {}

        self._history = history
        self._reconciler = Reconciler(self._config, state.state, state, {target: writer}, self)

    def append(self, reconciliation: Reconciliation) -> None:
        """Keep what became of translations for :meth:`settle`, and pass it on."""
        self._settled.append(reconciliation)
        self._history.append(reconciliation)

    def groups(self) -> list[str]:
        """Return every included group that has ever committed on an included topic, as the tables know it."""
        included = self._config
        return sorted(
            {
                group_id
                for group_id, topic, _ in self._state.book.keys
                if included.is_group_included(group_id) and included.is_topic_included(topic)
            }
        )

    def members(self, alias: str) -> Collection[str] | ClusterError:
        """Return the groups of a cluster that have members now."""
        return self._state.active_groups(alias)

    def standing(self, groups: Collection[str]) -> dict[str, list[PartitionStatus]]:
        """Return how the partitions of each group stand whose newest commit is the source's."""
        rows = self._state.report(int(time.time() * 1000), lambda book: _keys_of(book, groups))
        found: dict[str, list[PartitionStatus]] = {}
        for each in _standings(rows, self._source, self._target):
            found.setdefault(each.group_id, []).append(each)
        return found

    def owned_elsewhere(self, groups: Collection[str]) -> dict[str, list[str]]:
        """Return, per group, the clusters that hold its newest commit of some partition and are not the source."""
        book = self._state.book
        with self._state.lock:
            key = _keys_of(book, groups)
            key = key[[self._config.is_topic_included(book.keys[one][1]) for one in key.tolist()]] if len(key) else key
            owner = owners(book.column("genuine_at_ms")[:, key])
        aliases = list(book.clusters)
        found: dict[str, set[str]] = {}
        for one, number in zip(key.tolist(), owner.tolist(), strict=True):
            if number >= 0 and aliases[number] != self._source:
                found.setdefault(book.keys[one][0], set()).add(aliases[number])
        return {group_id: sorted(names) for group_id, names in found.items()}

    def mark_ends(self) -> None:
        """Forget where the logs ended, so that :meth:`unread` asks anew."""
        self._marked.clear()

    def unread(self, groups: Collection[str]) -> dict[str, int]:
        """Return what the jobs have not read yet: commits of the groups, and records up to the ends first asked for."""
        streams = self._state.refresh(int(time.time() * 1000))
        aliases = (self._source, self._target)
        hashes = np.array([coordinator_hash(group_id) for group_id in groups], np.int64)
        answers = [streams.unread_commits(alias, hashes) for alias in aliases]
        commits = sum(int(unread.sum()) for unread, _ in answers)
        unknown = sum(int((~is_known).sum()) for _, is_known in answers)
        self._state.index.refresh()
        with self._state.lock:
            places = {TopicPartition(*self._state.book.keys[key][1:]) for key in _keys_of(self._state.book, groups)}
            places = {place for place in places if self._config.is_topic_included(place.topic)}
        found = {"commits to read": commits, "groups whose commits nobody can tell of": unknown}
        return found | {what: count for alias in aliases for what, count in self._unread_records(alias, places).items()}

    def _unread_records(self, alias: str, places: Collection[TopicPartition]) -> dict[str, int]:
        """Count what the index lacks below the marked ends, and partitions without leader or right to be described."""
        unmarked = [place for place in places if (alias, place) not in self._marked]
        look = self._state.fetch([alias], unmarked)[alias] if unmarked else None
        if isinstance(look, ClusterError):
            return {f"partitions of {alias}, which does not answer": len(unmarked)}
        if look is not None:
            ends = {(alias, place): look.log_end(place) for place in unmarked}
            self._marked |= {where: end for where, end in ends.items() if end is not None}
        index = self._state.index
        records = sum(max(0, self._marked.get((alias, place), 0) - frontier(index, alias, place)) for place in places)
        unknown = sum((alias, place) not in self._marked for place in places)
        return {f"records of {alias} to index": records, f"partitions of {alias} whose end nobody can tell": unknown}

    def settle(self, groups: Collection[str]) -> list[Committed]:
        """Translate and commit at the target."""
        self._settled.clear()
        with self._state.lock:
            keys = _keys_of(self._state.book, groups)
        self._reconciler.reconcile_keys(self._source, keys)
        return [row for reconciliation in self._settled for row in _committed(reconciliation, self._state.book)]

    def read_back(self, groups: Collection[str]) -> dict[str, dict[TopicPartition, int] | ClusterError]:
        """Return what the target itself says that it holds."""
        try:
            answers = self._state.admins[self._target].committed_offsets(list(groups))
        except ClusterError as error:
            return dict.fromkeys(groups, error)
        return {
            group_id: held if isinstance(held, ClusterError) else {place: each.offset for place, each in held.items()}
            for group_id, held in answers.items()
        }

    def never_mirrored(self, groups: Collection[str]) -> dict[str, list[str]]:
        """Return, per group, which unread records of the source's own the target has not got, as offsets there.

        As far as the index knows: what the source took in after the index last read it is not among them.
        """
        state, index = self._state, self._state.index
        with state.lock:
            committed = state.book.clusters[self._source].columns["genuine_offset"]
            code = index.code(self._source)
            found: dict[str, list[str]] = {}
            for key in _keys_of(state.book, groups).tolist():
                group_id, topic, partition = state.book.keys[key]
                source = index.log(self._source, topic, partition)
                if source is None or committed[key] < 0 or not self._config.is_topic_included(topic):
                    continue
                target = index.log(self._target, topic, partition) or LogIndex()
                missing = replication_gap(code, source, target)
                for part in (missing.skipped, missing.pending):
                    unread = part.from_offset(int(committed[key]))
                    ranges = _ranges(unread.start, unread.length)
                    found.setdefault(group_id, []).extend(f"{topic}-{partition} {self._source} {r}" for r in ranges)
        return found


def _keys_of(book: CommittedOffsets, groups: Collection[str]) -> KeyRows:
    wanted = set(groups)
    return np.array([row for row, (group_id, _, _) in enumerate(book.keys) if group_id in wanted], np.intp)


def _standings(rows: Rows, source: str, target: str) -> Iterable[PartitionStatus]:
    for row in (dict(zip(rows, values, strict=True)) for values in zip(*rows.values(), strict=True)):
        if (row["source_cluster"], row["target_cluster"]) == (source, target):
            yield PartitionStatus(
                row["group_id"], TopicPartition(row["topic"], row["partition"]), row["status"], row["reason"],
                row["state"], row["source_offset"], row["wanted_offset"], row["target_offset"], row["duplicates"],
                row["lost"], row["not_mirrored"],
            )  # fmt: skip


def _committed(reconciliation: Reconciliation, book: CommittedOffsets) -> Iterable[Committed]:
    translated, answers = reconciliation.translated, reconciliation.translated.answers
    for row, key in enumerate(translated.commits.key.tolist()):
        group_id, topic, partition = book.keys[key]
        wanted = int(answers.wanted[row])
        yield Committed(
            group_id, TopicPartition(topic, partition), int(translated.commits.offset[row]),
            None if wanted < 0 else wanted, int(answers.duplicates[row]), int(answers.lost[row]),
            Outcome(int(reconciliation.outcome[row])).name, reconciliation.error.get(row),
        )  # fmt: skip


def _ranges(start: Int64s, length: Int64s) -> list[str]:
    return [f"[{first}, {first + count})" for first, count in zip(start.tolist(), length.tolist(), strict=True)]
