"""What ``record_runs`` has to hold by all operations that have ended, and by those that may have been entered."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from histories.kept import KeptFiles
from histories.model import Log, Row, is_below, of_rows, records_in, records_of
from offset_sync.state.record_index import RecordIndex
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.store import TableStore


class Held(NamedTuple):
    """The rows, and the number of the last append."""

    rows: tuple[Row, ...] = ()
    appended: int = 0

    def with_rows(self, number: int, rows: Sequence[Row]) -> Held:
        """Append *rows*, unless that was done under this number."""
        return self if number <= self.appended else Held((*self.rows, *rows), number)

    def without(self, begins: dict[Log, int]) -> Held:
        """Cut what is below *begins*."""
        return self._replace(rows=tuple(row for row in self.rows if not is_below(row, begins)))


Change: TypeAlias = Callable[[Held], Held]


class Ledger:
    """What is *held*, and all rows that were there *ever*."""

    def __init__(self, root: Path, keep_s: float) -> None:
        self.held, self.ever = Held(), set[Row]()
        self.kept = KeptFiles(root, keep_s)
        self._tables, self._has_failed = TableStore(str(root)), False
        self._doubt: Change | None = None
        self._unstored: Held | None = None
        self._seen: list[str] | None = None

    def enter(self, change: Change) -> None:
        """Note what was acknowledged: it is stored, and all that was entered before it."""
        self.held, self._unstored = change(self.held), None
        self.ever |= {*self.held.rows}

    def doubt(self, change: Change) -> None:
        """Note what did not end: it may be entered, as a whole, and is stored only when the next one is."""
        self._doubt = change

    def fail(self) -> None:
        """Note that the power has failed."""
        self._has_failed = True

    def begin(self) -> None:
        """Note that all logs are repaired."""
        self.kept.begin()
        self._tables, self._seen = TableStore(self._tables.root), None

    def settle(self, now_s: float) -> None:
        """Compare what a reader that starts now finds with what there has to be, and resolve what is in doubt."""
        tables = self._tables
        files = sorted(each for _, _, names in os.walk(tables.path(RECORD_RUNS)) for each in names)
        if self._seen != files or self._doubt is not None:
            self._seen = files
            tables._logs.pop(RECORD_RUNS.name, None)  # nothing of it is known any more
            self._resolve(of_rows(tables.all_rows(RECORD_RUNS)))
            index = RecordIndex(tables, memory_bytes=1, keep=None)
            index.refresh()
            assert records_in(index) == records_of(self.held.rows)
        self._doubt = None
        if self._has_failed:
            self._has_failed, self._unstored = False, None
        self.kept.note(now_s)
        missing = self.kept.missing(now_s)
        assert not missing, f"deleted too early: {missing}"

    def _resolve(self, found: Counter[Row]) -> None:
        before = self.held
        if found != Counter(before.rows) and self._doubt is not None:
            self.held = self._doubt(before)
            self.ever |= {*self.held.rows}
            self._unstored = before  # an earlier one was stored before this was entered
        if found != Counter(self.held.rows) and self._has_failed and self._unstored is not None:
            self.held = self._unstored
        wanted = Counter(self.held.rows)
        assert found == wanted, f"record_runs lacks {wanted - found}, and has {found - wanted} too many"
