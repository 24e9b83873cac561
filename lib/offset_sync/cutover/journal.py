"""The steps of a move as rows of the table cutovers."""

from __future__ import annotations

import getpass
import socket
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timezone

import pyarrow as pa

from offset_sync.config.stream_names import SAME_NAMES, Names
from offset_sync.cutover.plan import (
    Committed,
    CutoverStep,
    Direction,
    GroupPlan,
    Mode,
    PartitionStatus,
    Result,
    Step,
)
from offset_sync.tables.catalog import CUTOVERS
from offset_sync.tables.store import TableStore


class TableJournal:
    """Appends steps to the table cutovers, each with the user and the direction; *say* prints a line for the user.

    Steps have streams, rows their topics by *names*.
    """

    def __init__(
        self,
        tables: TableStore,
        direction: Direction,
        mode: Mode,
        say: Callable[[str], None],
        names: Names = SAME_NAMES,
    ) -> None:
        self._tables, self.say = tables, say
        self._direction, self._names = direction, names
        self._same_in_all = {
            "cutover_id": uuid.uuid4().hex[:12],
            "who": f"{getpass.getuser()}@{socket.gethostname()}",
            "mode": mode.value,
            "source_cluster": direction.source,
            "target_cluster": direction.target,
        }

    def record(self, steps: Sequence[CutoverStep]) -> None:
        """Append *steps*, if any, with the present time."""
        now = datetime.now(timezone.utc)
        rows = [{**self._same_in_all, "at": now, **self._to_row(step)} for step in steps]
        self._tables.append(CUTOVERS, pa.Table.from_pylist(rows, CUTOVERS.arrow_schema))

    def _to_row(self, step: CutoverStep) -> dict[str, object]:
        place, (source, target) = step.topic_partition, self._direction
        stream = place.topic if place else step.stream
        return {
            "step": step.step.value,
            "result": step.result.value,
            "group_id": step.group_id,
            "topic": self._names.outside(source, stream) if stream else None,
            "partition": place.partition if place else None,
            "source_offset": step.source_offset,
            "target_offset": step.target_offset,
            "duplicates": step.duplicates,
            "lost": step.lost,
            "skipped": step.skipped,
            "detail": step.detail,
            "stream": stream,
            "target_topic": self._names.topic(target, stream) if stream else None,
        }


def check_step(plan: GroupPlan, reasons: str | None) -> CutoverStep:
    """Return the plan of a group as a step: refused if there are *reasons* not to move it."""
    result = Result.REFUSED if reasons else Result.DONE
    step = CutoverStep(plan.group_id, Step.CHECK, result, reasons, duplicates=plan.duplicates, lost=plan.lost)
    return step if plan.crossed is None else replace(step, skipped=plan.skipped)


def commit_step(committed: Committed) -> CutoverStep:
    """Return the outcome of a partition's translation."""
    step = _partition_step(Step.COMMIT, committed, committed.is_held, committed.error or committed.outcome.name)
    return replace(step, skipped=committed.skipped)


def read_back_step(committed: Committed, found_offset: int | None, problem: str | None) -> CutoverStep:
    """Return what the target holds after a commit; done without a *problem*."""
    step = _partition_step(Step.READ_BACK, committed, not problem, problem)
    return replace(step, target_offset=found_offset, duplicates=None, lost=None)


def verify_step(partition: PartitionStatus, problem: str | None) -> CutoverStep:
    """Return the verification of a partition; done without a *problem*."""
    return _partition_step(Step.VERIFY, partition, problem is None, problem)


def _partition_step(
    step: Step, partition: Committed | PartitionStatus, is_done: bool, detail: str | None
) -> CutoverStep:
    return CutoverStep(
        partition.group_id,
        step,
        Result.DONE if is_done else Result.FAILED,
        detail,
        partition.topic_partition,
        partition.source_offset,
        partition.target_offset,
        partition.duplicates,
        partition.lost,
    )
