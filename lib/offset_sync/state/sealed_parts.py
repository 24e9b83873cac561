"""The parts of all sealed files by log and offset, from their directories; no row is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from offset_sync.state.index_rows import RowReader
from offset_sync.tables.segments import PART, PART_KINDS, PART_TIMES, SPAN, UNKNOWN, Columns, Sealed
from offset_sync.translate.index.log_index import KnownPages
from offset_sync.translate.index.runs import Int64s, Runs
from offset_sync.translate.index.stretches import NONE_HIGH, NONE_LOW, OriginSpans, Stretches

_PART = ("file", "first_row", *PART, *PART_TIMES, *PART_KINDS)


@dataclass(frozen=True)
class SealedParts:
    """Parts by log (a :class:`RowReader`'s number) and offset, where each is stored, and what is known of its records.

    *paths* are those of the files by number. *columns* are those of a :class:`Directory`, with the numbers of file and
    first row; *spans* and *unknown* are sorted by the number of the part here, and have the codes of origins.
    """

    paths: list[str]
    columns: Columns
    spans: Columns
    unknown: Columns

    @classmethod
    def of(cls, files: Iterable[Sealed], reader: RowReader, code: Callable[[str], int]) -> SealedParts:
        """Return the parts of sealed *files*; *reader* has numbers for logs, *code* gives codes to origins."""
        paths = list[str]()
        tables: list[list[Columns]] = [[], [], []]
        count = 0
        for each in files:
            said, columns = each.directory, dict(each.directory.parts)
            logs = np.array([reader.number_of(log) for log in said.logs], np.int64)
            origins = np.array([code(origin) for origin in said.origins], np.int64)
            columns["log"] = logs[columns["log"]]
            columns["first_row"] = said.first_rows()
            columns["file"] = np.full(len(columns["log"]), len(paths))
            spans, unknown = dict(said.spans), dict(said.unknown)
            spans["origin"] = origins[spans["origin"]]
            spans["part"], unknown["part"] = spans["part"] + count, unknown["part"] + count
            for table, found in zip(tables, (columns, spans, unknown), strict=True):
                table.append(found)
            count, paths = count + len(columns["log"]), [*paths, each.path]
        parts, all_spans, all_unknown = map(_joined, tables, (_PART, SPAN, UNKNOWN))
        order = np.lexsort((parts["newest_ms"], parts["end"], parts["start"], parts["log"]))
        rank = np.empty(count, np.int64)
        rank[order] = np.arange(count)
        return cls(paths, _taken(parts, order), _by_part(all_spans, rank), _by_part(all_unknown, rank))

    def of_log(self, number: int) -> range:
        """Return the parts of a log."""
        first, end = np.searchsorted(self.columns["log"], [number, number + 1]).tolist()
        return range(first, end)

    def place(self, part: int) -> tuple[str, int, int]:
        """Return the file of a part, the row group in it, and the first row in that."""
        file, group, first_row = (int(self.columns[name][part]) for name in ("file", "group", "first_row"))
        return self.paths[file], group, first_row

    def column(self, name: str, parts: range) -> Int64s:
        """Return a column of some *parts*, shape (parts,)."""
        return self.columns[name][parts.start : parts.stop]

    def known(self, parts: range, begin: int) -> KnownPages:
        """Return what is known of consecutive *parts* of a log, from *begin* on; those with runs are pages.

        The others hold no record.
        """
        (spans, part), filled = self._rows(self.spans, parts), self.column("runs", parts) > 0
        page = np.cumsum(filled) - 1
        columns = {name: self.column(name, parts)[filled] for name in (*PART, *PART_TIMES)}
        pages, found, first_runs = len(columns["end"]), dict[int, OriginSpans](), dict[int, Runs]()
        for origin in np.unique(spans["origin"]).tolist():
            mine = np.flatnonzero(spans["origin"] == origin)
            each = OriginSpans(*(np.full(pages, value, np.int64) for value in (NONE_LOW, NONE_HIGH, 0)))
            for column, name in zip(each, ("low", "high", "records"), strict=True):
                column[page[part[mine]]] = spans[name][mine]
            found[origin], first = each, mine[:1]
            start, length, origin_start, at_ms = (spans[name][first] for name in SPAN[-4:])
            first_runs[origin] = Runs.of(start, length, [origin], origin_start, at_ms)
        end = columns["end"]
        stretches = Stretches(
            np.concatenate(([begin], end))[: len(end)],
            end,
            columns["first_record"],
            columns["records"],
            columns["newest_ms"],
            spans=found,
        )
        (unknown, _), complete_ms = self._rows(self.unknown, parts), self.column("complete_ms", parts)
        known_ms = complete_ms[complete_ms > 0]
        return KnownPages(
            stretches,
            int(columns["runs"].sum()),
            first_runs,
            unknown["start"],
            unknown["length"],
            columns["oldest_ms"],
            int(columns["grew_ms"].max(initial=0)),
            int(known_ms[-1]) if len(known_ms) else 0,
            int(columns["reorders"].sum()),
        )

    def _rows(self, table: Columns, parts: range) -> tuple[Columns, Int64s]:
        """Return the rows of *table* of these *parts*, and the number of each row's part among them."""
        first, end = np.searchsorted(table["part"], [parts.start, parts.stop]).tolist()
        return {name: column[first:end] for name, column in table.items()}, table["part"][first:end] - parts.start


def _joined(tables: list[Columns], names: tuple[str, ...]) -> Columns:
    nothing = np.empty(0, np.int64)
    return {name: np.concatenate([nothing, *(table[name] for table in tables)]) for name in names}


def _taken(columns: Columns, rows: Int64s) -> Columns:
    return {name: column[rows] for name, column in columns.items()}


def _by_part(columns: Columns, rank: Int64s) -> Columns:
    numbered = {**columns, "part": rank[columns["part"]]}
    return _taken(numbered, np.argsort(numbered["part"], kind="stable"))
