"""Processes that write, maintain and follow one set of tables, and what the tables have to hold by then."""

from __future__ import annotations

import shutil
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import timedelta
from itertools import count
from pathlib import Path
from tempfile import mkdtemp

import pyarrow as pa
import pytest
from deltalake.exceptions import DeltaError

from histories.calls import ENDS, NEVER, POWER, Calls, Interruption, KilledError
from histories.clock import HOUR_S, Clock, keep_for
from histories.disk import Disk
from histories.ledger import Ledger
from histories.model import Row, Source, Stretch, of_rows, to_begins, to_rows
from offset_sync.model.errors import TableError
from offset_sync.state import record_index, seal
from offset_sync.tables import segments
from offset_sync.tables.catalog import INDEXED_TOPICS, LOG_INCARNATIONS, RECORD_RUNS
from offset_sync.tables.maintenance import Maintainer
from offset_sync.tables.segments import PREFIX
from offset_sync.tables.store import TableStore

KEEP = timedelta(hours=10)
TABLES = (RECORD_RUNS, INDEXED_TOPICS, LOG_INCARNATIONS)
_FAILURES = (OSError, DeltaError, TableError, RuntimeError)
PAUSE_S = 4 * HOUR_S
"""Longer than a file may wait for its entry, and never a multiple of what is kept."""


def template() -> Path:
    tables = TableStore(mkdtemp(prefix="histories-"))
    tables.create(TABLES, tests_storage=False)
    for table in TABLES:
        keep_for(tables.log(table), KEEP)
        tables.log(table).set_properties({"delta.checkpointInterval": "5"})
    return Path(tables.root)


def _nothing() -> None:
    pass


