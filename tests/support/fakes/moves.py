"""Two clusters that say what the test wants, and a move of groups between them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from offset_sync.cutover.crossed import ArrivedPartition, CrossedPartition
from offset_sync.cutover.plan import (
    NO_OPTIONS,
    Activity,
    CutoverStep,
    Direction,
    Mode,
    Options,
    PartitionStatus,
    Step,
)
from offset_sync.cutover.procedure import CutoverProcedure
from offset_sync.kafka.requests import Clock
from offset_sync.kafka.requests import Committed as HeldOffset
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import GroupPartition, Outcome, State, Status, TopicPartition
from offset_sync.status.cluster_queries import GroupAnswers

ORDERS, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)
GOOD = PartitionStatus("g", ORDERS, Status.IN_SYNC, None, State.EXACT, 5, 7, 7, 0, 0, 0)
MIRRORING = replace(GOOD, status=Status.MIRRORING, reason="3 records not mirrored yet", lost=3, not_mirrored=3)
CROSSING = replace(GOOD, status=Status.MIRRORING, reason="2 records read already", duplicates=2)


@dataclass
class FakeClusters:
    """Two clusters between which nothing is hidden; *rows* is looked at once per question, the last one for ever."""

    rows: list[list[PartitionStatus]] = field(default_factory=lambda: [[GOOD]])
    here: Collection[str] | ClusterError = ()
    there: Collection[str] | ClusterError = ()
    elsewhere: dict[str, list[str]] = field(default_factory=dict)
    transactions: dict[str, str] = field(default_factory=dict)
    unread_left: list[int] = field(default_factory=lambda: [0])
    outcome: Outcome = Outcome.COMMITTED
    held: int | ClusterError | None = 7
    ranges: dict[str, list[str]] = field(default_factory=dict)
    committed: list[list[str]] = field(default_factory=list)
    reading: dict[str, int] = field(default_factory=dict)
    unseen: Collection[str] = ()
    held_starts: dict[TopicPartition, int] = field(default_factory=dict)
    started: list[GroupPartition] = field(default_factory=list)
    ends_forgotten: int = 0
    lists: list[list[CrossedPartition]] = field(default_factory=list)
    """Looked at once per question, the last one for ever; of group g."""
    moved: list[ArrivedPartition] = field(default_factory=list)
    internal: dict[str, str] = field(default_factory=dict)
    streams: dict[str, bool] = field(default_factory=dict)

    def activities(self, alias: str, groups: Collection[str]) -> dict[str, Activity] | ClusterError:
        found = self.here if alias == "X" else self.there
        if isinstance(found, ClusterError):
            return found
        unseen = dict.fromkeys(self.unseen, Activity.UNKNOWN)
        return {**dict.fromkeys(groups, Activity.INACTIVE), **unseen, **dict.fromkeys(found, Activity.ACTIVE)}

    def readers(self, groups: Collection[str]) -> dict[str, int]:
        return self.reading

    def commit_starts(self, keys: Collection[GroupPartition]) -> list[CutoverStep]:
        self.started += keys
        return [CutoverStep.of_commit(key, self.outcome, None, target_offset=100) for key in keys]

    def partition_statuses(self, groups: Collection[str]) -> dict[str, list[PartitionStatus]]:
        rows = self.rows.pop(0) if len(self.rows) > 1 else self.rows[0]
        return {group: [replace(row, group_id=group) for row in rows] for group in groups if rows}

    def crossed(self, groups: Collection[str], *, asks_source: bool = True) -> dict[str, list[CrossedPartition]]:
        rows = self.lists.pop(0) if len(self.lists) > 1 else (self.lists or [[]])[0]
        return {group: rows for group in groups if rows}

    def arrived(self, group_id: str) -> list[ArrivedPartition]:
        return self.moved

    def owned_elsewhere(self, groups: Collection[str]) -> dict[str, list[str]]:
        return {group: self.elsewhere[group] for group in groups if group in self.elsewhere}

    def committed_streams(self, groups: Collection[str]) -> dict[str, dict[str, bool]]:
        return dict.fromkeys(groups, self.streams)

    def internal_topics(self, groups: Collection[str]) -> dict[str, str]:
        return self.internal

    def held_back(self, groups: Collection[str]) -> dict[str, str]:
        return {group: self.transactions[group] for group in groups if group in self.transactions}

    def forget_ends(self) -> None:
        self.ends_forgotten += 1

    def unread(self, groups: Collection[str]) -> dict[str, int]:
        assert self.ends_forgotten
        return {"records": self.unread_left.pop(0) if len(self.unread_left) > 1 else self.unread_left[0], "commits": 0}

    def translate_and_commit(self, groups: Collection[str]) -> list[CutoverStep]:
        self.committed.append(sorted(groups))
        keys = [GroupPartition(group, *ORDERS) for group in groups]
        return [CutoverStep.of_commit(key, self.outcome, None, source_offset=5, target_offset=7) for key in keys]

    def committed_at_target(self, groups: Collection[str]) -> GroupAnswers:
        if isinstance(self.held, ClusterError):
            return dict.fromkeys(groups, self.held)
        held = {} if self.held is None else {ORDERS: self.held, **self.held_starts}
        found = {place: HeldOffset(offset, "") for place, offset in held.items()}
        return dict.fromkeys(groups, found)

    def never_mirrored(self, groups: Collection[str]) -> dict[str, list[str]]:
        return self.ranges


@dataclass
class Move:
    """A cutover from X to Y, and the journal of what it wrote down and said."""

    clusters: FakeClusters = field(default_factory=FakeClusters)
    steps: list[CutoverStep] = field(default_factory=list)
    appends: int = 0
    said: list[str] = field(default_factory=list)
    seconds: float = 0.0
    options: Options = NO_OPTIONS

    def __post_init__(self) -> None:
        clock = Clock(lambda: self.seconds, self.pause)
        self.cutover = CutoverProcedure(Direction("X", "Y"), self.clusters, self, clock, options=self.options)

    def record(self, steps: Sequence[CutoverStep]) -> None:
        self.steps.extend(steps)
        self.appends += 1

    def say(self, text: str) -> None:
        self.said.append(text)

    def pause(self, seconds: float) -> None:
        self.seconds += seconds

    def apply(self, *groups: str, mode: Mode = Mode.PLANNED, timeout: float = 10.0) -> list[str]:
        return self.cutover.apply(groups or ("g",), mode, timeout)

    def homes(self) -> list[tuple[str, str | None]]:
        """Return the groups and streams that are at home at the target since."""
        return [(step.group_id, step.stream) for step in self.steps if step.step is Step.HOME]

    def written(self) -> list[tuple[str, str]]:
        return [(step.step.value, step.result.value) for step in self.steps]
