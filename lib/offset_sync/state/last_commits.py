"""A history of commits, of any length and in any order, reduced to one row per cluster and key.

A commit below the one before it is a rewind. To find a group's last rewind all of its commits have to be sorted, so
they are held as numbers, 32 bytes each; beyond a bounded number they spill to disk, partitioned by key.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT, POLLED
from offset_sync.state.commit_log_incarnations import Places
from offset_sync.state.index_rows import int64s
from offset_sync.state.row_groups import RowGroups, keys_at
from offset_sync.tables.catalog import OFFSET_COMMITS

Codes: TypeAlias = NDArray[np.int64]


class KeyCodes:
    """A number for each key that was met, from 0 on; a key is the values of the columns *names*."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)
        self._codes: dict[tuple[Any, ...], int] = {}

    def __len__(self) -> int:
        return len(self._codes)

    def of(self, rows: pa.Table) -> Codes:
        """Return the number of each row's key, shape (rows,)."""
        columns = [rows.column(name) for name in self._names]
        group, first = RowGroups.of(columns)
        codes = [self._codes.setdefault(key, len(self._codes)) for key in keys_at(columns, first)]
        return np.array(codes, np.int64)[group]

    def columns(self) -> dict[str, list[Any]]:
        """Return the keys, by column, in the order of their numbers."""
        keys = list(self._codes)
        return {name: [key[place] for key in keys] for place, name in enumerate(self._names)}


