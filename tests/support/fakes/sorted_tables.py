"""Tables in memory of which ``record_runs`` is read from files, some of them sorted and some not."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from fakes.tables import MemoryTables
from offset_sync.tables.definition import Table
from offset_sync.tables.files import Files
from offset_sync.tables.sorted_files import Block, SortedRows, read_blocks


@dataclass
class SortedTables(MemoryTables):
    """Its rows lie below *folder*, in files of random sizes, of which a *share* is sorted; *damage* changes these."""

    folder: Path = field(default_factory=Path)
    rng: random.Random = field(default_factory=random.Random)
    share: float = 0.7
    damage: Callable[[SortedRows], SortedRows] = lambda rows: rows
    blocks_read: int = 0

    def blocks(self, table: Table, names: Sequence[str], opened: ExitStack) -> Iterator[pa.Table | Block]:
        """Yield blocks of files that are sorted, and the rows of others."""
        rows, paths, files = self.all_rows(table), list[str](), Files()
        first = 0
        while first < rows.num_rows:
            size = self.rng.randrange(1, 12)
            path, part = self.folder / f"{first}.parquet", rows.slice(first, size)
            if self.rng.random() < self.share:
                files.write_file(str(path), self.damage(SortedRows.of(part)).write)
            else:
                files.write_parquet(str(path), part)
            paths.append(str(path))
            first += size
        for each in read_blocks(files, paths, names, opened):
            self.blocks_read += isinstance(each, Block)
            yield each
