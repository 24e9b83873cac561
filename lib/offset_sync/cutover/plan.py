"""The parts of a move of consumer groups: the facts before, the plan, and the steps done."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import Any, NamedTuple

import pyarrow as pa

from offset_sync.cutover.crossed import CrossedPartition
from offset_sync.model.reasons import Said
from offset_sync.model.values import GroupPartition, Outcome, State, Status, TopicPartition
from offset_sync.status.assessment import Verdict, verdict
from offset_sync.tables.catalog import SYNC_STATUS


class Direction(NamedTuple):
    """The clusters that groups are moved between."""

    source: str
    target: str


class Mode(Enum):
    """Why groups are moved (column ``mode`` of cutovers)."""

    PLANNED = "planned"  # both clusters answer; nothing is lost or repeated
    DISASTER = "disaster"  # the source is lost, and is not asked


@dataclass(frozen=True)
class Options:
    """The operator's decisions.

    Reasons by a *confirmed* word block nothing. *has_read_lists*: the groups' consumers skip the records on their read
    lists. *are_uncommitted_left*: partitions that a group has never committed get no offset at the target.
    """

    confirmed: Collection[str] = ()
    has_read_lists: bool = False
    are_uncommitted_left: bool = False


NO_OPTIONS = Options()


class Step(Enum):
    """Column ``step`` of cutovers, in the order of a planned move."""

    CHECK = "check"
    WAIT = "wait"
    COMMIT = "commit"
    READ_BACK = "read_back"
    VERIFY = "verify"
    HOME = "home"  # from now on the group reads the stream at the target
    REHEARSE = "rehearse"  # nothing is moved


class Result(Enum):
    """Column ``result`` of cutovers."""

    BEGUN = "begun"  # the commit is about to be sent
    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"


class Problem(NamedTuple):
    """Why a group, or one *partition* of it, is not moved or not ready; *remedy*: what to do, if *reason* leaves it."""

    group_id: str
    reason: Said
    partition: str | None = None
    remedy: Said | None = None

    def __str__(self) -> str:
        where = " ".join(filter(None, (self.group_id, self.partition)))
        return f"{where}: {'; '.join(filter(None, (self.reason, self.remedy)))}"


class Activity(Enum):
    """Whether a group has members at a cluster."""

    ACTIVE = "active"
    INACTIVE = "inactive"
    UNKNOWN = "unknown"  # the cluster does not answer, or does not list a group that has offsets there


@dataclass(frozen=True)
class CutoverStep:
    """One row of the table cutovers, without the columns for user and time; a commit also has its *outcome*."""

    group_id: str
    step: Step
    result: Result
    detail: str | None = None
    topic_partition: TopicPartition | None = None
    source_offset: int | None = None  # None: the group has never committed there
    target_offset: int | None = None
    duplicates: int | None = None
    lost: int | None = None
    stream: str | None = None  # for a step about a whole topic
    skipped: int | None = None  # on the read list written with it
    outcome: Outcome | None = None

    @classmethod
    def of_commit(cls, key: GroupPartition, outcome: Outcome, error: str | None, **counts: int | None) -> CutoverStep:
        """Return the commit of a partition's translation; done where the target has acknowledged the offset."""
        result = Result.DONE if outcome in (Outcome.COMMITTED, Outcome.UNCHANGED) else Result.FAILED
        detail, place = error or outcome.name, key.topic_partition
        return cls(key.group_id, Step.COMMIT, result, detail, place, outcome=outcome, **counts)  # type: ignore[arg-type]

    @property
    def is_done(self) -> bool:
        """Whether it has succeeded."""
        return self.result is Result.DONE


@dataclass(frozen=True)
class PartitionStatus:
    """One partition of a group between the two clusters; the fields are columns of sync_status.

    *topic_partition* is of the stream.
    """

    group_id: str
    topic_partition: TopicPartition
    status: Status
    reason: str | None
    state: State
    source_offset: int
    wanted_offset: int | None
    target_offset: int | None
    duplicates: int | None
    lost: int | None
    not_mirrored: int
    duplicates_at_most: int | None = 0
    elsewhere: str | None = None
    uncommitted: str | None = None
    contest: str | None = None  # why two clusters may be the home; moving the group decides between them

    def step(self, step: Step, problem: str | None) -> CutoverStep:
        """Return a *step* about it as it is; failed with a *problem*."""
        result = Result.FAILED if problem else Result.DONE
        offsets = self.source_offset, self.target_offset
        return CutoverStep(
            self.group_id, step, result, problem, self.topic_partition, *offsets, self.duplicates, self.lost
        )


