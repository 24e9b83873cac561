"""Write wanted offsets to a target cluster: read its offsets, decide, write, read every partition's error.

Each retry reads again: another client may have written in the meantime, and a write whose answer was lost may have been
applied. So a retry never overwrites a value that it has not seen. No request is sent after the job was taken over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.requests import (
    ACTIVE_GROUP,
    MAYBE_APPLIED,
    RETRIABLE,
    SYSTEM_CLOCK,
    Clock,
    Committed,
    SilentError,
    TransientError,
    attempts,
)
from offset_sync.model.errors import ClusterError, TableError
from offset_sync.model.stream_names import SAME_NAMES, Names
from offset_sync.model.values import GroupPartition, OffsetWrite, Outcome, TopicPartition, WriteOutcome
from offset_sync.state import failpoints
from offset_sync.state.lease import Fence, OpenFence

GROUPS_AT_ONCE = 1000
COMMIT_TIMEOUT_S = 15.0
"""Retriable errors of a wave of commits are retried this long."""
_SILENT_TRIES = 2
"""Tries once only groups with silent coordinators are pending: the target's next thousand groups wait for them."""
_READ_S = 3.0  # groups without an answer by then are read by the next try, after the others are written


@dataclass(frozen=True)
class TargetWriter:
    """Commits at the cluster *alias* from any process, the driver or an executor's task.

    It is pickled to the executors with its options, which may hold secrets. A process keeps one client per target, so
    that a task reuses the connections of the previous one. Only in the driver may *fence* be a lease, and *admin* be
    the job's own client.
    """

    alias: str
    options: Mapping[str, str] = field(repr=False)
    is_dry_run: bool
    deadline_seconds: float = COMMIT_TIMEOUT_S
    fence: Fence = field(default_factory=OpenFence)
    admin: ClusterAdmin | None = None
    names: Names = SAME_NAMES

    def write(self, writes: Sequence[OffsetWrite]) -> Sequence[WriteOutcome]:
        """Return one outcome per write, in order; raises TakenOverError if this driver was taken over."""
        options = tuple(sorted(self.options.items()))
        admin = self.admin or _client(self.alias, options, self.names)
        admin.take_names(self.names)  # the client may be an earlier task's, which knew fewer
        return write_offsets(writes, admin, fence=self.fence, dry_run=self.is_dry_run, deadline=self.deadline_seconds)


@lru_cache(maxsize=64)
def _client(alias: str, options: tuple[tuple[str, str], ...], names: Names) -> ClusterAdmin:
    return ClusterAdmin(alias, dict(options), names)


def write_offsets(
    writes: Sequence[OffsetWrite],
    admin: ClusterAdmin,
    *,
    fence: Fence,
    dry_run: bool,
    deadline: float,
    clock: Clock = SYSTEM_CLOCK,
) -> list[WriteOutcome]:
    """Return one outcome per write, in their order; no write raises and none is left out. Each is of another key.

    *deadline* is in seconds, for every thousand groups, so that a long batch is not cut off; a target that does not
    answer at all ends the whole batch after one deadline. *fence* is renewed after the target was read, and checked for
    each request. Errs to FAILED: a write whose answer was lost may have been applied; the next batch detects that.

    Raises TakenOverError if this driver was taken over: the new driver then detects what was written.
    """
    by_key = {GroupPartition(each.group_id, each.topic, each.partition): each for each in writes}
    by_group: dict[str, dict[GroupPartition, OffsetWrite]] = {}
    for key in sorted(by_key):
        by_group.setdefault(key.group_id, {})[key] = by_key[key]
    groups, outcomes = list(by_group), dict[GroupPartition, WriteOutcome]()
    unreachable: ClusterError | None = None
    for first in range(0, len(groups), GROUPS_AT_ONCE):
        some = [by_group[group] for group in groups[first : first + GROUPS_AT_ONCE]]
        pending = {key: write for each in some for key, write in each.items()}
        batch = _Batch(admin, fence, dry_run, clock, pending)
        if unreachable is None:
            unreachable = batch.run(clock.now() + deadline)
        outcomes |= batch.outcomes(str(unreachable or "the deadline passed"))
    return [outcomes[key] for key in by_key]


def decide(write: OffsetWrite, actual: Committed | None) -> Outcome | None:
    """Return the outcome of *write* if it needs no request, None if it is to be written.

    Errs to not writing: an unexpected value was written by others since, or by another driver that may have known more;
    the commit log will bring it. A command by an operator (*moves_forward*) replaces it, but only forward.
    """
    if actual is None or write.metadata:
        return None
    if actual.offset == write.offset:
        return None if write.refresh else Outcome.UNCHANGED
    if write.moves_forward and write.offset >= actual.offset:
        return None
    return None if actual.offset == write.expected_offset else Outcome.NOT_FORWARD


