"""What the tables have to hold by all operations that have ended, and by those that may have been entered."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from histories.kept import KeptFiles
from histories.model import Log, Row, is_below, of_rows, records_in, records_of, report
from offset_sync.state.record_index import RecordIndex
from offset_sync.tables.catalog import INDEXED_TOPICS, RECORD_RUNS, SYNC_STATUS
from offset_sync.tables.definition import Table
from offset_sync.tables.store import TableStore


class Held(NamedTuple):
    """The rows of ``record_runs`` and the number of the last append to it, and the rows of the other tables."""

    rows: tuple[Row, ...] = ()
    appended: int = 0
    topics: tuple[int, ...] = ()
    report: int = 0

    def of(self, table: Table) -> Counter[object]:
        """Return the rows of *table*."""
        if table is RECORD_RUNS:
            return Counter(self.rows)
        return Counter(
            map(str, self.topics) if table is INDEXED_TOPICS else report(self.report)["group_id"].to_pylist()
        )

    def with_rows(self, number: int, rows: Sequence[Row]) -> Held:
        """Append *rows*, unless that was done under this number."""
        return self if number <= self.appended else self._replace(rows=(*self.rows, *rows), appended=number)

    def without(self, begins: dict[Log, int]) -> Held:
        """Cut what is below *begins*."""
        return self._replace(rows=tuple(row for row in self.rows if not is_below(row, begins)))


Change: TypeAlias = Callable[[Held], Held]


class Ledger:
    """What is *held*, and all rows that were there *ever*; *pages* of an index were read and compared."""

    def __init__(self, root: Path, keep_s: float) -> None:
        self.held, self.ever, self.pages = Held(), set[Row](), 0
        self.kept = KeptFiles(root, keep_s)
        self._tables, self._has_failed = TableStore(str(root)), False
        self._doubts, self._unstored = dict[Table, Change](), dict[Table, Held]()
        self._seen: dict[Table, object] = {}

    def enter(self, table: Table, change: Change) -> None:
        """Note what was acknowledged: it is stored, and all that was entered before it."""
        self.held = change(self.held)
        self.ever |= {*self.held.rows}
        self._unstored.pop(table, None)

    def doubt(self, table: Table, change: Change) -> None:
        """Note what did not end: it may be entered, as a whole, and is stored only when the next one is."""
        self._doubts[table] = change

    def fail(self) -> None:
        """Note that the power has failed."""
        self._has_failed = True

    def begin(self) -> None:
        """Note that all logs are repaired."""
        self.kept.begin()
        self._tables = TableStore(self._tables.root)
        self._seen.clear()

    def settle(self, now_s: float) -> None:
        """Compare what a reader that starts now finds with what there has to be, and resolve what is in doubt."""
        tables = self._tables
        for table, name in ((RECORD_RUNS, ""), (INDEXED_TOPICS, "topic_id"), (SYNC_STATUS, "group_id")):
            files = sorted(each for _, _, names in os.walk(tables.path(table)) for each in names)
            if self._seen.get(table) == files and table not in self._doubts:
                continue
            self._seen[table] = files
            tables._logs.pop(table.name, None)  # nothing of it is known any more
            rows = tables.all_rows(table)
            self._resolve(table, Counter(rows[name].to_pylist()) if name else Counter(of_rows(rows)))
            if table is RECORD_RUNS:
                self._compare_index()
        self._doubts.clear()
        if self._has_failed:
            self._has_failed = False
            self._unstored.clear()
        self.kept.note(now_s)
        missing = self.kept.missing(now_s)
        assert not missing, f"deleted too early: {missing}"

    def _resolve(self, table: Table, found: Counter[object]) -> None:
        before = self.held
        if found != before.of(table) and table in self._doubts:
            self.held = self._doubts[table](before)
            self.ever |= {*self.held.rows}
            self._unstored[table] = before  # an earlier one was stored before this was entered
        if found != self.held.of(table) and self._has_failed and table in self._unstored:
            self._set_back(table, self._unstored[table])
        wanted = self.held.of(table)
        assert found == wanted, f"{table.name} lacks {wanted - found}, and has {found - wanted} too many"

    def _set_back(self, table: Table, to: Held) -> None:
        names = {RECORD_RUNS: ("rows", "appended"), INDEXED_TOPICS: ("topics",), SYNC_STATUS: ("report",)}[table]
        self.held = self.held._replace(**{name: getattr(to, name) for name in names})

    def _compare_index(self) -> None:
        index = RecordIndex(self._tables, memory_bytes=1, keep=None)
        index.refresh()
        assert records_in(index) == records_of(self.held.rows)
