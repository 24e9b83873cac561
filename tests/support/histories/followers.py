"""Readers that go on reading what is added: of rows, and of the index that is made of them."""

from __future__ import annotations

from collections import Counter
from typing import cast

import pyarrow as pa

from histories.calls import Interruption
from histories.model import of_rows, records_in, records_of
from histories.world import KEEP, World
from offset_sync.state.record_index import RecordIndex
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.definition import Table
from offset_sync.tables.store import TableStore


class _Noting(TableStore):
    """Notes whether all of a table was read."""

    is_whole = False

    def _read_whole(self, table: Table) -> tuple[pa.Table, int]:
        self.is_whole = True
        return super()._read_whole(table)


class RowFollower:
    """Has every row once, unless it was told to read all of them again."""

    def __init__(self, world: World) -> None:
        self._world, self._tables = world, _Noting(str(world.root))
        self._seen, self._version = Counter[object](), cast("int | None", None)

    def follow(self, by: Interruption) -> None:
        """Read on; what is read has to be what is there."""
        world, found = self._world, list[tuple[pa.Table, int]]()
        self._tables.is_whole = False

        def end() -> None:
            self.__init__(world)  # type: ignore[misc]

        if not world.run(
            lambda: found.append(self._tables.rows_since(RECORD_RUNS, self._version)), by, ends=end, only_reads=True
        ):
            return
        ((rows, self._version),) = found
        self._seen = of_rows(rows) + (Counter() if self._tables.is_whole else self._seen)
        if not by.what:
            assert {*self._seen} <= world.ledger.ever
            assert {*world.ledger.held.rows} <= {*self._seen}, "not followed: a row"
            twice = [row for row, times in self._seen.items() if times > 1]
            assert not twice, f"came twice: {twice}"


class IndexFollower:
    """A record index that goes on."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._start()

    def _start(self) -> None:
        self._index = RecordIndex(self._world.store(), memory_bytes=1, keep=KEEP)

    def follow(self, by: Interruption) -> None:
        """Read on; what is known then is what is there, and at most what has been cut."""
        world = self._world
        if not world.run(self._index.refresh, by, ends=self._start, only_reads=True) or by.what:
            return
        known, ever = records_in(self._index), records_of(world.ledger.ever)
        for log, (begin, end, records) in records_of(world.ledger.held.rows).items():
            known_from, known_to, known_records = known[log]
            assert (known_from <= begin, known_to) == (True, end), f"{log}: {known_from} to {known_to}"
            assert {at: what for at, what in known_records.items() if at >= begin} == records
            assert known_records.items() <= ever[log][2].items()
