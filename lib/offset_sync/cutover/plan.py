"""What a move of consumer groups is made of: what is known before, what would happen, what was done."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from offset_sync.config.stream_names import Names
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import Outcome, State, Status, TopicPartition
from offset_sync.status.verdict import Verdict, verdicts
from offset_sync.tables.catalog import SYNC_STATUS


class Direction(NamedTuple):
    """The clusters that groups are moved between."""

    source: str
    target: str


class Mode(Enum):
    """Why groups are moved (column ``mode`` of cutovers)."""

    PLANNED = "planned"  # both clusters answer; nothing is lost or repeated
    DISASTER = "disaster"  # the source is lost, and is not asked


class Step(Enum):
    """Column ``step`` of cutovers, in the order of a planned move."""

    CHECK = "check"
    WAIT = "wait"
    COMMIT = "commit"
    READ_BACK = "read_back"
    HOME = "home"  # from now on the group reads the stream at the target
    VERIFY = "verify"


class Result(Enum):
    """Column ``result`` of cutovers."""

    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"


class Activity(Enum):
    """Whether a group has members at a cluster."""

    ACTIVE = "active"
    INACTIVE = "inactive"
    UNKNOWN = "unknown"  # the cluster does not answer


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

    contest: str | None = None  # why two clusters are in question; moving the group decides between them


@dataclass(frozen=True)
class Reader:
    """A group's newest commit at the source, *age_ms* ago, and whether a member made it."""

    age_ms: int
    is_member: bool


@dataclass(frozen=True)
class Committed:
    """What became of one partition's translation at the target."""

    group_id: str
    topic_partition: TopicPartition
    source_offset: int | None  # None: the group has never committed there
    target_offset: int | None
    duplicates: int
    lost: int
    outcome: Outcome
    error: str | None

    @property
    def is_held(self) -> bool:
        """True where the target has acknowledged the offset."""
        return self.outcome in (Outcome.COMMITTED, Outcome.UNCHANGED)


@dataclass(frozen=True)
class CutoverStep:
    """One row of the table cutovers, but for the columns that say by whom and when."""

    group_id: str
    step: Step
    result: Result
    detail: str | None = None
    topic_partition: TopicPartition | None = None
    source_offset: int | None = None
    target_offset: int | None = None
    duplicates: int | None = None
    lost: int | None = None
    stream: str | None = None  # of a step about a whole topic


@dataclass
class GroupPlan:
    """What a move of one group would come to; with any *blocking* reason it is not made.

    *notes* are good to know. *streams* are all that it has committed at either cluster, each with whether it has itself
    done so at the target.
    """

    group_id: str
    at_source: Activity
    at_target: Activity
    partitions: list[PartitionStatus]
    blocking: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    streams: Mapping[str, bool] = field(default_factory=dict)

    def subscriptions(self, names: Names, target: str) -> dict[str, bool]:
        """Return what its topics are called at the *target*, and whether it has ever committed each there.

        Those of which nothing is to be moved too: without them it would skip what is produced from now on.
        """
        found = ((names.topic(target, stream), is_known) for stream, is_known in self.streams.items())
        return dict(sorted((topic, is_known) for topic, is_known in found if topic is not None))

    @property
    def verdict(self) -> Verdict:
        """The least verdict of its partitions, by the rule of every report; BLOCKED with any blocking reason."""
        if self.blocking or not self.partitions:
            return Verdict.BLOCKED
        is_known = self.at_target is not Activity.UNKNOWN
        return Verdict(int(verdicts(_rows(self.partitions, is_known)).min()))

    @property
    def uncommitted(self) -> dict[str, str]:
        """Partitions that it has never committed, by stream, as ranges (``1, 4-7``)."""
        return {each.topic_partition.topic: each.uncommitted for each in self.partitions if each.uncommitted}

    @property
    def duplicates(self) -> int:
        """Records it would read again at the translated offsets, where that is known."""
        return sum(each.duplicates or 0 for each in self.partitions)

    @property
    def lost(self) -> int:
        """Unread records that it would never see if the source never came back."""
        return sum(each.lost or each.not_mirrored for each in self.partitions)


def _rows(partitions: Sequence[PartitionStatus], is_activity_known: bool) -> pa.Table:
    """Return the columns of sync_status that a verdict needs."""
    columns: dict[str, list[Any]] = {
        "status": [each.status.word for each in partitions],
        "state": [(State.COMMITTED_AT_BOTH if each.contest else each.state).name for each in partitions],
        "is_target_active": [False if is_activity_known else None] * len(partitions),
        "elsewhere": [each.elsewhere for each in partitions],
    }
    for name in ("lost", "not_mirrored", "duplicates", "duplicates_at_most"):
        columns[name] = [getattr(each, name) for each in partitions]
    types = SYNC_STATUS.arrow_schema
    return pa.table({name: pa.array(values, types.field(name).type) for name, values in columns.items()})


class CutoverClusters(Protocol):
    """The two clusters and the tables, as :class:`LiveClusters` offers them."""

    def active_groups(self, alias: str, groups: Collection[str]) -> Collection[str] | ClusterError:
        """Return those of *groups*, and maybe others, that have members at a cluster now."""

    def partition_statuses(self, groups: Collection[str]) -> Mapping[str, list[PartitionStatus]]:
        """Return, per group, the status of the partitions whose newest commit is the source's."""

    def owned_elsewhere(self, groups: Collection[str]) -> Mapping[str, list[str]]:
        """Return, per group, the clusters that hold its newest commit of some partition and are not the source."""

    def readers(self, groups: Collection[str]) -> Mapping[str, Reader]:
        """Return, per group, its newest commit at the source; nothing of a group without one."""

    def share_groups(self) -> Collection[str]:
        """Return the share groups of either cluster, which have acknowledgements and no offsets."""

    def commit_starts(self, groups: Mapping[str, Mapping[str, Sequence[int]]]) -> list[Committed]:
        """Commit, at the target, where its logs start, of partitions by stream that have no offset of a group there."""

    def committed_streams(self, groups: Collection[str]) -> Mapping[str, Mapping[str, bool]]:
        """Return, per group, the streams it has itself committed at either cluster, and whether at the target."""

    def held_back(self, groups: Collection[str]) -> Mapping[str, str]:
        """Return, per group, which open transaction holds back commits of it, when the statuses were asked for."""

    def forget_ends(self) -> None:
        """Let :meth:`unread` ask anew where the logs end; between two calls it counts up to the same ends."""

    def unread(self, groups: Collection[str]) -> Mapping[str, int]:
        """Return what the jobs have not read yet, by what it is: commits, and records of the groups' partitions.

        Records up to the ends that the logs had when they were first asked for: under load there is always one more.
        """

    def translate_and_commit(self, groups: Collection[str]) -> list[Committed]:
        """Translate the groups' newest commits and commit the answers at the target."""

    def committed_at_target(self, groups: Collection[str]) -> Mapping[str, Mapping[TopicPartition, int] | ClusterError]:
        """Return what the target itself says that it holds."""

    def never_mirrored(self, groups: Collection[str]) -> Mapping[str, list[str]]:
        """Return, per group, which of its unread records the target does not have, as offsets per origin."""


class CutoverJournal(Protocol):
    """Keeps what is done, as :class:`TableJournal` does."""

    def record(self, steps: Sequence[CutoverStep]) -> None:
        """Write steps down for good."""

    def say(self, text: str) -> None:
        """Tell the person who runs the command."""
