"""The steps of a move as rows of the table cutovers."""

from __future__ import annotations

import getpass
import socket
import uuid
from collections.abc import Callable, Sequence
from datetime import datetime, timezone

import pyarrow as pa

from offset_sync.config.stream_names import SAME_NAMES, Names
from offset_sync.cutover.plan import CutoverStep, Direction, Mode
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
            **vars(step),
            "step": step.step.value,
            "result": step.result.value,
            "topic": self._names.outside(source, stream) if stream else None,
            "partition": place.partition if place else None,
            "stream": stream,
            "target_topic": self._names.topic(target, stream) if stream else None,
        }