_AS_IN_STATUS = {each.name for each in fields(PartitionStatus)} & {*SYNC_STATUS.names} - {"status", "state"}


def to_statuses(rows: pa.Table, source: str, target: str) -> Iterable[PartitionStatus]:
    """Yield the rows of a report for the move from *source* to *target*."""
    for row in rows.to_pylist():
        if (row["source_cluster"], row["target_cluster"]) == (source, target):
            yield PartitionStatus(
                topic_partition=TopicPartition(row["stream"], row["partition"]),
                status=Status.of(row["status"]),
                state=State[row["state"]],
                **{name: row[name] for name in _AS_IN_STATUS},
                contest=row["reason"] if row["state"] == State.COMMITTED_AT_BOTH.name else None,
            )


@dataclass
class GroupPlan:
    """The plan for one group; with any *blocking* problem it is not moved.

    *notes* are for information. *crossed*: its partitions with their read lists, None if it moves without them.
    """

    group_id: str
    at_source: Activity
    at_target: Activity
    partitions: list[PartitionStatus]
    blocking: list[Problem] = field(default_factory=list)
    notes: list[Said] = field(default_factory=list)
    crossed: Sequence[CrossedPartition] | None = None
    mode: Mode = Mode.PLANNED

    @property
    def verdict(self) -> Verdict:
        """The least verdict of its partitions, by the rule of every report; BLOCKED with any blocking reason."""
        if self.blocking or not self.partitions:
            return Verdict.BLOCKED
        is_known = self.at_target is not Activity.UNKNOWN
        return min(verdict(_row(each, is_known)) for each in self._after_skipping())

    def _after_skipping(self) -> Sequence[PartitionStatus]:
        """Return its partitions as they are for consumers that use read lists."""
        crossed = {each.key.topic_partition: each for each in self.crossed or ()}
        after = _after_disaster if self.mode is Mode.DISASTER else _once_mirrored
        return [
            each if (found := crossed.get(each.topic_partition)) is None else after(each, found)
            for each in self.partitions
        ]

    @property
    def uncommitted(self) -> dict[str, str]:
        """Partitions that it has never committed, by stream, as ranges (``1, 4-7``)."""
        return {each.topic_partition.topic: each.uncommitted for each in self.partitions if each.uncommitted}

    @property
    def duplicates(self) -> int:
        """Records it would read again at the translated offsets, where known."""
        return sum(each.duplicates or 0 for each in self._after_skipping())

    @property
    def skipped(self) -> int | None:
        """Records on its read lists, None if it moves without them."""
        return None if self.crossed is None else sum(each.skipped for each in self.crossed)

    @property
    def missing(self) -> int:
        """Records it has read that are not known to be at the target."""
        return sum(each.missing for each in self.crossed or ())

    @property
    def lost(self) -> int:
        """Unread records that it would never see if the source never came back."""
        return sum(each.lost or each.not_mirrored for each in self.partitions)


def _once_mirrored(partition: PartitionStatus, crossed: CrossedPartition) -> PartitionStatus:
    """Return a partition as it will be for a planned move: the mirror still copies the missing records."""
    is_in_sync = partition.status in (Status.MIRRORING, Status.BEHIND)
    return replace(
        partition,
        status=Status.IN_SYNC if is_in_sync else partition.status,
        duplicates=crossed.repeated,
        duplicates_at_most=crossed.repeated,
        lost=max((partition.lost or 0) - partition.not_mirrored, 0),
        not_mirrored=0,
    )


def _after_disaster(partition: PartitionStatus, crossed: CrossedPartition) -> PartitionStatus:
    """Return a partition as it will be for a move without its source.

    Records that are missing at the target come later, and are read again then. A list of unknown records helps nothing.
    """
    if crossed.is_unknown:
        return partition
    repeats = max(crossed.repeated, crossed.unindexed) + crossed.missing - crossed.unindexed
    is_free = partition.status is Status.MIRRORING and not (repeats or partition.lost or partition.not_mirrored)
    status = Status.IN_SYNC if is_free else partition.status
    return replace(partition, status=status, duplicates=repeats, duplicates_at_most=repeats)


def _row(partition: PartitionStatus, is_activity_known: bool) -> dict[str, Any]:
    """Return the columns of sync_status that a verdict needs."""
    return {
        **vars(partition),
        "status": partition.status.word,
        "state": (State.COMMITTED_AT_BOTH if partition.contest else partition.state).name,
        "is_target_active": False if is_activity_known else None,
    }
