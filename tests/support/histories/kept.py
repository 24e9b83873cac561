"""Which files of ``record_runs`` a reader of the last hours needs, by the entries of the log alone."""

from __future__ import annotations

import json
from pathlib import Path

from deltalake import DeltaTable

from offset_sync.tables.catalog import RECORD_RUNS

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