class World:
    """All of it; an operation is a method, and :meth:`run` has it be interrupted."""

    def __init__(self, empty: Path) -> None:
        self._stack = ExitStack()
        self.root = Path(mkdtemp(prefix="history-")) / "tables"
        self._stack.callback(shutil.rmtree, self.root.parent, ignore_errors=True)
        shutil.copytree(empty, self.root)
        self.disk, self.calls = Disk(self.root), Calls()
        self.clock = Clock(self.disk)
        patch = self._stack.enter_context(pytest.MonkeyPatch.context())
        for each in (self.disk, self.clock, self.calls):
            each.watch(patch)
        numbers = count()
        patch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=next(numbers)))  # names decide which file comes first
        for module, name, value in ((seal, "FILE_ROWS", 24), (segments, "GROUP_ROWS", 16)):
            patch.setattr(module, name, value)
        patch.setattr(record_index, "MOST_UNSEALED", 48)
        self.source, self.ledger = Source(), Ledger(self.root, KEEP.total_seconds())
        self.plan: tuple[int, list[Row]] = (0, [])
        self.is_down, self.is_sure = False, True
        self._broken = list[BaseException]()
        self.writer, self.keeper, self.other = self.store(), self.store(), self.store()

    def close(self) -> None:
        self._stack.close()

    def store(self) -> TableStore:
        """Return the tables as a process that starts now has them."""
        return TableStore(str(self.root))

    # Interruptions

    def run(
        self,
        act: Callable[[], object],
        by: Interruption = NEVER,
        *,
        ends: Callable[[], object],
        only_reads: bool = False,
    ) -> bool:
        """Let a process *act*; return whether it did so to its end. It *ends* where it is killed.

        One that *only_reads* does not fail by what others do.
        """
        try:
            with self.calls.interrupted(by, self._interrupt):
                act()
            return True
        except KilledError:
            ends()
            if by.what == POWER:
                self._die()
        except _FAILURES:
            if not by.what or not self.calls.has_met or (only_reads and by.what in MEANWHILE):
                raise
        finally:
            if self._broken:
                raise self._broken[0]
        return False

    def _interrupt(self, what: str, call: str) -> None:
        if what in ENDS:
            raise KilledError(what)
        if (what, call) == ("hours pass", "put_new"):
            return  # an entry that was looked at hours ago: of its file nothing is promised
        problems = list[BaseException]()

        def act() -> None:
            try:
                MEANWHILE[what](self)
            except BaseException as problem:
                problems.append(problem)

        other = threading.Thread(target=act)
        other.start()
        other.join()
        self._broken += problems  # what it interrupts must not take this for a failure of its own

    def _die(self) -> None:
        self.is_down = True
        self._end_writer()

    def lose_power(self, of_logs: str, of_data: str) -> None:
        """Leave of what was not stored what is left."""
        self._die()
        self.ledger.fail()
        self.disk.fail(of_logs, of_data)

    def boot(self, by: Interruption) -> None:
        """Start again after a power failure: logs are repaired."""
        self.is_down = not self.run(lambda: self.store().create(TABLES, tests_storage=False), by, ends=_nothing)
        if not self.is_down:
            self._end_keeper()
            self.other = self.store()
            self.ledger.begin()

    def pass_time(self, seconds: float) -> None:
        self.ledger.kept.note(self.clock.seconds)
        self.clock.pass_seconds(seconds)

    # The writer

    def append(self, stretches: Sequence[Stretch], by: Interruption = NEVER) -> None:
        """Append the next micro-batch, or the last one again where the driver cannot know that it is there."""
        if self.is_sure and self.ledger.held.appended == self.plan[0]:
            self.plan = self.plan[0] + 1, self.source.read(stretches)
        number, rows = self.plan

        def act() -> None:
            self.writer.append(RECORD_RUNS, to_rows(rows), ("query", number))

        self.is_sure = self.run(act, by, ends=self._end_writer)
        (self.ledger.enter if self.is_sure else self.ledger.doubt)(lambda held: held.with_rows(number, rows))

    def append_on(self, batches: Sequence[Sequence[Stretch]]) -> None:
        for each in batches:
            self.append(each)

    def _end_writer(self) -> None:
        self.writer, self.is_sure = self.store(), self.plan[0] == 0

    # Maintenance

    def seal(self, least_rows: int, by: Interruption = NEVER) -> None:
        self._maintain(lambda: seal.seal(self.keeper, self.keeper.segments(RECORD_RUNS), KEEP, least_rows), by)

    def compact(self, but: str | None = PREFIX, by: Interruption = NEVER) -> None:
        self._maintain(lambda: Maintainer(self.keeper, KEEP).compact(RECORD_RUNS, but=but), by)

    def cut(self, thirds: Sequence[int], by: Interruption = NEVER) -> None:
        """Remove so many thirds of each log."""
        begins, gone = self.source.begins(thirds), list[int]()
        if not self._maintain(lambda: gone.append(seal.cut(self.keeper, to_begins(begins), KEEP)), by):
            self.ledger.doubt(lambda held: held.without(begins))
        elif gone[0]:
            before = len(self.ledger.held.rows)
            self.ledger.enter(lambda held: held.without(begins))
            assert before - len(self.ledger.held.rows) == gone[0]

    def clean_up(self, seconds: float, by: Interruption = NEVER) -> None:
        self.pass_time(seconds)

        self._maintain(lambda: Maintainer(self.keeper, KEEP).clean_up(RECORD_RUNS), by)

    def _maintain(self, act: Callable[[], object], by: Interruption) -> bool:
        return self.run(act, by, ends=self._end_keeper)

    def _end_keeper(self) -> None:
        self.keeper = self.store()

    # Readers that start now

    def read(self, by: Interruption = NEVER) -> None:
        """Read the table while something happens: what is read was there before it, or is after it."""
        before, found = Counter(self.ledger.held.rows), list[pa.Table]()
        if self.run(lambda: found.append(self.store().all_rows(RECORD_RUNS)), by, ends=_nothing, only_reads=True):
            assert of_rows(found[0]) in (before, Counter(self.ledger.held.rows))

    # What another process does meanwhile, uninterrupted

    def meanwhile_take_over(self) -> None:
        """Have another driver repeat the last micro-batch."""
        number, rows = self.plan
        self.other.append(RECORD_RUNS, to_rows(rows), ("query", number))
        self.ledger.enter(lambda held: held.with_rows(number, rows))

    def meanwhile_clean_up(self) -> None:
        maintainer = Maintainer(self.other, KEEP)
        maintainer.compact(RECORD_RUNS, but=PREFIX)
        maintainer.clean_up(RECORD_RUNS)

    def meanwhile_seal(self) -> None:
        seal.seal(self.other, self.other.segments(RECORD_RUNS), KEEP, 1)

    def meanwhile_pause(self) -> None:
        """Join files, and let hours pass until what was joined is deleted."""
        Maintainer(self.other, KEEP).compact(RECORD_RUNS, but=PREFIX)
        for _ in range(3):
            self.pass_time(PAUSE_S)
        self.meanwhile_clean_up()


MEANWHILE: dict[str, Callable[[World], None]] = {
    "another takes over": World.meanwhile_take_over,
    "others clean up": World.meanwhile_clean_up,
    "another seals": World.meanwhile_seal,
    "hours pass": World.meanwhile_pause,
}
