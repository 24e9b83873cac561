"""Whether groups may be moved, and whether they are ready after: facts in, problems and notes out. Errs to problems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from offset_sync.cutover.crossed import CrossedPartition
from offset_sync.cutover.plan import (
    NO_OPTIONS,
    Activity,
    Direction,
    GroupPlan,
    Mode,
    Options,
    PartitionStatus,
    Problem,
)
from offset_sync.model.errors import ClusterError
from offset_sync.model.reasons import Reason, Said
from offset_sync.model.stream_names import SAME_NAMES, Names
from offset_sync.model.text import to_duration
from offset_sync.model.values import GroupPartition, Status


@dataclass(frozen=True)
class Judge:
    """Judges moves in *direction* by the operator's *options*; partitions are named by *names*."""

    direction: Direction
    names: Names = SAME_NAMES
    options: Options = NO_OPTIONS

    def name(self, key: GroupPartition) -> str:
        """Return the name of a partition at the source."""
        return f"{self.names.outside(self.direction.source, key.topic)}-{key.partition}"

    def judge(self, plan: GroupPlan, mode: Mode, *, judges_lists: bool) -> GroupPlan:
        """Complete a *plan* by what was found of its group; in a disaster nothing at the source counts."""
        plan.mode = mode
        plan.has_lists = self.options.has_read_lists or (mode is Mode.DISASTER and bool(plan.crossed))
        reasons = [*self.target_reasons(plan)]
        if mode is Mode.PLANNED:
            reasons += [*self.source_reasons(plan), *self.internal_reasons(plan)]
        reasons += self.commit_reasons(plan)
        problems = [Problem(plan.group_id, each) for each in reasons]
        if mode is Mode.PLANNED and judges_lists:
            problems += self.list_problems(plan)
        plan.blocking = self.left(problems)
        plan.notes += self._notes(plan)
        return plan

    def left(self, problems: Iterable[Problem]) -> list[Problem]:
        """Return *problems* without those that the operator has confirmed."""
        return [each for each in problems if each.reason.word not in self.options.confirmed]

    def target_reasons(self, plan: GroupPlan) -> Iterator[Said]:
        """Yield why nothing can be committed at the target now."""
        if isinstance(plan.there, ClusterError):
            yield Reason.TARGET_SILENT(plan.there)
        elif plan.there is Activity.ACTIVE:
            yield Reason.HAS_MEMBERS(self.direction.target)

    def source_reasons(self, plan: GroupPlan) -> Iterator[Said]:
        """Yield why the group may still read at the source."""
        here, source = plan.here, self.direction.source
        if isinstance(here, ClusterError):
            yield Reason.SOURCE_LOST(here, source)
        elif here is Activity.ACTIVE:
            yield Reason.HAS_MEMBERS(source)
        elif here is Activity.UNKNOWN:
            yield Reason.NOT_LISTED(source)
        elif plan.reader_ms is not None:
            yield Reason.READS_ALONE(to_duration(plan.reader_ms), source)

    def internal_reasons(self, plan: GroupPlan) -> Iterator[Said]:
        """Yield why an application of Kafka Streams with an internal topic has to be confirmed."""
        if plan.internal is not None:
            yield Reason.HAS_INTERNAL(plan.internal, self.direction.source)

    def commit_reasons(self, plan: GroupPlan) -> Iterator[Said]:
        """Yield why its commits cannot be moved; partitions at home at the target need no move."""
        if not plan.partitions:
            yield Reason.NOTHING_TO_MOVE(self.direction.source)
        for third in dict.fromkeys(filter(None, (each.elsewhere for each in plan.partitions))):
            yield Reason.MOVE_FROM_THERE(third)
        withheld = [each for each in plan.partitions if each.status is Status.WITHHELD and not each.contest]
        if withheld:
            word = withheld[0].state.name
            yield Reason.IS_WITHHELD(self.name(withheld[0].key), word, Reason[word](), len(withheld))

    def list_problems(self, plan: GroupPlan) -> Iterator[Problem]:
        """Yield why a group cannot move with its read lists, or without before it is past those it came with."""
        by_lists, group_id = self.options.has_read_lists, plan.group_id
        if by_lists and not plan.crossed:
            yield Problem(group_id, Reason.GETS_NO_LISTS())
        elif by_lists and any(each.contest for each in plan.partitions):
            yield Problem(group_id, Reason.AT_TWO_CLUSTERS())
        else:
            for each in plan.crossed:
                for why in each.reasons_to_stay(self.direction.source, by_lists=by_lists):
                    yield Problem(group_id, why, self.name(each.key))

    def _notes(self, plan: GroupPlan) -> Iterator[Said]:
        """Yield what does not block a move."""
        source, target = self.direction
        for each in dict.fromkeys(each.contest for each in plan.partitions if each.contest):
            yield Reason.APPLY_DECIDES(each)
        for stream, ranges in plan.uncommitted.items():
            yield Reason.FROM_START(self.names.outside(source, stream), ranges, target)
        left = [each for each in plan.partitions if each.status not in (Status.IN_SYNC, Status.WITHHELD)]
        if left and not plan.blocking:
            first = min(left, key=lambda each: each.status)
            yield Reason.NOT_IN_SYNC(self.name(first.key), first.status.word, first.reason, len(left))
        there = {self.names.outside(target, each.key.topic) for each in plan.partitions}
        if there and not self.names.is_same:
            yield Reason.SUBSCRIBES(target, ", ".join(sorted(there)))

    def readiness(self, partition: PartitionStatus, crossed: CrossedPartition | None) -> list[Problem]:
        """Return why a partition is not ready at the target; with a read list it may be Mirroring."""
        (source, target), status = self.direction, partition.status
        is_held = partition.target_offset == partition.wanted_offset
        if crossed is not None and is_held and status in (Status.IN_SYNC, Status.MIRRORING):
            return self.of_list(crossed)
        if crossed is None and status is Status.IN_SYNC:
            return []
        is_crossing = status is Status.MIRRORING and (partition.duplicates or 0) > 0
        remedy = Reason.IF_CROSSING if is_crossing else Reason[f"IF_{status.name}"]
        why = Said(": ".join(filter(None, (status.word, partition.reason))), status.name)
        return [Problem(partition.key.group_id, why, self.name(partition.key), remedy(target, source))]

    def of_list(self, crossed: CrossedPartition) -> list[Problem]:
        """Return why a partition that moves with a read list is not ready at the target."""
        place, remedy = self.name(crossed.key), Reason.IF_BEHIND()
        whys = crossed.problems(self.direction.target)
        return self.left(Problem(crossed.key.group_id, why, place, remedy) for why in whys)


def by_group(problems: Iterable[Problem]) -> Mapping[str, list[Problem]]:
    """Return *problems* by group."""
    found = dict[str, list[Problem]]()
    for each in problems:
        found.setdefault(each.group_id, []).append(each)
    return found
