"""The real state of ``sync_offsets``, of a group per history: filled from rows and read back into them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fakes.clusters import MemoryIndex
from fakes.reconciler_site import STARTED_MS, config_of
from offset_sync.model.values import GroupPartition, Outcome, State
from offset_sync.state.committed_offsets import CommitRecords
from offset_sync.state.group_homes import Move
from offset_sync.state.noted_writes import NotedWrite, inherit_writes
from offset_sync.state.own_writes import _Write
from offset_sync.state.restore import _assume_writes
from offset_sync.state.sync_state import SyncState
from offset_sync.sync.reconciliation import ReconcilePass
from offset_sync.sync.write_plan import Translated, plan_writes
from offset_sync.translate.partition import Translations, withhold_some
from search.rows import ABSENT, KEPT, NOW, SILENT, UNRECORDED, Layout, Views

TICK_MS, SILENCE_MS = 2_500, 3_600_000
"""Between two events; longer than clocks are uncertain. And ``sync.home_silence``."""
_TIMES = np.arange(128, dtype=np.int64)
MS = STARTED_MS + np.where(_TIMES < SILENT, -2 * SILENCE_MS + _TIMES * TICK_MS, (_TIMES - NOW) * TICK_MS)
MS[0] = ABSENT
_NUMBERS = ("actual_offset", "last_offset", "genuine_offset", "actual_is_own")
_ANSWERS = {"answered": "source_offset", "wanted": "wanted", "t_answered": "source_at_ms"}
_COLUMNS_MS = {"actual": ("actual_at_ms", "actual_made_ms"), "genuine": ("genuine_at_ms", "genuine_made_ms")}
_COLUMNS_MS |= {"rewound": ("rewound_ms",)}
_HELD, _NOT_HELD = int(Outcome.COMMITTED), int(Outcome.FAILED)
TOPIC = "orders"


def ranks(times_ms: NDArray[np.int64]) -> NDArray[np.int8]:
    """Return the ranks of times."""
    fresh, silent = (times_ms - STARTED_MS) // TICK_MS + NOW, (times_ms - STARTED_MS + 2 * SILENCE_MS) // TICK_MS
    found: NDArray[np.int8] = np.where(times_ms == ABSENT, 0, np.where(fresh > SILENT, fresh, silent)).astype(np.int8)
    return found


class Driver:
    """One process for up to *most* histories; *writer* commits at a target."""

    def __init__(self, layout: Layout, most: int, writer: Any) -> None:
        self.shape, self.most = layout.shape, most
        self.aliases = [f"dc{number}" for number in range(self.shape.clusters)]
        config = config_of(self.aliases, sync={"home_silence": f"{SILENCE_MS // 1000}s"})
        self._config, self._writer = config, writer
        places = range(self.shape.partitions)
        self.keys = [GroupPartition(f"g{number}", TOPIC, place) for number in range(most) for place in places]
        self._begin()

    def _begin(self) -> None:
        index: Any = MemoryIndex()
        self.state = SyncState(self._config, index, lambda: STARTED_MS)
        self.state.offsets.ids(self.keys)
        writers: Any = dict.fromkeys(self.aliases, self._writer)
        nothing: Any = SimpleNamespace(append=lambda _done: None)
        self.work = ReconcilePass(self._config, self.state, nothing, writers, nothing, nothing)

    def clusters(self) -> list[tuple[int, Any]]:
        return [*enumerate(self.state.offsets.clusters.values())]

    def rows(self, count: int) -> NDArray[np.intp]:
        """Return the keys of the first *count* histories."""
        return np.arange(count * self.shape.partitions)

    def _fields(self, of: Views) -> Iterator[tuple[Any, Any, bool]]:
        """Yield of each field its values in rows and in the state, and whether these are times."""
        for number, each in self.clusters():
            for name in _NUMBERS:
                yield of[name][:, number], each.columns[name], False
            for name, columns in _COLUMNS_MS.items():
                for one in columns:
                    yield of[f"t_{name}"][:, number], each.columns[one], True
            for known in (self.state.homes._since, self.state.homes._committed):
                yield of["t_committed"][:, number], known[self.aliases[number]], True
        yield of["moved_to"], self.state.homes._moves["to"], False
        yield of["t_moved"], self.state.homes._moves["at_ms"], True
        for pair, last in self._pairs():
            for name, column in _ANSWERS.items():
                yield of[name][:, *pair], last[column], name == "t_answered"

    def load(self, of: Views) -> None:
        """Know what the rows say, whatever was known before."""
        self.state.homes.of(self.rows(len(of["moved_to"])), STARTED_MS)  # has room for all
        for rows, known, is_time in self._fields(of):
            known[: rows.size] = MS[rows.ravel()] if is_time else rows.ravel()
        for number, each in self.clusters():
            is_read = of["is_read"][:, number].ravel() == 1
            for name in ("log_partition", "log_offset"):
                each.columns[name][: is_read.size] = np.where(is_read, 0, ABSENT)
            self._load_writes(each, of, number)
        for pair, last in self._pairs():
            is_answered = of["is_answered"][:, *pair].ravel() == 1
            last["outcome"][: is_answered.size] = np.where(is_answered, _HELD, _NOT_HELD)

    def _pairs(self) -> list[tuple[tuple[int, int], Any]]:
        number = {alias: each for each, alias in enumerate(self.aliases)}
        pairs = self.state.last_translations
        return [((number[a], number[b]), self.state.last(a, b).columns) for a, b in pairs]

    def _load_writes(self, each: Any, of: Views, number: int) -> None:
        pending, before = each.own_writes._pending, each._read_last
        pending.clear()
        before.clear()
        codes = of["pending"][:, number].reshape(-1, KEPT)
        for row in np.flatnonzero(codes[:, 0]).tolist():
            kept = filter(None, codes[row].tolist())
            pending[row] = [_Write(code >> 2, STARTED_MS, bool(code & 1)) for code in kept]
        rows = np.flatnonzero(of["is_before"][:, number].ravel())
        values = [of[name][:, number].ravel()[rows].tolist() for name in ("before_offset", "t_before", "before_is_own")]
        for row, offset, at, is_own in zip(rows.tolist(), *values, strict=True):
            before[row] = [offset, int(MS[at]), int(MS[at]), ABSENT, bool(is_own), False]

    def save(self, of: Views) -> NDArray[np.bool_]:
        """Put down what is known; return which histories have room for it."""
        fits = np.ones(len(of["moved_to"]), np.bool_)
        for rows, known, is_time in self._fields(of):
            found = known[: rows.size].reshape(rows.shape)
            rows[:] = ranks(found) if is_time else found
        for number, each in self.clusters():
            rows = of["is_read"][:, number]
            rows[:] = (each.columns["log_offset"][: rows.size] != ABSENT).reshape(rows.shape)
            fits &= self._save_writes(each, of, number, rows.shape)
        for pair, last in self._pairs():
            rows = of["is_answered"][:, *pair]
            rows[:] = np.isin(last["outcome"][: rows.size], (_HELD, int(Outcome.UNCHANGED))).reshape(rows.shape)
        return fits

    def _save_writes(self, each: Any, of: Views, number: int, size: tuple[int, int]) -> Any:
        codes, fits = np.zeros((size[0] * size[1], KEPT), np.int8), np.ones(size[0], np.bool_)
        for row, writes in each.own_writes._pending.items():
            fits[row // size[1]] &= len(writes) <= KEPT
            found = [each.offset << 2 | 2 | each.is_in_doubt for each in writes[-KEPT:]]
            codes[row, : len(found)] = found
        of["pending"][:, number] = codes.reshape(*size, KEPT)
        values = np.zeros((4, size[0] * size[1]), np.int64)
        values[1] = ABSENT
        for row, (offset, _, made_ms, _, is_own, _) in each._read_last.items():
            values[:, row] = 1, offset, 0 if made_ms == ABSENT else ranks(np.array([made_ms]))[0], is_own
        for name, found in zip(("is_before", "before_offset", "t_before", "before_is_own"), values, strict=True):
            of[name][:, number] = found.reshape(size)
        return fits

    def to_records(self, of: Views, cluster: int, most: int) -> tuple[list[GroupPartition], CommitRecords, Any]:
        """Return the first *most* unread records of each key, in log order, and their places among the unread."""
        unread = of["unread"][:, cluster, :, :most].reshape(-1, most)
        place, row = np.nonzero(unread.T != ABSENT)
        value, at = unread[row, place].astype(np.int64), of["t_unread"][:, cluster].reshape(-1, self.shape.unread)
        made_ms = MS[at[row, place]]
        none, number = np.full(len(row), ABSENT, np.int64), np.zeros(len(row), np.int64)
        keys = [self.keys[each] for each in row.tolist()]
        is_tombstone = np.zeros(len(row), np.bool_)
        found = CommitRecords(row, value, is_tombstone, made_ms, made_ms, number, 1 + place, [None] * len(row), none)
        return keys, found, (row, place)

    def reconcile(self, source: int, target: int, count: int, chosen: Any = None) -> None:
        """Make a pass of a direction, as ReconcilePass does, with these answers; *chosen* by ``cutover apply``."""
        state, work, is_decided = self.state, self.work, chosen is not None
        alias, other = self.aliases[source], self.aliases[target]
        rows = self.rows(count)
        if is_decided:
            offset, _ = state.offsets.clusters[alias].position(rows)
            rows = rows[np.repeat(chosen, self.shape.partitions) & (offset >= 0)]
        else:
            rows = state.rows_of(alias, rows)
        if len(rows) == 0:
            return
        commits = state.commits(alias, np.sort(rows))
        wanted, none = np.maximum(commits.offset, self.shape.starts[target]), np.zeros(len(rows), np.int64)
        is_no = np.zeros(len(rows), np.bool_)
        is_at_start = (commits.offset <= self.shape.starts[source]) & (wanted > self.shape.starts[target])
        exact = np.full(len(rows), int(State.EXACT))
        answers = Translations(commits.offset, wanted, exact, none, none, none, is_no, is_at_start, is_no)
        if not is_decided:
            answers = withhold_some(answers, work._reasons(alias, other, commits, answers))
        answered = state.last(alias, other).columns["source_offset"][commits.key]
        translated = Translated(alias, other, commits, answers, answered, STARTED_MS)
        options: Any = {"epoch": np.full(len(rows), ABSENT, np.int64), "refresh_before_ms": ABSENT}
        plan = plan_writes(state.offsets, translated, asks_everything=is_decided, is_decided=is_decided, **options)
        self._writer.source, self._writer.target = source, target
        if is_decided:  # by another process, which has said so before
            is_sent = [each.outcome is Outcome.COMMITTED for each in self._writer.write(plan.writes)]
            sent = plan.rows[np.array(is_sent, np.bool_)]
            state.offsets.clusters[other].own_writes.begin(commits.key[sent], wanted[sent])
            return
        outcomes = work._write(translated, plan)
        work._apply(translated, plan, outcomes, {}, {}, None)

    def move(self, rows: Sequence[int], targets: Sequence[int]) -> None:
        groups = [f"g{row}" for row in rows]
        moves = zip(groups, targets, strict=True)
        self.state.homes.note_moves(Move(group, TOPIC, self.aliases[to], STARTED_MS) for group, to in moves)

    def restart(self, of: Views) -> None:
        """Know what a new driver knows: the last captured commits, noted writes, and what is recorded."""
        count, rows = len(of["moved_to"]), self.rows(len(of["moved_to"]))
        for number, each in self.clusters():
            each.forget_acknowledged()
            each.own_writes._pending.clear()
            homes, made_ms = self.state.homes, each.columns["genuine_made_ms"][rows]
            homes._committed[self.aliases[number]][:count] = homes._since[self.aliases[number]][:count] = ABSENT
            is_made = made_ms != ABSENT
            homes.note_commits(self.aliases[number], rows[is_made], made_ms[is_made])
            told, when = (of[name][:, number].reshape(-1, KEPT) for name in ("told", "t_told"))
            noted = [
                NotedWrite(self.keys[row], int(told[row, place]) & ~UNRECORDED, int(MS[when[row, place]]))
                for row, place in np.argwhere(when).tolist()
            ]
            inherit_writes(self.state, self.aliases[number], noted)
            when = np.where(told & UNRECORDED, 0, when)
            last = np.flatnonzero(when.any(axis=1))
            newest = when[last].argmax(axis=1)
            columns = told[last, newest].astype(np.int64), MS[when[last, newest]] * 1000
            _assume_writes(pa.table([*map(pa.array, columns)], ["own_offset", "own_at"]), last, each)
