"""Pages of a log that its index has let go of, in memory all the same; each reading is counted."""

from __future__ import annotations

from dataclasses import dataclass, field

from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Runs
from offset_sync.translate.index.stretches import Stretches, in_a_row


@dataclass
class KeptPages:
    """The pages of one log; *asked* has the numbers of those that were read."""

    pages: list[Runs] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)

    def read(self, number: int) -> Runs:
        """Return the runs of a page."""
        self.asked.append(number)
        return self.pages[number]


def let_go_of_all_but(index: LogIndex, kept: int, page_runs: int, pages: KeptPages) -> None:
    """Have *index* let go of pages of so many runs each, until it has not more than *kept* beside the next page.

    Every third page ends within its last run, as files do that were sealed in between.
    """
    tail, begin, found, runs = index.paged.tail, index.paged.tail_begin, list[Stretches](), 0
    for number in range((len(tail) - kept) // page_runs):
        last = (number + 1) * page_runs
        end = int(tail.start[last]) if last < len(tail) else index.frontier
        if number % 3 == 2:
            end = max(begin + 1, int(tail.end[last - 1]) - int(tail.length[last - 1]) // 2)
        page = tail.from_offset(begin).below(end)
        if len(page):
            found.append(Stretches.of(page, begin, end))
            pages.pages.append(Runs(*(column.copy() for column in page.columns)))
            begin, runs = end, runs + len(page)
    if found:
        index.let_go(in_a_row(found), runs, pages)
