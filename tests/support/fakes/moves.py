"""Two clusters that say what the test wants, and a move of groups between them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from offset_sync.cutover.crossed import CrossedPartition
from offset_sync.cutover.judge import Judge
from offset_sync.cutover.plan import (
    NO_OPTIONS,
    Activity,
    CutoverStep,
    Direction,
    GroupPlan,
    Members,
    Mode,
    Options,
    PartitionStatus,
    Step,
)
from offset_sync.cutover.procedure import CutoverProcedure
from offset_sync.kafka.requests import Clock
from offset_sync.kafka.requests import Committed as HeldOffset
from offset_sync.model.errors import ClusterError
from offset_sync.model.stream_names import SAME_NAMES, Names
from offset_sync.model.values import ClusterPartition, GroupPartition, Outcome, State, Status, TopicPartition
from offset_sync.state.cluster_queries import GroupAnswers

ORDERS, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)
GOOD = PartitionStatus(GroupPartition("g", *ORDERS), Status.IN_SYNC, None, State.EXACT, 5, 7, 7, 0, 0, 0)
MIRRORING = replace(GOOD, status=Status.MIRRORING, reason="3 records not mirrored yet", lost=3, not_mirrored=3)
CROSSING = replace(GOOD, status=Status.MIRRORING, reason="2 records read already", duplicates=2)


@dataclass
class FakeClusters:
    """Two clusters between which nothing is hidden; *rows* is looked at once per question, the last one for ever."""

    rows: list[list[PartitionStatus]] = field(default_factory=lambda: [[GOOD]])
    here: Collection[str] | ClusterError = ()
    there: Collection[str] | ClusterError = ()
    silent: dict[str, ClusterError] = field(default_factory=dict)
    """Groups whose coordinator at the target does not answer."""
    unread_left: list[int] = field(default_factory=lambda: [0])
    outcome: Outcome = Outcome.COMMITTED
    held: int | ClusterError | None = 7
    committed: list[list[str]] = field(default_factory=list)
    reading: dict[str, int] = field(default_factory=dict)
    unseen: Collection[str] = ()
    held_starts: dict[TopicPartition, int] = field(default_factory=dict)
    started: list[GroupPartition] = field(default_factory=list)
    lists: list[list[CrossedPartition]] = field(default_factory=list)
    """Looked at once per question, the last one for ever; of group g."""
    listed: dict[GroupPartition, int | None] = field(default_factory=dict)
    """Up to where a group that has gone on still skips."""
    internal: dict[str, str] = field(default_factory=dict)

    def facts(self, groups: Collection[str]) -> list[GroupPlan]:
        statuses, crossed = self.partition_statuses(groups), self.crossed(groups)
        return [
            GroupPlan(
                group,
                self._members(group, self.here),
                self.silent.get(group) or self._members(group, self.there),
                statuses.get(group, ()),
                crossed,
                self.reading.get(group),
                self.internal.get(group),
            )
            for group in groups
        ]

    def _members(self, group: str, found: Collection[str] | ClusterError) -> Members:
        if isinstance(found, ClusterError):
            return found
        if group in found:
            return Activity.ACTIVE
        return Activity.UNKNOWN if group in self.unseen else Activity.INACTIVE

    def commit_starts(self, keys: Collection[GroupPartition]) -> list[CutoverStep]:
        self.started += keys
        return [CutoverStep.of_commit(key, self.outcome, None, target_offset=100) for key in keys]

    def partition_statuses(self, groups: Collection[str]) -> dict[str, list[PartitionStatus]]:
        rows = self.rows.pop(0) if len(self.rows) > 1 else self.rows[0]
        return {group: [replace(row, key=row.key._replace(group_id=group)) for row in rows] for group in groups if rows}

    def crossed(self, groups: Collection[str]) -> list[CrossedPartition]:
        return self.lists.pop(0) if len(self.lists) > 1 else (self.lists or [[]])[0]

    def listed_ends(self, group_id: str) -> dict[GroupPartition, int | None]:
        return self.listed

    def unread(self, groups: Collection[str], ends: dict[ClusterPartition, int]) -> dict[str, int]:
        return {"records": self.unread_left.pop(0) if len(self.unread_left) > 1 else self.unread_left[0], "commits": 0}

    def translate_and_commit(self, groups: Collection[str]) -> list[CutoverStep]:
        self.committed.append(sorted(groups))
        keys = [GroupPartition(group, *ORDERS) for group in groups]
        return [CutoverStep.of_commit(key, self.outcome, None, source_offset=5, target_offset=7) for key in keys]

    def held_at(self, alias: str, groups: Collection[str]) -> GroupAnswers:
        if isinstance(self.held, ClusterError):
            return dict.fromkeys(groups, self.held)
        held = {} if self.held is None else {ORDERS: self.held, **self.held_starts}
        found = {place: HeldOffset(offset, "") for place, offset in held.items()}
        return dict.fromkeys(groups, found)


@dataclass
class Move:
    """A cutover from X to Y, and the journal of what it wrote down."""

    clusters: FakeClusters = field(default_factory=FakeClusters)
    steps: list[CutoverStep] = field(default_factory=list)
    appends: int = 0
    seconds: float = 0.0
    options: Options = NO_OPTIONS
    names: Names = SAME_NAMES

    def __post_init__(self) -> None:
        clock = Clock(lambda: self.seconds, self.pause)
        judge = Judge(Direction("X", "Y"), self.names, self.options)
        self.cutover = CutoverProcedure(judge, self.clusters, self, clock)

    def record(self, steps: Sequence[CutoverStep]) -> None:
        self.steps.extend(steps)
        self.appends += 1

    def pause(self, seconds: float) -> None:
        self.seconds += seconds

    def apply(self, *groups: str, mode: Mode = Mode.PLANNED, timeout: float = 10.0) -> list[str]:
        return [*map(str, self.cutover.apply(groups or ("g",), mode, timeout)[1])]

    def verify(self) -> list[str]:
        return [*map(str, self.cutover.verify(["g"]))]

    def homes(self) -> list[tuple[str, str | None]]:
        """Return the groups and streams that are at home at the target since."""
        return [(step.group_id, step.stream) for step in self.steps if step.step is Step.HOME]

    def written(self) -> list[tuple[str, str]]:
        return [(step.step.value, step.result.value) for step in self.steps]
