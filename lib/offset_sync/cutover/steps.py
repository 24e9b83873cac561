"""Steps of a move as they are written down."""

from __future__ import annotations

from offset_sync.cutover.plan import Committed, CutoverStep, GroupPlan, PartitionStatus, Result, Step
from offset_sync.model.values import Status


def check_step(plan: GroupPlan) -> CutoverStep:
    """Return what was planned for a group: refused where there is a reason not to move it."""
    return CutoverStep(
        group_id=plan.group_id,
        step=Step.CHECK,
        result=Result.REFUSED if plan.blocking else Result.DONE,
        detail="; ".join(plan.blocking) or None,
        duplicates=plan.duplicates,
        lost=plan.lost,
    )


def commit_step(committed: Committed) -> CutoverStep:
    """Return what became of a partition's translation."""
    return CutoverStep(
        group_id=committed.group_id,
        step=Step.COMMIT,
        result=Result.DONE if committed.is_held else Result.FAILED,
        detail=committed.error or committed.outcome.name,
        topic_partition=committed.topic_partition,
        source_offset=committed.source_offset,
        target_offset=committed.target_offset,
        duplicates=committed.duplicates,
        lost=committed.lost,
    )


def read_back_step(committed: Committed, found_offset: int | None, problem: str | None) -> CutoverStep:
    """Return what the target holds after a commit; it is done where there is no *problem*."""
    return CutoverStep(
        group_id=committed.group_id,
        step=Step.READ_BACK,
        result=Result.FAILED if problem else Result.DONE,
        detail=problem,
        topic_partition=committed.topic_partition,
        source_offset=committed.source_offset,
        target_offset=found_offset,
    )


def home_step(group_id: str, stream: str) -> CutoverStep:
    """Return that a group reads a stream at the target from now on: its commits there were read back."""
    return CutoverStep(group_id, Step.HOME, Result.DONE, stream=stream)


def verify_step(partition: PartitionStatus) -> CutoverStep:
    """Return whether a partition is in sync, and if not, why."""
    is_in_sync = partition.status is Status.IN_SYNC
    return CutoverStep(
        group_id=partition.group_id,
        step=Step.VERIFY,
        result=Result.DONE if is_in_sync else Result.FAILED,
        detail=None if is_in_sync else f"{partition.status.word}: {partition.reason}",
        topic_partition=partition.topic_partition,
        source_offset=partition.source_offset,
        target_offset=partition.target_offset,
        duplicates=partition.duplicates,
        lost=partition.lost,
    )