@dataclass
class _Batch:
    """The state of one thousand groups: each write is pending until it has an outcome."""

    admin: ClusterAdmin
    fence: Fence
    dry_run: bool
    clock: Clock
    pending: dict[GroupPartition, OffsetWrite]
    _outcomes: dict[GroupPartition, WriteOutcome] = field(default_factory=dict)
    _previous: dict[GroupPartition, int | None] = field(default_factory=dict)  # the target's value before our first try
    _errors: dict[GroupPartition, str] = field(default_factory=dict)  # of the last try
    _in_doubt: set[GroupPartition] = field(default_factory=set)  # a try of these may have been applied
    _silent_tries: int = 0  # in a row, without an answer from any pending group

    def run(self, ends_at: float) -> ClusterError | None:
        """Conclude as many writes as possible until *ends_at*; return the error of a cluster that does not answer."""
        unreachable: ClusterError | None = None
        for left in attempts(ends_at, self.clock):
            try:
                self._try(left, ends_at)
                unreachable = None
            except TransientError as error:
                unreachable = error
            except ClusterError as error:
                return error
            if not self.pending or self._silent_tries >= _SILENT_TRIES:
                break
        return unreachable

    def outcomes(self, reason: str) -> dict[GroupPartition, WriteOutcome]:
        """Return every outcome; pending writes have failed, by the error of their last try or for *reason*."""
        for key in list(self.pending):
            self._conclude(key, Outcome.FAILED, self._errors.get(key, reason))
        return self._outcomes

    def _try(self, left: float, ends_at: float) -> None:
        wanted = self._read(min(left / 2, _READ_S))
        if not self.dry_run:
            self._write(wanted, ends_at)
            return
        for key in wanted:
            self._conclude(key, Outcome.DRY_RUN, None)

    def _read(self, deadline: float) -> list[GroupPartition]:
        """Read the target, conclude keys that need no write or cannot be read, and return those to be written."""
        groups = list(dict.fromkeys(write.group_id for write in self.pending.values()))
        found = self.admin.committed_offsets(groups, deadline=deadline)
        is_silent = all(isinstance(each, SilentError) for each in found.values())
        self._silent_tries = self._silent_tries + 1 if is_silent else 0
        keys = list(self.pending)  # a copy: concluded keys are removed
        return [key for key in keys if self._is_to_be_written(key, found[key.group_id])]

    def _is_to_be_written(self, key: GroupPartition, found: Mapping[TopicPartition, Committed] | ClusterError) -> bool:
        if isinstance(found, TransientError):
            self._errors[key] = str(found)
            return False
        if isinstance(found, ClusterError):
            self._conclude(key, Outcome.FAILED, str(found))
            return False
        write, actual = self.pending[key], found.get(key.topic_partition)
        was_tried = key in self._previous
        self._previous.setdefault(key, actual.offset if actual else None)
        outcome = decide(write, actual)
        if outcome is None:
            return True
        if outcome is Outcome.UNCHANGED and was_tried:
            outcome = Outcome.COMMITTED  # the lost answer's write was applied
        self._conclude(key, outcome, _why_not(write, actual) if outcome is Outcome.NOT_FORWARD else None)
        return False

    def _write(self, wanted: Sequence[GroupPartition], ends_at: float) -> None:
        if not wanted:
            return
        try:
            self.fence.renew()
        except TableError as problem:
            self._errors |= dict.fromkeys(wanted, str(problem))
            return
        if (left := ends_at - self.clock.now()) <= 0:
            reason = "not sent: the deadline passed while the lease was verified; the storage of tables.drivers is slow"
            self._errors |= dict.fromkeys(wanted, reason)
            return
        by_group: dict[str, list[OffsetWrite]] = {}
        for key in wanted:
            by_group.setdefault(key.group_id, []).append(self.pending[key])
        failpoints.failpoint(failpoints.BEFORE_COMMIT)
        before = self._in_doubt & {*wanted}
        self._in_doubt.update(wanted)  # until the answer, which may be an error of the whole cluster
        answers = self.admin.write_offsets(by_group, deadline=left, may_send=self.fence.is_open)
        for key in wanted:
            answer = answers[key.group_id]
            error = str(answer) if isinstance(answer, ClusterError) else answer[key.topic_partition]
            self._note_answer(key, error, was_in_doubt=key in before)

    def _note_answer(self, key: GroupPartition, error: str | None, *, was_in_doubt: bool) -> None:
        if error not in MAYBE_APPLIED and not was_in_doubt:
            self._in_doubt.discard(key)
        if error is None:
            self._conclude(key, Outcome.COMMITTED, None)
        elif error in RETRIABLE:
            self._errors[key] = error
        else:
            self._conclude(key, Outcome.TARGET_ACTIVE if error in ACTIVE_GROUP else Outcome.FAILED, error)

    def _conclude(self, key: GroupPartition, outcome: Outcome, error: str | None) -> None:
        del self.pending[key]
        is_in_doubt = key in self._in_doubt and outcome is not Outcome.COMMITTED
        self._outcomes[key] = WriteOutcome(*key, outcome, self._previous.get(key), error, is_in_doubt)


def _why_not(write: OffsetWrite, actual: Committed | None) -> str:
    held = "no offset" if actual is None else f"offset {actual.offset}"
    expected = "none" if write.expected_offset is None else write.expected_offset
    return f"the target has {held}, expected {expected}: another client has committed"
