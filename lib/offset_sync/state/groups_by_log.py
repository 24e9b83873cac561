"""Streams and share groups (KIP-1071, KIP-932) and which of them have members, as ``__consumer_offsets`` says.

librdkafka lists neither: it leaves out all groups whose protocol type is not "consumer", and describes them as Dead.
But the group coordinator is a replicated state machine over this log. A member exists while its newest record is not a
tombstone, and so does a group::

    streams_member m1   streams_member m2   streams_member_removed m1   streams_removed
    {m1}                {m1, m2}            {m2}                        no such group

Errs to having members: a tombstone that compaction removed before it was read leaves its member here.

:class:`Members` has the groups of every protocol: classic and consumer groups from the coordinators
(:class:`offset_sync.kafka.group_members.GroupStates`), streams and share groups from the log.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.config import Config
from offset_sync.decode.consumer_offsets import coordinator_hashes
from offset_sync.decode.offset_records import KINDS_BY_LOG, SHARE, STREAMS
from offset_sync.kafka.group_members import GroupStates
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ABSENT, POLLED
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations, Places
from offset_sync.tables.catalog import GROUP_EVENTS
from offset_sync.tables.store import TableStore

logger = logging.getLogger(__name__)

_ALL_KINDS = pa.array([kind + end for kind in KINDS_BY_LOG for end in ("", "_removed")])
"""The kinds of rows that are read here, and their tombstones."""
_COLUMNS = ("cluster", "group_id", "kind", "member_id", "log_partition", "log_offset", "captured_at")
DEADLINE_S = 5.0
NOT_OFFSETS = "acknowledgements are not offsets, and only brokers can write them"
"""Why share groups are not synced."""


class _Event(NamedTuple):
    """A row: *order* is that of the records in one partition of the log, *member_id* None in rows of groups."""

    order: int
    log_partition: int
    group_id: str
    kind: str
    member_id: str | None

    @property
    def subject(self) -> tuple[int, str, str, str | None]:
        """Return the key of which only the newest event counts: a kind of event of a group or member."""
        return self[1:]


@dataclass
class _Group:
    type: str
    members: set[str] = field(default_factory=set)


class _ClusterGroups:
    """Streams and share groups of one cluster, by the partition of the log that has their records."""

    def __init__(self) -> None:
        self._groups: dict[tuple[int, str], _Group] = {}
        self._taken_in: dict[int, int] = {}

    def take_in(self, events: Iterable[_Event]) -> None:
        """Apply *events*, given in any order; those before the newest known of their log partition are skipped."""
        for event in sorted(events, key=lambda each: each.order):
            if event.order > self._taken_in.get(event.log_partition, ABSENT):
                self._taken_in[event.log_partition] = event.order
                self._follow(event)

    def forget(self, partitions: Collection[int]) -> None:
        """Forget the groups of these partitions of the log."""
        self._groups = {place: each for place, each in self._groups.items() if place[0] not in partitions}
        self._taken_in = {place: order for place, order in self._taken_in.items() if place not in partitions}

    def named(self, type_: str | None, *, with_members: bool) -> frozenset[str]:
        """Return the groups of a type, or of both, all or those with members."""
        groups = ((group_id, each) for (_, group_id), each in self._groups.items() if type_ in (None, each.type))
        return frozenset(group_id for group_id, each in groups if each.members or not with_members)

    def _follow(self, event: _Event) -> None:
        place = event.log_partition, event.group_id
        type_, is_removed = event.kind.partition("_")[0], event.kind.endswith("_removed")
        if event.member_id is None and is_removed:
            self._groups.pop(place, None)
            return
        group = self._groups.get(place)
        if group is None or group.type != type_:
            if is_removed:
                return
            group = self._groups[place] = _Group(type_)
        if event.member_id is not None:
            group.members.discard(event.member_id) if is_removed else group.members.add(event.member_id)


class GroupsByLog:
    """Streams and share groups of the clusters *aliases*; threads may share it.

    Follows the table ``group_events`` (:meth:`refresh`) and, ahead of it, records just read from the log
    (:meth:`take_in`). Where the log is not read to its end the state is as old as the last record read.
    """

    def __init__(self, tables: TableStore, incarnations: CommitLogIncarnations, aliases: Iterable[str]) -> None:
        self._tables, self._logs = tables, incarnations
        self._following = threading.Lock()
        self._lock = threading.Lock()
        self._clusters = {alias: _ClusterGroups() for alias in aliases}
        self._places = dict.fromkeys(self._clusters, Places(()))
        self._partitions: dict[str, int] = {}
        self._version: int | None = None

    def restore(self, aliases: Collection[str] | None = None) -> int:
        """Reload all clusters, or *aliases*, from the table; return its version.

        Records that are gone, since their log has begun another incarnation, do not count.
        """
        wanted = list(self._clusters if aliases is None else aliases)
        self._logs.refresh()
        places = {alias: self._places_of(alias) for alias in wanted}
        while True:
            now = self._tables.newest(GROUP_EVENTS)
            try:
                newest = _newest(self._tables.batches(GROUP_EVENTS, _COLUMNS, version=now), places)
                break
            except FileNotFoundError:  # cleaned up meanwhile
                continue
        with self._lock:
            for alias in wanted:
                self._clusters[alias], self._places[alias] = _ClusterGroups(), places[alias]
                self._clusters[alias].take_in(newest[alias])
        return now.number

    def refresh(self) -> None:
        """Catch up with the table; the first time all of it is read."""
        with self._following:  # a second caller gets the result of the first
            self._logs.refresh()
            if self._version is None or any(self._places_of(alias) != known for alias, known in self._places.items()):
                self._version = self.restore()
                return
            rows, version = self._tables.rows_since(GROUP_EVENTS, self._version)
            if rows.num_rows:
                for alias in self._clusters:
                    self._take_in(alias, rows)
            self._version = version

    def take_in(self, alias: str, rows: pa.Table) -> None:
        """Apply *rows* of ``group_events`` of the cluster *alias*, in the table or not yet; known ones change nothing.

        Where a log has begun another incarnation, the cluster is restored first.
        """
        if self._places_of(alias) != self._places[alias]:
            self.restore([alias])
        self._take_in(alias, rows)

    def take_in_whole(self, alias: str, partitions: Collection[int], rows: pa.Table) -> None:
        """Replace the state of log *partitions* of the cluster *alias* with *rows*: all that they hold."""
        with self._lock:
            self._clusters[alias].forget(partitions)
        self._take_in(alias, rows)

    def _take_in(self, alias: str, rows: pa.Table) -> None:
        events = _newest([rows.select(_COLUMNS)], {alias: self._places[alias]})[alias]
        with self._lock:
            self._clusters[alias].take_in(events)

    def _places_of(self, alias: str) -> Places:
        found = self._logs.places()
        partitions = self._partitions.get(alias) or found.partitions.get(alias)
        incarnations = tuple(incarnation for incarnation in found.incarnations if incarnation.cluster == alias)
        return Places(incarnations, {alias: partitions} if partitions else {})

    def note_partitions(self, alias: str, count: int) -> None:
        """Note the partition count of ``__consumer_offsets`` at *alias*, where it is known before the table has it.

        Records of a group outside its present partition are stale; until the count is known all count.
        """
        self._partitions[alias] = count

    def with_members(self, alias: str) -> frozenset[str]:
        """Return the streams and share groups that have members at *alias*."""
        return self._named(alias, with_members=True)

    def share_groups(self, alias: str) -> frozenset[str]:
        """Return the share groups of *alias*, with members or without."""
        return self._named(alias, SHARE)

    def streams_groups(self, alias: str) -> frozenset[str]:
        """Return the groups of the streams protocol of *alias*, with members or without."""
        return self._named(alias, STREAMS)

    def _named(self, alias: str, type_: str | None = None, *, with_members: bool = False) -> frozenset[str]:
        with self._lock:
            return self._clusters[alias].named(type_, with_members=with_members)


def _newest(pieces: Iterable[pa.Table], places: Mapping[str, Places]) -> Mapping[str, Collection[_Event]]:
    """Return, per cluster of *places*, the newest event of each kind of each group and member.

    So memory grows with members and not with their records. Records that are gone do not count.
    """
    newest: dict[str, dict[tuple[int, str, str, str | None], _Event]] = {alias: {} for alias in places}
    for piece in pieces:
        rows = piece.filter(pc.is_in(piece.column("kind"), _ALL_KINDS))
        for alias, known in newest.items() if rows.num_rows else ():
            mine = rows.filter(pc.equal(rows.column("cluster"), alias))
            for event in _events(_present(mine, places[alias].partitions.get(alias)), places[alias]):
                known[event.subject] = max(known.get(event.subject, event), event, key=lambda each: each.order)
    return {alias: known.values() for alias, known in newest.items()}


def _present(rows: pa.Table, partitions: int | None) -> pa.Table:
    """Return those of *rows* in the present partition of their group, where it is known; none of a polled cluster.

    There the log is not read any more, and what it said ends with that.
    """
    if partitions == POLLED:
        return rows.slice(0, 0)
    if not partitions:
        return rows
    hashes = coordinator_hashes(rows.column("group_id").to_pylist())
    return rows.filter(pa.array(hashes % partitions == rows.column("log_partition").to_numpy()))


def _events(rows: pa.Table, places: Places) -> Iterator[_Event]:
    gone_ms, order, _ = places.of(rows)
    columns = (rows.column(name).to_pylist() for name in ("log_partition", "group_id", "kind", "member_id"))
    for gone, *event in zip(gone_ms.tolist(), order.tolist(), *columns, strict=True):
        if gone == ABSENT:
            yield _Event(*event)


class ActiveGroups(Protocol):
    """Requests to the coordinators of one cluster."""

    def active(self, deadline: float) -> frozenset[str] | ClusterError:
        """Return the classic and consumer groups with members, or the error."""


class Members:
    """The groups with members of every cluster, as of the last :meth:`refresh`; threads may share it."""

    def __init__(self, asked: Mapping[str, ActiveGroups], by_log: GroupsByLog, deadline: float = DEADLINE_S) -> None:
        self._asked, self._by_log, self._deadline = asked, by_log, deadline
        self._lock = threading.Lock()
        self._active: dict[str, frozenset[str]] = {}
        self._silent: frozenset[str] = frozenset()

    def refresh(self) -> None:
        """Ask every cluster, side by side; the members of one that does not answer in time are unknown from then on.

        Streams and share groups are those of the table, as far as ``sync_offsets`` has read.
        """
        with ThreadPoolExecutor(max(1, len(self._asked)), thread_name_prefix="members") as threads:
            asked = {alias: threads.submit(each.active, self._deadline) for alias, each in self._asked.items()}
            found = {alias: each.result() for alias, each in asked.items()}
        self._by_log.refresh()
        errors = {alias: each for alias, each in found.items() if isinstance(each, ClusterError)}
        for alias in errors.keys() - self._silent:
            logger.warning("%s", errors[alias])
        with self._lock:
            self._silent = frozenset(errors)
            self._active = {alias: each for alias, each in found.items() if not isinstance(each, ClusterError)}

    def share_groups(self, alias: str) -> frozenset[str]:
        """Return the share groups of *alias*, with members or without, as far as ``sync_offsets`` has read."""
        self._by_log.refresh()
        return self._by_log.share_groups(alias)

    def of(self, alias: str) -> frozenset[str] | None:
        """Return the groups with members at *alias*, without share groups, which commit nothing; None: not known."""
        with self._lock:
            active = self._active.get(alias)
        by_log = self._by_log.with_members(alias) - self._by_log.share_groups(alias)
        return None if active is None else active | by_log


def open_members(config: Config, tables: TableStore, incarnations: CommitLogIncarnations) -> Members:
    """Return the members of the clusters of *config*; none is asked yet."""
    asked = {alias: GroupStates(alias, config.admin_options(alias)) for alias in config.clusters}
    return Members(asked, GroupsByLog(tables, incarnations, config.clusters))
