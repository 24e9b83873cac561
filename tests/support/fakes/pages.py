"""Pages of a log that its index has let go of, in memory all the same; each reading is counted."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field

from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.paged_runs import columns_of
from offset_sync.translate.index.runs import Runs


@dataclass
class KeptPages:
    """The pages of one log."""

    pages: dict[tuple[int, int], Runs] = field(default_factory=dict)
    asked: list[tuple[int, int]] = field(default_factory=list)

    def keep(self, page: Runs, first: int, end: int) -> None:
        """Keep a page."""
        self.pages[first, end] = Runs(*(column.copy() for column in columns_of(page)))

    def read(self, first: int, end: int) -> Runs:
        """Return the runs of a page."""
        self.asked.append((first, end))
        return self.pages[first, end]


@dataclass
class CountedPages(KeptPages):
    """Pages that are read anew each time; *most* says how many anybody held at once, whole or in part."""

    alive: int = 0
    most: int = 0

    def read(self, first: int, end: int) -> Runs:
        """Return the runs of a page, which are counted until nobody holds any column of them."""
        page = Runs(*(column.copy() for column in columns_of(super().read(first, end))))
        self.alive += 1
        self.most = max(self.most, self.alive)
        columns = [id(column) for column in columns_of(page)]
        for column in columns_of(page):
            weakref.finalize(column, self._gone, columns, id(column))
        return page

    def _gone(self, columns: list[int], column: int) -> None:
        columns.remove(column)
        self.alive -= not columns


def let_go_of_all_but(index: LogIndex, kept: int, page_runs: int, pages: KeptPages) -> None:
    """Have *index* let go of pages of so many runs each, until it has not more than *kept* beside the next page."""
    count = (len(index.paged.tail) - max(kept, 1)) // page_runs
    if count > 0:
        index.let_go(count, page_runs, pages)
