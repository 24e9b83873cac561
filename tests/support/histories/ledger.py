"""What ``record_runs`` has to hold by all operations that have ended, and by those that may have been entered."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from deltalake import DeltaTable

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
        self._has_failed = True

    def begin(self) -> None:
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


_MARGIN_S = 3600.0
"""So much sooner nothing is asked of a file: delta-rs counts full hours."""


class KeptFiles:
    """Files, and when each was needed last: for so many seconds after that it has to stay."""

    def __init__(self, root: Path, keep_s: float) -> None:
        self._folder, self._keep_s = root / RECORD_RUNS.name, keep_s
        self.begin()

    def begin(self) -> None:
        """Begin with the table as it is now, of which no older file is needed."""
        table = DeltaTable(self._folder)
        self._version, self._live = table.version(), {Path(each) for each in table.file_uris()}
        self._until = dict[Path, float]()

    def _entry(self, version: int) -> Path:
        return self._folder / "_delta_log" / f"{version:020d}.json"

    def note(self, now_s: float) -> None:
        """Take in what was entered since the last time; all of it is as new as that."""
        while (entry := self._entry(self._version + 1)).exists():
            actions = [json.loads(line) for line in entry.read_text().splitlines() if line.strip()]
            removed = {self._folder / each["remove"]["path"] for each in actions if "remove" in each}
            self._live |= {self._folder / each["add"]["path"] for each in actions if "add" in each}
            self._live -= removed
            self._until |= dict.fromkeys(removed, now_s + self._keep_s - _MARGIN_S)
            self._until[entry] = now_s + self._keep_s - _MARGIN_S
            self._version += 1

    def missing(self, now_s: float) -> list[Path]:
        """Return what is not there and has to be."""
        needed = [*self._live, *(path for path, until_s in self._until.items() if now_s < until_s)]
        return [path for path in needed if not path.exists()]
