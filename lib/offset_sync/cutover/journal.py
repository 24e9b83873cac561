"""The steps of a move as rows of the table cutovers, and its commits, each of which is a row before it is sent."""

from __future__ import annotations

import getpass
import socket
import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone

import pyarrow as pa

from offset_sync.config import Config
from offset_sync.cutover.plan import CutoverStep, Direction, Mode, Result, Step
from offset_sync.model.stream_names import Names
from offset_sync.model.values import OffsetWrite, Outcome, WriteOutcome
from offset_sync.state.lease import Fence
from offset_sync.sync.offset_writer import TargetWriter
from offset_sync.tables.catalog import CUTOVERS
from offset_sync.tables.store import TableStore


class TableJournal:
    """Appends steps to the table cutovers, each with the user and the direction.

    Steps have streams, rows their topics by *names*.
    """

    def __init__(self, tables: TableStore, direction: Direction, mode: Mode, names: Names) -> None:
        self._tables, self._direction, self._names = tables, direction, names
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
        stream, (source, target) = step.stream, self._direction
        return {
            **step._asdict(),
            "step": step.step.value,
            "result": step.result.value,
            "topic": self._names.outside(source, stream) if stream else None,
            "target_topic": self._names.topic(target, stream) if stream else None,
        }


class CutoverWriter:
    """Commits at *target* while *fence* is open; *journal* has each write before it is sent.

    So ``sync_offsets`` knows that it is ours (``state/moves.py``), however this command ends.

    It commits forward even over an unexpected value: sync_offsets may have written since the tables were read. It may
    have died before it recorded that. Errs to not writing: an unexpected offset ahead of the answer is kept.
    """

    def __init__(self, config: Config, target: str, fence: Fence, journal: TableJournal) -> None:
        self._journal = journal
        self._writer = TargetWriter(
            target,
            config.admin_options(target),
            is_dry_run=False,
            fence=fence,
            names=config.names,
        )

    def write(self, writes: Sequence[OffsetWrite]) -> Sequence[WriteOutcome]:
        """Return one outcome per write, in order."""
        writes = [replace(each, moves_forward=True, refresh=False) for each in writes]
        tried = replace(self._writer, is_dry_run=True).write(writes)
        self._journal.record(
            [
                CutoverStep(
                    *(write.group_id, write.topic, write.partition, Step.COMMIT, Result.BEGUN),
                    target_offset=write.offset,
                )
                for write, found in zip(writes, tried, strict=True)
                if found.outcome is Outcome.DRY_RUN and not write.metadata
            ]
        )
        return self._writer.write(writes)
