"""Verifies that groups to be moved, or moved already, can be started at the target; problems come with a remedy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from offset_sync.config.stream_names import SAME_NAMES, Names
from offset_sync.cutover.crossed import CrossedPartition
from offset_sync.cutover.journal import TableJournal
from offset_sync.cutover.live_clusters import LiveClusters
from offset_sync.cutover.plan import NO_OPTIONS, CutoverStep, Direction, Options, PartitionStatus, Result, Step
from offset_sync.model.reasons import Reason
from offset_sync.model.values import GroupPartition, Status, TopicPartition


class Verification:
    """Verifies groups that move in *direction* with the operator's *options*; results go to *journal*."""

    def __init__(
        self,
        direction: Direction,
        clusters: LiveClusters,
        journal: TableJournal,
        names: Names = SAME_NAMES,
        options: Options = NO_OPTIONS,
    ) -> None:
        self._source, self._target = direction
        self._clusters, self._journal, self._names, self._options = clusters, journal, names, options

    def verify(self, groups: Sequence[str]) -> list[tuple[str, str]]:
        """Return a group and a line with a remedy per partition that is not in sync; none: all may be started."""
        failures, steps = list[tuple[str, str]](), list[CutoverStep]()
        statuses, lists = self._clusters.partition_statuses(groups), self.lists(groups)
        for group_id in groups:
            partitions = statuses.get(group_id, [])
            if not partitions:
                problems = self._arrival_problems(group_id)
                failures += [(group_id, f"{group_id}: {each}") for each in problems]
                result = Result.FAILED if problems else Result.DONE
                steps.append(CutoverStep(group_id, Step.VERIFY, result, "; ".join(problems) or None))
            for each in partitions:
                problem, remedy = self._problem(each, lists.get(GroupPartition(group_id, *each.topic_partition)))
                steps.append(each.step(Step.VERIFY, problem))
                if problem is not None:
                    failures.append((group_id, f"{group_id} {self.name(each.topic_partition)}: {problem}; {remedy}"))
        self._journal.record(steps)
        return failures

    def _problem(self, partition: PartitionStatus, crossed: CrossedPartition | None) -> tuple[str | None, str]:
        """Return why a partition is not ready, None if it is, and the remedy; with read lists it may be Mirroring."""
        if partition.status is Status.IN_SYNC and crossed is None:
            return None, ""
        is_held = partition.target_offset == partition.wanted_offset
        if crossed is not None and is_held and partition.status in (Status.IN_SYNC, Status.MIRRORING):
            return crossed.problem(self._target, is_at_cost=self._options.is_at_cost), Reason.IF_BEHIND()
        why = ": ".join(filter(None, (partition.status.word, partition.reason)))
        return why, self._remedy(partition)

    def lists(self, groups: Sequence[str]) -> Mapping[GroupPartition, CrossedPartition]:
        """Return the partitions of groups that move with read lists, as of now; none for other moves."""
        if not self._options.has_read_lists:
            return {}
        return {each.key: each for found in self._clusters.crossed(groups).values() for each in found}

    def _arrival_problems(self, group_id: str) -> list[str]:
        """Return the problems of a group without a position at the source: it has continued at the target."""
        arrived = self._clusters.arrived(group_id) if self._options.has_read_lists else []
        if not arrived:
            return [Reason.NOTHING_TO_VERIFY(self._source)]
        needs_proof = not self._options.is_unproven
        problems = {each.key: each.problem(self._target, needs_proof=needs_proof) for each in arrived}
        return [f"{self.name(key.topic_partition)}: {text}" for key, text in problems.items() if text is not None]

    def name(self, partition: TopicPartition) -> str:
        """Return a partition's name at the source, and at the target if it differs."""
        (stream, number), target = partition, self._target
        here, there = self._names.outside(self._source, stream), self._names.topic(target, stream)
        return f"{here}-{number}" + (f" ({there}-{number} at {target})" if there not in (None, here) else "")

    def _remedy(self, partition: PartitionStatus) -> str:
        """Return the operator's remedy for a partition that is not in sync."""
        is_crossing = partition.status is Status.MIRRORING and (partition.duplicates or 0) > 0
        reason = Reason.IF_CROSSING if is_crossing else Reason[f"IF_{partition.status.name}"]
        return reason(self._target, self._source)
