"""Commits that the groups' coordinators are asked for: instead of their ``__consumer_offsets``, or beside it.

Every micro-batch is a poll. What the coordinators hold becomes a commit where it differs from the last one known, so
the history has the last commit before each poll, and none of those between two polls::

    the group commits    100    150  160    140         160
    polls              |           |             |           |
    commits                       160           140         160

A commit was made after its group's coordinator answered last, without it, and before the poll that found it. Both times
are recorded; other activity between them counts as simultaneous. Of a group that was not asked, or did not answer,
nothing is known, so its first commit may be of any age.

The author of a commit is found as in a log, with one difference: a poll brings the last of several commits. While the
coordinators are asked nothing is written to that cluster, so a write of ours either is what they hold, or is over.
Errs to the group's own.

A log that is read may lack what its coordinators hold: retention has deleted a record, or a tombstone. So they are
polled once after each start, and once a day. A difference counts if the log does not explain it up to an end that was
asked for after the answers: a record before that end is read, a later one is newer than the answer. Such a commit has
its place in the log, at that end. By what the coordinator holds:

- something else than was read, or where nothing was: that is where the group goes on, so it counts;
- nothing, and the log has the last record no more: it counts as deleted;
- nothing, and the log still has that record, or may have it: the coordinator has lost it, and it does not count.

Errs to repeats, to COMMITTED_AT_BOTH, as such a commit may be of any age, and to asking again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from offset_sync.decode.consumer_offsets import coordinator_partition
from offset_sync.ingest.checkpoint import Checkpoint
from offset_sync.ingest.commit_batch import DECODED_SCHEMA, NOT_BEFORE, UNREAD, CommitBatch, Looked, to_time
from offset_sync.ingest.commit_ingester import CommitIngester, Ingester
from offset_sync.kafka.cluster_admin import ClusterAdmin, commit_log_ends
from offset_sync.kafka.requests import Committed, TopicInfo, TransientError
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import (
    ABSENT,
    CONSUMER_OFFSETS,
    POLLED,
    GroupPartition,
    OffsetRange,
    TopicPartition,
)
from offset_sync.state.cluster_clock import to_datetime
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.committed_offsets import ClusterOffsets, partition_read
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.store import TableStore
from offset_sync.translate.index.runs import Int64s

logger = logging.getLogger(__name__)
GROUPS_AT_ONCE = 1_000
"""So many groups are asked for at once, and writes to the cluster wait meanwhile."""
DEADLINE_S = 10.0
"""How long a poll waits for so many groups, and for a list of them."""
ALL_TYPES_S = 60.0


class NewCommit(NamedTuple):
    """What a coordinator holds of *key* now; *committed* is None where it holds nothing any more.

    At *since_ms* it had another answer; ABSENT: unknown. It counts from *log_offset* of *log_partition* on; by default
    that is the poll.
    """

    key: GroupPartition
    committed: Committed | None
    since_ms: int = ABSENT
    log_partition: int = POLLED
    log_offset: int = ABSENT


class CommitPoller:
    """Polls a *cluster* for the commits of the groups that *is_included*, and finds what is new to *state*.

    *not_writing* is held while coordinators are asked: nothing is written to the cluster meanwhile. Groups that are
    neither classic nor consumer groups are looked for every :data:`ALL_TYPES_S` seconds.
    """

    is_whole = True
    """Whether the last poll leaves nothing for the next."""

    def __init__(
        self,
        cluster: ClusterAdmin,
        state: SyncState,
        is_included: Callable[[str], bool],
        not_writing: AbstractContextManager[object],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._alias, self._cluster, self._state = cluster.alias, cluster, state
        self._is_included, self._not_writing = is_included, not_writing
        self._refused: Mapping[str, str] = {}
        self._is_complete = False  # every group has answered once
        self._answered_ms: dict[str, int] | None = None  # when groups were asked that answered
        self._now, self._others, self._looked_at = now, frozenset[str](), float("-inf")

    def poll(self) -> list[NewCommit]:
        """Return what is new.

        Raises ClusterError if the cluster does not answer; and at first also if one group does not: what it has
        committed is unknown until then.
        """
        if self._answered_ms is None:
            self._answered_ms = self._recorded_ms()
        held = self._held()
        groups = sorted(held.keys() | self._listed())
        found, refused, answered_ms = list[NewCommit](), dict[str, str](), dict[str, int]()
        for first in range(0, len(groups), GROUPS_AT_ONCE):
            with self._not_writing:
                asked_ms = self._state.now_ms()
                answers = self._cluster.committed_offsets(groups[first : first + GROUPS_AT_ONCE], DEADLINE_S)
                errors = {group_id: each for group_id, each in answers.items() if isinstance(each, ClusterError)}
                self._note_errors(errors)
                refused |= {group_id: each.message for group_id, each in errors.items()}
                told = {group_id: each for group_id, each in answers.items() if not isinstance(each, ClusterError)}
                found += self._compare(told, held)
                answered_ms |= dict.fromkeys(told, asked_ms)
        # Only now: what a poll has found that failed in its middle is found again.
        before_ms = self._answered_ms
        self._answered_ms = {each: before_ms[each] for each in groups if each in before_ms} | answered_ms
        self._tell(refused)
        self._is_complete = True
        return found

    def _note_errors(self, errors: Mapping[str, ClusterError]) -> None:
        for each in errors.values():
            if isinstance(each, TransientError) and not self._is_complete:
                raise each

    def _listed(self) -> Collection[str]:
        try:
            if self._now() - self._looked_at >= ALL_TYPES_S:
                self._others = frozenset(self._cluster.groups_of_all_types(DEADLINE_S))
                self._looked_at = self._now()
            return {each for each in self._others.union(self._cluster.groups(DEADLINE_S)) if self._is_included(each)}
        except ClusterError as problem:
            if not self._is_complete:
                raise
            logger.warning("%s: until it does, only known groups are polled", problem)
            return ()

    def _held(self) -> dict[str, set[int]]:
        """Return the keys that have an offset at the cluster, as far as is known, by group."""
        found: dict[str, set[int]] = {}
        with self._state.lock:
            keys, columns = self._state.offsets.keys, self._state.offsets.clusters[self._alias].columns
            rows = np.flatnonzero(columns["actual_offset"] >= 0).tolist()
        for row in rows:
            if self._is_included(group_id := keys[row].group_id):
                found.setdefault(group_id, set()).add(row)
        return found

    def _recorded_ms(self) -> dict[str, int]:
        """Return when former drivers asked groups for the last commit that they recorded, by our clock.

        The number of a poll is the time before it, unless a clock went back: then it is later than its end.
        """
        found, now_ms = dict[str, int](), self._state.now_ms()
        with self._state.lock:
            keys, columns = self._state.offsets.keys, self._state.offsets.clusters[self._alias].columns
            number = columns["log_offset"]
            is_time = (columns["log_partition"] == POLLED) & (number <= columns["captured_ms"]) & (number <= now_ms)
            for row in np.flatnonzero(is_time).tolist():
                group_id = keys[row].group_id
                found[group_id] = max(found.get(group_id, ABSENT), int(number[row]))
        return found

    def _compare(
        self, answers: Mapping[str, Mapping[TopicPartition, Committed]], held: Mapping[str, set[int]]
    ) -> list[NewCommit]:
        """Return what of the *answers* is new, and end the writes that they do not show."""
        assert self._answered_ms is not None
        since_ms = {group_id: self._answered_ms.get(group_id, ABSENT) for group_id in answers}
        found = [
            NewCommit(GroupPartition(group_id, *place), committed, since_ms[group_id])
            for group_id, answer in answers.items()
            for place, committed in answer.items()
        ]
        with self._state.lock:
            offsets, mine = self._state.offsets, self._state.offsets.clusters[self._alias]
            keys = offsets.ids([each.key for each in found])
            gone = sorted({key for group_id in answers for key in held.get(group_id, ())}.difference(keys.tolist()))
            found += [NewCommit(offsets.keys[key], None, since_ms[offsets.keys[key].group_id]) for key in gone]
            keys = np.concatenate([keys, np.array(gone, np.intp)])
            value = np.array([ABSENT if each.committed is None else each.committed.offset for each in found], np.int64)
            is_new, partition = self._is_new(mine, keys, value), mine.columns["log_partition"][keys]
            # The log may have brought it since the last recorded poll, which is no sign that it was made after that.
            is_of_log = (partition != POLLED) & (partition != ABSENT)
            return [
                found[number]._replace(since_ms=ABSENT) if is_of_log[number] else found[number]
                for number in np.flatnonzero(is_new).tolist()
            ]

    def _is_new(self, mine: ClusterOffsets, keys: KeyRows, value: Int64s) -> NDArray[np.bool_]:
        column = mine.columns
        is_new: NDArray[np.bool_] = mine.own_writes.is_pending(keys, value) | (column["actual_offset"][keys] != value)
        is_new |= column["log_partition"][keys] != POLLED
        mine.own_writes.note_held(keys, value)
        return is_new

    def _tell(self, refused: Mapping[str, str]) -> None:
        """Log which groups cannot be polled, each once per reason."""
        for group_id, reason in sorted(refused.items()):
            if self._refused.get(group_id) != reason:
                logger.warning("clusters.%s: not polled: %s", self._alias, reason)
        self._refused = dict(refused)


class CoordinatorCheck(CommitPoller):
    """Finds what the coordinators of a *cluster* hold that its *log* does not explain; to be used once that was read.

    Of a group that does not answer, and of a log that cannot be read now, nothing is known: then it is not *whole*.
    """

    def __init__(
        self, cluster: ClusterAdmin, state: SyncState, is_included: Callable[[str], bool], log: CommitIngester
    ) -> None:
        super().__init__(cluster, state, is_included, nullcontext())
        self._log = log

    def poll(self) -> list[NewCommit]:
        """Return what counts; raises ClusterError if the cluster does not answer."""
        self.is_whole, self._is_complete = True, False
        read_to = self._log.read_to()
        found = super().poll()
        return self._not_in_the_log(found, read_to) if found else found

    def _note_errors(self, errors: Mapping[str, ClusterError]) -> None:
        self.is_whole &= not any(isinstance(each, TransientError) for each in errors.values())

    def _tell(self, refused: Mapping[str, str]) -> None:
        if refused:
            text = "clusters.%s: %d groups were not compared with their coordinators, the first: %s"
            logger.warning(text, self._alias, len(refused), min(refused.values()))

    def _is_new(self, mine: ClusterOffsets, keys: KeyRows, value: Int64s) -> NDArray[np.bool_]:
        is_new: NDArray[np.bool_] = mine.columns["actual_offset"][keys] != np.maximum(value, ABSENT)
        return is_new

    def _not_in_the_log(self, found: Sequence[NewCommit], read_to: Mapping[int, int]) -> list[NewCommit]:
        ends = dict(enumerate(commit_log_ends(self._cluster)))
        # Without the right to describe a topic its offsets look deleted, as do those of a coordinator that has moved.
        there = self._cluster.describe({each.key.topic for each in found if each.committed is None})
        with self._state.lock:
            rows = self._state.offsets.ids([each.key for each in found])
            columns = self._state.offsets.clusters[self._alias].columns
            places = partition_read(columns["log_partition"][rows]), columns["log_offset"][rows]
        asked, first = dict[NewCommit, int](), dict(read_to)
        for each, partition, offset in zip(found, *(place.tolist() for place in places), strict=True):
            number = coordinator_partition(each.key.group_id, max(len(ends), 1))
            if each.committed is not None:
                asked[each] = number
            elif isinstance(there.get(each.key.topic), TopicInfo) and partition in (number, POLLED):
                asked[each] = number
                first[number] = min(first.get(number, 0), offset)  # is its last record there?
        logs = {
            number: OffsetRange(first.get(number, 0), end)
            for number in sorted(set(asked.values()))
            if (end := ends.get(number)) is not None and end >= read_to.get(number, 0)
        }
        ranges = {TopicPartition(CONSUMER_OFFSETS, number): each for number, each in logs.items()}
        last = dict[GroupPartition, int]()
        for row in self._log.commits_of({each.key.group_id for each in asked}, ranges).to_pylist():
            if row["kind"] == UNREAD:
                del logs[row["log_partition"]]
            elif row["kind"] == "commit":
                last[GroupPartition(row["group_id"], row["topic"], row["partition"])] = row["log_offset"]
        self.is_whole &= logs.keys() >= set(asked.values())
        return [
            NewCommit(each.key, each.committed, ABSENT, POLLED - 1 - number, logs[number].end - 1)
            for each, number in asked.items()
            if number in logs
            and ((at := last.get(each.key, ABSENT)) == ABSENT or (each.committed and at < read_to.get(number, 0)))
        ]


class PollIngester(Ingester):
    """Takes in what *poller* finds at the cluster *alias*."""

    def __init__(
        self,
        alias: str,
        tables: TableStore,
        checkpoint: Checkpoint,
        poller: CommitPoller,
        state: SyncState,
        incarnations: CommitLogIncarnations,
    ) -> None:
        super().__init__(alias, tables, checkpoint, incarnations)
        self._poller, self._state = poller, state
        self._number = ABSENT
        self._batch: CommitBatch | None = None

    def is_whole(self, _batch_id: int) -> bool:
        """Return whether the last poll leaves nothing for the next."""
        return self._poller.is_whole

    def decode(self, _records: DataFrame | None, batch_id: int) -> CommitBatch:
        """Poll; a micro-batch that is repeated in this process keeps its commits, which are in the state already."""
        if self._batch is None or self._batch.batch_id != batch_id:
            # Continues after the last poll in the state, which may be another driver's.
            began_ms, last = self._state.now_ms(), max(self._number, self._last_number())
            found = self._poller.poll()
            ended_ms = self._state.now_ms()
            self._number = began_ms if began_ms > last else max(last, ended_ms) + 1
            self._batch = self._to_batch(found, batch_id, began_ms, ended_ms)
        return self._batch

    def restore_lost(self, state: SyncState, batch: CommitBatch) -> None:
        """Do nothing: what coordinators have lost the next poll finds."""

    def _last_number(self) -> int:
        with self._state.lock:
            columns = self._state.offsets.clusters[self.alias].columns
            return int(columns["log_offset"][columns["log_partition"] == POLLED].max(initial=ABSENT))

    def _to_batch(self, rows: Sequence[NewCommit], batch_id: int, began_ms: int, ended_ms: int) -> CommitBatch:
        at = captured_at = to_datetime(ended_ms)
        if not self._state.offsets.clusters[self.alias].is_polled:
            captured_at = to_datetime(began_ms)  # what a truncation takes that is noticed from then on
        records = pa.Table.from_pylist([self._to_row(each, at) for each in rows], DECODED_SCHEMA)
        since_ms = pa.array([None if each.since_ms == ABSENT else each.since_ms for each in rows], pa.int64())
        commits = records.append_column("captured_by", pa.repeat("admin", len(rows)))
        commits = commits.append_column(NOT_BEFORE, to_time(since_ms))
        return CommitBatch(batch_id, Looked(captured_at), records, commits)

    def _to_row(self, found: NewCommit, at: datetime) -> dict[str, Any]:
        said = found.committed
        return {
            **found.key._asdict(),
            "kind": "commit",
            "is_tombstone": said is None,
            "committed_offset": said and said.offset,
            "leader_epoch": said and said.leader_epoch,
            "metadata": said and said.metadata,
            "log_partition": found.log_partition,
            "log_offset": self._number if found.log_partition == POLLED else found.log_offset,
            "timestamp": at,
        }

    def _writer(self, batch: CommitBatch) -> tuple[str, int]:
        """Return the id of *batch*: a repeated one polls again after a restart, and may find more."""
        return f"sync_offsets-{self._checkpoint.query_id()}-polls", self._number
