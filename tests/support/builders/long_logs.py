"""Two long logs in many small pages, which are counted while they are in use."""

from __future__ import annotations

import numpy as np

from fakes.pages import CountedPages, let_go_of_all_but
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Int64s, Runs

RUNS = 400
FEW = 4
"""Pages of a log that may be held at once: two that are compared, and one that is handed over on either side."""


class Mirrored:
    """Two logs of runs of one record, of X, Y and Z in turn, each in pages of four; Y has them in pairs swapped."""

    def __init__(self) -> None:
        order = np.arange(RUNS)
        self.pages = CountedPages(), CountedPages()
        self.logs = LogIndex(), LogIndex()
        for log, pages, number in zip(self.logs, self.pages, (order, order ^ 1), strict=True):
            log.extend(Runs.of(order, np.ones(RUNS), number % 3, self.origin_offset(number), np.zeros(RUNS)), RUNS)
            let_go_of_all_but(log, 1, 4, pages)
            assert len(log.paged.pages) > 60

    @staticmethod
    def origin_offset(number: Int64s) -> Int64s:
        """The number of a record of X or Y is its offset there."""
        return np.select([number % 3 == 0, number % 3 == 1], [number, number ^ 1], number // 3)

    def most(self) -> int:
        """How many pages of a log were held at once."""
        return max(pages.most for pages in self.pages)
