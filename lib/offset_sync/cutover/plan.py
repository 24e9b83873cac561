"""What a move of consumer groups is made of: what stands where, what would happen, what was done."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition

Mode = Literal["planned", "disaster"]


@dataclass(frozen=True)
class PartitionStatus:
    """How one partition of a group stands between the two clusters; the fields are columns of sync_status."""

    group_id: str
    place: TopicPartition
    status: str
    reason: str | None
    state: str
    source_offset: int
    wanted_offset: int | None
    target_offset: int | None
    duplicates: int | None
    lost: int | None
    not_mirrored: int


@dataclass(frozen=True)
class Committed:
    """What became of one partition's translation at the target."""

    group_id: str
    place: TopicPartition
    source_offset: int
    target_offset: int | None
    duplicates: int
    lost: int
    outcome: str
    error: str | None


@dataclass(frozen=True)
class CutoverStep:
    """One row of the table cutovers, but for who and when."""

    group_id: str
    step: str
    result: str
    detail: str | None = None
    place: TopicPartition | None = None
    source_offset: int | None = None
    target_offset: int | None = None
    duplicates: int | None = None
    lost: int | None = None


@dataclass
class GroupPlan:
    """What a move of one group would come to; with any *blocking* reason it is not made."""

    group_id: str
    is_active_at_source: bool | None
    is_active_at_target: bool | None
    standing: list[PartitionStatus]
    blocking: list[str] = field(default_factory=list)

    @property
    def duplicates(self) -> int:
        """Records it would read again at the translated offsets, where that can be told."""
        return sum(each.duplicates or 0 for each in self.standing)

    @property
    def lost(self) -> int:
        """Unread records that it would never see if the source never came back."""
        return sum(each.lost or each.not_mirrored for each in self.standing)


class CutoverClusters(Protocol):
    """The two clusters and the tables, as ``cutover_site.LiveClusters`` offers them."""

    def members(self, alias: str) -> Collection[str] | ClusterError:
        """Return the groups of a cluster that have members now."""

    def standing(self, groups: Collection[str]) -> Mapping[str, list[PartitionStatus]]:
        """Return how the partitions of each group stand whose newest commit is the source's."""

    def owned_elsewhere(self, groups: Collection[str]) -> Mapping[str, list[str]]:
        """Return, per group, the clusters that hold its newest commit of some partition and are not the source."""

    def mark_ends(self) -> None:
        """Let :meth:`unread` ask anew where the logs end; between two calls it counts up to the same ends."""

    def unread(self, groups: Collection[str]) -> Mapping[str, int]:
        """Return what the jobs have not read yet, by what it is: commits, and records of the groups' partitions.

        Records up to the ends that the logs had when they were first asked for: under load there is always one more.
        """

    def settle(self, groups: Collection[str]) -> list[Committed]:
        """Translate and commit at the target."""

    def read_back(self, groups: Collection[str]) -> Mapping[str, Mapping[TopicPartition, int] | ClusterError]:
        """Return what the target itself says that it holds."""

    def never_mirrored(self, groups: Collection[str]) -> Mapping[str, list[str]]:
        """Return, per group, which of its unread records the target has not got, as offsets per origin."""
