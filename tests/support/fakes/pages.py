"""Pages of a log that its index has let go of, in memory all the same; each reading is counted."""

from __future__ import annotations

from dataclasses import dataclass, field

from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.paged_runs import columns_of
from offset_sync.translate.index.runs import Runs


@dataclass
class KeptPages:
    """The pages of one log."""

    pages: dict[tuple[int, int], Runs] = field(default_factory=dict)
    asked: list[tuple[int, int]] = field(default_factory=list)

    def read(self, first: int, end: int) -> Runs:
        """Return the runs of a page."""
        self.asked.append((first, end))
        return self.pages[first, end]

    def take_from(self, index: LogIndex, runs: int) -> None:
        """Have *index* let go of its oldest *runs*; the last one in memory it keeps."""
        tail, first = index.paged.tail, index.paged.tail_begin
        page = tail.take(slice(0, runs))
        self.pages[first, int(tail.start[runs])] = Runs(*(column.copy() for column in columns_of(page)))
        index.let_go(runs, self)


def let_go_of_all_but(index: LogIndex, kept: int, page_runs: int, pages: KeptPages) -> None:
    """Have *index* let go of pages of so many runs each, until it has not more than *kept* beside the next page."""
    while len(index.paged.tail) > max(kept, 1) + page_runs - 1:
        pages.take_from(index, page_runs)
