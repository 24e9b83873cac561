"""Any history of appends, seals, joins, cuts, clean-ups and starts, by several processes, with any interruption."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from histories.calls import CALLS, ENDS, ERRORS, NEVER, Interruption
from histories.disk import DAMAGE
from histories.model import LOGS, of_rows, records_in, records_of
from histories.world import KEEP, MEANWHILE, PAUSE_S, World
from offset_sync.state.record_index import RecordIndex
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.definition import Table
from offset_sync.tables.segments import PREFIX
from offset_sync.tables.store import TableStore

_MOST_CALLS = 24
_WHAT = st.sampled_from([*ENDS, *ERRORS, *MEANWHILE])
_CALL = st.sampled_from([*["put_new"] * 6, *["write_parquet"] * 3, *(name for _, name in CALLS)])
"""Most between what is looked at, written and entered."""
BY = st.one_of(
    st.just(NEVER),
    st.builds(Interruption, _WHAT, st.just(""), st.integers(0, _MOST_CALLS)),
    st.builds(Interruption, _WHAT, _CALL, st.sampled_from([0, 0, 0, 1, 2])),
)
_STRETCH = st.tuples(
    st.integers(0, len(LOGS) - 1), st.sampled_from(["dc1", "dc2", ""]), st.integers(0, 1), st.integers(1, 3)
)
_STRETCHES = st.lists(_STRETCH, min_size=1, max_size=6)
_STEPS: dict[str, tuple[int, tuple[st.SearchStrategy[Any], ...]]] = {
    # How often, and what is given to the method of this name.
    "append": (4, (_STRETCHES,)),
    "append_on": (4, (st.lists(_STRETCHES, min_size=2, max_size=4),)),
    "seal": (3, (st.sampled_from([1, 12]),)),
    "compact": (2, (st.sampled_from([PREFIX, PREFIX, None]),)),
    "cut": (2, (st.tuples(*[st.integers(0, 3)] * len(LOGS)),)),
    "clean_up": (2, (st.sampled_from([1, 3, PAUSE_S, 3 * PAUSE_S]),)),
    "read": (1, ()),
    "follow_rows": (3, ()),
    "follow_index": (4, ()),
    "start_readers": (1, ()),
    "lose_power": (1, (st.sampled_from([*DAMAGE]), st.sampled_from([*DAMAGE]))),
}


@st.composite
def _steps(draw: st.DrawFn) -> tuple[Any, ...]:
    name = draw(st.sampled_from([name for name, (often, _) in _STEPS.items() for _ in range(often)]))
    given = tuple(draw(each) for each in _STEPS[name][1])
    return (name, *given) if name in _UNINTERRUPTED else (name, *given, draw(BY))


DONE = Counter[str]()
"""How often each step was taken; ``end``: how many histories have ended."""
_UNINTERRUPTED = ("append_on", "start_readers", "lose_power")
STEPS = _steps()
DAMAGES = st.tuples(*_STEPS["lose_power"][1])


def histories(empty: Path) -> type[RuleBasedStateMachine]:
    class Histories(_Histories):
        def __init__(self) -> None:
            super().__init__(World(empty))

    return Histories


class _Histories(RuleBasedStateMachine):
    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world
        self._start_readers()

    def _start_readers(self) -> None:
        self.rows, self.index = RowFollower(self.world), IndexFollower(self.world)

    def teardown(self) -> None:
        DONE["end"] += 1
        self.world.close()

    @precondition(lambda machine: not machine.world.is_down)
    @rule(step=STEPS)
    def go_on(self, step: tuple[Any, ...]) -> None:
        name, *given = step
        DONE[name] += 1
        of: dict[str, Any] = {
            "follow_rows": self.rows.follow,
            "follow_index": self.index.follow,
            "start_readers": self._start_readers,
        }
        (of.get(name) or getattr(self.world, name))(*given)

    @precondition(lambda machine: machine.world.is_down)
    @rule(by=BY, left=DAMAGES)
    def boot(self, by: Interruption, left: tuple[str, str]) -> None:
        self.world.lose_power(*left)
        self.world.boot(by)
        self._start_readers()

    @precondition(lambda machine: not machine.world.is_down)
    @invariant()
    def a_reader_that_starts_finds_what_there_is(self) -> None:
        self.world.ledger.settle(self.world.clock.seconds)


class _Noting(TableStore):
    is_whole = False

    def _read_whole(self, table: Table) -> tuple[pa.Table, int]:
        self.is_whole = True
        return super()._read_whole(table)


class RowFollower:
    """Has every row once, unless it was told to read all of them again."""

    def __init__(self, world: World) -> None:
        self._world, self._tables = world, _Noting(str(world.root))
        self._seen, self._version = Counter[object](), cast("int | None", None)

    def follow(self, by: Interruption) -> None:
        """Read on; what is read has to be what is there."""
        world, found = self._world, list[tuple[pa.Table, int]]()
        self._tables.is_whole = False

        def end() -> None:
            self.__init__(world)  # type: ignore[misc]

        if not world.run(
            lambda: found.append(self._tables.rows_since(RECORD_RUNS, self._version)), by, ends=end, only_reads=True
        ):
            return
        ((rows, self._version),) = found
        self._seen = of_rows(rows) + (Counter() if self._tables.is_whole else self._seen)
        if not by.what:
            assert {*self._seen} <= world.ledger.ever
            assert {*world.ledger.held.rows} <= {*self._seen}, "not followed: a row"
            twice = [row for row, times in self._seen.items() if times > 1]
            assert not twice, f"came twice: {twice}"


class IndexFollower:
    def __init__(self, world: World) -> None:
        self._world = world
        self._start()

    def _start(self) -> None:
        self._index = RecordIndex(self._world.store(), memory_bytes=1, keep=KEEP)

    def follow(self, by: Interruption) -> None:
        """Read on; what is known then is what is there, and at most what has been cut."""
        world = self._world
        if not world.run(self._index.refresh, by, ends=self._start, only_reads=True) or by.what:
            return
        known, ever = records_in(self._index), records_of(world.ledger.ever)
        for log, (begin, end, records) in records_of(world.ledger.held.rows).items():
            known_from, known_to, known_records = known[log]
            assert (known_from <= begin, known_to) == (True, end), f"{log}: {known_from} to {known_to}"
            assert {at: what for at, what in known_records.items() if at >= begin} == records
            assert known_records.items() <= ever[log][2].items()
