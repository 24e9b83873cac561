"""All of ``record_runs`` taken in at once, of any size: what is too much for memory lies on the disk meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pyarrow as pa

from offset_sync.model.values import ClusterPartition
from offset_sync.state.bounded_rows import without_bounds
from offset_sync.state.incarnations import KnownIncarnations, to_edges
from offset_sync.state.index_logs import IndexLogs
from offset_sync.state.index_pages import IndexPages
from offset_sync.state.index_rows import IndexRows, RowReader, readable
from offset_sync.state.read_ahead import read_ahead
from offset_sync.state.staged_rows import LogPart, StagedRows
from offset_sync.tables.sorted_files import Block
from offset_sync.translate.index.runs import Runs

logger = logging.getLogger(__name__)
_WORKERS = 2
"""So many logs of a large table are taken in side by side: what takes time there are long arrays, without the GIL."""


class IndexStart:
    """Reads the table by *parts*, in any order; *pages* says how much may be in memory."""

    def __init__(self, reader: RowReader, pages: IndexPages, parts: Iterable[pa.Table | Block]) -> None:
        self._reader, self._pages = reader, pages
        self._rows = StagedRows(pages.rows_at_once)
        self._edges: dict[ClusterPartition, dict[int, int]] = {}
        self.newest_ms: int | None = None
        for part in read_ahead(map(self._read, parts)):
            if isinstance(part, Block):
                self._saw(max(each.newest_ms for each in part.parts))
                numbered = [LogPart(reader.number_of(each.log), each.first, each.rows) for each in part.parts]
                self._rows.add_block(numbered, partial(self._read_block, part))
                continue
            if len(part):
                self._saw(int(part.seen_ms.max()))
            self._rows.add(part)

    def _read(self, part: pa.Table | Block) -> IndexRows | Block:
        return part if isinstance(part, Block) else self._reader.read(part)

    def _read_block(self, block: Block) -> IndexRows:
        return self._reader.read(block.read())

    def _saw(self, newest_ms: int) -> None:
        self.newest_ms = max(newest_ms, self.newest_ms or 0)

    def taken_in(self, lives: KnownIncarnations) -> IndexLogs:
        """Return the logs as they are by *lives*, which were read after the rows."""
        found = IndexLogs()
        self._look_for_cuts(found, lives)
        kept, shares = self._pages.share(self._rows.sizes), self._rows.shares(_WORKERS)
        take_in = partial(self._take_in, found, lives, kept, len(shares))
        if len(shares) == 1:
            take_in(shares[0])
        else:
            with ThreadPoolExecutor(len(shares)) as workers:
                list(workers.map(take_in, shares))
        found.sort(self._reader.logs)
        return found

    def _take_in(
        self, found: IndexLogs, lives: KnownIncarnations, kept: int, workers: int, mine: frozenset[int]
    ) -> None:
        """Take in the logs of these numbers into *found*, one after the other."""
        for rows in read_ahead(self._rows.in_order(mine, workers)):
            for number, of_log in rows.by_log():
                if number not in mine:
                    continue
                place = self._reader.logs[number]
                is_timed = self._reader.is_timed(place.topic)
                found.take_in_part(place, of_log, lives, self._edges_in(place, of_log), is_timed=is_timed)
                if (log := found.logs.get(place)) is not None:
                    self._pages.trim([(log, kept)])

    def _look_for_cuts(self, found: IndexLogs, lives: KnownIncarnations) -> None:
        """Note what cuts have taken of the logs of *found*, and how far they were read before.

        Any row of a log may tell, so this is to be known before the first one of it is taken in.
        """
        concerned = {number for number, log in enumerate(self._reader.logs) if lives.concern(log)}
        for rows in self._rows.in_order(frozenset(concerned)) if concerned else ():
            for number, of_log in rows.by_log():
                if number in concerned:
                    place, runs = self._reader.logs[number], readable(without_bounds(of_log).runs)
                    found.lose(place, lives.lost(place, runs))
                    edges = self._edges.setdefault(place, {})
                    self._edges[place] = lives.known_to_the_cut(place, runs) | edges

    def _edges_in(self, log: ClusterPartition, rows: IndexRows) -> Runs:
        """Return the edges that lie among *rows* or before them, once."""
        edges, last = self._edges.get(log, {}), int(rows.start[-1])
        here = {place: edges.pop(place) for place in sorted(edges) if place <= last}
        return to_edges(here)