def last_of_each(code: Codes, order: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return, for each number in *code*, the row with the greatest *order*; of equal ones the last."""
    if len(code) == 0:
        return np.empty(0, np.intp)
    rows = np.lexsort((order, code))
    return rows[np.flatnonzero(np.append(code[rows][1:] != code[rows][:-1], True))]


HELD_ROWS = 2_000_000
_PARTS = 64
Int64s: TypeAlias = NDArray[np.int64]


class Rewinds:
    """Commits of keys by their numbers, at most *held* in memory; closing it deletes its files."""

    def __init__(self, held: int = HELD_ROWS) -> None:
        self._most = held
        self._held: list[Int64s] = []
        self._rows = 0
        self._stack = ExitStack()
        self._folder: Path | None = None

    def __enter__(self) -> Rewinds:
        return self

    def __exit__(self, *_problem: object) -> None:
        self._stack.close()

    def add(self, code: Int64s, place: Int64s, offset: Int64s, at_ms: Int64s) -> None:
        """Take in commits of the keys *code*: the place of each among those of its key, its offset and time."""
        self._held.append(np.stack([code, place, offset, at_ms], axis=1))
        self._rows += len(code)
        if self._rows > self._most:
            self._put_away()

    def last_ms(self, keys: int) -> Int64s:
        """Return when each key was last set back, shape (keys,); ABSENT: never."""
        found = np.full(keys, ABSENT, np.int64)
        for rows in self._parts():
            code, _, offset, at_ms = rows[np.lexsort((rows[:, 1], rows[:, 0]))].T
            went_back = (code[1:] == code[:-1]) & (offset[1:] < offset[:-1])
            np.maximum.at(found, code[1:][went_back], at_ms[1:][went_back])
        return found

    def _parts(self) -> Iterator[Int64s]:
        if self._folder is None:
            yield np.concatenate([np.empty((0, 4), np.int64), *self._held])
            return
        self._put_away()
        for file in sorted(self._folder.iterdir()):
            yield np.fromfile(file, np.int64).reshape(-1, 4)

    def _put_away(self) -> None:
        if self._folder is None:
            self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="offset-sync-")))
        rows = np.concatenate([np.empty((0, 4), np.int64), *self._held])
        part = rows[:, 0] % _PARTS
        for number in np.unique(part).tolist():
            with (self._folder / str(number)).open("ab") as file:
                rows[part == number].tofile(file)
        self._held, self._rows = [], 0


KEY = ["group_id", "topic", "partition"]
_NULL = np.iinfo(np.int64).min
_ACTUAL = (
    *("log_partition", "log_offset", "actual_offset", "actual_at_ms", "actual_made_ms", "actual_epoch"),
    *("actual_is_own", "is_deleted"),
)
_GENUINE = ("genuine_offset", "genuine_at_ms", "genuine_made_ms", "genuine_epoch")
_PLACED = ("last_offset", "topic_id")
_FLAGS = ("actual_is_own", "is_deleted")
LAST_COMMITS_SCHEMA = pa.schema(
    [OFFSET_COMMITS.arrow_schema.field(name) for name in ("cluster", *KEY)]
    + [
        (name, pa.string() if name == "topic_id" else pa.bool_() if name in _FLAGS else pa.int64())
        for name in (*_ACTUAL, *_GENUINE, *_PLACED, "rewound_ms", "first_ms", "captured_ms")
    ]
)
"""The newest existing commit, the newest genuine one, the last rewind, and when a row was captured last."""


def last_commits(batches: Iterable[pa.Table], places: Places) -> pa.Table:
    """Reduce rows of ``offset_commits`` to one per cluster and key; a commit below the one before it is a rewind.

    A key whose records were all truncated has no position from the moment that was noticed. A tombstone that is last
    again, because later commits are gone, is no deletion: the group has committed after it.
    """
    with Rewinds() as rewinds:
        fold = _Fold(places, rewinds)
        for rows in batches:
            fold.add(rows)
        return fold.rows()


class _Winners:
    """The last row of each key by some order, with some of its columns."""

    def __init__(self, names: Iterable[str]) -> None:
        self._order = np.empty(0, np.int64)
        self._columns: dict[str, NDArray[Any]] = {name: np.empty(0, object) for name in names}

    def add(self, code: Codes, order: NDArray[np.int64], columns: dict[str, Any]) -> None:
        """Take in rows; *columns* are arrays, or Arrow's."""
        rows = last_of_each(code, order)
        if len(rows) == 0:
            return
        self.fit(int(code.max()) + 1)
        rows = rows[order[rows] >= self._order[code[rows]]]
        keys = code[rows]
        self._order[keys] = order[rows]
        for name, values in columns.items():
            is_arrow = isinstance(values, pa.ChunkedArray)
            found = values.take(pa.array(rows)).to_numpy() if is_arrow else values[rows]
            self._columns[name][keys] = found

    def fit(self, keys: int) -> None:
        """Make room for so many keys."""
        missing = keys - len(self._order)
        if missing > 0:
            missing = max(missing, len(self._order))
            self._order = np.concatenate([self._order, np.full(missing, _NULL)])
            for name, values in self._columns.items():
                self._columns[name] = np.concatenate([values, np.full(missing, None, object)])

    def column(self, name: str, keys: int) -> list[Any]:
        """Return a column of the last rows, None for a key without one."""
        self.fit(keys)
        return [None if value is None or value == _NULL else value for value in self._columns[name][:keys].tolist()]


class _Fold:
    """The history taken in so far."""

    def __init__(self, places: Places, rewinds: Rewinds) -> None:
        self._places, self._rewinds = places, rewinds
        self._codes = KeyCodes(["cluster", *KEY])
        self._actual, self._genuine = _Winners([*_ACTUAL[:-1], "is_tombstone"]), _Winners(_GENUINE)
        self._placed = _Winners(_PLACED)
        self._newest = _Winners(["is_tombstone"])
        self._captured, self._first = _Winners(["captured_ms"]), _Winners(["first_ms"])

    def add(self, rows: pa.Table) -> None:
        """Take in rows of ``offset_commits``, in any order."""
        code, at_ms = self._codes.of(rows), committed_at_ms(rows)
        made_ms, epoch = made_at_ms(rows), int64s(rows.column("leader_epoch"), ABSENT)
        gone_ms, newest, place = self._places.of(rows)
        exists, is_tombstone = gone_ms == ABSENT, rows.column("is_tombstone").to_numpy()
        offset, is_own = int64s(rows.column("committed_offset"), ABSENT), rows.column("is_own").to_numpy()
        is_position = ~is_tombstone & (offset >= 0)
        actual = {
            "log_partition": np.where(exists, int64s(rows.column("log_partition")), _NULL),
            "log_offset": np.where(exists, rows.column("log_offset").to_numpy(), _NULL),
            "actual_offset": np.where(is_position & exists, offset, _NULL),
            "actual_at_ms": np.where(exists, at_ms, gone_ms),
            "actual_made_ms": np.where(exists, made_ms, gone_ms),
            "actual_epoch": np.where(is_position & exists, epoch, ABSENT),
            "actual_is_own": is_own & exists,
            "is_tombstone": is_tombstone,
        }
        self._actual.add(code, place, actual)
        self._newest.add(code, newest, {"is_tombstone": is_tombstone})
        captured_ms = _milliseconds(rows, "captured_at")
        self._captured.add(code, captured_ms, {"captured_ms": captured_ms})
        is_genuine = is_position & ~is_own
        genuine = np.flatnonzero(is_genuine)
        columns = {"genuine_offset": offset, "genuine_at_ms": at_ms, "genuine_made_ms": made_ms, "genuine_epoch": epoch}
        self._genuine.add(code[genuine], place[genuine], {name: values[genuine] for name, values in columns.items()})
        self._first.add(code[genuine], -made_ms[genuine], {"first_ms": made_ms[genuine]})
        placed = np.flatnonzero(is_genuine | (is_position & exists))
        topic_id = rows.column("topic_id").take(pa.array(placed))
        self._placed.add(code[placed], place[placed], {"last_offset": offset[placed], "topic_id": topic_id})
        # What we wrote is no rewind of the group's; a commit of its own below that is.
        rewound_ms = np.where(is_own, ABSENT, made_ms)
        self._rewinds.add(code[placed], place[placed], offset[placed], rewound_ms[placed])

    def rows(self) -> pa.Table:
        """Return rows of :data:`LAST_COMMITS_SCHEMA`."""
        count = len(self._codes)
        found: dict[str, Any] = self._codes.columns()
        found |= {name: self._actual.column(name, count) for name in _ACTUAL[:-1]}
        found |= {name: self._genuine.column(name, count) for name in _GENUINE}
        found |= {name: self._placed.column(name, count) for name in _PLACED}
        last = zip(self._actual.column("is_tombstone", count), self._newest.column("is_tombstone", count), strict=True)
        found["is_deleted"] = [of_place and of_newest for of_place, of_newest in last]
        rewound = self._rewinds.last_ms(count)
        found["rewound_ms"] = pa.array(rewound, mask=rewound == ABSENT)
        found["first_ms"] = self._first.column("first_ms", count)
        found["captured_ms"] = self._captured.column("captured_ms", count)
        return pa.table([pa.array(found[f.name], f.type) for f in LAST_COMMITS_SCHEMA], schema=LAST_COMMITS_SCHEMA)


def committed_at_ms(rows: pa.Table) -> NDArray[np.int64]:
    """Return when the commits of rows of ``offset_commits`` were made, by the cluster's clock.

    Of polled commits the earliest time by ours: that of the poll before, ABSENT where there was none.
    """
    since_us = int64s(rows.column("not_before"), ABSENT)
    is_polled = rows.column("log_partition").to_numpy() <= POLLED
    return np.where(is_polled, since_us // 1000, _milliseconds(rows, "committed_at"))


def made_at_ms(rows: pa.Table) -> NDArray[np.int64]:
    """Return when the commits of rows of ``offset_commits`` were made, by the clock of the capturing driver."""
    return _milliseconds(rows, "made_at")


def _milliseconds(rows: pa.Table, name: str) -> NDArray[np.int64]:
    return int64s(rows.column(name)) // 1000
